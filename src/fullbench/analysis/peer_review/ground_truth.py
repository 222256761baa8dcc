"""What is right about contestants and their answers, from whoever can say: people, a known truth, a list of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from fullbench.analysis.peer_review.reviews_from_record import TRUTHS
from fullbench.analysis.people.joined_votes import joined_record
from fullbench.analysis.scope_text import OVERALL
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import VISUAL
from fullbench.core.verdict import PEOPLE, Verdict

Pair = tuple[str, str, str]
"""An item and two contestants in the order of their names."""


@dataclass(frozen=True)
class Truth:
    """True scores of contestants, and a sentence that says whose they are; both empty where nobody knows."""

    scores: Mapping[str, float]
    source: str = ""

    def __bool__(self) -> bool:
        return bool(self.scores)


def given_scores(scores: Mapping[str, float], file: str) -> Truth:
    """A list of scores that was given, such as contestants' scores on a benchmark."""
    return Truth(scores, Note("peers.truth.given", "Truth: the scores in {file}.", file=file))


def in_this_order(best_first: tuple[str, ...]) -> Truth:
    """An order as scores: the last has 1.

    >>> in_this_order(("keen", "fair", "blind")).scores
    {'keen': 3.0, 'fair': 2.0, 'blind': 1.0}
    """
    scores = {name: float(len(best_first) - place) for place, name in enumerate(best_first)}
    return Truth(
        scores,
        Note(
            "peers.truth.order",
            "Truth: the order in which the contestants were named, as whole numbers; Pearson is against ranks.",
        ),
    )


def truth_of(record: Record) -> Truth:
    """What a record itself knows: people's rulings where there are any, else those of a judge that knows the truth."""
    for judge in TRUTHS:
        heard = record.where(
            lambda verdict: verdict.item in record.items and verdict.criterion != VISUAL, judge=judge, fault=None
        )
        scores = true_scores(heard)
        if not scores:
            continue
        if judge == PEOPLE:
            voters = len({verdict.rater for verdict in heard})
            source = Note(
                "peers.truth.people",
                "Truth: people, by {n:,} votes of {voters} on answers to these questions.",
                n=len(heard),
                voters=voters,
            )
        else:
            source = Note("peers.truth.known", "Truth: known for {n:,} pairs of answers.", n=len(heard))
        return Truth(scores, source)
    return Truth({})


def true_scores(record: Record) -> dict[str, float]:
    """What those who stand for the truth make of each contestant: its mean mark; empty where they said nothing."""
    marks_by_name: dict[str, list[float]] = {}
    for verdict in record:
        from_truth = verdict.judge in TRUTHS and verdict.item in record.items and verdict.criterion != VISUAL
        if from_truth and verdict.marks is not None:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                marks_by_name.setdefault(name, []).append(mark)
    return {name: fmean(marks) for name, marks in sorted(marks_by_name.items())}


def true_rulings(record: Record, criterion: str) -> dict[Pair, float]:
    """For each pair what the first by name has of the truth: 1, 0, or 0.5 where the truth ties or people are split.

    The criterion's own rulings go before overall ones, and what is known for certain before what people say.
    """
    truths = record.where(lambda verdict: verdict.judge in TRUTHS and len(verdict.contestants) == 2, fault=None)
    rulings: dict[Pair, float] = {}
    for named in (OVERALL, criterion):
        for judge in TRUTHS:
            together, _ = joined_record(truths.where(criterion=named, judge=judge), judge)
            for verdict in together:
                rulings[pair_of(verdict)] = outcome(verdict)
    return rulings


def pair_of(verdict: Verdict) -> Pair:
    first, second = sorted(verdict.contestants)
    return verdict.item, first, second


def outcome(verdict: Verdict) -> float:
    """What the first by name has of a verdict on two: 1, 0.5 or 0."""
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=True))
    first, second = sorted(marks)
    return 0.5 if marks[first] == marks[second] else float(marks[first] > marks[second])
