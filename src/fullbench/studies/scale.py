"""A model of a run: how long, how much and how many bytes, for more calls than anybody has made.

Calls take places among those in flight; each waits for a limit on requests, for the server, and for the driver, which
renders, reads and chains one after the other; then it waits for the ledger, which commits in groups. The first calls
are played one by one; what they show of a steady run is carried on to the rest. What a figure here rests on is in
`MEASURED`; docs/scale.md compares it with runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fullbench.errors import InputError
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.table import Cell, Table

PLAYED = 20_000
"""Calls that are played one by one: enough that the start and the end of a run are a small part of them."""
LEDGERS = ("sqlite", "postgres", "none")


@dataclass(frozen=True)
class RowBytes:
    """Bytes of the rows of a ledger, their indexes included and their texts left out."""

    verdict: float = 0.0
    call: float = 0.0
    case: float = 0.0
    response: float = 0.0
    item: float = 0.0
    """The rows that put an item, or a case, into a study are part of it."""


ROWS = {
    "sqlite": RowBytes(verdict=448.0, call=286.0, case=384.0, response=259.0, item=325.0),
    "postgres": RowBytes(verdict=680.0, call=445.0, case=640.0, response=500.0, item=600.0),
    "none": RowBytes(),
}
"""Measured table by table on ledgers of 1,500 to 4,000 verdicts (docs/scale.md)."""


@dataclass(frozen=True)
class Measured:
    """What one call or verdict takes on one core of a machine like those of docs/performance.md."""

    start: float = 0.6
    """Seconds before the first call: the ledger is looked into, connections are made."""
    driver: float = 0.30e-3
    """Seconds of an idle core that the driver takes for a verdict: case, prompt, call, reading, chaining."""
    sqlite: float = 17.6e-6
    postgres: float = 24.7e-6
    """Seconds of the ledger for a verdict that is durable."""
    group: int = 128
    """Verdicts of a commit, where the ledger is near."""
    waiting: int = 1024
    """Outcomes that may wait for a ledger before the run waits too."""
    lake_bytes: float = 138.0
    """Of a verdict with its exchange and its shares of items, answers and cases (docs/scale.md)."""
    verify: float = 40e-6
    tables: float = 5e-6
    """Seconds of a core for a verdict: `ledger verify`, and the tables of `report`."""
    held: float = 340.0
    """Bytes that a whole table of a study holds for a verdict while it is computed."""


MEASURED = Measured()


@dataclass(frozen=True)
class Run:
    """A run to be foreseen."""

    calls: int
    latency: float = 1.0
    """Median seconds of a call; they are spread lognormally."""
    spread: float = 0.5
    in_flight: int = 128
    per_minute: float | None = None
    failing: float = 0.0
    """The share of calls that fail and are made again."""
    drivers: int = 1
    ledger: str = "sqlite"
    away: float = 0.0
    """Seconds to the ledger, one way."""
    dollars: float = 0.0
    """Of a call."""
    verdicts_per_item: float = 12.0
    verdicts_per_case: float = 3.0
    """Four answers to an item, each a case of its own, and three judges of each."""
    reply_bytes: float = 400.0
    answer_bytes: float = 200.0
    """Texts of a judge's reply, and of an answer or a question."""

    def check(self) -> None:
        if self.ledger not in LEDGERS:
            raise InputError(f"unknown ledger {self.ledger!r}; known: {', '.join(LEDGERS)}")
        if not (self.calls > 0 and self.in_flight > 0 and self.drivers > 0 and 0 <= self.failing < 1):
            raise InputError("calls, calls in flight and drivers are at least 1, and failing is a share below 1")
        if not 1 <= self.verdicts_per_case <= self.verdicts_per_item:
            raise InputError(
                f"there are {self.verdicts_per_case:g} verdicts a case and {self.verdicts_per_item:g} an item; a case "
                "has at least one, and an item at least those of one case"
            )


@dataclass(frozen=True)
class Foreseen:
    """What a run will take, and what holds it back."""

    run: Run
    seconds: float
    limit: str
    dollars: float
    ledger_bytes: float
    lake_bytes: float
    table_bytes: float
    verify_seconds: float
    tables_seconds: float


def verdict_bytes(run: Run) -> dict[str, float]:
    """What a verdict takes in the ledger: its own rows, its shares of those that verdicts have in common, and texts.

    Each answer is taken for a case of its own: cases that show several answers share them, and take less.
    """
    rows = ROWS[run.ledger]
    texts = run.reply_bytes + run.answer_bytes * (1 / run.verdicts_per_case + 1 / run.verdicts_per_item)
    return {
        "verdict": rows.verdict,
        "call": rows.call,
        "case": rows.case / run.verdicts_per_case,
        "answer": rows.response / run.verdicts_per_case,
        "item": rows.item / run.verdicts_per_item,
        "texts": texts if run.ledger != "none" else 0.0,
    }


def foresee(run: Run, measured: Measured = MEASURED, seed: int = 0) -> Foreseen:
    """Play the first calls of a run and carry them on."""
    run.check()
    made = run.calls / (1 - run.failing)
    played = int(min(made, PLAYED))
    ends = _play(run, measured, played, seed)
    seconds = measured.start + float(ends[-1])
    if made > played:
        # The pace of the middle: neither the start, when all places fill at once, nor the end, when they empty.
        low, high = played // 4, 3 * played // 4
        pace = (high - low) / (ends[high] - ends[low])
        seconds += (made - played) / pace
    size = sum(verdict_bytes(run).values())
    return Foreseen(
        run, seconds, limit_of(run, measured), run.calls * run.dollars, run.calls * size,
        run.calls * measured.lake_bytes, run.calls * measured.held, run.calls * measured.verify,
        run.calls * measured.tables,
    )  # fmt: skip


def _play(run: Run, measured: Measured, calls: int, seed: int) -> Sequence[float]:
    """When each outcome is durable, in order."""
    rng = np.random.default_rng(seed)
    latencies = (run.latency * np.exp(rng.normal(0.0, run.spread, calls))).tolist()
    between = 60.0 / run.per_minute if run.per_minute else 0.0
    work = measured.driver / run.drivers
    cost, trip = _ledger(run, measured), 2 * run.away
    free: list[float] = [0.0] * run.in_flight
    drivers_free = next_allowed = 0.0
    arrived: list[float] = []
    for latency in latencies:
        begin = max(heapq.heappop(free), next_allowed)
        next_allowed = max(next_allowed, begin) + between
        drivers_free = max(drivers_free, begin) + work
        end = drivers_free + latency
        heapq.heappush(free, end)
        arrived.append(end)
    arrived.sort()
    return list(_committed(arrived, measured, cost, trip))


def _committed(arrived: Sequence[float], measured: Measured, cost: float, trip: float) -> Iterator[float]:
    """Outcomes are committed in groups: whatever has gathered while the last group was on its way."""
    at, clock = 0, 0.0
    while at < len(arrived):
        begin = max(clock, arrived[at])
        upto = at + 1
        while (
            upto < len(arrived)
            and upto - at < measured.waiting
            and (arrived[upto] <= begin or (not trip and upto - at < measured.group and arrived[upto] <= begin + 0.02))
        ):
            upto += 1
        clock = max(begin, arrived[upto - 1]) + trip + cost * (upto - at)
        for _ in range(at, upto):
            yield clock
        at = upto


def _ledger(run: Run, measured: Measured) -> float:
    return {"sqlite": measured.sqlite, "postgres": measured.postgres, "none": 0.0}[run.ledger]


def paces(run: Run, measured: Measured = MEASURED) -> dict[str, float]:
    """Calls a second that each part of a run could do by itself."""
    mean = run.latency * float(np.exp(run.spread**2 / 2))
    cost = _ledger(run, measured)
    found = {"the servers": run.in_flight / mean}
    if measured.driver:
        found["the driver"] = run.drivers / measured.driver
    if run.per_minute:
        found["the limit on requests"] = run.per_minute / 60
    if cost:
        found["the ledger"] = 1 / (cost + 2 * run.away / measured.waiting)
    return found


def limit_of(run: Run, measured: Measured = MEASURED) -> str:
    """What holds a run back: the slowest of its parts."""
    each = paces(run, measured)
    return min(each, key=lambda part: each[part])


def table(run: Run, sizes: Sequence[int], measured: Measured = MEASURED) -> Table:
    """Runs of several sizes beside each other."""
    rows: list[list[Cell]] = []
    for calls in sizes:
        seen = foresee(replace(run, calls=calls), measured)
        rows.append([
            calls, seen.seconds / 3600, seen.limit, seen.dollars, seen.ledger_bytes / 1e9, seen.lake_bytes / 1e9,
            seen.table_bytes / 1e9, seen.verify_seconds / 3600, seen.tables_seconds / 3600,
        ])  # fmt: skip
    columns = headings(
        "calls", "hours", "held back by", "dollars", "GB in the ledger", "GB in the lake", "GB held by tables",
        "hours to verify", "hours of tables",
    )  # fmt: skip
    notes = [
        Note("scale.model", "Foreseen by a model, not measured; docs/scale.md compares it with runs."),
        Note(
            "scale.paces", "Calls a second that each part could do: {paces}.",
            paces="; ".join(f"{part} {pace:,.0f}" for part, pace in paces(run, measured).items()),
        ),
        Note(
            "scale.bytes",
            "{sum} bytes a verdict in the ledger, with {per_item} verdicts an item and {per_case} a case: {parts}.",
            sum=f"{sum(verdict_bytes(run).values()):,.0f}", per_item=f"{run.verdicts_per_item:g}",
            per_case=f"{run.verdicts_per_case:g}",
            parts=", ".join(f"{part} {size:,.0f}" for part, size in verdict_bytes(run).items()),
        ),
    ]  # fmt: skip
    return Table("scale", Note("scale.title", "What runs of these sizes would take"), columns, rows, notes)
