"""Ground truth about contestants and pairs: from people, a judge that knows, or a list of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from fullbench.analysis.peer_review.reviews_from_record import TRUTHS
from fullbench.analysis.people.joined_votes import join_record_votes
from fullbench.analysis.scope_text import OVERALL
from fullbench.core.rubric import VISUAL
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record

Pair = tuple[str, str, str]
"""An item and two contestants in the order of their names."""


@dataclass(frozen=True)
class Truth:
    """True scores of contestants and a sentence on their source; both empty if unknown."""

    scores: Mapping[str, float]
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.scores)


def truth_from_scores(scores: Mapping[str, float], file: str) -> Truth:
    """Return the truth given by a list of scores, such as contestants' scores on a benchmark."""
    return Truth(scores, Note("peers.truth.given", file=file))


def truth_from_order(best_first: tuple[str, ...]) -> Truth:
    """Return an order as scores; the last contestant gets 1.

    >>> truth_from_order(("keen", "fair", "blind")).scores
    {'keen': 3.0, 'fair': 2.0, 'blind': 1.0}
    """
    scores = {name: float(len(best_first) - place) for place, name in enumerate(best_first)}
    return Truth(scores, Note("peers.truth.order"))


def truth_from_record(record: Record) -> Truth:
    """Return the truth in a record: people's verdicts if there are any, else those of a judge that knows the truth."""
    for judge in TRUTHS:
        judge_verdicts = record.where(
            lambda verdict: verdict.item in record.items and verdict.criterion != VISUAL, judge=judge, fault=None
        )
        scores = true_scores(judge_verdicts)
        if not scores:
            continue
        if judge == PEOPLE:
            voters = len({verdict.rater for verdict in judge_verdicts})
            source = Note("peers.truth.people", n=len(judge_verdicts), voters=voters)
        else:
            source = Note("peers.truth.known", n=len(judge_verdicts))
        return Truth(scores, source)
    return Truth({})


def true_scores(record: Record) -> dict[str, float]:
    """Return each contestant's mean mark by the judges in `TRUTHS`, or an empty dict if there are none."""
    marks_by_name: dict[str, list[float]] = {}
    for verdict in record:
        from_truth = verdict.judge in TRUTHS and verdict.item in record.items and verdict.criterion != VISUAL
        if from_truth and verdict.marks is not None:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                marks_by_name.setdefault(name, []).append(mark)
    return {name: fmean(marks) for name, marks in sorted(marks_by_name.items())}


def true_outcomes(record: Record, criterion: str) -> dict[Pair, float]:
    """Return for each pair the true outcome of the first by name: 1, 0, or 0.5 for a tie or a split vote.
    Verdicts on the criterion itself override overall ones. The judge `truth` overrides people.
    """
    truths = record.where(lambda verdict: verdict.judge in TRUTHS and len(verdict.contestants) == 2, fault=None)
    verdicts: dict[Pair, float] = {}
    for criterion_name in (OVERALL, criterion):
        for judge in TRUTHS:
            together, _ = join_record_votes(truths.where(criterion=criterion_name, judge=judge), judge)
            for verdict in together:
                verdicts[pair_of(verdict)] = outcome_for_first(verdict)
    return verdicts


def pair_of(verdict: Verdict) -> Pair:
    """Return the item and the two contestants of a verdict, sorted by name."""
    first, second = sorted(verdict.contestants)
    return verdict.item, first, second


def outcome_for_first(verdict: Verdict) -> float:
    """Return the outcome of a verdict on two for the first by name: 1, 0.5 or 0."""
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=True))
    first, second = sorted(marks)
    return 0.5 if marks[first] == marks[second] else float(marks[first] > marks[second])
