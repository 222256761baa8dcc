"""Cases of a ledger to look at: those of an item, those that judges disagree on, and unusable verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fullbench.core.verdict import PEOPLE, Verdict

BASELINES = frozenset({"length", "chance", "reference"})
"""Judges by a simple rule. Others disagree with them everywhere, so they are left out unless one is named."""

ShownResponses: TypeAlias = tuple[tuple[str, int], ...]
_Subject: TypeAlias = tuple[str, ShownResponses, str, str]


@dataclass(frozen=True)
class DisputedCase:
    """Responses to an item that judges marked differently.

    `marks` has each judge's mean over orders, trials and raters for each of `responses`. `disagreement` is the largest
    difference between two judges on one response, as a share of the marks that occur on the ballot.
    """

    item: str
    responses: ShownResponses
    ballot: str
    criterion: str
    marks: Mapping[str, tuple[float, ...]]
    disagreement: float
    cases: tuple[str, ...]


def rank_disputed_cases(verdicts: Iterable[Verdict], judge: str | None = None) -> list[DisputedCase]:
    """Return the cases that at least two judges marked differently, the largest disagreement first.

    Args:
        verdicts: verdicts of any judges; unusable ones are passed over.
        judge: measures the disagreement of this judge with people, or with the other judges if no person voted.

    >>> def mark(judge, *marks): return Verdict("k", judge, "q1", ("a", "b"), "score:1-5", marks=marks)
    >>> (case,) = rank_disputed_cases([mark("m", 5, 2), mark("m", 4, 2), mark("human", 1, 2), mark("length", 1, 5)])
    >>> case.item, dict(case.marks), case.disagreement
    ('q1', {'m': (4.5, 2.0), 'human': (1.0, 2.0), 'length': (1.0, 5.0)}, 0.875)
    """
    marks_by_subject: dict[_Subject, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    cases_by_subject: dict[_Subject, dict[str, None]] = defaultdict(dict)
    limits: dict[str, tuple[float, float]] = {}
    for verdict in verdicts:
        if verdict.marks is None:
            continue
        marked_responses = sorted(zip(verdict.shown_responses, verdict.marks, strict=True))
        subject = (
            verdict.item, tuple(response for response, _ in marked_responses), verdict.ballot, verdict.criterion,
        )  # fmt: skip
        marks_by_subject[subject][verdict.judge].append(tuple(mark for _, mark in marked_responses))
        cases_by_subject[subject][verdict.case] = None
        low, high = limits.get(verdict.ballot, (min(verdict.marks), max(verdict.marks)))
        limits[verdict.ballot] = min(low, *verdict.marks), max(high, *verdict.marks)
    disputed_cases = []
    for subject, marks_by_judge in marks_by_subject.items():
        means = {name: tuple(map(_mean, zip(*marks, strict=True))) for name, marks in marks_by_judge.items()}
        low, high = limits[subject[2]]
        largest = _largest_difference(means, judge)
        if largest > 0:
            case_keys = tuple(cases_by_subject[subject])
            disputed_cases.append(DisputedCase(*subject, means, largest / (high - low), case_keys))
    return sorted(disputed_cases, key=lambda case: -case.disagreement)


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values)


def _largest_difference(means: Mapping[str, tuple[float, ...]], judge: str | None) -> float:
    """Return the largest difference on one response between the judge and others, or between any two; 0 if none."""
    names = [name for name in means if name == judge or name not in BASELINES]
    if judge is None:
        firsts = names
    elif judge in means:
        firsts, names = [judge], [PEOPLE] if PEOPLE in means and judge != PEOPLE else names
    else:
        return 0.0
    differences = (
        abs(mark - other_mark)
        for first in firsts
        for name in names
        for mark, other_mark in zip(means[first], means[name], strict=True)
    )
    return max(differences, default=0.0)
