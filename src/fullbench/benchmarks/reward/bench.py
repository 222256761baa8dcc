"""The benchmarks by name: each is one layout over the same cases and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.benchmarks.reward.layouts import LAYOUTS
from fullbench.nouns.ballot import Choice
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.headings import headings
from fullbench.nouns.item import Item
from fullbench.nouns.note import Note
from fullbench.nouns.response import Response
from fullbench.nouns.table import Cell, Table

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought


def items(name: str, source: Path | None = None, /) -> Iterable[Item]:
    from fullbench.benchmarks.reward import sources

    return sources.load(source, name).items.values()


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every pair in both orders."""
    return cases_of(items, responses, Choice(), size=2, orders="both", trials=trials)


def tables(record: Record) -> Sequence[Table]:
    """Accuracy by category with the mean over categories, all pairs in one, faults, costs."""
    from fullbench.figures import standard
    from fullbench.figures.agreement_by_tag import agreement_tables
    from fullbench.figures.judging import meet

    found = agreement_tables(meet(record), ["category"])
    found += [standard.faults(record, together=True), standard.costs(record)]
    return [table for table in found if table.rows]


def bring(name: str, source: Path | None = None, /) -> Brought:
    """Answers and people's choices."""
    from fullbench.benchmarks.reward import sources
    from fullbench.nouns.reproduction import Brought

    loaded = sources.load(source, name)
    rows: list[list[Cell]] = [[what, count] for what, count in sorted(loaded.odd.items())]
    title = Note("reward.odd", "What was odd in the data")
    odd = [Table("oddities", title, headings("what", "rows"), rows)] if rows else []
    return Brought(loaded.record(), odd)


def _made(name: str) -> Benchmark:
    return Benchmark(
        name=name, paper=LAYOUTS[name].paper, items=partial(items, name), cases=cases, tables=tables,
        bring=partial(bring, name),
    )  # fmt: skip


vl_rewardbench = _made("vl-rewardbench")
multimodal_rewardbench = _made("multimodal-rewardbench")
multimodal_rewardbench_2 = _made("multimodal-rewardbench-2")
genai_bench_pairs = _made("genai-bench-pairs")
editreward_bench = _made("editreward-bench")
mm_rlhf_rewardbench = _made("mm-rlhf-rewardbench")
