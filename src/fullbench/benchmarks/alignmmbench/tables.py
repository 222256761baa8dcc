"""Tables of AlignMMBench: leaderboard, tasks, categories, alignment, quadrants, agreement, lengths."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.agreement import critic_with_people as agreement
from fullbench.analysis.agreement import repeats_and_orders
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import with_unusable_column
from fullbench.analysis.item_clustered_means_and_shares import Gaps, scale_of
from fullbench.analysis.scored_answer_split_for_critic_training import seed_of
from fullbench.analysis.summary.judge_trust import baselines_last
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source
from fullbench.benchmarks.alignmmbench.quality_and_consistency_quadrants import INFINITE, build_quadrant_table
from fullbench.benchmarks.alignmmbench.question_and_response_lengths import length_histograms, length_table
from fullbench.benchmarks.alignmmbench.release_files import BALLOT
from fullbench.benchmarks.alignmmbench.task_names import CATEGORIES, TASKS, Category
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.table import Cell, Table, sort_value
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.judge_repeat_and_contestant_rephrasing_consistency import (
    Alignment,
    OneVariant,
    alignment_score,
)
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap, mean_of_groups
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean

_RADAR_CONTESTANTS = 6
"""Largest number of contestants in a radar chart."""


def tables(record: Record, *, split: tuple[float, float] | None = None, seed: int = 0) -> list[Table]:
    """Return all tables that have rows; `split` gives the values that separate the quadrants."""
    task_record = with_task_criteria(record)
    benchmark_tables: list[Table] = []
    judges = sorted(
        baselines_last(task_record.judges), key=lambda judge: judge == PEOPLE and len(task_record.judges) > 1
    )
    for judge in judges:
        sheets = [sheet for sheet in marks_by_contestant(task_record, judge).values() if sheet.marks]
        if sheets:
            of_judge = judge_tables(judge, sheets, split=split, seed=seed)
            # Each judge has a Table 3; the summary shows the one of the judge to trust most.
            source = {**of_judge[0].source, **paper_source("AlignMMBench", "Avg")}
            of_judge[0] = replace(of_judge[0], source=source)
            benchmark_tables += of_judge
    if PEOPLE in task_record.judges:
        benchmark_tables += agreement.critic_tables(task_record, seed=seed)
    benchmark_tables += repeats_and_orders.steadiness_tables(task_record, together=True, seed=seed)
    benchmark_tables += [
        length_table(task_record.items.values(), task_record.responses.values()),
        *length_histograms(list(task_record.items.values())),
    ]
    benchmark_tables += [
        standard_verdict_tables.fault_table(task_record, together=True),
        standard_verdict_tables.cost_table(task_record),
    ]
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
    unusable = {sheet.contestant: sheet.unusable_count for sheet in sheets}
    by_task = Counter((sheet.contestant, task) for sheet in sheets for task, _ in sheet.unusable)
    by_category = Counter((sheet.contestant, category) for sheet in sheets for _, category in sheet.unusable)
    return [
        with_unusable_column(_task_profile_table(judge, ranked_lines), unusable),
        _leaderboard_table(judge, ranked_lines, gaps),
        with_unusable_column(_category_table(judge, ranked_marks, seed), by_category, ("contestant", "category")),
        with_unusable_column(_task_means_table(judge, ranked_marks, seed), by_task, ("contestant", "task")),
        with_unusable_column(_alignment_table(judge, ranked_marks, seed), unusable),
        with_unusable_column(quadrant_table, unusable),
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


def _task_profile_table(judge: str, ranked_lines: Sequence[_Line]) -> Table:
    """Layout of the paper's Table 3: the average, the mean of each task, alignment."""
    axes = _task_names([line.marks for line in ranked_lines])
    rows: list[list[Cell]] = []
    for line in ranked_lines:
        means = line.marks.task_means()
        rows.append([line.name, line.average, *(means.get(task) for task in axes), line.alignment])
    hint = {"kind": "radar", "label": "contestant", "axes": axes, "most": _RADAR_CONTESTANTS} if len(axes) > 2 else None
    title = Note("align-mm.tables.title.mean-score-of-each-task", judge=judge)
    return Table(
        f"tasks {judge}", title, table_columns("contestant", "Avg", *map(data_column, axes), "alignment"), rows, (),
        {"judge": judge}, hint,
    )  # fmt: skip


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
        "alignment, one variant left out",
        "alignment, one variant as zero",
        "mean spread",
        "seeds",
        "seeds all the same",
        "seeds with one variant",
    )
    hint = {"kind": "intervals", "label": "contestant", "value": "mean spread"}
    title = Note("align-mm.tables.title.how-steadily-by", judge=judge)
    return Table(f"alignment {judge}", title, columns, rows, notes, {"judge": judge, "seed": seed}, hint)


@dataclass(frozen=True)
class Mark:
    """Mark of one response: the mean over its trials."""

    item: str
    seed: str
    task: str
    category: str
    dialogue: bool
    value: float


def with_task_criteria(record: Record) -> Record:
    """Set the task as criterion of verdicts without one, so that labels and the critic's verdicts match."""
    return Record(tuple(_with_task_criterion(record, verdict) for verdict in record), record.items, record.responses)


def _with_task_criterion(record: Record, verdict: Verdict) -> Verdict:
    task = record.tag(verdict, "task")
    return replace(verdict, criterion=task) if task and verdict.criterion == "overall" else verdict


@dataclass(frozen=True)
class Marks:
    """All marks by one judge for one contestant, and the task and category of every unusable verdict."""

    contestant: str
    marks: Sequence[Mark]
    unusable: Sequence[tuple[str, str]] = ()

    @property
    def unusable_count(self) -> int:
        return len(self.unusable)

    @property
    def tasks(self) -> list[str]:
        """Marked tasks: those of the paper in its order, then others."""
        marked_tasks = {mark.task for mark in self.marks}
        paper_tasks = [task.name for task in TASKS]
        return [name for name in paper_tasks if name in marked_tasks] + sorted(marked_tasks.difference(paper_tasks))

    def task(self, name: str, seed: int = 0) -> Estimate:
        """Estimate the mean mark in one task; seeds are resampled."""
        return self._mean([mark for mark in self.marks if mark.task == name], seed)

    def task_means(self) -> dict[str, float]:
        """Return the mean mark of each task."""
        return {name: fmean(mark.value for mark in self.marks if mark.task == name) for name in self.tasks}

    def category_means(self) -> dict[Category, float]:
        """Return the mean over the tasks of each category, each task counted once."""
        means = self.task_means()
        category = {mark.task: mark.category for mark in self.marks}
        by_category = {name: [means[task] for task in means if category[task] == name] for name in CATEGORIES}
        return {name: fmean(values) for name, values in by_category.items() if values}

    def category(self, name: str, seed: int = 0) -> Estimate:
        """Estimate the mean over the tasks of one category, each counted once; seeds are resampled within tasks."""
        return self._mean_over_tasks([mark for mark in self.marks if mark.category == name], seed)

    def average(self, seed: int = 0) -> Estimate:
        """Estimate the paper's Avg: the mean over tasks, each counted once; seeds are resampled within tasks."""
        return self._mean_over_tasks(self.marks, seed)

    def question_mean(self, seed: int = 0) -> Estimate:
        """Estimate the mean over questions, each counted once; seeds are resampled."""
        return self._mean(self.marks, seed)

    def alignment(self, one_variant: OneVariant = "left out", seed: int = 0) -> Alignment:
        """Return the alignment score over single-turn seeds with at least two wordings; with `zero`, over all seeds."""
        counted_marks = [mark for mark in self.marks if one_variant == "zero" or not mark.dialogue]
        if not counted_marks:
            raise Undefined(Note("undefined.no-question-of-a-single"))
        seeds, values = [mark.seed for mark in counted_marks], [mark.value for mark in counted_marks]
        return alignment_score(seeds, values, one_variant=one_variant, bootstrap_seed=seed)

    def _mean_over_tasks(self, marks: Sequence[Mark], seed: int) -> Estimate:
        seeds: dict[str, set[str]] = defaultdict(set)
        for mark in marks:
            seeds[mark.task].add(mark.seed)
        single_seed_tasks = [task for task, task_seeds in seeds.items() if len(task_seeds) < 2]
        if single_seed_tasks:
            raise Undefined(Note("undefined.an-interval-over-tasks-needs", names=", ".join(single_seed_tasks)))
        values, seed_clusters = [mark.value for mark in marks], [mark.seed for mark in marks]
        return mean_of_groups(weighted_mean, [mark.task for mark in marks], values, cluster=seed_clusters, seed=seed,
                              within=scale_of(BALLOT.spec))  # fmt: skip

    def _mean(self, marks: Sequence[Mark], seed: int) -> Estimate:
        return bootstrap(
            weighted_mean, [mark.value for mark in marks], cluster=[mark.seed for mark in marks], seed=seed,
            within=scale_of(BALLOT.spec),
        )  # fmt: skip


def marks_by_contestant(record: Record, judge: str) -> Mapping[str, Marks]:
    """Return a judge's marks of each contestant on the ballot from 1 to 10."""
    score_verdicts = record.where(lambda verdict: len(verdict.contestants) == 1, judge=judge, ballot=BALLOT.spec)
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    unusable: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for verdict in score_verdicts:
        (contestant,) = verdict.contestants
        if verdict.marks is None:
            unusable[contestant].append(_task_and_category(record.items.get(verdict.item)))
        else:
            values[contestant][verdict.item].append(verdict.marks[0])
    return {
        name: Marks(name, [_mean_mark(record, item, scores) for item, scores in values[name].items()], unusable[name])
        for name in score_verdicts.contestants
    }


def _mean_mark(record: Record, name: str, scores: Sequence[float]) -> Mark:
    item = record.items.get(name)
    task, category = _task_and_category(item)
    if item is None:
        return Mark(name, name, task, category, False, fmean(scores))
    return Mark(name, seed_of(item), task, category, len(item.turns) > 1, fmean(scores))


def _task_and_category(item: Item | None) -> tuple[str, str]:
    tags = {} if item is None else item.tags
    return tags.get("task") or "overall", tags.get("category", "")
