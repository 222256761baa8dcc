"""The paper's Table 3 as released (task scores), and the averages that it prints beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.align_mm.release_files import place
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields


@dataclass(frozen=True)
class Standing:
    """One row of the table: a score for each task, and the alignment score where one is printed."""

    model: str
    scores: Mapping[str, float]
    alignment: float | None

    @property
    def average(self) -> float:
        """The mean over tasks, each counting once: what the paper prints."""
        return fmean(self.scores.values())

    def question_mean(self, sizes: Mapping[str, int]) -> float:
        """The mean over questions, each counting once: what the released evaluator prints as its total."""
        return sum(score * sizes[task] for task, score in self.scores.items()) / sum(
            map(sizes.__getitem__, self.scores)
        )

    def category_means(self) -> dict[str, float]:
        """The mean over the tasks of each category."""
        return {
            category: fmean(self.scores[task.name] for task in TASKS if task.category == category)
            for category in CATEGORIES
        }


def read_standings(folder: Path) -> Sequence[Standing]:
    """All rows of the released table."""
    path = place(folder, "published_task_scores")
    if path is None:
        raise InputError("the task scores of the paper are missing: there is no published_task_scores.csv", path=folder)
    return [_standing(Fields(path, line, row, {})) for line, row in read_rows(path)]


def _standing(fields: Fields) -> Standing:
    model = fields.name("model")
    scores = {}
    for task in TASKS:
        fields.name(task.name)
        scores[task.name] = fields.number(task.name, 0.0)
    aligned = fields.text("align_published")
    return Standing(model, scores, None if aligned in {None, "-"} else fields.number("align_published", 0.0))


@cache
def averages() -> Mapping[str, float]:
    """The printed average of each model.

    >>> averages()["GPT-4o without image"]
    2.13
    """
    text = (resources.files("fullbench.benchmarks.align_mm") / "printed.tsv").read_text(encoding="utf-8")
    return {model: float(average) for model, average in (line.split("\t") for line in text.splitlines()[1:])}
