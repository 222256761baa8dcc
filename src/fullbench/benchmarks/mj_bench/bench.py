"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.benchmarks.mj_bench.names import SCALE_BALLOTS as SCALES
from fullbench.nouns.ballot import Choice, ballot
from fullbench.nouns.benchmark import Benchmark, Cases
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


def items(source: Path | None = None) -> Iterable[Item]:
    """The sample, a file of items, or the released data set."""
    from fullbench.benchmarks.mj_bench import sources

    return sources.items(source)


def cases_on(scales: Sequence[str]) -> Cases:
    """Every picture alone on each scale; and, bias apart, every two of an item together in both orders.

    The criterion is the item's perspective. No scale at all leaves the pairs.
    """

    def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
        from fullbench.court.making.pairs import criterion as about

        answers = list(responses)
        by_criterion: dict[str, list[Item]] = {}
        for item in items:
            by_criterion.setdefault(about(item), []).append(item)
        for criterion, asked in by_criterion.items():
            for spec in scales:
                yield from cases_of(asked, answers, ballot(spec), criterion=criterion, trials=trials)
            if criterion != "bias":
                yield from cases_of(asked, answers, Choice(), size=2, orders="both", criterion=criterion, trials=trials)

    return cases


def wording() -> Mapping[str, Any]:
    """A wording for judges of pictures, and a rubric for each perspective."""
    from fullbench.benchmarks.mj_bench import asking

    return asking.words()


def tables(record: Record) -> Sequence[Table]:
    """Preferences with and without ties, thresholds, scales, orders, safety, evenness by axis, faults."""
    from fullbench.benchmarks.mj_bench.tables import tables

    return tables(record)


def bring(source: Path | None = None) -> Brought:
    """Items, pictures and labels; the sample also as measures without weights judge it."""
    from fullbench.benchmarks.mj_bench import sources

    return sources.bring(source, mj_bench.cases)


def reproduce(data: Path) -> Reproduction:
    """The paper's figures, computed again from the released files."""
    from fullbench.benchmarks.mj_bench import reproduction

    return reproduction.mj_bench(data)


def reproduce_genai(data: Path) -> Reproduction:
    """The repository's results table, computed again from the released votes."""
    from fullbench.benchmarks.mj_bench import reproduction

    return reproduction.genai_bench(data)


mj_bench = Benchmark(
    name="mjbench",
    paper="Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842",
    items=items,
    cases=cases_on(("real:0-10",)),
    tables=tables,
    wording=wording,
    bring=bring,
    reproduce=reproduce,
)
"""MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias."""
mj_bench_scales = replace(mj_bench, name="mjbench-scales", cases=cases_on(tuple(SCALES.values())))
genai_bench = replace(
    mj_bench,
    name="genai_bench",
    paper="Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
    cases=cases_on(()),
    reproduce=reproduce_genai,
)
"""GenAI-Bench: judges beside people's votes on generated pictures, edits and videos; pairs only."""
