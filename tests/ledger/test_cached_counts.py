"""Tokens that came from a provider's cache, as the provider counted them: kept by every kind of ledger, and shown."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter, defaultdict
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from fullbench import Ledger
from fullbench.cli import console
from fullbench.core.model_call import Usage
from fullbench.files.item_response_verdict_files import read_verdicts
from fullbench.ledger import schema
from fullbench.studies.engines.job_runner_with_ledger_storage import JobCounts
from tests.ledger.making import case, verdict
from tests.support.commands import call, cli, read_jsonl, write_rows
from tests.support.json_server import JsonServer

OUT = 10
UNANSWERED = "没有回答"
"""A question that one of the contestants never answers, and is billed for."""

Books = dict[str, Counter[str]]


class Provider(JsonServer):
    """Speaks four APIs and counts for itself, by model, what it sends: no two calls are alike. The model `silent` says
    nothing of caches, and Gemini nothing where it found nothing."""

    def __init__(self) -> None:
        self.books: Books = defaultdict(Counter)
        lock = threading.Lock()

        def reply(path: str, _headers: object, body: Any) -> object:
            model = body.get("model") or path.rpartition("/")[2].partition(":")[0]
            text = json.dumps(body, ensure_ascii=False)
            number = int.from_bytes(blake2b(text.encode(), digest_size=2).digest(), "big")
            sent = 1_000 + number % 97
            read = number % 7 * 100
            written = number % 3 * 50 if path.endswith("/messages") else 0
            said = sent if read or not path.endswith(":generateContent") else 0
            with lock:
                self.books[model].update(calls=1, tokens_in=sent, cached=read, stored=written, counted=said)
            silent = model == "fails" and UNANSWERED in text
            words = "[[4]]" if "[[" in text else "四"  # a verdict that is also the whole answer would be unreadable
            return _reply(path, "" if silent else words, sent, None if model == "silent" else read, written)

        super().__init__(reply)
        self.url += "/v1"


def _reply(path: str, words: str, sent: int, read: int | None, written: int) -> dict[str, Any]:
    if path.endswith("/messages"):
        usage = {"input_tokens": sent - read - written, "output_tokens": OUT,
                 "cache_read_input_tokens": read, "cache_creation_input_tokens": written}  # fmt: skip
        return {"content": [{"type": "text", "text": words}], "stop_reason": "end_turn", "usage": usage}
    if path.endswith("/responses"):
        usage = {"input_tokens": sent, "output_tokens": OUT, "input_tokens_details": {"cached_tokens": read}}
        said = {"type": "message", "content": [{"type": "output_text", "text": words}]}
        return {"output": [said], "usage": usage}
    if path.endswith(":generateContent"):
        usage = {"promptTokenCount": sent, "candidatesTokenCount": OUT}
        usage |= {"cachedContentTokenCount": read} if read else {}
        said = {"content": {"parts": [{"text": words}]}, "finishReason": "STOP"}
        return {"candidates": [said], "usageMetadata": usage}
    details = None if read is None else {"cached_tokens": read}
    usage = {"prompt_tokens": sent, "completion_tokens": OUT, "prompt_tokens_details": details}
    choice = {"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
    return {"choices": [choice] if words else [], "usage": usage}


@pytest.fixture
def items(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    questions = ["图中有几条腿？", "那是什么颜色？", UNANSWERED]
    return write_rows(tmp_path / "items.jsonl", [{"id": f"q{n}", "question": text} for n, text in enumerate(questions)])


def ran(place: str, items: Path, server: Provider) -> str:
    """Four contestants answer and four judges rule: one of each says nothing, one of each API says how much."""
    pictures = ("--pictures", items.parent / "pictures") if "://" in place else ()
    models = ["openai:fails", "responses:other", "gemini:third", "openai:silent"]
    specs = [f"{model}@{server.url}?attempts=2&breaks=99" for model in models]
    many = [word for spec in specs for word in ("--contestant", spec)]
    cli("answer", "--items", items, *many, "--out", "said.jsonl", "--ledger", place, *pictures, code=1)
    judges = ["anthropic:a", "openai:b", "gemini:c", "responses:d", "openai:silent"]
    many = [word for judge in judges for word in ("--judge", f"{judge}@{server.url}")]
    ballot = ("--ballot", "score:1-5")
    return cli(
        "judge", "--items", items, "--responses", "said.jsonl", *many, *ballot, "--ledger", place, "--all"
    ).stdout


def accounts(place: object) -> dict[tuple[str, str], dict[str, Any]]:
    """What a ledger says each of them used, by role and model."""
    listed = json.loads(cli("ledger", "show", place, "--json").stdout)["accounts"]
    return {(account["role"], account["name"].split("@")[0].split("+")[0]): account["usage"] for account in listed}


def check(found: dict[tuple[str, str], dict[str, Any]], books: Books) -> None:
    """A ledger's bill is the provider's own; what was not said is unknown, not nothing."""
    added: Books = defaultdict(Counter)
    for (_, model), usage in found.items():
        if model == "silent":
            assert (usage["cached"], usage["stored"], usage["counted"]) == (None, None, 0)
            continue
        assert (usage["stored"] is None) == (model != "a")
        kept = {name: usage[name] or 0 for name in ("calls", "tokens_in", "cached", "stored", "counted")}
        added[model].update(kept)
    assert {model: +counts for model, counts in added.items()} == {
        model: +counts for model, counts in books.items() if model != "silent"
    }
    assert sum(counts["cached"] for counts in added.values()) > 0
    assert sum(counts["stored"] for counts in added.values()) > 0


def test_every_kind_of_ledger_has_the_providers_own_counts(fresh, items, tmp_path):
    """Failed calls included. Copies, exports and a lake have them too, and all seals cover them."""
    place = fresh()
    with Provider() as server:
        shown = ran(place, items, server)
    check(accounts(place), server.books)
    assert accounts(place)["contestant", "fails"]["calls"] == 4, "two that were answered, two tries that were not"
    with Ledger(place, read_only=True) as ledger:
        (lost,) = [failure for name in ledger_names(place) for failure in ledger.failures(name)]
        assert lost.usage.cached is not None
        called = [exchange.usage for verdict in ledger.verdicts() for exchange in verdict.exchanges]
        ruled = [verdict.usage for verdict in ledger.verdicts()]
    assert sum(filter(None, (used.cached for used in called))) == sum(filter(None, (used.cached for used in ruled)))
    assert {used.cached is None for used in ruled} == {True, False}
    assert "from cache" in shown, "the table that `judge` ends with"

    copied = tmp_path / "copy.ledger"
    cli("ledger", "copy", place, copied)
    cli("ledger", "copy", place, anew := fresh(), *(("--pictures", "p2") if "://" in place else ()))
    for other in (place, copied, anew):
        check(accounts(other), server.books)
        assert "sound" in cli("ledger", "verify", other).stdout
    cli("lake", "write", place, "--out", "lake")
    check(accounts("lake"), server.books)
    assert "sound" in cli("ledger", "verify", "lake").stdout
    cli("ledger", "copy", "lake", "again.ledger")
    check(accounts("again.ledger"), server.books)

    judged = {name: usage for name, usage in accounts(place).items() if name[0] == "judge"}
    for name in ("verdicts.jsonl", "verdicts.parquet", "verdicts.csv"):
        cli("ledger", "export", place, "--to", name)
        imported = tmp_path / f"{name}.ledger"
        with Ledger(imported) as ledger:
            ledger.add(*read_verdicts(name))
        assert accounts(imported) == judged
    exported = read_jsonl(tmp_path / "verdicts.jsonl")
    assert {row["cached"] for row in exported if "silent" in row["judge"]} == {None}
    kept, sealed, written = (
        costs(cli("ledger", "tables", source, "--json").tables["costs"])
        for source in (place, "lake", "verdicts.parquet")
    )
    assert kept == sealed == written


def ledger_names(place: object) -> list[str]:
    listed = json.loads(cli("ledger", "show", place, "--json").stdout)["accounts"]
    return [account["name"] for account in listed if account["failures"]]


def costs(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of a table of costs by column."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_tables_show_the_count_and_the_share_where_a_server_said_it(items):
    with Provider() as server:
        ran("x.ledger", items, server)
    shown = {row["judge"].split("@")[0].split("+")[0]: row for row in
             costs(cli("report", "--ledger", "x.ledger", "--json").tables["costs"])}  # fmt: skip
    for model in ("a", "b", "c", "d"):
        book = server.books[model]
        assert shown[model]["from cache"] == book["cached"]
        assert shown[model]["from cache %"] == pytest.approx(100 * book["cached"] / book["tokens_in"])
    assert (shown["silent"]["from cache"], shown["silent"]["from cache %"]) == (None, None)
    for words in (cli("ledger", "show", "x.ledger").stdout, cli("ledger", "tables", "x.ledger").stdout):
        assert "from cache %" in words
        assert "'-' if it did not report them" in " ".join(words.split())
    answers = costs(cli("ledger", "tables", "x.ledger", "--json").tables["answers"])
    assert {row["contestant"].split("@")[0]: row["from cache"] for row in answers} == {
        model: None if model == "silent" else server.books[model]["cached"]
        for model in ("fails", "other", "third", "silent")
    }
    with Ledger("x.ledger", read_only=True) as ledger:
        verdict = next(one for one in ledger.verdicts() if one.judge.startswith("a@") and one.usage.stored)
    used = verdict.usage
    exact = f"({used.cached:,} from the server's cache, {used.stored:,} into it), {OUT} out"
    assert exact in cli("show", verdict.case, "--ledger", "x.ledger").stdout


def test_a_ledger_whose_servers_say_nothing_has_no_such_columns(items):
    with Provider() as server:
        many = ("--contestant", f"openai:silent@{server.url}")
        cli("answer", "--items", items, *many, "--out", "said.jsonl", "--ledger", "x.ledger")
        judge = ("--judge", f"openai:silent@{server.url}", "--ballot", "score:1-5")
        done = cli("judge", "--items", items, "--responses", "said.jsonl", *judge, "--ledger", "x.ledger")
    for words in (done.output, cli("ledger", "show", "x.ledger").output, cli("report", "--ledger", "x.ledger").output):
        assert "cache" not in words


def test_a_changed_count_is_found(items):
    with Provider() as server:
        ran("x.ledger", items, server)
    connection = sqlite3.connect("x.ledger", isolation_level=None)
    for table in ("responses", "verdicts", "failures", "calls"):
        for column in schema.CACHED_COUNTS:
            (row,) = connection.execute(f"SELECT min(rowid) FROM {table}").fetchone()
            (before,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
            (trigger,) = connection.execute(f"SELECT sql FROM sqlite_master WHERE name = '{table}_update'").fetchone()
            connection.execute(f"DROP TRIGGER {table}_update")
            for value, code in ((12345, 1), (before, 0)):
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
                ended, done = call("ledger", "verify", "x.ledger")
                assert ended == code, done.output
                assert ("was changed" in done.stdout) == bool(code)
            connection.execute(trigger)
    connection.close()


def test_a_ledger_is_copied_with_its_seals_and_counts(fresh, tmp_path):
    """To a new place, and what came since to the same place again."""
    source, target = tmp_path / "source.ledger", fresh()
    pictures = ("--pictures", tmp_path / "elsewhere") if "://" in target else ()
    head = None
    for number in (1, 2):
        with Ledger(source) as ledger:
            used = Usage(1, 0, 900, 8, 0.5, 1.0, cached=300 * number, stored=0)
            ledger.add(case(number), replace(verdict(number), usage=used))
            ledger.flush()
            head = head or ledger.ledger_digest()
        printed = cli("ledger", "copy", source, target, *pictures).output
        assert "every row keeps its digest" in printed or (number == 2 and "://" in target), printed
        assert "sound" in cli("ledger", "verify", target, *(("--digest", head) if number == 1 else ())).stdout
        assert accounts(target) == accounts(source)
    assert accounts(target)["judge", verdict(1).judge]["cached"] == 900


def test_a_verdict_that_comes_again_without_its_counts_is_no_second_call(place):
    """As from an export without them; what another call used is billed, its counts included."""
    first = replace(verdict(1), usage=Usage(1, 0, 900, 8, 0.5, 1.0, cached=300, stored=100))
    with Ledger(place) as ledger:
        ledger.add(case(1), first)
        ledger.flush()
        ledger.add(replace(first, usage=replace(first.usage, cached=None, stored=None)))
        ledger.flush()
        assert list(ledger.failures(first.judge)) == []
        ledger.add(replace(first, usage=replace(first.usage, seconds=2.0, cached=200)))
        ledger.flush()
        (second,) = ledger.failures(first.judge)
        (account,) = [account for account in ledger.bill() if account.usage.calls]
    assert (second.usage.cached, second.usage.stored) == (200, 100)
    assert (account.usage.cached, account.usage.stored, account.usage.counted) == (500, 200, 1_800)


def test_what_one_run_says_in_its_last_line_is_never_too_much():
    told = JobCounts("a", 0, 2, 2, usage=Usage(2, 0, 1_000, 10, 0.0, 1.0, cached=250, counted=1_000))
    silent = JobCounts("b", 0, 2, 2, usage=Usage(2, 0, 9_000, 10, 0.0, 1.0))
    assert "(25% of the tokens sent came from the server's cache)" in console.summary_line([told])
    assert "(at least 2% of the tokens sent came from the server's cache)" in console.summary_line([told, silent])
    assert "cache" not in console.summary_line([silent])
