"""Tables of AlignMMBench: leaderboard, tasks, categories, alignment, quadrants, agreement, lengths."""

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
from fullbench.benchmarks.align_mm.mean_scores import Marks, marks_by_contestant, with_task_criteria
from fullbench.benchmarks.align_mm.quadrants import INFINITE, build_quadrant_table
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS
from fullbench.benchmarks.align_mm.text_lengths import length_histograms, length_table
from fullbench.core.column_labels import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table, sort_value
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement.repeat_consistency import Alignment

_RADAR_CONTESTANTS = 6
"""Largest number of contestants in a radar chart."""


def tables(record: Record, *, split: tuple[float, float] | None = None, seed: int = 0) -> list[Table]:
    """Return all tables that have rows; `split` gives the values that separate the quadrants."""
    task_record = with_task_criteria(record)
    benchmark_tables: list[Table] = []
    for judge in task_record.judges:
        sheets = [sheet for sheet in marks_by_contestant(task_record, judge).values() if sheet.marks]
        if sheets:
            benchmark_tables += judge_tables(judge, sheets, split=split, seed=seed)
    if PEOPLE in task_record.judges:
        benchmark_tables += agreement.critic_tables(task_record, seed=seed)
    benchmark_tables += repeats_and_orders.steadiness_tables(task_record, together=True, seed=seed)
    benchmark_tables += [
        length_table(task_record.items.values(), task_record.responses.values()),
        *length_histograms(list(task_record.items.values())),
    ]
    benchmark_tables += [all_tables.fault_table(task_record, together=True), all_tables.cost_table(task_record)]
    return [table for table in benchmark_tables if table.rows]


def judge_tables(
    judge: str, sheets: Sequence[Marks], *, split: tuple[float, float] | None = None, seed: int = 0
) -> list[Table]:
    """Return the tables of one judge: leaderboard, tasks, means with intervals, alignment, quadrants."""
    gaps = Gaps()
    lines = [_Line.from_marks(sheet, gaps, seed) for sheet in sheets]
    ranked_lines = sorted(lines, key=lambda line: -(sort_value(line.average) or 0.0))
    quadrant_table = build_quadrant_table(
        [(line.name, line.average, line.alignment) for line in ranked_lines], split=split, source=judge
    )
    ranked_marks = [line.marks for line in ranked_lines]
    return [
        _leaderboard_table(judge, ranked_lines, gaps),
        _category_table(judge, ranked_marks, seed),
        _task_profile_table(judge, ranked_marks),
        _task_means_table(judge, ranked_marks, seed),
        _alignment_table(judge, ranked_marks, seed),
        quadrant_table,
    ]


@dataclass(frozen=True)
class _Line:
    marks: Marks
    average: Cell
    questions: Cell
    alignment: Cell

    @property
    def name(self) -> str:
        return self.marks.contestant

    @classmethod
    def from_marks(cls, sheet: Marks, gaps: Gaps, seed: int) -> _Line:
        contestant = sheet.contestant
        average = gaps.cell(f"the interval of {contestant}'s Avg", partial(sheet.average, seed))
        questions = gaps.cell(f"{contestant}'s mean over questions", partial(sheet.question_mean, seed))
        alignment = _alignment_cell(gaps, f"{contestant}'s alignment", partial(sheet.alignment, "left out", seed))
        return cls(sheet, average or fmean(sheet.task_means().values()), questions, alignment)


def _alignment_cell(gaps: Gaps, cell_label: str, compute: Callable[[], Alignment]) -> Cell:
    alignments: list[Alignment] = []

    def estimate_alignment() -> Estimate:
        alignments.append(compute())
        return alignments[0].estimate

    cell = gaps.cell(cell_label, estimate_alignment)
    if cell is not None or not alignments:
        return cell
    return INFINITE if math.isinf(alignments[0].value) else alignments[0].value


def _leaderboard_table(judge: str, lines: Sequence[_Line], gaps: Gaps) -> Table:
    rows: list[list[Cell]] = [
        [line.name, line.average, line.questions, line.alignment, len(line.marks.tasks), len(line.marks.marks),
         line.marks.unusable_count]
        for line in lines
    ]  # fmt: skip
    notes = [Note("align-mm.tables.by-from-1-to-10", judge=judge), *gaps.notes]
    columns = table_columns("contestant", "Avg", "mean over questions", "alignment", "tasks", "questions", "unusable")
    hint = {"kind": "intervals", "label": "contestant", "value": "Avg"}
    title = Note("align-mm.tables.title.how-well-by", judge=judge)
    return Table(f"averages {judge}", title, columns, rows, notes, {"judge": judge}, hint)


def _category_table(judge: str, ranked_marks: Sequence[Marks], seed: int) -> Table:
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for sheet in ranked_marks:
        for category, category_mean in sheet.category_means().items():
            score = gaps.cell(
                f"the interval of {sheet.contestant} in {category}", partial(sheet.category, category, seed)
            )
            rows.append([sheet.contestant, category, CATEGORIES[category], score or category_mean])
    columns = table_columns("contestant", "category", "类别", "score")
    hint = {"kind": "bars", "label": "contestant", "value": "score", "group": "category"}
    title = Note("align-mm.tables.title.scores-by-category-each-task", judge=judge)
    return Table(f"categories {judge}", title, columns, rows, gaps.notes, {"judge": judge}, hint)


def _task_profile_table(judge: str, ranked_marks: Sequence[Marks]) -> Table:
    """Layout of the paper's Table 3."""
    means = {sheet.contestant: sheet.task_means() for sheet in ranked_marks}
    axes = _task_names(ranked_marks)
    rows: list[list[Cell]] = [[name, *(tasks.get(task) for task in axes)] for name, tasks in means.items()]
    hint = {"kind": "radar", "label": "contestant", "axes": axes, "most": _RADAR_CONTESTANTS} if len(axes) > 2 else None
    title = Note("align-mm.tables.title.mean-score-of-each-task", judge=judge)
    return Table(
        f"tasks {judge}", title, table_columns("contestant", *map(data_column, axes)), rows, (), {"judge": judge}, hint
    )


def _task_names(ranked_marks: Sequence[Marks]) -> list[str]:
    marked_tasks = {task for sheet in ranked_marks for task in sheet.tasks}
    paper_tasks = [task.name for task in TASKS if task.name in marked_tasks]
    return paper_tasks + sorted(marked_tasks.difference(paper_tasks))


def _task_means_table(judge: str, ranked_marks: Sequence[Marks], seed: int) -> Table:
    gaps = Gaps()
    chinese: Mapping[str, str] = {task.name: task.zh for task in TASKS}
    rows: list[list[Cell]] = []
    for sheet in ranked_marks:
        task_means = sheet.task_means()
        for task in sheet.tasks:
            score = gaps.cell(f"the interval of {sheet.contestant} in {task}", partial(sheet.task, task, seed))
            rows.append([sheet.contestant, task, chinese.get(task), score or task_means[task]])
    columns = table_columns("contestant", "task", "任务", "score")
    hint = {"kind": "heat", "row": "contestant", "column": "task", "value": "score"}
    title = Note("align-mm.tables.title.scores-by-task-with-intervals", judge=judge)
    return Table(f"task means {judge}", title, columns, rows, gaps.notes, {"judge": judge}, hint)


def _return_alignment(alignment: Alignment) -> Alignment:
    return alignment


def _alignment_table(judge: str, ranked_marks: Sequence[Marks], seed: int) -> Table:
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for sheet in ranked_marks:
        alignment = gaps.cell(sheet.contestant, partial(sheet.alignment, "left out", seed))
        if alignment is None:
            continue
        zero_alignment = sheet.alignment("zero", seed)
        score = _alignment_cell(gaps, f"{sheet.contestant}, left out", partial(_return_alignment, alignment))
        zero = _alignment_cell(gaps, f"{sheet.contestant}, as zero", partial(_return_alignment, zero_alignment))
        rows.append(
            [sheet.contestant, score, zero, alignment.spread, alignment.seeds, alignment.steady, zero_alignment.as_zero]
        )
    notes = [Note("align-mm.tables.alignment-is-the-number-of"), *gaps.notes]
    columns = table_columns(
        "contestant",
        "alignment, one wording left out",
        "alignment, one wording as zero",
        "mean spread",
        "seeds",
        "seeds all the same",
        "seeds with one wording",
    )
    hint = {"kind": "intervals", "label": "contestant", "value": "mean spread"}
    title = Note("align-mm.tables.title.how-steadily-by", judge=judge)
    return Table(f"alignment {judge}", title, columns, rows, notes, {"judge": judge, "seed": seed}, hint)
