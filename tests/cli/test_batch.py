"""`fullbench batch` as its users run it, and killed where it hurts most."""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

from fullbench import Ledger
from tests.support.batch_server import AnthropicService, BatchService, GeminiService
from tests.support.commands import call
from tests.support.forked_command import ForkedCommand

SERVICES = {"openai": BatchService, "anthropic": AnthropicService, "gemini": GeminiService}
ITEMS = 8
CASES = ITEMS * 2


@pytest.fixture
def folder(tmp_path) -> Path:
    items = [{"id": f"i{i}", "question": f"有几个 #{i}?"} for i in range(ITEMS)]
    answers = [{"item": it["id"], "contestant": name, "text": f"{name} {i}"}
               for i, it in enumerate(items) for name in "ab"]  # fmt: skip
    for name, rows in (("items", items), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def study(folder: Path, url: str, provider: str = "openai", **options: object) -> None:
    # a provider's key goes to another host only where the spec names it
    named = {"mode": "direct", "key_env": f"{provider.upper()}_API_KEY", **options}
    more = "".join(f"&{key}={value}" for key, value in named.items())
    judge = f"{provider}:judge@{url}?backoff=0.05{more}"
    text = f"""
        name = "filed"
        items = "items.jsonl"
        responses = "answers.jsonl"
        judges = ["{judge}"]
        ballots = ["score:1-5"]
        ledger = "l.ledger"
    """
    (folder / "study.toml").write_text(text, encoding="utf-8")


KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "sk-not-a-key")


def start(folder: Path, *words: str) -> ForkedCommand:
    """The command in a process of its own, to be killed."""
    return ForkedCommand(["batch", *words], folder=folder, environment={**os.environ, **KEYS})


def fullbench(folder: Path, *words: str) -> tuple[int, str, str]:
    """The command in this process."""
    with contextlib.chdir(folder), mock.patch.dict(os.environ, KEYS):
        ended, printed = call("batch", *words)
    return ended, printed.stdout, printed.stderr


def kept(folder: Path) -> list[str]:
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        assert ledger.verify() == []
        return [verdict.case for verdict in ledger.verdicts()]


def test_step_by_step(folder):
    with BatchService() as service:
        study(folder, service.url)
        code, out, err = fullbench(folder, "write", "study.toml")
        assert (code, out.strip()) == (0, "l.ledger.batches/0001-judge/requests.jsonl")
        assert f"{CASES} written" in err
        code, out, err = fullbench(folder, "submit", "study.toml")
        assert (code, "1 batch was sent." in err) == (0, True)
        code, out, err = fullbench(folder, "collect", "study.toml")
        assert (code, f"{CASES} sent and not ended" in err) == (1, True)
        code, out, err = fullbench(folder, "status", "study.toml", "--wait", "--every", "0.05", "--json")
        (table,) = json.loads(out)
        row = dict(zip(table["columns"], table["rows"][0], strict=True))
        assert (code, row["status"], row["done"]) == (0, "completed", CASES)
        code, out, err = fullbench(folder, "collect", "study.toml")
        assert (code, f"{CASES} new in the ledger" in err) == (0, True)
        code, out, err = fullbench(folder, "collect", "study.toml")
        assert (code, f"0 new in the ledger, {CASES} already there" in err) == (0, True)
        assert set(service.headers) == {"Bearer sk-not-a-key"}
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


@pytest.mark.parametrize(
    ("provider", "moment"),
    [("openai", "upload"), ("openai", "create"), ("openai", "poll"), ("openai", "content"), ("anthropic", "create"),
     ("anthropic", "content"), ("gemini", "upload"), ("gemini", "create")],
)  # fmt: skip
def test_killed_while_the_server_does_it(folder, provider, moment):
    """The server did what was asked, and the client is dead before it hears of it: the worst moment of each step."""
    running: list[ForkedCommand] = []

    def kill(step: str) -> None:
        if step == moment and running:
            running.pop().kill()

    with SERVICES[provider](on=kill) as service:
        study(folder, service.url, provider)
        running.append(start(folder, "run", "study.toml", "--every", "0.05"))
        first = running[0]
        first.communicate(timeout=120)
        assert first.returncode == -9
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05")
        assert code == 0, err
        assert len(service.batches) == 1, "created once"
        assert set(service.asked.values()) == {1}, "asked once"
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


def test_cancelled_and_gone_on_with(folder):
    with AnthropicService(looks=100) as service:
        study(folder, service.url, "anthropic")
        fullbench(folder, "write", "study.toml")
        fullbench(folder, "submit", "study.toml")
        code, out, _ = fullbench(folder, "cancel", "study.toml")
        assert (code, "cancelled" in out) == (0, True)
        code, _, err = fullbench(folder, "collect", "study.toml")
        assert (code, f"{CASES // 2} new in the ledger" in err, f"{CASES // 2} failed" in err) == (1, True, True)
        assert "cancelled before this was asked" in err
        service.looks = 1
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05")
        assert code == 0, err
        assert set(service.asked.values()) == {1}
        assert set(service.headers) == {"sk-not-a-key"}
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


def test_one_command_goes_through_steps_and_failures_and_stops_where_nothing_helps(folder):
    def reply(body: dict[str, list[object]], turn: int) -> str | tuple[int, str]:
        if len(body["messages"]) < 3:
            return "First I look at it."
        return "[[4]]" if turn > 1 or random.Random(str(body)).random() < 0.5 else (500, "boom")

    with BatchService(reply) as service:
        study(folder, service.url, mode="steps")
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.02")
        assert code == 0, err
        assert len(service.batches) == 3
        service.reply = lambda body, turn: (500, "boom")
        study(folder, service.url, mode="analyze")
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.02")
        assert (code, len(service.batches), f"{CASES} failed" in err) == (1, 4, True)


def test_a_refused_key_and_a_server_without_batches_are_one_sentence(folder):
    with BatchService(troubles={"upload": [401, 404]}) as service:
        study(folder, service.url)
        fullbench(folder, "write", "study.toml")
        for sentence in ("refused the key (401: upload hurts)", "does this server take batches?"):
            code, _, err = fullbench(folder, "submit", "study.toml")
            told, trouble = err.splitlines()
            assert "OPENAI_API_KEY" in told, "what the study reads of the environment"
            assert (code, sentence in trouble, "sk-not" in err) == (2, True, False)


@pytest.mark.slow
def test_killed_again_and_again_at_random_moments(folder):
    """Many short-lived runs, every second reply an error or a torn line, ten requests a file."""

    def reply(body: dict[str, object], turn: int) -> str | tuple[int, str]:
        return "[[4]]" if turn > 1 or random.Random(str(body)).random() < 0.5 else (500, "boom")

    draw = random.Random(5)
    with BatchService(reply, spoil=lambda lines: [*lines[:-1], lines[-1][:30]] if len(lines) > 1 else lines) as service:
        study(folder, service.url)
        for _ in range(25):
            process = start(folder, "run", "study.toml", "--every", "0.02", "--max-requests", "5")
            time.sleep(draw.uniform(0.15, 0.9))
            process.kill()
            process.communicate()
        for _ in range(8):
            code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.02", "--max-requests", "5")
            if code == 0:
                break
        assert code == 0, err
        tokens = [batch["metadata"]["fullbench"] for batch in service.batches.values()]
        assert len(set(tokens)) == len(tokens), "no batch was created twice"
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_killed_again_and_again_nothing_is_asked_twice(folder, provider):
    """Anthropic's batches bear no token: ours are known by their size, their age and the names they give back."""
    draw = random.Random(7)
    with SERVICES[provider](looks=3) as service:
        study(folder, service.url, provider)
        for _ in range(25):
            process = start(folder, "run", "study.toml", "--every", "0.02", "--max-requests", "5")
            time.sleep(draw.uniform(0.3, 1.2))
            process.kill()
            process.communicate()
            if draw.random() < 0.3:
                service.stranger(5)
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.02", "--max-requests", "5")
        assert code == 0, err
        ours = Counter(line["custom_id"] if "custom_id" in line else line["key"]
                       for batch in service.batches.values() for line in batch["lines"])  # fmt: skip
        assert {count for name, count in ours.items() if not name.startswith("x")} == {1}
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


def renamed(lines: list[str]) -> list[str]:
    """Of 16 replies three under names that nobody gave, and two twice."""
    changed = [json.dumps({**json.loads(line), "custom_id": f"陌生-{number}"}) for number, line in enumerate(lines[:3])]
    return [*changed, *lines[3:], *lines[5:7]]


def test_replies_with_unknown_names_and_second_replies_are_told_and_billed_once(folder):
    """The service answers and charges 18 calls; the bill has 18, whatever their names, and not 36 after a kill."""
    with BatchService(spoil=renamed) as service:
        study(folder, service.url, price_in=2, price_out=10)
        fullbench(folder, "write", "study.toml")
        fullbench(folder, "submit", "study.toml")
        fullbench(folder, "status", "study.toml", "--wait", "--every", "0.05", "--quiet")
        code, _, err = fullbench(folder, "collect", "study.toml")
        assert (code, f"{CASES - 3} new in the ledger" in err, "3 due" in err) == (1, True, True)
        assert "3 replies belong to no request. They give no verdict, their cost is counted" in err
        assert (
            "2 replies answer a request that already has a reply. The first one counts; the cost includes all." in err
        )
        (state,) = (folder / "l.ledger.batches").glob("*/state.json")
        state.write_text(json.dumps({**json.loads(state.read_text()), "is_settled": False}), encoding="utf-8")
        fullbench(folder, "collect", "study.toml")
        with Ledger(folder / "l.ledger", read_only=True) as ledger:
            (account,) = (account for account in ledger.bill() if account.role == "judge")
            spent = ledger.study_cost("default") + ledger.study_cost("filed")
        assert account.usage.calls == CASES - 3 + 3 + 2
        assert spent == pytest.approx(account.usage.dollars), "they are in what the study cost"
        service.spoil = lambda lines: lines
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05", "--quiet")
        assert code == 0, err
        with Ledger(folder / "l.ledger", read_only=True) as ledger:
            (account,) = (account for account in ledger.bill() if account.role == "judge")
        assert account.usage.calls == sum(service.asked.values()) + 2
        assert account.usage.dollars == pytest.approx(account.usage.calls * (spent / (CASES + 2)))
    assert len(set(kept(folder))) == len(kept(folder)) == CASES


def test_why_a_batch_failed_is_said_where_its_requests_are_due(folder):
    with BatchService(ends=["failed", "expired"]) as service:
        study(folder, service.url)
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05", "--quiet")
        assert code == 1
        assert (
            f"the batch 0001-judge is failed (enqueued token limit reached): 0 of its {CASES} requests were answered"
            in err
        )
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05", "--quiet")
        assert code == 0, err
        assert f"the batch 0002-judge is expired: {CASES // 2} of its {CASES} requests were answered" in err
        with Ledger(folder / "l.ledger", read_only=True) as ledger:
            (judge,) = {verdict.judge for verdict in ledger.verdicts()}
            errors = {failure.error.partition(": ")[2] for failure in ledger.failures(judge)}
        assert errors == {"the batch expired before this was asked"}


def test_counts_of_cached_tokens_come_with_batches_and_stay_in_a_replay(folder):
    """The sum of what the lines say, as the service wrote them; the study's files come out again byte for byte."""
    said: list[int] = []

    def counted(lines: list[str]) -> list[str]:
        rows = [json.loads(line) for line in lines]
        for number, row in enumerate(rows):
            said.append(100 + 7 * number)
            row["response"]["body"]["usage"]["prompt_tokens_details"] = {"cached_tokens": said[-1]}
        return [json.dumps(row, ensure_ascii=False) for row in rows]

    with BatchService(spoil=counted) as service:
        study(folder, service.url)
        with (folder / "study.toml").open("a", encoding="utf-8") as more:
            more.write('\nreport = "page.html"\ntables = "tables.json"\n')
        code, _, err = fullbench(folder, "run", "study.toml", "--every", "0.05")
        assert code == 0, err
    assert len(said) == len(kept(folder)) == CASES
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        (account,) = [account for account in ledger.bill() if account.usage.calls]
    assert (account.usage.cached, account.usage.stored, account.usage.counted) == (sum(said), None, 1_000 * CASES)
    with contextlib.chdir(folder):
        ended, printed = call("replay", "study.toml", "--json")
        assert ended == 0, printed.output
        table = printed.tables["costs"]
        row = dict(zip(table["columns"], table["rows"][0], strict=True))
        assert (row["from cache"], row["from cache %"]) == (sum(said), pytest.approx(sum(said) / CASES / 10))
        assert call("run", "study.toml")[0] == 0, "which finds all there and writes the files"
        assert f"{sum(said):,} ({sum(said) / CASES / 1_000:.0%})" in (folder / "page.html").read_text(encoding="utf-8")
        assert call("replay", "study.toml", "--check")[0] == 0
