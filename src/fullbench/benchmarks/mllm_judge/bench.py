"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.benchmark import Benchmark, Late
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response

# What is judged.

_TASKS = ("score", "pair", "batch")


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """By the item's tag `task`: every answer scored, every two compared in both orders, or all ranked both ways.

    An item without the tag is heard in all three ways.
    """
    answers = list(responses)
    chosen = {task: [item for item in items if item.tags.get("task", task) == task] for task in _TASKS}
    yield from cases_of(chosen["score"], answers, Score(1, 5), trials=trials)
    yield from cases_of(chosen["pair"], answers, Choice(), size=2, orders="both", trials=trials)
    yield from cases_of(chosen["batch"], answers, Ranking(), size=None, orders="both", trials=trials)


mllm_judge = Benchmark(
    name="mllm-as-a-judge",
    paper="Chen et al., MLLM-as-a-Judge, ICML 2024, arXiv:2402.04788",
    items=Late("fullbench.benchmarks.mllm_judge.data:items"),
    cases=cases,
    tables=Late("fullbench.benchmarks.mllm_judge.tables:tables"),
    wording=Late("fullbench.benchmarks.mllm_judge.wording:words"),
    asking=Late("fullbench.benchmarks.mllm_judge.wording:contestants_wording"),
    bring=Late("fullbench.benchmarks.mllm_judge.data:bring"),
    reproduce=Late("fullbench.benchmarks.mllm_judge.reproduce.all_cells:reproduce"),
    tasks={"agree": "whether a judge's ruling and its reasons hold"},
)
"""MLLM-as-a-Judge: judges beside people on scores, pairs and rankings."""
