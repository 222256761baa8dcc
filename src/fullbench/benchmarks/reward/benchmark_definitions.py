"""Reward benchmarks as `Benchmark` objects: each is one file layout with shared cases and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from fullbench.benchmarks.reward.file_layouts import LAYOUTS
from fullbench.core.ballot import Choice
from fullbench.core.benchmark import Benchmark, LazyFunction
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Yield every pair in both orders."""
    return cases_of(items, responses, Choice(), size=2, orders="both", trials=trials)


def _in_layout(name: str) -> Benchmark:
    return Benchmark(
        name=name,
        paper=LAYOUTS[name].paper,
        items=partial(LazyFunction("fullbench.benchmarks.reward.item_and_choice_loader:items"), name),
        cases=cases,
        tables=LazyFunction("fullbench.benchmarks.reward.tables:tables"),
        bring=partial(LazyFunction("fullbench.benchmarks.reward.item_and_choice_loader:bring"), name),
        is_layout_seen=LAYOUTS[name].is_seen,
    )


vl_rewardbench = _in_layout("vl-rewardbench")
multimodal_rewardbench = _in_layout("multimodal-rewardbench")
multimodal_rewardbench_2 = _in_layout("multimodal-rewardbench-2")
genai_bench_pairs = _in_layout("genai-bench-pairs")
editreward_bench = _in_layout("editreward-bench")
mm_rlhf_rewardbench = _in_layout("mm-rlhf-rewardbench")
videorewardbench = _in_layout("videorewardbench")
