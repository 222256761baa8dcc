"""AlignMMBench as a `Benchmark`: each answer is rated from 1 to 10 by the rules of its task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Score
from fullbench.core.benchmark import Benchmark, LazyFunction
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Yield one case per response. The criterion is the task, because each task has its own rules."""
    answers = list(responses)
    by_task: dict[str, list[Item]] = {}
    for item in items:
        by_task.setdefault(item.tags.get("task") or "overall", []).append(item)
    for task, task_items in by_task.items():
        yield from cases_of(task_items, answers, Score(1, 10), criterion=task, trials=trials)


def wording(prompt_style: str = "") -> Mapping[str, Any]:
    """Return the critic's prompt options with the rules of each task; `prompt_style` is the language, `zh` by
    default."""
    from fullbench.core.language_and_words import parse_language
    from fullbench.judges.critic_prompts_with_task_rules import critic_options

    return critic_options(parse_language(prompt_style or "zh"))


align_mm = Benchmark(
    name="alignmmbench",
    paper="Wu et al., AlignMMBench, arXiv:2406.09295",
    items=LazyFunction("fullbench.benchmarks.alignmmbench.item_and_verdict_loader:items"),
    cases=cases,
    tables=LazyFunction("fullbench.benchmarks.alignmmbench.tables:tables"),
    prompt_template=wording,
    prompt_styles=("zh", "en"),
    bring=LazyFunction("fullbench.benchmarks.alignmmbench.item_and_verdict_loader:bring"),
    reproduce=LazyFunction("fullbench.benchmarks.alignmmbench.reproduce:reproduce"),
    reproduce_from="metadata.jsonl of a clone of alignmmbench/AlignMMBench",
    tasks={
        "write": "the reference answer to a question",
        "verify": "whether a reference can be accepted",
        "rewrite": "whether a rewording asks the same",
    },
)
