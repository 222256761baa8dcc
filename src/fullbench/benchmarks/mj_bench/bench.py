"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.benchmarks.mj_bench.names import SCALE_BALLOTS as SCALES
from fullbench.benchmarks.mj_bench.protocol import Protocol, hears
from fullbench.benchmarks.mj_bench.protocol import protocol as protocol_of
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.item import Item

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


def items(source: Path | None = None) -> Iterable[Item]:
    """The sample, a file of items, or the released data set."""
    from fullbench.benchmarks.mj_bench import sources

    return sources.items(source)


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

    return sources.bring(source, mj_bench)


def reproduce(data: Path) -> Reproduction:
    """The paper's figures, computed again from the released files."""
    from fullbench.benchmarks.mj_bench import reproduction

    return reproduction.mj_bench(data)


def reproduce_genai(data: Path) -> Reproduction:
    """The repository's results table, computed again from the released votes."""
    from fullbench.benchmarks.mj_bench import reproduction

    return reproduction.genai_bench(data)


def asked_by(said: Mapping[str, Any]) -> Benchmark:
    """The benchmark, asked by the protocol that a study's file names."""
    wanted = protocol_of(said)
    return replace(mj_bench, cases=wanted.cases, together=wanted.pairs == "rated")


mj_bench = Benchmark(
    name="mjbench",
    paper="Chen et al., MJ-Bench: Is Your Multimodal Reward Model Really a Good Judge?, arXiv:2407.04842",
    items=items,
    cases=Protocol().cases,
    hears=hears,
    together=True,
    protocol=asked_by,
    tables=tables,
    wording=wording,
    bring=bring,
    reproduce=reproduce,
)
"""MJ-Bench: judges of generated pictures, for alignment, safety, quality and bias."""
mj_bench_scales = replace(
    mj_bench, name="mjbench-scales", cases=Protocol(tuple(SCALES.values()), orders="stored").cases, protocol=None
)
"""The scale study: every scale, pairs in the order of the release."""
genai_bench = replace(
    mj_bench,
    name="genai_bench",
    paper="Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
    cases=Protocol((), "choice").cases,
    together=False,
    protocol=None,
    reproduce=reproduce_genai,
)
"""GenAI-Bench: judges beside people's votes on generated pictures, edits and videos; pairs only."""
