"""Prompt caches of providers: what is marked, what is read, and what it costs."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic
from fullbench.models.model_prices import cache_shares, price_of
from fullbench.models.wire.reply_parsing import UsageCounter, read_payload
from fullbench.studies import judge_contestant_and_benchmark_specs
from tests.support.json_server import JsonServer

IN, OUT, CACHED, STORED = 1_000, 10, 600, 200
"""The tokens of a call that found what was kept before, and those that went into the cache where nothing was."""


class CachingServer(JsonServer):
    """Speaks the four dialects and keeps, as providers do, what it was sent before: by marks where the dialect has
    them, by the question elsewhere."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.hits = self.writes = 0
        seen: set[str] = set()
        lock = threading.Lock()

        def cached(path: str, _headers: object, body: Any) -> object:
            key = _prefix(body)
            with lock:
                self.asked.append(body)
                hit, write = key in seen, bool(key) and key not in seen
                seen.add(key)
                hit = hit and bool(key)
                self.hits, self.writes = self.hits + hit, self.writes + write
            return _reply(path, hit, write)

        super().__init__(cached)
        self.url += "/v1"


def _prefix(body: Mapping[str, Any]) -> str:
    """What the server keeps of a request: all up to the mark, or up to the answers where the dialect has no marks."""
    if "max_tokens" in body and "messages" in body:
        blocks = body["messages"][0]["content"]
        marked = [place for place, block in enumerate(blocks) if "cache_control" in block]
        return json.dumps([body["system"], blocks[: marked[-1] + 1]]) if marked else ""
    words = json.dumps(body.get("messages") or body.get("input") or body.get("contents"), ensure_ascii=False)
    return words.partition("Number of answers to judge")[0]


def _reply(path: str, hit: bool, write: bool) -> dict[str, Any]:
    cached = CACHED if hit else 0
    if path.endswith("/messages"):
        stored = STORED if write else 0
        usage = {"input_tokens": IN - cached - stored, "output_tokens": OUT,
                 "cache_read_input_tokens": cached, "cache_creation_input_tokens": stored}  # fmt: skip
        return {"content": [{"type": "text", "text": "[[4]]"}], "stop_reason": "end_turn", "usage": usage}
    if path.endswith("/responses"):
        usage = {"input_tokens": IN, "output_tokens": OUT, "input_tokens_details": {"cached_tokens": cached}}
        said = {"type": "message", "content": [{"type": "output_text", "text": "[[4]]"}]}
        return {"output": [said], "usage": usage}
    if path.endswith(":generateContent"):
        usage = {"promptTokenCount": IN, "candidatesTokenCount": OUT, "cachedContentTokenCount": cached}
        said = {"content": {"parts": [{"text": "[[4]]"}]}, "finishReason": "STOP"}
        return {"candidates": [said], "usageMetadata": usage}
    usage = {"prompt_tokens": IN, "completion_tokens": OUT, "prompt_tokens_details": {"cached_tokens": cached}}
    return {
        "choices": [{"message": {"role": "assistant", "content": "[[4]]"}, "finish_reason": "stop"}],
        "usage": usage,
    }


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = [{"id": f"q{i}", "question": f"这是第 {i} 题：图中有什么？"} for i in range(3)]
    said = [{"item": f"q{i}", "contestant": who, "text": f"{who} 说 {i}"} for i in range(3) for who in ("a", "b", "c")]
    for name, rows in (("items", items), ("answers", said)):
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "option"), [("anthropic", "&cache=yes"), ("openai", ""), ("responses", ""), ("gemini", "")]
)
def test_cached_tokens_are_read_priced_and_said(files, kind, option):
    """Three questions, three answers each: one call of each question fills the cache, two find it there."""
    with CachingServer() as server:
        judge = f"{kind}:m@{server.url}?price_in=10&price_out=20&price_cached=1&concurrency=1{option}"
        done = CliRunner().invoke(
            app, ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", judge,
                  "--ballot", "score:1-5", "--ledger", "l.ledger"],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert (server.hits, server.writes, len(server.asked)) == (6, 3, 9)
    fresh, cached = 9 * IN - 6 * CACHED, 6 * CACHED
    dollars = (fresh * 10 + cached * 1 + 9 * OUT * 20) / 1e6
    assert f"cost ${dollars:.4f} (40% of the tokens sent came from the server's cache)." in done.output, done.output
    with Ledger(files / "l.ledger", read_only=True) as ledger:
        record = ledger.record()
        (account,) = [account for account in ledger.bill() if account.usage.calls]
    assert account.usage.dollars == pytest.approx(dollars)
    assert account.usage.tokens_in == 9 * IN
    assert sum(verdict.usage.dollars for verdict in record) == pytest.approx(dollars)
    # What is read from the ledger later, and from a copy of it, is the bill that was printed.
    assert CliRunner().invoke(app, ["ledger", "copy", "l.ledger", "copy.ledger"]).exit_code == 0
    for book in ("l.ledger", "copy.ledger"):
        shown = CliRunner().invoke(app, ["ledger", "show", "--ledger", book])
        assert f"{dollars:.4f}" in shown.output, shown.output


def test_marks_are_sent_only_where_asked_for_and_change_neither_words_nor_name(files):
    names, words = set(), []
    for option in ("", "?cache=yes", "?cache=no"):
        with CachingServer() as server:
            spec = f"anthropic:m@{server.url}{option}"
            names.add(
                judge_contestant_and_benchmark_specs.judge_from_spec(spec).name.replace(
                    server.url.removeprefix("http://"), ""
                )
            )
            done = CliRunner().invoke(
                app, ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", spec,
                      "--ballot", "choice", "--ledger", f"{len(words)}.ledger", "--quiet"],
            )  # fmt: skip
            assert done.exit_code == 1, "its replies fit no ballot"
            marked = [body for body in server.asked if "cache_control" in json.dumps(body)]
            assert len(marked) == (len(server.asked) if option == "?cache=yes" else 0)
            blocks = ["".join(block["text"] for block in body["messages"][0]["content"]) for body in server.asked]
            # The nonce is another one in each ledger.
            words.append(sorted(text.rpartition("\nWrite ")[0] for text in blocks))
    assert len({name.split("#")[0] for name in names}) == 1
    assert words[0] == words[1] == words[2]


def test_whoever_caches_unasked_is_not_told_to(cli, files):
    code, _, err = cli("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge",
                       "openai:m@http://127.0.0.1:9/v1?cache=yes", "--ballot", "choice")  # fmt: skip
    assert code == 2
    assert "leave it out" in err


def test_listed_models_have_their_providers_shares():
    """A tenth to read and a quarter more to write at Anthropic, half to read of gpt-4o, a tenth of Gemini 2.5."""
    anthropic, openai = "https://api.anthropic.com/v1", "https://api.openai.com/v1"
    assert cache_shares("claude-sonnet-4-5", anthropic) == pytest.approx((0.1, 1.25))
    assert cache_shares("gpt-4o", openai) == pytest.approx((0.5, 1.0))
    google = "https://generativelanguage.googleapis.com/v1beta"
    assert cache_shares("gemini-2.5-flash", google)[0] == pytest.approx(0.1)
    assert cache_shares("somebody's", "https://api.example.com/v1") == (1.0, 1.0)
    model = ChatModel("claude-sonnet-4-5", anthropic, Anthropic())
    tally = UsageCounter(1, shares=model.shares)
    read_payload(model.dialect, _reply("/messages", hit=False, write=True), None, tally)
    into, out = price_of("claude-sonnet-4-5", anthropic)
    assert tally.usage(model.price).dollars == pytest.approx(((IN + STORED * 0.25) * into + OUT * out) / 1e6)
