"""Numbers of the paper recomputed from the release: counts, averages over tasks and over questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.alignmmbench import release_files
from fullbench.benchmarks.alignmmbench.quality_and_consistency_quadrants import build_quadrant_table
from fullbench.benchmarks.alignmmbench.question_and_response_lengths import length_histograms, length_table
from fullbench.benchmarks.alignmmbench.release_files import Question, find_file
from fullbench.benchmarks.alignmmbench.task_names import CATEGORIES, TASKS
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and recompute every cell."""
    questions = release_files.read_questions(data)
    printed_scores = read_printed_scores(data)
    items = list(release_files.build_items(questions, data))
    tables = [
        release_files.oddities_table(questions, data),
        leaderboard_table(printed_scores, questions),
        build_quadrant_table([(row.model, row.average, row.alignment) for row in printed_scores], source="Table 3"),
        length_table(items),
        *length_histograms(items),
    ]
    return Reproduction([*average_cells(printed_scores, questions), *count_cells(questions)], tables)


def average_cells(printed_scores: Sequence[PrintedScores], questions: Sequence[Question]) -> Iterator[Reproduced]:
    """Yield each model's average over tasks (printed by the paper) and over questions (by its evaluator)."""
    sizes = Counter(question.task.name for question in questions)
    for row in printed_scores:
        yield Reproduced(
            f"avg/{row.model}", row.average, len(row.scores), paper=printed_averages().get(row.model), source="Table 3"
        )
        yield Reproduced(f"micro_avg/{row.model}", row.question_mean(sizes), sizes.total())


def count_cells(questions: Sequence[Question]) -> Iterator[Reproduced]:
    """Yield the numbers of questions, pictures and seeds, and of questions per task and category."""
    n = len(questions)
    tasks = Counter(question.task.name for question in questions)
    categories = Counter(question.task.category for question in questions)
    variants = Counter(question.seed for question in questions)
    single_wording_count = sum(times == 1 for times in variants.values())
    multi_turn_count = sum(bool(question.history) for question in questions)
    yield Reproduced("count/questions", n, n, paper=4978, source="abstract")
    yield Reproduced("count/images", len({question.image for question in questions}), n, paper=1054, source="abstract")
    yield Reproduced("count/seeds", len(variants), n, paper=1054, source="section 3.2")
    yield Reproduced("count/tasks", len(tasks), n, paper=13, source="abstract")
    yield Reproduced("count/categories", len(categories), n, paper=3, source="abstract")
    for category in CATEGORIES:
        yield Reproduced(f"count/category/{category}", categories[category], n)
    for task in TASKS:
        yield Reproduced(f"count/task/{task.name}", tasks[task.name], n)
    yield Reproduced("count/single_question_seeds", single_wording_count, len(variants))
    yield Reproduced("count/multi_question_seeds", len(variants) - single_wording_count, len(variants))
    yield Reproduced("count/with_history", multi_turn_count, n)
    yield Reproduced("count/max_history_turns", max((len(question.history) for question in questions), default=0), n)
    yield Reproduced("count/multi_turn", multi_turn_count, n)
    yield Reproduced("count/single_turn", n - multi_turn_count, n)


def leaderboard_table(printed_scores: Sequence[PrintedScores], questions: Sequence[Question]) -> Table:
    """Return the published leaderboard with means that the paper omits: by category and over questions."""
    sizes = Counter(question.task.name for question in questions)
    rows: list[list[Cell]] = [
        [row.model, row.average, row.question_mean(sizes), *row.category_means().values(), *row.scores.values(),
         row.alignment]
        for row in printed_scores
    ]  # fmt: skip
    axes = [task.name for task in TASKS]
    columns = table_columns(
        "contestant", "Avg", "mean over questions", *map(data_column, (*CATEGORIES, *axes)), "alignment"
    )
    notes = [Note("align-mm.reproduction.avg-counts-each-task-once")]
    hint = {"kind": "radar", "label": "contestant", "axes": axes, "most": 5}
    return Table(
        "table 3", Note("align-mm.reproduction.title.the-published-leaderboard"), columns, rows, notes, {}, hint
    )


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
    text = (resources.files("fullbench.benchmarks.alignmmbench") / "printed.tsv").read_text(encoding="utf-8")
    return {model: float(average) for model, average in (line.split("\t") for line in text.splitlines()[1:])}
