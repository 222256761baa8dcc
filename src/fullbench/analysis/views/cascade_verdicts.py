"""Verdicts of cascades, the confidence thresholds of their judges, and the cases that wait for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, fsum
from statistics import fmean
from typing import Literal

import numpy as np

from fullbench.analysis.agreement.judges_with_people import verdict_shape, winner_index
from fullbench.analysis.views.view_verdict_helpers import (
    BY_PEOPLE,
    PENDING,
    WAITS,
    PeopleMarks,
    ResponseSetKey,
    people_marks,
    response_set_key,
    view_abstention,
    view_verdict,
)
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.panel_and_cascade import Cascade, View
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict
from fullbench.stats.people.confidence_thresholds import NEVER, TrustedThreshold, find_trusted_threshold, least_items

Group = tuple[str, str]
"""Criterion and ballot. Thresholds are learned for each group separately."""
DecidedBy = Literal["small", "large", "people", "pending", "open"]
_FINE = 20
"""Confidence is rounded down to steps of 1/20. Finer thresholds could not be supported by counts."""


@dataclass(frozen=True)
class Levels:
    """Confidence thresholds of the small and the large judge in one group, and the labels behind them.

    `labelled_count` verdicts of the small judge, on `items` items, have people's marks. `doubtful` of these items are
    in doubt for the small judge; a promise about the large judge needs at least `needed_items`.
    """

    small: TrustedThreshold
    large: TrustedThreshold
    labelled_count: int = 0
    items: int = 0
    doubtful: int = 0
    needed_items: int = 0


def judge_confidence(judge: str, verdicts: Iterable[Verdict]) -> dict[ResponseSetKey, float]:
    """Return a judge's confidence from 0 to 1 for each set of responses that it judged.
    It is the share of its most common verdict over orders and trials, times its mean stated confidence, if any.
    """
    verdicts_by_set: dict[ResponseSetKey, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.judge == judge:
            verdicts_by_set[response_set_key(verdict)].append(verdict)
    sure = {}
    for place, each in verdicts_by_set.items():
        words = Counter(verdict_text for verdict in each if (verdict_text := _verdict_text(verdict)))
        confidences = [verdict.confidence for verdict in each if verdict.confidence is not None]
        sure[place] = max(words.values(), default=0) / len(each) * (fmean(confidences) if confidences else 1.0)
    return sure


def _verdict_text(verdict: Verdict) -> str:
    return "" if verdict.marks is None else str(sorted(zip(verdict.shown_responses, verdict.marks, strict=True)))


def _round_down(sure: float) -> float:
    # The small constant keeps exact steps such as 0.15 from falling one step down by rounding.
    return floor(sure * _FINE + 1e-9) / _FINE


def agrees_with_people(verdict: Verdict, people: Mapping[tuple[str, int], float]) -> bool:
    """Return True if a verdict has people's winner, or a mark within half a point of their mean."""
    theirs = [people[response_key] for response_key in verdict.shown_responses]
    marks = verdict.marks or ()
    if verdict_shape(verdict) == "scores":
        return abs(marks[0] - theirs[0]) <= 0.5
    return winner_index(marks) == winner_index(theirs)


def learn_levels(cascade: Cascade, verdicts: Sequence[Verdict]) -> dict[Group, Levels]:
    """Return the thresholds of each group: fixed by the cascade, or learned from people's marks.

    Each judge takes half of the risk. The cases of the large judge depend on the small judge's threshold. Therefore
    the large judge's half is divided among all thresholds that were possible. People's later votes on waiting cases
    cover the least confident verdicts, so they can only make the thresholds stricter.
    """
    groups = {(v.criterion, v.ballot) for v in verdicts if v.judge in cascade.members}
    if cascade.agreement is None:
        plain = TrustedThreshold(cascade.threshold)
        return dict.fromkeys(groups, Levels(plain, plain))
    people = people_marks(verdicts)
    small, large = (judge_confidence(judge, verdicts) for judge in cascade.members)
    half = cascade.risk / 2
    levels_by_group = {}
    for group in groups:
        rows = {
            judge: [v for v in verdicts if v.judge == judge and (v.criterion, v.ballot) == group]
            for judge in cascade.members
        }
        first = _learn_threshold(rows[cascade.small], people, small, target=cascade.agreement, risk=half)
        doubts = {place for place in small if _round_down(small[place]) < first.threshold}
        steps = {_round_down(sure) for place, sure in small.items() if place[1:3] == group}
        doubtful_verdicts = [v for v in rows[cascade.large] if response_set_key(v) in doubts]
        # One share of the risk for each threshold that the small judge could have got, plus one for "never".
        risk_per_step = half / (len(steps) + 1)
        second = _learn_threshold(doubtful_verdicts, people, large, target=cascade.agreement, risk=risk_per_step)
        marked_verdicts = [v for v in rows[cascade.small] if response_set_key(v) in people]
        doubtful = {v.item for v in marked_verdicts if response_set_key(v) in doubts}
        needed_items = least_items(cascade.agreement, risk_per_step)
        levels_by_group[group] = Levels(
            first, second, len(marked_verdicts), len({v.item for v in marked_verdicts}), len(doubtful), needed_items
        )
    return levels_by_group


def _learn_threshold(
    rows: Sequence[Verdict], people: PeopleMarks, sure: Mapping[ResponseSetKey, float], *, target: float, risk: float
) -> TrustedThreshold:
    marked_verdicts = [v for v in rows if v.marks is not None and response_set_key(v) in people]
    if not marked_verdicts:
        return TrustedThreshold(NEVER)
    steps = np.array([_round_down(sure[response_set_key(v)]) for v in marked_verdicts])
    hits = np.array([float(agrees_with_people(v, people[response_set_key(v)])) for v in marked_verdicts])
    return find_trusted_threshold(steps, hits, [v.item for v in marked_verdicts], target=target, risk=risk)


def cases_for_large_judge(cascade: Cascade, verdicts: Sequence[Verdict]) -> set[ResponseSetKey]:
    """Return the cases that the small judge leaves in doubt, to send to the large judge.
    Groups with too few doubtful items marked by people for any promise are left out: their cases wait for people.
    """
    sure, levels_by_group = judge_confidence(cascade.small, verdicts), learn_levels(cascade, verdicts)
    doubts = {place for place in sure if _round_down(sure[place]) < levels_by_group[place[1], place[2]].small.threshold}
    if cascade.agreement is None:
        return {place for place in sure if sure[place] < cascade.threshold}
    ready_groups = {group for group, level in levels_by_group.items() if level.doubtful >= level.needed_items}
    return {place for place in doubts if (place[1], place[2]) in ready_groups}


def decide_cases(cascade: Cascade, verdicts: Sequence[Verdict]) -> Iterator[tuple[Verdict, DecidedBy]]:
    """Yield a cascade verdict for each verdict of the small judge, and who decided it."""
    levels_by_group = learn_levels(cascade, verdicts)
    sure = {judge: judge_confidence(judge, verdicts) for judge in cascade.members}
    large = {(verdict.case, verdict.trial): verdict for verdict in verdicts if verdict.judge == cascade.large}
    people = people_marks(verdicts) if cascade.waits else {}

    def trusts(judge: str, place: ResponseSetKey, threshold: float) -> bool:
        exact = sure[judge].get(place, 0.0)
        return (exact if cascade.agreement is None else _round_down(exact)) >= threshold

    for verdict in verdicts:
        if verdict.judge != cascade.small:
            continue
        place = response_set_key(verdict)
        level = levels_by_group[place[1], place[2]]
        if verdict.marks is not None and trusts(cascade.small, place, level.small.threshold):
            yield view_verdict(cascade, verdict, verdict.marks), "small"
            continue
        second = large.get((verdict.case, verdict.trial))
        trust = second is not None and trusts(cascade.large, place, level.large.threshold)
        if place in people and not trust:
            theirs = tuple(people[place][response_key] for response_key in verdict.shown_responses)
            yield view_verdict(cascade, verdict, theirs, BY_PEOPLE), "people"
        elif second is None and cascade.agreement is None:
            yield view_abstention(cascade, verdict, f"{cascade.large} has not judged it yet"), "open"
        elif second is None or second.marks is None or (cascade.waits and not trust):
            waits = cascade.waits
            yield (
                view_abstention(cascade, verdict, WAITS if waits else "both left it open"),
                "pending" if waits else "open",
            )
        else:
            yield view_verdict(cascade, verdict, second.marks), "large"


def build_cascade_verdicts(cascade: Cascade, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the cascade's verdicts, one for each verdict of the small judge."""
    return [verdict for verdict, _ in decide_cases(cascade, verdicts)]


def pending_cases(cascade: Cascade, verdicts: Sequence[Verdict]) -> set[ResponseSetKey]:
    """Return the cases that wait for people."""
    return {response_set_key(verdict) for verdict, by in decide_cases(cascade, verdicts) if by == "pending"}


def select_cascades(views: Iterable[View]) -> list[Cascade]:
    """Return the cascades among some views."""
    return [view for view in views if isinstance(view, Cascade)]


def cascade_table(cascades: Sequence[Cascade], verdicts: Sequence[Verdict]) -> Table:
    """Return per cascade who decided how many cases, how many wait for people, the promise and the savings."""
    rows: list[list[Cell]] = []
    notes: list[Note] = []
    for cascade in cascades:
        member_verdicts = [verdict for verdict in verdicts if verdict.judge in cascade.source_judges]
        counts: dict[Group, Counter[DecidedBy]] = defaultdict(Counter)
        for verdict, by in decide_cases(cascade, member_verdicts):
            counts[verdict.criterion, verdict.ballot][by] += 1
        levels_by_group, large_judge_cases = (
            learn_levels(cascade, member_verdicts),
            cases_for_large_judge(cascade, member_verdicts),
        )
        for group, by_whom in sorted(counts.items()):
            level = levels_by_group[group]
            decision_counts = [by_whom[by] for by in ("small", "large", "people", "pending")]
            sure = [None if part.threshold == NEVER else part.threshold for part in (level.small, level.large)]
            bounds = [part.agreement_bound for part in (level.small, level.large) if part.agreement_bound is not None]
            least = min(bounds) if bounds else None
            rows.append(
                [
                    cascade.name,
                    *group,
                    *decision_counts,
                    *sure,
                    least,
                    _saved_share(cascade, member_verdicts, group, large_judge_cases),
                ]
            )
        if cascade.agreement is not None:
            notes += _promise_notes(cascade, levels_by_group, counts)
    if any(isinstance(row[6], int) and row[6] for row in rows):
        notes.append(PENDING)
    title = Note("cascades.title")
    columns = table_columns(
        "judge", "criterion", "ballot", "by the small judge", "by the large judge", "by people", "pending",
        "threshold, small", "threshold, large", "agreement at least", "cost saved",
    )  # fmt: skip
    return Table("cascades", title, columns, rows, notes)


def _promise_notes(
    cascade: Cascade, levels_by_group: Mapping[Group, Levels], counts: Mapping[Group, Counter[DecidedBy]]
) -> Iterator[Note]:
    agreement = cascade.agreement or 0.0
    yield Note(
        "cascades.promise",
        judge=cascade.name,
        agreement=agreement,
        risk=cascade.risk,
        n=sum(level.labelled_count for level in levels_by_group.values()),
    )
    least = least_items(agreement, cascade.risk / 2)
    for criterion, ballot in sorted(counts):
        level = levels_by_group[criterion, ballot]
        if level.items < least:
            yield Note(
                "cascades.too-few", judge=cascade.name, criterion=criterion, ballot=ballot, n=level.items, least=least
            )
        elif (
            level.doubtful < level.needed_items
            and counts[criterion, ballot]["small"] < counts[criterion, ballot].total()
        ):
            yield Note(
                "cascades.too-few-in-doubt",
                judge=cascade.name, criterion=criterion, ballot=ballot, n=level.doubtful, least=level.needed_items,
            )  # fmt: skip


def _saved_share(
    cascade: Cascade, verdicts: Sequence[Verdict], group: Group, large_judge_cases: set[ResponseSetKey]
) -> float | None:
    """Return the share saved of the cost of the large judge alone (in calls if prices are unknown or zero), without its
    verdicts outside `large_judge_cases`, which the cascade did not request.
    """
    group_verdicts = [v for v in verdicts if (v.criterion, v.ballot) == group]
    small, large = ([v for v in group_verdicts if v.judge == judge] for judge in cascade.members)
    if not small:
        return None
    needed_verdicts = [v for v in large if response_set_key(v) in large_judge_cases]
    prices, needed_prices, all_of_it = ([v.usage.dollars for v in part] for part in (small, needed_verdicts, large))
    if None in prices or None in all_of_it or not any(all_of_it):
        return 1 - len(needed_verdicts) / len(small)
    alone = fmean(price or 0.0 for price in all_of_it)
    return 1 - fsum(price or 0.0 for price in (*prices, *needed_prices)) / (alone * len(small))
