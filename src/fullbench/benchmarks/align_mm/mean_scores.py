"""What one judge gave each contestant, question by question, and the means that are made of it."""

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
from fullbench.stats.agreement.repeat_consistency import Alignment, OneVariant, alignment
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.means_over_strata import mean_of_groups
from fullbench.stats.intervals.weighted_statistics import mean


@dataclass(frozen=True)
class Mark:
    """The mark of one response: the mean over its trials."""

    item: str
    seed: str
    task: str
    category: str
    dialogue: bool
    value: float


def by_task(record: Record) -> Record:
    """The record with the task as criterion of all verdicts that name none, so that labels meet the critic's."""
    return Record(tuple(_of_task(record, verdict) for verdict in record), record.items, record.responses)


def _of_task(record: Record, verdict: Verdict) -> Verdict:
    task = record.tag(verdict, "task")
    return replace(verdict, criterion=task) if task and verdict.criterion == "overall" else verdict


@dataclass(frozen=True)
class Marks:
    """All marks that one judge gave one contestant, and how many of its verdicts are faults."""

    contestant: str
    marks: Sequence[Mark]
    faults: int

    @property
    def tasks(self) -> list[str]:
        """The tasks that were marked: those of the paper in its order, then others."""
        marked = {mark.task for mark in self.marks}
        known = [task.name for task in TASKS]
        return [name for name in known if name in marked] + sorted(marked.difference(known))

    def task(self, name: str, seed: int = 0) -> Estimate:
        """The mean mark in one task, seeds resampled."""
        return self._mean([mark for mark in self.marks if mark.task == name], seed)

    def task_means(self) -> dict[str, float]:
        """The mean mark of each task."""
        return {name: fmean(mark.value for mark in self.marks if mark.task == name) for name in self.tasks}

    def category_means(self) -> dict[Category, float]:
        """The mean over the tasks of each category, each task counting once."""
        means = self.task_means()
        category = {mark.task: mark.category for mark in self.marks}
        by_category = {name: [means[task] for task in means if category[task] == name] for name in CATEGORIES}
        return {name: fmean(values) for name, values in by_category.items() if values}

    def category(self, name: str, seed: int = 0) -> Estimate:
        """The mean over the tasks of one category, each counting once; seeds resampled within tasks."""
        return self._over_tasks([mark for mark in self.marks if mark.category == name], seed)

    def average(self, seed: int = 0) -> Estimate:
        """Avg as the paper has it: the mean over tasks, each counting once; seeds resampled within tasks."""
        return self._over_tasks(self.marks, seed)

    def question_mean(self, seed: int = 0) -> Estimate:
        """The mean over questions, each counting once, seeds resampled."""
        return self._mean(self.marks, seed)

    def alignment(self, one_variant: OneVariant = "left out", seed: int = 0) -> Alignment:
        """The alignment score. Seeds of single-turn questions with two wordings or more; with `zero`, all seeds."""
        counted = [mark for mark in self.marks if one_variant == "zero" or not mark.dialogue]
        if not counted:
            raise Undefined(Note("undefined.no-question-of-a-single", "no question of a single turn has a mark"))
        seeds, values = [mark.seed for mark in counted], [mark.value for mark in counted]
        return alignment(seeds, values, one_variant=one_variant, bootstrap_seed=seed)

    def _over_tasks(self, marks: Sequence[Mark], seed: int) -> Estimate:
        seeds: dict[str, set[str]] = defaultdict(set)
        for mark in marks:
            seeds[mark.task].add(mark.seed)
        alone = [task for task, task_seeds in seeds.items() if len(task_seeds) < 2]
        if alone:
            raise Undefined(
                Note(
                    "undefined.an-interval-over-tasks-needs",
                    "an interval over tasks needs two seeds in each; found one in {names}",
                    names=", ".join(alone),
                )
            )
        values, owners = [mark.value for mark in marks], [mark.seed for mark in marks]
        return mean_of_groups(mean, [mark.task for mark in marks], values, cluster=owners, seed=seed)

    def _mean(self, marks: Sequence[Mark], seed: int) -> Estimate:
        return bootstrap(mean, [mark.value for mark in marks], cluster=[mark.seed for mark in marks], seed=seed)


def marks(record: Record, judge: str) -> Mapping[str, Marks]:
    """What a judge gave each contestant on the ballot from 1 to 10."""
    heard = record.where(lambda verdict: len(verdict.contestants) == 1, judge=judge, ballot=BALLOT.spec)
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    lost: dict[str, int] = defaultdict(int)
    for verdict in heard:
        (contestant,) = verdict.contestants
        if verdict.marks is None:
            lost[contestant] += 1
        else:
            values[contestant][verdict.item].append(verdict.marks[0])
    return {
        name: Marks(name, [_mark(record, item, scores) for item, scores in values[name].items()], lost[name])
        for name in heard.contestants
    }


def _mark(record: Record, name: str, scores: Sequence[float]) -> Mark:
    item = record.items.get(name)
    if item is None:
        return Mark(name, name, "overall", "", False, fmean(scores))
    task, category = item.tags.get("task") or "overall", item.tags.get("category", "")
    return Mark(name, seed_of(item), task, category, len(item.turns) > 1, fmean(scores))
