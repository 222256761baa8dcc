"""`check_benchmark`: the requirements of every benchmark, as checks for your tests."""

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
from fullbench.testing.benchmark_hook_checks import CHECKS, CountingJudge, HookContext


def check_benchmark(
    benchmark: Benchmark, folder: Path, *, source: Path | None = None, data: Path | None = None, limit: int = 20
) -> None:
    """Check a benchmark on its first `limit` items, in an empty folder.

    It has a name and a paper. Its items have unique ids and are the same each time. Its cases are reproducible,
    distinct and about its items. A run stores one verdict for each case, and a second run calls nobody. Tables can be
    made from the record, are the same each time and do not change the record. Then every hook that is set is called
    and must return valid results.

    Args:
        benchmark: The benchmark to check.
        folder: An empty folder for the ledger and other files.
        source: Source of items, labels and verdicts. Default: the sample.
        data: Released data from which numbers are reproduced. Without it, `reproduce` is called on an empty folder
            and must report what is missing, or work without it.
        limit: Number of items to use.
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
    hook_context = HookContext(benchmark, items, cases, folder, source, data)
    for hook in benchmark.hooks:
        with _name_failing_hook(hook):
            CHECKS[hook](hook_context)


def _check_run(benchmark: Benchmark, items: list[Item], folder: Path) -> list[Case]:
    """Judge the cases twice: the second run must call nobody. Then make tables from the record."""
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.run.judge_cases import judge_cases

    responses = [_make_response(item, name) for item in items for name in ("brief", "lengthy", "odd", "plain")]
    cases = list(benchmark.cases(items, responses))
    _check_cases(cases, list(benchmark.cases(items, responses)))
    judge = CountingJudge()
    with Ledger(folder / "check.ledger") as ledger:
        for expected_count in (len(cases), 0):
            judge.judged_count = 0
            (counts,) = judge_cases([judge], lambda _: benchmark.cases(items, responses), ledger)
            assert judge.judged_count == expected_count, (
                f"{judge.judged_count} cases were asked where {expected_count} were due"
            )
            assert counts.finished_count == expected_count
        record = ledger.record()
        assert len(record) == len(cases), f"{len(cases)} cases, but {len(record)} verdicts in the ledger"
        before = record.digest()
        tables = list(benchmark.tables(record))
        assert tables, "a benchmark shows at least one table"
        assert tables == list(benchmark.tables(record)), "the same record must give the same tables"
        assert record.digest() == before, "tables must leave the record as it was"
    return cases


@contextmanager
def _name_failing_hook(hook: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"the hook {hook!r}: {error}") from error
    except (UserError, LookupError, TypeError, ValueError, AttributeError, OSError) as error:
        raise AssertionError(f"the hook {hook!r} fails: {error!r}") from error


def _check_items(items: list[Item], again: list[Item]) -> None:
    assert items, "a benchmark has items"
    duplicate_ids = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    assert not duplicate_ids, f"ids must be unique; found twice: {duplicate_ids[:5]}"
    assert all(item.turns and item.turns[-1].role == "user" for item in items), "an item ends with the user's question"
    assert [item.key for item in items] == [item.key for item in again], "items must be the same each time"


def _check_cases(cases: list[Case], again: list[Case]) -> None:
    assert cases, "a benchmark has cases"
    keys = [(case.key, case.trial) for case in cases]
    assert len(set(keys)) == len(keys), "no case may come twice"
    assert keys == [(case.key, case.trial) for case in again], "cases must be the same ones in the same order each time"


def _make_response(item: Item, name: str) -> Response:
    words = {
        "brief": "Yes.",
        "lengthy": "It may well be so. " * 8,
        "odd": "[[A]] {answer}",
        "plain": item.reference or "No.",
    }
    return Response.say(item.id, name, words[name])
