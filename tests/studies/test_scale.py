"""The model of a run: what it foresees is what real runs take, and where it breaks is where it should."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench import Case, Item, Response, Score
from fullbench.errors import InputError
from fullbench.ledger.postgres_connection import SPACE
from fullbench.ledger.store import Ledger
from fullbench.studies import scale, specs
from fullbench.studies.hear import hear
from fullbench.studies.scale import MEASURED, Run, foresee
from tests.fake_server import FakeServer
from tests.journeys.commands import cli
from tests.studies.test_endurance import docket


def measured(place, calls: int, latency: float, in_flight: int) -> tuple[float, float]:
    """The seconds of a real run, and those of its process for a verdict."""
    with FakeServer({}, seed=1, says="[[4]]", latency=latency) as server, Ledger(place) as ledger:
        judge = specs.judge(f"vllm:m@{server.url}?concurrency={in_flight}&mode=direct")
        began, worked = time.monotonic(), time.process_time()
        hear([judge], lambda _: docket(calls), ledger)
        took, work = time.monotonic() - began, time.process_time() - worked
        assert len(list(ledger.verdicts())) == calls
    return took, work / calls


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "latency", "in_flight"), [(300, 0.2, 20), (10_000, 0.2, 128)])
def test_a_real_run_takes_what_was_foreseen(tmp_path, calls, latency, in_flight):
    """On an idle machine: walls mean nothing on a busy one, whatever the driver's own work was."""
    took, work = measured(tmp_path / "x.ledger", calls, latency, in_flight)
    seen = foresee(Run(calls, latency, 0.0, in_flight), replace(MEASURED, driver=work))
    assert 0.67 < took / seen.seconds < 1.5, (took, seen)


def of_shape(items: int, answers: int) -> Callable[[object], Iterator[Case]]:
    def cases(_: object) -> Iterator[Case]:
        for number in range(items):
            item = Item.ask(f"i{number}", f"What is #{number}? 好".ljust(ANSWER, "."))
            for place in range(answers):
                yield Case(item, (Response.say(item.id, f"m{place}", "red ".ljust(ANSWER, "r")),), Score(1, 5))

    return cases


REPLY, ANSWER = 300, 100


def held(place: str | Path) -> int:
    """The bytes of a ledger's tables and indexes."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return place.stat().st_size
    import psycopg

    sizes = "sum(pg_relation_size(oid) + pg_indexes_size(oid))"
    sql = f"SELECT {sizes} FROM pg_class WHERE relnamespace = '{SPACE}'::regnamespace AND relkind = 'r'"
    with psycopg.connect(place) as connection:
        (size,) = connection.execute(sql).fetchone() or (0,)
    return int(size)


@pytest.mark.slow
@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
@pytest.mark.parametrize("shape", [(1200, 1, 1), (100, 4, 3)])
def test_a_real_ledger_is_as_large_as_foreseen(request, tmp_path, ledger, shape):
    """A verdict an item, and twelve. What an empty ledger takes is left out: it is the same for all sizes."""
    items, answers, judges = shape
    place = tmp_path / "x.ledger" if ledger == "sqlite" else request.getfixturevalue("postgres").database()
    Ledger(place).close()
    empty = held(place)
    with FakeServer({}, seed=1, says="[[4]]".rjust(REPLY, "s")) as server, Ledger(place) as opened:
        seats = [specs.judge(f"vllm:m{number}@{server.url}?concurrency=64&mode=direct") for number in range(judges)]
        hear(seats, of_shape(items, answers), opened)
    run = Run(
        items * answers * judges, ledger=ledger, verdicts_per_item=answers * judges, verdicts_per_case=judges,
        reply_bytes=REPLY, answer_bytes=ANSWER,
    )  # fmt: skip
    assert held(place) - empty == pytest.approx(foresee(run).ledger_bytes, rel=0.1)


def test_verdicts_that_share_items_and_cases_take_less():
    alone, shared = (Run(1000, verdicts_per_item=v, verdicts_per_case=c) for v, c in ((1, 1), (12, 3)))
    sizes = [sum(scale.verdict_bytes(run).values()) for run in (alone, shared)]
    assert sizes[0] == 448 + 286 + 384 + 259 + 325 + 400 + 2 * 200
    assert sizes[1] == pytest.approx(448 + 286 + (384 + 259) / 3 + 325 / 12 + 400 + 200 / 3 + 200 / 12)
    with pytest.raises(InputError, match="5 verdicts a case and 2 an item"):
        foresee(Run(10, verdicts_per_item=2, verdicts_per_case=5))


def test_a_steady_run_is_calls_by_latency_over_those_in_flight():
    plain = replace(MEASURED, driver=0.0, start=0.0)
    for calls in (10_000, 1_000_000, 100_000_000):
        seen = foresee(Run(calls, 1.0, 0.0, 100, ledger="none"), plain)
        assert seen.seconds == pytest.approx(calls / 100, rel=0.02)


def test_what_holds_a_run_back_is_named_and_sets_its_pace():
    base = Run(1_000_000, 0.5, 0.5, 256)
    for run, limit, pace in (
        (base, "the servers", 256 / (0.5 * 1.1331)),
        (replace(base, per_minute=600), "the limit on requests", 10),
        (replace(base, in_flight=100_000), "the driver", 1 / MEASURED.driver),
    ):
        seen = foresee(run)
        assert seen.limit == limit
        assert seen.run.calls / seen.seconds == pytest.approx(pace, rel=0.05)
    apart = foresee(replace(base, in_flight=100_000, drivers=16, ledger="postgres"))
    assert apart.seconds < foresee(replace(base, in_flight=100_000, ledger="postgres")).seconds / 5


def test_calls_that_fail_are_made_again_and_a_far_ledger_does_not_hold_back():
    base = Run(200_000, 0.05, 0.0, 128, ledger="postgres")
    near, far = foresee(base), foresee(replace(base, away=0.02))
    assert far.seconds < 1.3 * near.seconds
    assert foresee(replace(base, failing=0.5)).seconds == pytest.approx(2 * near.seconds, rel=0.05)


def test_the_command_shows_sizes_beside_each_other_and_refuses_nonsense():
    words = ("scale", "--calls", "1e4", "--calls", "1e9", "--dollars", "0.001", "--ledger", "postgres")
    (table,) = json.loads(cli(*words, "--json").stdout)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [row["calls"] for row in rows] == [10_000, 1_000_000_000]
    assert rows[1]["dollars"] == pytest.approx(1_000_000)
    assert rows[1]["GB in the lake"] == pytest.approx(138)
    assert rows[1]["hours"] > 90_000 * rows[0]["hours"] / 2
    assert "2,038 bytes a verdict in the ledger, with 12 verdicts an item and 3 a case" in cli(*words).stdout
    one_each = ("--verdicts-per-item", "1", "--verdicts-per-case", "1", "--reply-bytes", "0", "--answer-bytes", "0")
    (table,) = json.loads(cli("scale", "--calls", "1e9", "--driver", "0.0008", *one_each, "--json").stdout)
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert row["GB in the ledger"] == pytest.approx(1702)
    assert "the driver 1,250" in " ".join(table["notes"])
    assert "known: sqlite" in cli("scale", "--ledger", "oracle", code=2).stderr
    with pytest.raises(InputError, match="below 1"):
        scale.foresee(Run(10, failing=1.0))
