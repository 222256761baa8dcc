"""Marks by one judge for each contestant and question, and their means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from fullbench.analysis.critic_train_test_split import seed_of
from fullbench.benchmarks.align_mm.release_files import BALLOT
from fullbench.benchmarks.align_mm.task_names import CATEGORIES, TASKS, Category
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.verdict import Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement.repeat_consistency import Alignment, OneVariant, alignment_score
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.means_over_strata import mean_of_groups
from fullbench.stats.intervals.weighted_statistics import weighted_mean


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
    """All marks by one judge for one contestant, and the number of unusable verdicts."""

    contestant: str
    marks: Sequence[Mark]
    unusable_count: int

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
        return mean_of_groups(weighted_mean, [mark.task for mark in marks], values, cluster=seed_clusters, seed=seed)

    def _mean(self, marks: Sequence[Mark], seed: int) -> Estimate:
        return bootstrap(
            weighted_mean, [mark.value for mark in marks], cluster=[mark.seed for mark in marks], seed=seed
        )


def marks_by_contestant(record: Record, judge: str) -> Mapping[str, Marks]:
    """Return a judge's marks of each contestant on the ballot from 1 to 10."""
    score_verdicts = record.where(lambda verdict: len(verdict.contestants) == 1, judge=judge, ballot=BALLOT.spec)
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    unusable_counts: dict[str, int] = defaultdict(int)
    for verdict in score_verdicts:
        (contestant,) = verdict.contestants
        if verdict.marks is None:
            unusable_counts[contestant] += 1
        else:
            values[contestant][verdict.item].append(verdict.marks[0])
    return {
        name: Marks(
            name, [_mean_mark(record, item, scores) for item, scores in values[name].items()], unusable_counts[name]
        )
        for name in score_verdicts.contestants
    }


def _mean_mark(record: Record, name: str, scores: Sequence[float]) -> Mark:
    item = record.items.get(name)
    if item is None:
        return Mark(name, name, "overall", "", False, fmean(scores))
    task, category = item.tags.get("task") or "overall", item.tags.get("category", "")
    return Mark(name, seed_of(item), task, category, len(item.turns) > 1, fmean(scores))
