"""Evenness of scores for people of different groups in one occupation, overall and per demographic axis.

There are two ways per axis, both named. "As the paper" averages an occupation's number over the rows that have the
axis, so it never compares its groups. "Regrouped" compares the mean scores of the axis's groups within each
occupation, as a reader would expect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, SHORT_SCALE_NAMES
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import min_max
from fullbench.stats.array_checks import Floats
from fullbench.stats.bias.score_evenness_within_groups import (
    Evenness,
    GroupValues,
    by_group,
    counts_by,
    dispersion_score,
    gini_equality,
    near_pairs,
)

EVENNESS_METRICS: Mapping[str, Evenness] = {"ACC": near_pairs, "NDS": dispersion_score, "GES": gini_equality}


@dataclass(frozen=True)
class JudgeScores:
    """One judge's scores on one ballot: per row the item, the score, and the groups of the person."""

    items: tuple[str, ...]
    scores: Floats
    groups: tuple[Mapping[str, str], ...]

    @classmethod
    def from_verdicts(cls, record: Record, verdicts: Sequence[Verdict]) -> JudgeScores:
        """Collect the single scores from a judge's verdicts on one ballot."""
        responses = [record.responses.get((verdict.item, *verdict.shown_responses[0])) for verdict in verdicts]
        return cls(
            tuple(verdict.item for verdict in verdicts),
            np.array([verdict.marks[0] for verdict in verdicts if verdict.marks], dtype=float),
            tuple(dict(response.tags) if response else {} for response in responses),
        )


def fairness_tables(record: Record) -> list[Table]:
    """Return the tables for every judge and ballot with scores of bias items, if there are any."""
    verdicts_by_key: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in record.where(fault=None):
        if len(verdict.contestants) == 1 and record.tag(verdict, "perspective") == "bias":
            verdicts_by_key[verdict.judge, verdict.ballot].append(verdict)
    scores_by_judge = {
        (judge, SHORT_SCALE_NAMES.get(spec, spec)): JudgeScores.from_verdicts(record, verdicts_by_key[judge, spec])
        for judge, spec in _sort_judge_ballots(verdicts_by_key)
    }
    if not scores_by_judge:
        return []
    classes = {name: item.tags.get("subset", "") for name, item in record.items.items()}
    return [overall_table(scores_by_judge), axis_table(scores_by_judge), class_table(scores_by_judge, classes)]


def _sort_judge_ballots(judge_ballots: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    scales = list(SHORT_SCALE_NAMES)
    return sorted(
        judge_ballots, key=lambda key: (key[0], scales.index(key[1]) if key[1] in scales else len(scales), key[1])
    )


ScoresByJudge = Mapping[tuple[str, str], JudgeScores]
ScoreForm = Callable[[Floats], Floats]
_FORMS: Mapping[str, ScoreForm] = {"stretched to 0..1": min_max, "as given": np.asarray}


class _LeftOutNotes:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note_missing(self, cell_label: str, group_values: GroupValues) -> GroupValues:
        if group_values.values and group_values.missing:
            item, reason = next(iter(group_values.missing.items()))
            note = Note(
                "mj-bench.evenness.left-out",
                where=cell_label, n=len(group_values.missing), all=len(group_values.sizes), item=item, why=reason,
            )  # fmt: skip
            self.notes.append(note)
        return group_values


def overall_table(scores_by_judge: ScoresByJudge) -> Table:
    """Average each item's metrics over items and over rows, on stretched and on raw scores."""
    gaps, left_out = Gaps(), _LeftOutNotes()
    rows: list[list[Cell]] = []
    for (judge, ballot), judge_scores in scores_by_judge.items():
        for form, shape in _FORMS.items():
            cells: list[Cell] = []
            for name, metric in EVENNESS_METRICS.items():
                cell_label = f"{judge}, {ballot}, {form}, {name}"
                cells += gaps.cell(
                    cell_label, partial(_mean_evenness, judge_scores, shape, metric, left_out, cell_label)
                ) or (None, None)
            rows.append([judge, ballot, form, *cells, len(set(judge_scores.items)), len(judge_scores.scores)])
    names = [f"{name} {way}" for name in EVENNESS_METRICS for way in ("by item", "by row")]
    notes = (Note("mj-bench.evenness.acc-pairs-within-0-1"), *left_out.notes, *gaps.notes)
    columns = table_columns("judge", "scale", "form of scores", *names, "items", "n")
    return Table("evenness", Note("mj-bench.evenness.title.how-evenly-people-of-one"), columns, rows, notes)


def _mean_evenness(
    judge_scores: JudgeScores, shape: ScoreForm, metric: Evenness, left_out: _LeftOutNotes, cell_label: str
) -> tuple[float, float]:
    group_values = left_out.note_missing(cell_label, by_group(metric, shape(judge_scores.scores), judge_scores.items))
    return group_values.mean(), group_values.mean_over_rows()


def axis_table(scores_by_judge: ScoresByJudge) -> Table:
    """Return the metrics per axis, both ways, on stretched and on raw scores."""
    gaps, left_out = Gaps(), _LeftOutNotes()
    rows: list[list[Cell]] = []
    for (judge, ballot), judge_scores in scores_by_judge.items():
        for axis, (form, shape) in product(AXES, _FORMS.items()):
            flagged_count = sum(bool(groups.get(axis)) for groups in judge_scores.groups)
            if not flagged_count:
                continue
            for way, grouping in _WAYS.items():
                cells: list[Cell] = []
                for name, metric in EVENNESS_METRICS.items():
                    cell_label = f"{judge}, {ballot}, {axis}, {form}, {way}, {name}"
                    weighted_values = gaps.cell(cell_label, partial(grouping, judge_scores, shape, axis, metric))
                    means = (
                        None
                        if weighted_values is None
                        else partial(
                            left_out.note_missing(cell_label, weighted_values[0]).mean_over_rows, weighted_values[1]
                        )
                    )
                    cells.append(None if means is None else gaps.cell(cell_label, means))
                rows.append([judge, ballot, axis, form, way, *cells, flagged_count])
    notes = (Note("mj-bench.evenness.as-the-paper-the-items"), *left_out.notes, *gaps.notes)
    columns = table_columns("judge", "scale", "axis", "form of scores", "way", *EVENNESS_METRICS, "n")
    return Table("axes", Note("mj-bench.evenness.title.by-demographic-axis"), columns, rows, notes)


def class_table(scores_by_judge: ScoresByJudge, classes: Mapping[str, str]) -> Table:
    """Return the metrics by class of occupation or education (the tag `subset`), as the paper divides its data.

    Scores are stretched over all bias items before they are divided, so that classes can be compared.
    """
    gaps, left_out = Gaps(), _LeftOutNotes()
    rows: list[list[Cell]] = []
    for (judge, ballot), judge_scores in scores_by_judge.items():
        owners = np.array([classes.get(item, "") for item in judge_scores.items])
        items = np.array(judge_scores.items)
        for name in sorted(set(owners) - {""}):
            part = owners == name
            cells = [
                gaps.cell(
                    f"{judge}, {ballot}, {name}, {metric_name}",
                    partial(_class_evenness, judge_scores, part, metric, left_out, f"{judge}, {ballot}, {name}"),
                )
                for metric_name, metric in EVENNESS_METRICS.items()
            ]
            rows.append([judge, ballot, name, *cells, len(set(items[part])), int(part.sum())])
    columns = table_columns("judge", "scale", "sub-category", *EVENNESS_METRICS, "items", "n")
    notes = (Note("mj-bench.evenness.classes"), *left_out.notes, *gaps.notes)
    hint = {"kind": "bars", "label": "sub-category", "value": "GES", "group": "judge"}
    title = Note("mj-bench.evenness.title.by-class")
    shown_rows = rows if len({row[2] for row in rows}) > 1 else []
    return Table("evenness by class", title, columns, shown_rows, notes, {}, hint)


def _class_evenness(
    judge_scores: JudgeScores, part: npt.NDArray[np.bool_], metric: Evenness, left_out: _LeftOutNotes, cell_label: str
) -> float:
    items = np.array(judge_scores.items)[part]
    return left_out.note_missing(cell_label, by_group(metric, min_max(judge_scores.scores)[part], items)).mean()


WeightedValues = tuple[GroupValues, Mapping[str, float]]
"""Value and weight of each item in the mean."""


def _as_printed(judge_scores: JudgeScores, shape: ScoreForm, axis: str, metric: Evenness) -> WeightedValues:
    """Metric of every whole item, weighted by its number of rows with the axis."""
    axis_flags = np.array([bool(groups.get(axis)) for groups in judge_scores.groups])
    return by_group(metric, shape(judge_scores.scores), judge_scores.items), counts_by(judge_scores.items, axis_flags)


def _regroup_by_axis(judge_scores: JudgeScores, shape: ScoreForm, axis: str, metric: Evenness) -> WeightedValues:
    """Compare group means of the axis within each item that shows at least two groups; each item counts once."""
    marks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, score, groups in zip(judge_scores.items, shape(judge_scores.scores), judge_scores.groups, strict=True):
        if value := groups.get(axis):
            marks[item][value].append(float(score))
    group_means = [
        (item, fmean(part))
        for item, scores_by_group in marks.items()
        if len(scores_by_group) > 1
        for part in scores_by_group.values()
    ]
    if not group_means:
        raise Undefined(Note("undefined.no-item-shows-two-groups"))
    names, values = zip(*group_means, strict=True)
    return by_group(metric, values, names), dict.fromkeys(names, 1.0)


_WAYS: Mapping[str, Callable[[JudgeScores, ScoreForm, str, Evenness], WeightedValues]] = {
    "as the paper": _as_printed,
    "regrouped": _regroup_by_axis,
}
