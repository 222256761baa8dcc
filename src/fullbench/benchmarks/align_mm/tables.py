"""The benchmark's tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from fullbench.analysis import all_tables
from fullbench.analysis.agreement import critic_with_people as agreement
from fullbench.analysis.agreement import repeats_and_orders
from fullbench.analysis.estimate_cells import Gaps
from fullbench.benchmarks.align_mm.mean_scores import Marks, by_task, marks
from fullbench.benchmarks.align_mm.quadrants import INFINITE, quadrants
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS
from fullbench.benchmarks.align_mm.text_lengths import distributions, lengths
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table, sort_value
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement.repeat_consistency import Alignment

_DRAWN = 6
"""How many contestants a radar chart bears."""


def tables(record: Record, *, split: tuple[float, float] | None = None, seed: int = 0) -> list[Table]:
    """All tables that the record has something for; `split` parts the quadrants at given values."""
    known = by_task(record)
    shown: list[Table] = []
    for judge in known.judges:
        sheets = [sheet for sheet in marks(known, judge).values() if sheet.marks]
        if sheets:
            shown += judged(judge, sheets, split=split, seed=seed)
    if PEOPLE in known.judges:
        shown += agreement.tables(known, seed=seed)
    shown += repeats_and_orders.tables(known, together=True, seed=seed)
    shown += [lengths(known.items.values(), known.responses.values()), *distributions(list(known.items.values()))]
    shown += [all_tables.faults(known, together=True), all_tables.costs(known)]
    return [table for table in shown if table.rows]


def judged(
    judge: str, sheets: Sequence[Marks], *, split: tuple[float, float] | None = None, seed: int = 0
) -> list[Table]:
    """The tables of one judge: leaderboard, tasks, means with intervals, alignment, quadrants."""
    gaps = Gaps()
    lines = [_Line.of(sheet, gaps, seed) for sheet in sheets]
    ranked = sorted(lines, key=lambda line: -(sort_value(line.average) or 0.0))
    placed = quadrants([(line.name, line.average, line.alignment) for line in ranked], split=split, source=judge)
    ordered = [line.marks for line in ranked]
    return [
        _leaderboard(judge, ranked, gaps), _categories(judge, ordered, seed), _profile(judge, ordered),
        _means(judge, ordered, seed), _steadiness(judge, ordered, seed), placed,
    ]  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """One contestant of a leaderboard."""

    marks: Marks
    average: Cell
    questions: Cell
    alignment: Cell

    @property
    def name(self) -> str:
        return self.marks.contestant

    @classmethod
    def of(cls, sheet: Marks, gaps: Gaps, seed: int) -> _Line:
        where = sheet.contestant
        average = gaps.cell(f"the interval of {where}'s Avg", partial(sheet.average, seed))
        questions = gaps.cell(f"{where}'s mean over questions", partial(sheet.question_mean, seed))
        aligned = _alignment(gaps, f"{where}'s alignment", partial(sheet.alignment, "left out", seed))
        return cls(sheet, average or fmean(sheet.task_means().values()), questions, aligned)


def _alignment(gaps: Gaps, what: str, compute: Callable[[], Alignment]) -> Cell:
    """An alignment score with its interval; without one, and with the reason, where it has none; ∞ where it is so."""
    known: list[Alignment] = []

    def estimated() -> Estimate:
        known.append(compute())
        return known[0].estimate

    cell = gaps.cell(what, estimated)
    if cell is not None or not known:
        return cell
    return INFINITE if math.isinf(known[0].value) else known[0].value


def _leaderboard(judge: str, lines: Sequence[_Line], gaps: Gaps) -> Table:
    rows: list[list[Cell]] = [
        [line.name, line.average, line.questions, line.alignment, len(line.marks.tasks), len(line.marks.marks),
         line.marks.faults]
        for line in lines
    ]  # fmt: skip
    notes = [
        Note(
            "align-mm.tables.by-from-1-to-10",
            "By {judge}, from 1 to 10. Avg is the mean over tasks, each counting once, as the paper prints it; the "
            "mean over questions is what its evaluator prints as total. Intervals resample seeds.",
            judge=judge,
        ),
        *gaps.notes,
    ]
    columns = headings("contestant", "Avg", "mean over questions", "alignment", "tasks", "questions", "faults")
    hint = {"kind": "intervals", "label": "contestant", "value": "Avg"}
    title = Note("align-mm.tables.title.how-well-by", "How well, by {judge}", judge=judge)
    return Table(f"averages {judge}", title, columns, rows, notes, {"judge": judge}, hint)


def _categories(judge: str, ranked: Sequence[Marks], seed: int) -> Table:
    """A row for each contestant and category, with the interval over seeds."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for sheet in ranked:
        for category, plain in sheet.category_means().items():
            score = gaps.cell(
                f"the interval of {sheet.contestant} in {category}", partial(sheet.category, category, seed)
            )
            rows.append([sheet.contestant, category, CATEGORIES[category], score or plain])
    columns = headings("contestant", "category", "类别", "score")
    hint = {"kind": "bars", "label": "contestant", "value": "score", "group": "category"}
    title = Note(
        "align-mm.tables.title.scores-by-category-each-task",
        "Scores by category, each task counting once, by {judge}",
        judge=judge,
    )
    return Table(f"categories {judge}", title, columns, rows, gaps.notes, {"judge": judge}, hint)


def _profile(judge: str, ranked: Sequence[Marks]) -> Table:
    """Contestants by tasks, as the paper's Table 3."""
    means = {sheet.contestant: sheet.task_means() for sheet in ranked}
    axes = _tasks(ranked)
    rows: list[list[Cell]] = [[name, *(tasks.get(task) for task in axes)] for name, tasks in means.items()]
    hint = {"kind": "radar", "label": "contestant", "axes": axes, "most": _DRAWN} if len(axes) > 2 else None
    title = Note("align-mm.tables.title.mean-score-of-each-task", "Mean score of each task, by {judge}", judge=judge)
    return Table(f"tasks {judge}", title, headings("contestant", *map(named, axes)), rows, (), {"judge": judge}, hint)


def _tasks(ranked: Sequence[Marks]) -> list[str]:
    named = {task for sheet in ranked for task in sheet.tasks}
    known = [task.name for task in TASKS if task.name in named]
    return known + sorted(named.difference(known))


def _means(judge: str, ranked: Sequence[Marks], seed: int) -> Table:
    """A row for each contestant and task, with the interval over seeds."""
    gaps = Gaps()
    chinese: Mapping[str, str] = {task.name: task.zh for task in TASKS}
    rows: list[list[Cell]] = []
    for sheet in ranked:
        plain = sheet.task_means()
        for task in sheet.tasks:
            score = gaps.cell(f"the interval of {sheet.contestant} in {task}", partial(sheet.task, task, seed))
            rows.append([sheet.contestant, task, chinese.get(task), score or plain[task]])
    columns = headings("contestant", "task", "任务", "score")
    hint = {"kind": "heat", "row": "contestant", "column": "task", "value": "score"}
    title = Note(
        "align-mm.tables.title.scores-by-task-with-intervals", "Scores by task with intervals, by {judge}", judge=judge
    )
    return Table(f"task means {judge}", title, columns, rows, gaps.notes, {"judge": judge}, hint)


def _same(alignment: Alignment) -> Alignment:
    return alignment


def _steadiness(judge: str, ranked: Sequence[Marks], seed: int) -> Table:
    """The alignment score under both treatments of seeds with one wording, and what it is made of."""
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for sheet in ranked:
        alignment = gaps.cell(sheet.contestant, partial(sheet.alignment, "left out", seed))
        if alignment is None:
            continue
        literal = sheet.alignment("zero", seed)
        score = _alignment(gaps, f"{sheet.contestant}, left out", partial(_same, alignment))
        zero = _alignment(gaps, f"{sheet.contestant}, as zero", partial(_same, literal))
        rows.append(
            [sheet.contestant, score, zero, alignment.spread, alignment.seeds, alignment.steady, literal.as_zero]
        )
    notes = [
        Note(
            "align-mm.tables.alignment-is-the-number-of",
            "Alignment is the number of seeds over the sum of the standard deviations of the scores of their "
            "wordings. A seed with one wording has none: it is left out, or counted as zero, as the paper's formula "
            "has it when taken literally; dialogues, which are never reworded, are left out in the first case only.",
        ),
        *gaps.notes,
    ]
    columns = headings(
        "contestant",
        "alignment, one wording left out",
        "alignment, one wording as zero",
        "mean spread",
        "seeds",
        "seeds all the same",
        "seeds with one wording",
    )
    hint = {"kind": "intervals", "label": "contestant", "value": "mean spread"}
    title = Note("align-mm.tables.title.how-steadily-by", "How steadily, by {judge}", judge=judge)
    return Table(f"alignment {judge}", title, columns, rows, notes, {"judge": judge, "seed": seed}, hint)
