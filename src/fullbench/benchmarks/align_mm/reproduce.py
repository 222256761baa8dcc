"""All of the paper that the released data allow: counts, averages over tasks and over questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fullbench.benchmarks.align_mm import printed_numbers, release_files
from fullbench.benchmarks.align_mm.printed_numbers import Standing
from fullbench.benchmarks.align_mm.quadrants import quadrants
from fullbench.benchmarks.align_mm.release_files import Question
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS
from fullbench.benchmarks.align_mm.text_lengths import distributions, lengths
from fullbench.core.column_labels import headings, named
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and compute every cell again."""
    questions = release_files.read_questions(data)
    standings = printed_numbers.read_standings(data)
    asked = list(release_files.items(questions, data))
    tables = [
        release_files.oddities(questions, data),
        table3(standings, questions),
        quadrants([(row.model, row.average, row.alignment) for row in standings], source="Table 3"),
        lengths(asked),
        *distributions(asked),
    ]
    return Reproduction([*averages(standings, questions), *counts(questions)], tables)


def averages(standings: Sequence[Standing], questions: Sequence[Question]) -> Iterator[Reproduced]:
    """Each model's average over tasks, which the paper prints, and over questions, which its evaluator does."""
    sizes = Counter(question.task.name for question in questions)
    printed = printed_numbers.averages()
    for row in standings:
        yield Reproduced(
            f"avg/{row.model}", row.average, len(row.scores), paper=printed.get(row.model), source="Table 3"
        )
        yield Reproduced(f"micro_avg/{row.model}", row.question_mean(sizes), sizes.total())


def counts(questions: Sequence[Question]) -> Iterator[Reproduced]:
    """How many questions, pictures, seeds there are, and how many of each task and category."""
    n = len(questions)
    tasks = Counter(question.task.name for question in questions)
    categories = Counter(question.task.category for question in questions)
    variants = Counter(question.seed for question in questions)
    alone = sum(times == 1 for times in variants.values())
    several = sum(bool(question.history) for question in questions)
    yield Reproduced("count/questions", n, n, paper=4978, source="abstract")
    yield Reproduced("count/images", len({question.image for question in questions}), n, paper=1054, source="abstract")
    yield Reproduced("count/seeds", len(variants), n, paper=1054, source="section 3.2")
    yield Reproduced("count/tasks", len(tasks), n, paper=13, source="abstract")
    yield Reproduced("count/categories", len(categories), n, paper=3, source="abstract")
    for category in CATEGORIES:
        yield Reproduced(f"count/category/{category}", categories[category], n)
    for task in TASKS:
        yield Reproduced(f"count/task/{task.name}", tasks[task.name], n)
    yield Reproduced("count/single_question_seeds", alone, len(variants))
    yield Reproduced("count/multi_question_seeds", len(variants) - alone, len(variants))
    yield Reproduced("count/with_history", several, n)
    yield Reproduced("count/max_history_turns", max((len(question.history) for question in questions), default=0), n)
    yield Reproduced("count/multi_turn", several, n)
    yield Reproduced("count/single_turn", n - several, n)


def table3(standings: Sequence[Standing], questions: Sequence[Question]) -> Table:
    """The published leaderboard with the means that the paper leaves out: by category, and over questions."""
    sizes = Counter(question.task.name for question in questions)
    rows: list[list[Cell]] = [
        [row.model, row.average, row.question_mean(sizes), *row.category_means().values(), *row.scores.values(),
         row.alignment]
        for row in standings
    ]  # fmt: skip
    axes = [task.name for task in TASKS]
    columns = headings("contestant", "Avg", "mean over questions", *map(named, (*CATEGORIES, *axes)), "alignment")
    notes = [
        Note(
            "align-mm.reproduction.avg-counts-each-task-once",
            "Avg counts each task once. The mean over questions counts each question once; the released evaluator "
            "prints that one, and the paper the other.",
        ),
    ]
    hint = {"kind": "radar", "label": "contestant", "axes": axes, "most": 5}
    return Table(
        "table 3",
        Note("align-mm.reproduction.title.the-published-leaderboard", "The published leaderboard"),
        columns,
        rows,
        notes,
        {},
        hint,
    )
