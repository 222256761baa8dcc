"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Score
from fullbench.core.benchmark import Benchmark, Late
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.response import Response


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """Every response rated on its own. The criterion is the task, since each task has rules of its own."""
    answers = list(responses)
    by_task: dict[str, list[Item]] = {}
    for item in items:
        by_task.setdefault(item.tags.get("task") or "overall", []).append(item)
    for task, asked in by_task.items():
        yield from cases_of(asked, answers, Score(1, 10), criterion=task, trials=trials)


def wording(manner: str = "") -> Mapping[str, Any]:
    """The critic's words, by the rules of each task; `manner` is their language, `zh` by default."""
    from fullbench.core.text import language_named
    from fullbench.judges.critic_prompts import words

    return words(language_named(manner or "zh"))


align_mm = Benchmark(
    name="alignmmbench",
    paper="Wu et al., AlignMMBench, arXiv:2406.09295",
    items=Late("fullbench.benchmarks.align_mm.data:items"),
    cases=cases,
    tables=Late("fullbench.benchmarks.align_mm.tables:tables"),
    wording=wording,
    manners=("zh", "en"),
    bring=Late("fullbench.benchmarks.align_mm.data:bring"),
    reproduce=Late("fullbench.benchmarks.align_mm.reproduce:reproduce"),
    tasks={
        "write": "the reference answer to a question",
        "verify": "whether a reference can be accepted",
        "rewrite": "whether a rewording asks the same",
    },
)
"""AlignMMBench: answers rated from 1 to 10 by the rules of their task, over several wordings of each question."""
