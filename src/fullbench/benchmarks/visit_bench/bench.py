"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.nouns.ballot import Choice
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


def items(source: Path | None = None) -> Iterable[Item]:
    """The sample, a file of items, or the verified items of the released data."""
    from fullbench.benchmarks.visit_bench import asked

    return asked.items(source)


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every two answers to an item, the verified reference among them, in both orders.

    An item whose reference was found wrong, or was not verified yet, is not judged.
    """
    from fullbench.benchmarks.visit_bench.sources import REFERENCE, is_judged, references
    from fullbench.errors import InputError

    answers = list(responses)
    verified = [item for item in items if is_judged(item)]
    if items and not verified:
        raise InputError(f"none of the {len(items):,} items has a verified reference, and only such items are judged")
    items = verified
    if not any(response.contestant == REFERENCE for response in answers):
        answers += references(items)
    yield from cases_of(items, answers, Choice(tie=False), size=2, orders="both", trials=trials)


def wording(manner: str = "") -> Mapping[str, Any]:
    """A wording for judges of answers to instructions about images: `seeing`, `ref-free` or `ref-backed`."""
    from fullbench.benchmarks.visit_bench import asking

    return asking.words(manner)


def tables(record: Record) -> Sequence[Table]:
    """Leaderboards with their intervals, families, judges beside people, faults, cost."""
    from fullbench.benchmarks.visit_bench.tables import tables

    return tables(record)


def bring(source: Path | None = None) -> Brought:
    """What is known already: the sample or a folder in our own layout, judged by simple rules beside people, or the
    release with its answers, votes and battles."""
    from fullbench.benchmarks.visit_bench.known import brought

    return brought(cases, source)


def references(items: Sequence[Item]) -> Sequence[Response]:
    """The verified references, as the answers of the contestant `reference`."""
    from fullbench.benchmarks.visit_bench.sources import references

    return list(references(items))


def submission(path: Path, items: Sequence[Item], data: Path | None, name: str) -> Sequence[Response]:
    """The answers of a predictions file, in our own layout or in that of the paper's authors."""
    from fullbench.benchmarks.visit_bench.release import is_examples, read_instances
    from fullbench.benchmarks.visit_bench.sources import submission

    clone = data is not None and data.is_dir() and not (data / "items.jsonl").exists()
    released = clone or (data is not None and is_examples(data))
    instances = list(read_instances(data)) if data is not None and released else []
    return submission(path, items, instances, name=name).responses


def reproduce(data: Path) -> Reproduction:
    """The paper's figures, computed again from the released files."""
    from fullbench.benchmarks.visit_bench.reproduction import reproduce

    return reproduce(data)


visit_bench = Benchmark(
    name="visitbench",
    paper="Bitton et al., VisIT-Bench, NeurIPS 2023, arXiv:2308.06595",
    items=items,
    cases=cases,
    tables=tables,
    wording=wording,
    manners=("seeing", "ref-free", "ref-backed"),
    manner_of_paper="ref-free",
    references=references,
    submission=submission,
    bring=bring,
    reproduce=reproduce,
)
"""VisIT-Bench: pairs of answers to real-world instructions about images."""
