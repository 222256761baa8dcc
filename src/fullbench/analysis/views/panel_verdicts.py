"""What panels, cascades and rubrics rule: computed from their members' verdicts when somebody looks, never stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from statistics import StatisticsError, correlation, fmean

from fullbench.analysis.agreement.judges_with_people import shape, winner
from fullbench.analysis.estimate_cells import scale_of
from fullbench.analysis.scope_text import OVERALL
from fullbench.analysis.views import cascade_verdicts
from fullbench.analysis.views.member_verdicts import people_marks, place_of, recused
from fullbench.analysis.views.member_verdicts import ruled as ruled_by
from fullbench.core.panel import Marks, Panel, View, combined
from fullbench.core.rubric import TOTAL, Rubric
from fullbench.core.verdict import Verdict

Group = tuple[str, str]
"""Criterion and shape of ruling."""


def with_views(verdicts: Sequence[Verdict], views: Iterable[View]) -> tuple[Verdict, ...]:
    """Verdicts with those of panels and cascades behind them."""
    return (*verdicts, *(ruling for view in views for ruling in rulings(view, verdicts)))


def rulings(view: View, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """A view's verdicts, one for each case and trial on which a member ruled, in the order in which these came.

    Where its members do not come to a ruling, it recuses itself and says why.
    """
    wanted = set(view.heard)
    latest: dict[tuple[str, str, int, str], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.case, verdict.judge, verdict.trial, verdict.rater)
        if verdict.judge in wanted and (key not in latest or latest[key].revision < verdict.revision):
            latest[key] = verdict
    counted = list(latest.values())
    if isinstance(view, Rubric):
        return _totals(view, counted)
    return _panel(view, counted) if isinstance(view, Panel) else cascade_verdicts.rulings(view, counted)


def _panel(panel: Panel, verdicts: Sequence[Verdict]) -> list[Verdict]:
    weights = _weights(panel, verdicts) if panel.rule == "agreement" else {}
    heard: dict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.judge in panel.members:
            heard[verdict.case, verdict.trial].append(verdict)
    ruled = []
    for given in heard.values():
        marked = [verdict for verdict in given if verdict.marks is not None]
        present = len({verdict.judge for verdict in marked})
        if present < panel.needed:
            missing = f"{present} of {len(panel.members)} members ruled, {panel.needed} are needed"
            ruled.append(recused(panel, given[0], missing))
            continue
        own = weights.get((given[0].criterion, shape(given[0])), {})
        voices = [own.get(verdict.judge, 0.0) for verdict in marked]
        if panel.rule == "agreement" and not any(voices):
            ruled.append(recused(panel, given[0], "no member's agreement with people is known"))
            continue
        marks = combined([verdict.marks or () for verdict in marked], panel.rule, voices if own else None)
        ruled.append(ruled_by(panel, given[0], marks))
    return ruled


def _weights(panel: Panel, verdicts: Sequence[Verdict]) -> Mapping[Group, Mapping[str, float]]:
    """How far each member agrees with people, by criterion and shape of ruling: Pearson's correlation of scores, the
    share of the same winners otherwise; whoever agrees by less than nothing counts for nothing."""
    people = people_marks(verdicts)
    met: dict[Group, dict[str, list[tuple[Marks, Marks]]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        votes = people.get(place_of(verdict))
        if verdict.judge in panel.members and verdict.marks is not None and votes is not None:
            theirs = tuple(votes[shown] for shown in verdict.shown)
            met[verdict.criterion, shape(verdict)][verdict.judge].append((verdict.marks, theirs))
    return {
        group: {judge: max(0.0, _agreement(group[1], pairs)) for judge, pairs in by_judge.items()}
        for group, by_judge in met.items()
    }


def _agreement(kind: str, pairs: Sequence[tuple[Marks, Marks]]) -> float:
    if kind != "scores":
        return fmean(float(winner(ours) == winner(theirs)) for ours, theirs in pairs)
    try:
        return correlation([ours[0] for ours, _ in pairs], [theirs[0] for _, theirs in pairs])
    except StatisticsError:  # too few, or all alike: nothing is known
        return 0.0


def _totals(rubric: Rubric, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The weighted total of each response; recused, with a count, where a criterion has no mark."""
    sheets: dict[tuple[str, tuple[tuple[str, int], ...], int], dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        if len(verdict.contestants) == 1:
            sheets[verdict.item, verdict.shown, verdict.trial][verdict.criterion] = verdict
    totals = []
    for (item, _, _), sheet in sheets.items():
        wanted = [criterion for criterion in rubric.of_item(item) if criterion.name in sheet]
        wanted = [criterion for criterion in wanted if sheet[criterion.name].ballot == criterion.ballot]
        if not wanted:
            continue
        first = replace(sheet[wanted[0].name], ballot=TOTAL, criterion=OVERALL)
        marked = [(criterion, marks) for criterion in wanted if (marks := sheet[criterion.name].marks) is not None]
        if len(marked) < (all_of := len(rubric.of_item(item))):
            totals.append(recused(rubric, first, f"{len(marked)} of {all_of} criteria have a mark"))
            continue
        shares = [criterion.weight * _share(marks[0], criterion.ballot) for criterion, marks in marked]
        totals.append(ruled_by(rubric, first, (fsum(shares) / fsum(criterion.weight for criterion in wanted),)))
    return totals


def _share(mark: float, spec: str) -> float:
    low, high = scale_of(spec) or (0.0, 1.0)
    return (mark - low) / (high - low)
