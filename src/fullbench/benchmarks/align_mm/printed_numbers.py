"""Task scores of the paper's Table 3 as released, and its printed averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.align_mm.release_files import find_file
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields


@dataclass(frozen=True)
class PrintedScores:
    """One row of the table: a score for each task, and the alignment score if it is printed."""

    model: str
    scores: Mapping[str, float]
    alignment: float | None

    @property
    def average(self) -> float:
        """Mean over tasks, each counted once, as the paper prints it."""
        return fmean(self.scores.values())

    def question_mean(self, sizes: Mapping[str, int]) -> float:
        """Return the mean over questions, each counted once: the total of the released evaluator."""
        return sum(score * sizes[task] for task, score in self.scores.items()) / sum(
            map(sizes.__getitem__, self.scores)
        )

    def category_means(self) -> dict[str, float]:
        """Return the mean over the tasks of each category."""
        return {
            category: fmean(self.scores[task.name] for task in TASKS if task.category == category)
            for category in CATEGORIES
        }


def read_printed_scores(folder: Path) -> Sequence[PrintedScores]:
    """Read all rows of the released table."""
    path = find_file(folder, "published_task_scores")
    if path is None:
        raise InputError("the task scores of the paper are missing: there is no published_task_scores.csv", path=folder)
    return [_parse_printed_scores(Fields(path, line, row, {})) for line, row in read_rows(path)]


def _parse_printed_scores(fields: Fields) -> PrintedScores:
    model = fields.name("model")
    scores = {}
    for task in TASKS:
        fields.name(task.name)
        scores[task.name] = fields.number(task.name, 0.0)
    alignment_text = fields.text("align_published")
    return PrintedScores(
        model, scores, None if alignment_text in {None, "-"} else fields.number("align_published", 0.0)
    )


@cache
def printed_averages() -> Mapping[str, float]:
    """Return the printed average of each model.

    >>> printed_averages()["GPT-4o without image"]
    2.13
    """
    text = (resources.files("fullbench.benchmarks.align_mm") / "printed.tsv").read_text(encoding="utf-8")
    return {model: float(average) for model, average in (line.split("\t") for line in text.splitlines()[1:])}
