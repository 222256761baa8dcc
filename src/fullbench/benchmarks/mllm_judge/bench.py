"""The benchmark: what is asked, what is heard, what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.nouns.ballot import Choice, Ranking, Score
from fullbench.nouns.benchmark import Benchmark
from fullbench.nouns.case import Case
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response

if TYPE_CHECKING:
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduction
    from fullbench.nouns.table import Table


_TASKS = ("score", "pair", "batch")


def items(source: Path | None = None) -> Iterable[Item]:
    """The sample, a file of items, or the items of the released data."""
    from fullbench.benchmarks.mllm_judge import sources

    return sources.items(source)


def cases(items: Sequence[Item], responses: Iterable[Response], *, trials: int = 1) -> Iterator[Case]:
    """By the item's tag `task`: every answer scored, every two compared in both orders, or all ranked both ways.

    An item without the tag is heard in all three ways.
    """
    answers = list(responses)
    chosen = {task: [item for item in items if item.tags.get("task", task) == task] for task in _TASKS}
    yield from cases_of(chosen["score"], answers, Score(1, 5), trials=trials)
    yield from cases_of(chosen["pair"], answers, Choice(), size=2, orders="both", trials=trials)
    yield from cases_of(chosen["batch"], answers, Ranking(), size=None, orders="both", trials=trials)


def wording() -> Mapping[str, Any]:
    """A wording for judges of answers, and what a score of each level means."""
    from fullbench.benchmarks.mllm_judge import asking

    return asking.words()


def contestants_wording() -> str:
    """The words in which contestants are asked, as the paper puts a prompt around each instruction."""
    from importlib import resources

    return (resources.files("fullbench.benchmarks.mllm_judge") / "prompts" / "answer.txt").read_text(encoding="utf-8")


def tables(record: Record) -> Sequence[Table]:
    """Agreement by data set and ability, steadiness, biases, people's reviews, faults, cost."""
    from fullbench.benchmarks.mllm_judge.tables import tables

    return tables(record)


def bring(source: Path | None = None) -> Brought:
    """What is known already: the released data and what was odd in them, or the sample judged by simple rules."""
    from fullbench.benchmarks.mllm_judge import sources

    return sources.bring(source, cases)


def reproduce(data: Path) -> Reproduction:
    """The paper's figures, computed again from the released files."""
    from fullbench.benchmarks.mllm_judge.reproduction import reproduce

    return reproduce(data)


mllm_judge = Benchmark(
    name="mllm-as-a-judge",
    paper="Chen et al., MLLM-as-a-Judge, ICML 2024, arXiv:2402.04788",
    items=items,
    cases=cases,
    tables=tables,
    wording=wording,
    asking=contestants_wording,
    bring=bring,
    reproduce=reproduce,
    tasks={"agree": "whether a judge's ruling and its reasons hold"},
)
"""MLLM-as-a-Judge: judges beside people on scores, pairs and rankings."""
