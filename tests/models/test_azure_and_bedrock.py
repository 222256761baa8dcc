"""Azure and Bedrock through litellm: every request keeps the rules of its API.

litellm is no part of the development environment; what needs it is skipped where it is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fullbench import Ledger, Picture, Prompt, Turn
from fullbench.models import model_specs
from fullbench.models.litellm_model import (
    LiteLLMModel,
    _usable_file_variables,
    describe_trouble,
    price_list_entry,
    trouble_from_error,
)
from fullbench.models.model_prices import price_of
from tests.support.cloud_server import KEY, SAYS, THOUGHT, CloudServer
from tests.support.commands import call, cli, write_rows
from tests.support.data_builders import png

with_litellm = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="litellm is not installed: pip install '.[litellm]'"
)
SONNET, OPUS = "bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0", "bedrock/us.anthropic.claude-opus-4-7-v1:0"
ALL = frozenset({"seed", "response_format"})


def model(name: str, **options: str) -> LiteLLMModel:
    made = model_specs.build_litellm_model(name, options)
    assert isinstance(made, LiteLLMModel)
    return made


def test_blank_parts_and_what_a_provider_does_not_take_are_left_out():
    prompt = Prompt(
        (Turn("system", (" \n",)), Turn("user", (Picture.from_bytes(png()), "\n", "Look."))), seed=3, json=True
    )
    body = model("azure/mine").body(prompt, ALL)
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url", "text"]
    assert (body["seed"], body["response_format"]) == (3, {"type": "json_object"})
    assert not {"seed", "response_format"} & set(model(SONNET).body(prompt, frozenset()))
    assert model(SONNET, seed="7").body(prompt, frozenset())["seed"] == 7, "what the user set is never dropped"


@pytest.mark.parametrize(
    ("name", "options", "limit"),
    [
        (SONNET, {}, None), (SONNET, {"effort": "none"}, None), (SONNET, {"effort": "high"}, 4096 + 16384),
        (SONNET, {"effort": "low", "max_tokens": "300"}, 300 + 1024), (OPUS, {"max_tokens": "300"}, 300),
        ("azure/gpt-5-mini", {"effort": "high", "max_tokens": "300"}, 300),
    ],
)  # fmt: skip
def test_the_limit_of_claude_has_room_for_what_it_thinks(name, options, limit):
    assert model(name, **options).body(Prompt((Turn("user", ("Hi",)),)), ALL).get("max_tokens") == limit


@pytest.mark.parametrize(
    ("name", "price", "shares"),
    [
        ("azure/gpt-4o", (2.5, 10.0), (0.5, 1.0)), ("azure/gpt5_series/gpt-5-mini", (0.25, 2.0), (0.1, 1.0)),
        (SONNET, (3.0, 15.0), (0.1, 1.25)), (SONNET.replace("/", "/invoke/"), (3.0, 15.0), (0.1, 1.25)),
        ("azure/mine", None, (1.0, 1.0)), ("nosuch/gpt-4o", None, (1.0, 1.0)), ("gpt-4o", None, (1.0, 1.0)),
    ],
)  # fmt: skip
def test_prices_are_those_of_the_cloud_that_serves_a_model(name, price, shares):
    assert model(name).price == price_of(*price_list_entry(name)) == price
    assert model(name).shares == pytest.approx(shares)
    assert model(name, extra='{"api_base": "http://localhost:1/v1"}').price is None, "what that one costs nobody knows"
    assert model(name, price_in="1", price_out="2").price == (1.0, 2.0)


class Refused(Exception):
    """An error as litellm raises it."""

    def __init__(self, words: str, status: int, headers: dict[str, str] | None = None, code: str | None = None) -> None:
        super().__init__(words)
        self.status_code, self.litellm_response_headers, self.code = status, headers, code


@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (Refused("litellm.RateLimitError: AzureException - slow down", 429, {"Retry-After": "7"}), "busy", 7.0),
        (Refused("litellm.RateLimitError: BedrockException - {}", 429, {"x-amzn-errortype": "T"}), "busy", None),
        (Refused("it was filtered by the content management policy", 400, code="content_filter"), "refused", None),
        (Refused("AzureException APIError - Missing credentials.", 500), "model", None),
        (Refused("BedrockException - The provided model identifier is invalid.", 400), "model", None),
        (Refused("Unsupported value: 'temperature'", 400, code="unsupported_value"), "model", None),
        (Refused("InternalServerError: boom", 500, {"date": "today"}), "again", None),
        (Refused("Input is too long for requested model.", 400), "prompt", None),
    ],
)
def test_what_errors_of_litellm_mean(error, kind, wait):
    found = trouble_from_error(error)
    assert (found.kind, found.wait) == (kind, wait)
    if kind == "model":
        assert re.search(r"; (check|say) ", describe_trouble("azure/x", found))


def test_an_address_in_a_file_never_leads_a_key_of_the_environment_away(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    names = ["AZURE_API_KEY", "AZURE_API_BASE", "AZURE_API_VERSION", "AWS_REGION_NAME", "AWS_ACCESS_KEY_ID",
             "AWS_BEDROCK_RUNTIME_ENDPOINT", "OPENAI_API_BASE", "PATH"]  # fmt: skip
    assert set(names) - set(_usable_file_variables(names)) == {"OPENAI_API_BASE", "PATH"}
    monkeypatch.setenv("AZURE_API_KEY", "own-key-012345")
    assert set(names) - set(_usable_file_variables(names)) == {"AZURE_API_BASE", "OPENAI_API_BASE", "PATH"}


def bench_in(folder: Path) -> Path:
    for place in range(2):
        (folder / f"{place}.png").write_bytes(png(size=(64, 48 + place)))
    rows = [{"id": f"q{place}", "question": "多少?", "pictures": [f"{place}.png"]} for place in range(2)]
    write_rows(folder / "items.jsonl", rows)
    answers = [{"item": row["id"], "contestant": name, "text": f"By {name}"} for row in rows for name in "ab"]
    write_rows(folder / "answers.jsonl", answers)
    return folder


def judging(*judges: str, ledger: str = "l.ledger") -> list[str]:
    named = [word for judge in judges for word in ("--judge", f"litellm:{judge}")]
    files = ["--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--ledger", ledger]
    return ["judge", *files, *named, "--json"]


def judges_in_both_clouds(bench: Path, clouds: CloudServer) -> None:
    """Each request keeps the rules of its API, and what comes back is counted and paid for by its own."""
    judges = [
        "azure/gpt-4o?max_tokens=300", "azure/gpt-5-mini?effort=low&max_tokens=300",
        "azure/gpt5_series/think-1?effort=low", f"{SONNET}?effort=high&max_tokens=300",
        f"{SONNET.replace('/', '/invoke/')}?effort=low", OPUS, "azure/busy-1", "bedrock/converse/anthropic.busy-2",
        "azure/filter-1", "azure/cut-1", "bedrock/converse/anthropic.filter-2", "bedrock/converse/anthropic.cut-2",
    ]  # fmt: skip
    tables = cli(*judging(*judges)).tables
    faults = {row[0]: row[1:4] for row in tables["unusable"]["rows"]}
    for judge, (verdicts, ruled, refused) in faults.items():
        declined = "filter" in judge or "cut" in judge
        assert (verdicts, ruled, refused) == (4, 0 if declined else 4, 4 if declined else 0), judge
    asked: dict[str, list[Any]] = {}
    for request in clouds.asked:
        asked.setdefault(request.name, []).append(request)
    plain = asked["gpt-4o"]
    assert {(request.path, request.query["api-version"][0]) for request in plain} == {
        ("/openai/deployments/gpt-4o/chat/completions", "2024-10-21")
    }
    assert [(request.body["max_tokens"], request.body["temperature"]) for request in plain] == [(300, 0.0)] * 4
    for name in ("gpt-5-mini", "think-1"):
        for request in asked[name]:
            assert request.body["reasoning_effort"] == "low"
            assert not {"temperature", "max_tokens"} & set(request.body)
    sonnets = {request.api: request.body for request in asked[SONNET.partition("/")[2]]}
    assert set(sonnets) == {"converse", "invoke"}
    assert sonnets["converse"]["inferenceConfig"] == {"maxTokens": 300 + 16384}
    assert sonnets["invoke"]["max_tokens"] == 4096 + 1024
    for body in (sonnets["converse"]["additionalModelRequestFields"], sonnets["invoke"]):
        assert body["thinking"]["type"] == "enabled"
    for request in asked[OPUS.partition("/")[2]]:
        assert not {"temperature", "thinking"} & set(request.body), "Opus 4.7 refuses a temperature"
    for request in clouds.asked:
        assert "sanitised" not in json.dumps(request.body), "no words are ours that we did not write"
    assert len(asked["busy-1"]) == len(asked["anthropic.busy-2"]) == 5, "told 429 once, and asked again"
    assert len(asked["filter-1"]) == 8, "a refusal is sampled once more, and never retried"
    with Ledger(bench / "l.ledger") as ledger:
        record = ledger.record()
    usage = {}
    for verdict in record.verdicts:
        for exchange in verdict.exchanges:
            usage[verdict.judge.split("+")[0]] = (verdict.usage, exchange)
    sonnet, exchange = usage[SONNET]
    assert (exchange.reasoning, exchange.text) == (THOUGHT, SAYS)
    assert (sonnet.tokens_in, sonnet.tokens_out, sonnet.cached, sonnet.stored) == (1_000, 50, 600, 100)
    assert sonnet.dollars == pytest.approx((300 * 3 + 600 * 0.3 + 100 * 3.75 + 50 * 15) / 1e6)
    gpt, _ = usage["azure/gpt-4o"]
    assert gpt.dollars == pytest.approx((400 * 2.5 + 600 * 1.25 + 50 * 10) / 1e6)


WRONG: list[tuple[str, dict[str, str], str]] = [
    ("azure/gpt-4o", {"AZURE_API_KEY": "wrong-key-0123"}, r"azure .* has no key .* check AZURE_API_KEY"),
    (SONNET, {"AWS_ACCESS_KEY_ID": "wrong-key-0123"}, r"bedrock .* has no key .* check AWS_ACCESS_KEY_ID"),
    (SONNET, {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, r"locate credentials"),
    ("azure/gone", {}, r"'azure/gone'.*deployment for this resource does not exist.*check its name"),
    ("bedrock/converse/anthropic.gone", {}, r"model identifier is invalid.*check its name"),
    ("azure/think-1", {}, r"temperature=default"),
    ("azure/gpt-4o", {"AZURE_API_BASE": "http://127.0.0.1:9"}, r"cannot be reached .* AZURE_API_BASE"),
    ("azure/gpt-4o?effort=low", {}, r"reasoning_effort.*check its name and its settings"),
]


def wrong_ones() -> None:
    """What no prompt mends ends with one sentence and code 2, and no key is shown."""
    for place, (judge, variables, told) in enumerate(WRONG):
        before = dict(os.environ)
        os.environ.update(variables)
        code, done = call(*judging(judge, ledger=f"{place}.ledger"))
        os.environ.update(before)
        last = done.stderr.strip().splitlines()[-1]
        assert code == 2, done
        assert re.search(told, last), (judge, last)
        assert "Traceback" not in done.stderr
        assert "wrong-key" not in done.stderr


def too_little_money(clouds: CloudServer) -> None:
    before = len(clouds.asked)
    code, done = call(*judging("azure/gpt-4o", ledger="poor.ledger"), "--budget", "0.000001")
    assert code == 1, done
    assert "Called 0, reused 0, failed 0, over budget 4" in done.stderr
    assert len(clouds.asked) == before


def contestants_and_check(bench: Path) -> None:
    words = ["answer", "--items", "items.jsonl", "--out", "said.jsonl"]
    for name in ("azure/gpt-4o", SONNET):
        words += ["--contestant", f"litellm:{name}"]
    cli(*words)
    said = [json.loads(line) for line in (bench / "said.jsonl").read_text().splitlines()]
    assert sorted((row["item"], row["contestant"].split("+")[0], row["text"]) for row in said) == sorted(
        (item, name, SAYS) for item in ("q0", "q1") for name in ("azure/gpt-4o", SONNET)
    )
    assert "15.0" in cli("check", f"litellm:{SONNET}").stdout, "the price of Sonnet on Bedrock is known"
    assert "check its name" in cli("check", "litellm:azure/gone", code=1).stderr


@with_litellm
def test_both_clouds_from_the_command_line(tmp_path):
    """In a process of its own: litellm leaves sockets open, warns as it likes, and takes seconds to load."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_"))}
    root = Path(__file__).parents[2]
    env = {**own, "PYTHONPATH": str(root), "AWS_EC2_METADATA_DISABLED": "true", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tests.models.test_azure_and_bedrock"]
    subprocess.run(command, check=True, env=env, cwd=bench_in(tmp_path))


def main() -> None:
    with CloudServer() as clouds:
        os.environ.update({
            "AZURE_API_KEY": KEY, "AZURE_API_BASE": clouds.url, "AZURE_API_VERSION": "2024-10-21",
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": "a-secret", "AWS_REGION_NAME": "us-east-1",
            "AWS_BEDROCK_RUNTIME_ENDPOINT": clouds.url,
        })  # fmt: skip
        judges_in_both_clouds(Path.cwd(), clouds)
        wrong_ones()
        too_little_money(clouds)
        contestants_and_check(Path.cwd())


if __name__ == "__main__":
    main()
