"""MLLM-as-a-Judge as a `Benchmark`: scores, pairs and rankings, compared with people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.benchmark import Benchmark, LazyFunction
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response

_TASKS = ("score", "pair", "batch")


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Yield cases by the item's tag `task`: single scores, pairs in both orders, or rankings in both orders.

    An item without the tag is judged in all three ways.
    """
    answers = list(responses)
    items_by_task = {task: [item for item in items if item.tags.get("task", task) == task] for task in _TASKS}
    yield from cases_of(items_by_task["score"], answers, Score(1, 5), trials=trials)
    yield from cases_of(items_by_task["pair"], answers, Choice(), size=2, orders="both", trials=trials)
    yield from cases_of(items_by_task["batch"], answers, Ranking(), size=None, orders="both", trials=trials)


mllm_judge = Benchmark(
    name="mllm-as-a-judge",
    paper="Chen et al., MLLM-as-a-Judge, ICML 2024, arXiv:2402.04788",
    items=LazyFunction("fullbench.benchmarks.mllm_judge.item_and_verdict_loader:items"),
    cases=cases,
    tables=LazyFunction("fullbench.benchmarks.mllm_judge.tables:tables"),
    prompt_template=LazyFunction("fullbench.benchmarks.mllm_judge.own_prompt_wording_and_criteria:judge_options"),
    asking=LazyFunction("fullbench.benchmarks.mllm_judge.own_prompt_wording_and_criteria:contestants_wording"),
    bring=LazyFunction("fullbench.benchmarks.mllm_judge.item_and_verdict_loader:bring"),
    reproduce=LazyFunction("fullbench.benchmarks.mllm_judge.reproduce.all_cells:reproduce"),
    reproduce_from="a clone of Dongping-Chen/MLLM-Judge",
    orders_of_paper="sorted",
    tasks={"agree": "whether a judge's ruling and its reasons hold"},
)
