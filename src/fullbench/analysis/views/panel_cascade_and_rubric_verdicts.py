"""Verdicts of views (panels, cascades, rubrics), computed on demand from members' verdicts and never stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import StatisticsError, correlation, fmean

from fullbench.analysis.agreement.judges_with_people import verdict_shape, winner_index
from fullbench.analysis.item_clustered_means_and_shares import scale_of
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.analysis.views import cascade_verdicts
from fullbench.analysis.views.view_verdict_helpers import people_marks, response_set_key, view_abstention
from fullbench.analysis.views.view_verdict_helpers import view_verdict as ruled_by
from fullbench.core.panel_and_cascade import Marks, Panel, View, combine_marks
from fullbench.core.rubric import Criterion, Rubric
from fullbench.core.verdict import Verdict

Group = tuple[str, str]
"""Criterion and verdict shape."""


def add_view_verdicts(verdicts: Sequence[Verdict], views: Iterable[View]) -> tuple[Verdict, ...]:
    """Return the verdicts followed by those of the views."""
    return (*verdicts, *(verdict for view in views for verdict in view_verdicts(view, verdicts)))


def view_verdicts(view: View, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return a view's verdicts, one per case and trial that a member judged, in the order of the members' verdicts.
    The view abstains and gives the reason if its members reach no verdict.
    """
    member_names = set(view.source_judges)
    latest: dict[tuple[str, str, int, str], Verdict] = {}
    for verdict in verdicts:
        key = (verdict.case, verdict.judge, verdict.trial, verdict.rater)
        if verdict.judge in member_names and (key not in latest or latest[key].revision < verdict.revision):
            latest[key] = verdict
    latest_verdicts = list(latest.values())
    if isinstance(view, Rubric):
        return _rubric_verdicts(view, latest_verdicts)
    return (
        _panel_verdicts(view, latest_verdicts)
        if isinstance(view, Panel)
        else cascade_verdicts.build_cascade_verdicts(view, latest_verdicts)
    )


def _panel_verdicts(panel: Panel, verdicts: Sequence[Verdict]) -> list[Verdict]:
    weights = _agreement_weights(panel, verdicts) if panel.rule == "agreement" else {}
    verdicts_by_case: dict[tuple[str, int], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.judge in panel.members:
            verdicts_by_case[verdict.case, verdict.trial].append(verdict)
    joint_verdicts = []
    for case_verdicts in verdicts_by_case.values():
        usable_verdicts = [verdict for verdict in case_verdicts if verdict.marks is not None]
        present = len({verdict.judge for verdict in usable_verdicts})
        if present < panel.quorum_size:
            missing = f"{present} of {len(panel.members)} members ruled, {panel.quorum_size} are needed"
            joint_verdicts.append(view_abstention(panel, case_verdicts[0], missing))
            continue
        member_weights = weights.get((case_verdicts[0].criterion, verdict_shape(case_verdicts[0])), {})
        voices = [member_weights.get(verdict.judge, 0.0) for verdict in usable_verdicts]
        if panel.rule == "agreement" and not any(voices):
            joint_verdicts.append(
                view_abstention(panel, case_verdicts[0], "no member's agreement with people is known")
            )
            continue
        marks = combine_marks(
            [verdict.marks or () for verdict in usable_verdicts], panel.rule, voices if member_weights else None
        )
        joint_verdicts.append(ruled_by(panel, case_verdicts[0], marks))
    return joint_verdicts


def _agreement_weights(panel: Panel, verdicts: Sequence[Verdict]) -> Mapping[Group, Mapping[str, float]]:
    """Return each member's agreement with people (Pearson's r of scores, or share of equal winners), at least 0."""
    people = people_marks(verdicts)
    mark_pairs: dict[Group, dict[str, list[tuple[Marks, Marks]]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        votes = people.get(response_set_key(verdict))
        if verdict.judge in panel.members and verdict.marks is not None and votes is not None:
            theirs = tuple(votes[response_key] for response_key in verdict.shown_responses)
            mark_pairs[verdict.criterion, verdict_shape(verdict)][verdict.judge].append((verdict.marks, theirs))
    return {
        group: {judge: max(0.0, _agreement_with_people(group[1], pairs)) for judge, pairs in by_judge.items()}
        for group, by_judge in mark_pairs.items()
    }


def _agreement_with_people(kind: str, pairs: Sequence[tuple[Marks, Marks]]) -> float:
    if kind != "scores":
        return fmean(float(winner_index(ours) == winner_index(theirs)) for ours, theirs in pairs)
    try:
        return correlation([ours[0] for ours, _ in pairs], [theirs[0] for _, theirs in pairs])
    except StatisticsError:  # fewer than two pairs, or constant marks
        return 0.0


def _rubric_verdicts(rubric: Rubric, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the total of each response, or an abstention with a count if a criterion has no mark."""
    sheets: dict[tuple[str, tuple[tuple[str, int], ...], int], dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        if len(verdict.contestants) == 1:
            sheets[verdict.item, verdict.shown_responses, verdict.trial][verdict.criterion] = verdict
    totals = []
    for (item, _, _), sheet in sheets.items():
        criteria = [criterion for criterion in rubric.criteria_for_item(item) if criterion.name in sheet]
        criteria = [criterion for criterion in criteria if sheet[criterion.name].ballot == criterion.ballot]
        if not criteria:
            continue
        first = replace(sheet[criteria[0].name], ballot=rubric.ballot, criterion=OVERALL)
        marked_criteria = [
            (criterion, _mark_share(marks[0], criterion.ballot))
            for criterion in criteria
            if (marks := sheet[criterion.name].marks) is not None
        ]
        if len(marked_criteria) < (all_of := len(rubric.criteria_for_item(item))):
            totals.append(view_abstention(rubric, first, f"{len(marked_criteria)} of {all_of} criteria have a mark"))
            continue
        total, failed_criteria = rubric.total_of(marked_criteria)
        totals.append(replace(ruled_by(rubric, first, (total,)), text=_failed_text(rubric, failed_criteria)))
    return totals


def _failed_text(rubric: Rubric, failed_criteria: Sequence[Criterion]) -> str:
    """Return why a total is capped, or ""."""
    names = ", ".join(criterion.name for criterion in failed_criteria)
    return f"at most {rubric.cap:g}: it fails what is required ({names})" if names else ""


def _mark_share(mark: float, spec: str) -> float:
    low, high = scale_of(spec) or (0.0, 1.0)
    return (mark - low) / (high - low)
