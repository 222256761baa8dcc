"""What fullbench asks of every benchmark, ours and yours, as checks for your tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Failure, Verdict
from fullbench.reading import read


def check_benchmark(benchmark: Benchmark, folder: Path, *, source: Path | None = None, limit: int = 20) -> None:
    """Prove that a benchmark keeps its promises, on its first `limit` items, in an empty folder.

    It has a name and a paper; its items have unique ids and can be given twice the same; its cases are reproducible,
    differ from each other and speak of its items; a run keeps one verdict for each case; a second run asks nothing;
    tables can be made from the record, and again the same.
    """
    from fullbench.ledger.store import Ledger
    from fullbench.studies.hear import hear

    assert isinstance(benchmark, Benchmark), "it lacks one of name, paper, items, cases, tables"
    assert benchmark.name, "a benchmark has a name"
    assert benchmark.paper, "a benchmark names its paper"
    items = list(benchmark.items(source))
    _check_items(items, list(benchmark.items(source)))
    items = items[:limit]
    responses = [_respond(item, name) for item in items for name in ("brief", "lengthy", "odd", "plain")]
    cases = list(benchmark.cases(items, responses))
    _check_cases(cases, list(benchmark.cases(items, responses)))
    counting = _Counting()
    with Ledger(folder / "check.ledger") as ledger:
        for expected in (len(cases), 0):
            counting.heard = 0
            (tally,) = hear([counting], lambda _: benchmark.cases(items, responses), ledger)
            assert counting.heard == expected, f"{counting.heard} cases were asked where {expected} were due"
            assert tally.done == expected
        record = ledger.record()
        assert len(record) == len(cases), f"{len(cases)} cases, but {len(record)} verdicts in the ledger"
        tables = list(benchmark.tables(record))
        assert tables, "a benchmark shows at least one table"
        assert tables == list(benchmark.tables(record)), "the same record must give the same tables"


def _check_items(items: list[Item], again: list[Item]) -> None:
    assert items, "a benchmark has items"
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    assert not twice, f"ids must be unique; found twice: {twice[:5]}"
    assert all(item.turns and item.turns[-1].role == "user" for item in items), "an item ends with the user's question"
    assert [item.key for item in items] == [item.key for item in again], "items must be the same each time"


def _check_cases(cases: list[Case], again: list[Case]) -> None:
    assert cases, "a benchmark has cases"
    keys = [(case.key, case.trial) for case in cases]
    assert len(set(keys)) == len(keys), "no case may come twice"
    assert keys == [(case.key, case.trial) for case in again], "cases must be the same ones in the same order each time"


def _respond(item: Item, name: str) -> Response:
    words = {
        "brief": "Yes.",
        "lengthy": "It may well be so. " * 8,
        "odd": "[[A]] {answer}",
        "plain": item.reference or "No.",
    }
    return Response.say(item.id, name, words[name])


class _Counting:
    """A judge that rules by lot, the same each time, and counts what it hears."""

    name = "counting"
    settings: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.heard = 0

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        for case in cases:
            self.heard += 1
            order = sorted(range(len(case.responses)), key=lambda i: digest([case.key, i]))
            for text in _texts(case, order):
                ruling = read(case.ballot, text, len(case.responses))
                if not isinstance(ruling, str):
                    yield Verdict.of(case, self.name, ruling, text=text)
                    break
            else:
                yield Verdict.of(case, self.name, "recused")


def _texts(case: Case, order: list[int]) -> Iterator[str]:
    """Rulings in one form after another, until the ballot takes one."""
    marks = [float(order.index(i) + 1) for i in range(len(order))]
    winner = [float(mark == max(marks)) for mark in marks]
    for guess in (marks, winner):
        if case.ballot.allows(guess):
            yield case.ballot.write(guess)
