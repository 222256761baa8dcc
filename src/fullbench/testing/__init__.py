"""What fullbench asks of every benchmark, ours and yours, as checks for your tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.errors import UserError
from fullbench.testing.hooks import CHECKS, Checked, CountingJudge


def check_benchmark(
    benchmark: Benchmark, folder: Path, *, source: Path | None = None, data: Path | None = None, limit: int = 20
) -> None:
    """Prove that a benchmark keeps its promises, on its first `limit` items, in an empty folder.

    It has a name and a paper; its items have unique ids and can be given twice the same; its cases are reproducible,
    differ from each other and speak of its items; a run keeps one verdict for each case; a second run asks nothing;
    tables can be made from the record, and again the same, and leave the record as it was. Then every hook that is set
    is called, and must give what the hook is for. `source` is where items, labels and verdicts come from, the sample
    where it is left out; `data` is the released data from which figures are reproduced. Without `data`, `reproduce` is
    called on an empty folder: it must say what is missing, or do without.
    """
    assert isinstance(benchmark, Benchmark), f"a benchmark is a fullbench.Benchmark, not {type(benchmark).__name__}"
    assert benchmark.name, "a benchmark has a name"
    assert benchmark.paper, "a benchmark names its paper"
    assert benchmark.asks or benchmark.hooks, "a benchmark asks something, or brings or reproduces what others asked"
    items: list[Item] = []
    cases: list[Case] = []
    if benchmark.asks:
        items = list(benchmark.items(source))
        _check_items(items, list(benchmark.items(source)))
        cases = _check_run(benchmark, items[:limit], folder)
    place = Checked(benchmark, items, cases, folder, source, data)
    for hook in benchmark.hooks:
        with _blamed(hook):
            CHECKS[hook](place)


def _check_run(benchmark: Benchmark, items: list[Item], folder: Path) -> list[Case]:
    """Judge the cases twice: each is asked once, each has its verdict, and tables are made of them."""
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.judge_cases import hear

    responses = [_respond(item, name) for item in items for name in ("brief", "lengthy", "odd", "plain")]
    cases = list(benchmark.cases(items, responses))
    _check_cases(cases, list(benchmark.cases(items, responses)))
    counting = CountingJudge()
    with Ledger(folder / "check.ledger") as ledger:
        for expected in (len(cases), 0):
            counting.heard = 0
            (tally,) = hear([counting], lambda _: benchmark.cases(items, responses), ledger)
            assert counting.heard == expected, f"{counting.heard} cases were asked where {expected} were due"
            assert tally.done == expected
        record = ledger.record()
        assert len(record) == len(cases), f"{len(cases)} cases, but {len(record)} verdicts in the ledger"
        before = record.digest()
        tables = list(benchmark.tables(record))
        assert tables, "a benchmark shows at least one table"
        assert tables == list(benchmark.tables(record)), "the same record must give the same tables"
        assert record.digest() == before, "tables must leave the record as it was"
    return cases


@contextmanager
def _blamed(hook: str) -> Iterator[None]:
    """Say which hook it was that failed, whatever it failed with."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"the hook {hook!r}: {error}") from error
    except (UserError, LookupError, TypeError, ValueError, AttributeError, OSError) as error:
        raise AssertionError(f"the hook {hook!r} fails: {error!r}") from error


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
