"""Judges and metrics beside people who voted on pairs: accuracy by how far people agree, and ratings of systems."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullbench.analysis.boards.matches_from_verdicts import settle
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import spearman
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.stats.ratings.bradley_terry import bradley_terry

Pair = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Majority:
    """What most people said of a pair: whether the contestant whose name sorts first won, and by how many votes."""

    first_won: bool
    votes: int
    of: int

    @property
    def level(self) -> str:
        return f"{self.votes}/{self.of}"


def majorities(record: Record, people: str = PEOPLE) -> dict[Pair, Majority]:
    """The majority of people on every pair of which one side has more votes; ties count for nobody."""
    votes: dict[Pair, Counter[int]] = defaultdict(Counter)
    for verdict in record.where(judge=people, fault=None):
        if len(verdict.contestants) == 2:
            votes[_pair(verdict)][_vote(verdict)] += 1
    decided = {}
    for pair, counts in votes.items():
        if counts[1] != counts[-1]:
            decided[pair] = Majority(counts[1] > counts[-1], max(counts[1], counts[-1]), counts.total())
    return decided


def _pair(verdict: Verdict) -> Pair:
    first, second = sorted(verdict.contestants)
    return verdict.item, first, second


def _vote(verdict: Verdict) -> int:
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=True))
    _, first, second = _pair(verdict)
    return (marks[first] > marks[second]) - (marks[first] < marks[second])


def hits(record: Record, judge: str, truth: Mapping[Pair, Majority]) -> dict[Pair, float]:
    """For each pair that a judge ruled on: 1 where it names people's winner, 0 where the other, 1/2 where neither.

    A half is the exact expectation of a coin. Several verdicts on a pair (both orders) count as their mean.
    """
    scores: dict[Pair, list[float]] = defaultdict(list)
    for verdict in record.where(judge=judge):
        if len(verdict.contestants) == 2 and _pair(verdict) in truth:
            vote = 0 if verdict.marks is None else _vote(verdict)
            right = 1 if truth[_pair(verdict)].first_won else -1
            scores[_pair(verdict)].append((1 + vote * right) / 2)
    return {pair: sum(each) / len(each) for pair, each in scores.items()}


def agreement(record: Record, people: str = PEOPLE) -> Table:
    """Accuracy in naming people's winner, by how many of them agree; chance, and one person as the ceiling."""
    truth = majorities(record, people)
    levels = sorted({majority.level for majority in truth.values()}, reverse=True)
    rows: list[list[Cell]] = []
    for judge in record.judges:
        if judge == people:
            continue
        right = hits(record, judge, truth)
        for level in (*levels, "all"):
            chosen = [hit for pair, hit in right.items() if level in {"all", truth[pair].level}]
            if chosen:
                rows.append([judge, level, wilson(sum(chosen), len(chosen))])
    for level in (*levels, "all"):
        chosen_ = [majority for majority in truth.values() if level in {"all", majority.level}]
        if chosen_:
            rows.append(["(chance)", level, 0.5])
            rows.append(
                ["(one person)", level, sum(majority.votes / majority.of for majority in chosen_) / len(chosen_)]
            )
    notes = [
        Note(
            "visit-bench.people.where-a-judge-names-neither",
            "Where a judge names neither side, half a hit is counted: the exact expectation of breaking ties at "
            "random.",
        ),
        Note(
            "visit-bench.people.one-person-how-often-a",
            "(one person): how often a single voter is on the majority's side. No judge can be expected to do better "
            "than all votes together allow.",
        ),
    ]
    hint = {"kind": "bars", "label": "judge", "value": "accuracy", "group": "people who agree"}
    columns = headings("judge", "people who agree", "accuracy")
    return Table(
        "people",
        Note("visit-bench.people.title.judges-beside-the-majority-of", "Judges beside the majority of people"),
        columns,
        rows,
        notes,
        {"people": people},
        hint,
    )


def systems(record: Record, people: str = PEOPLE) -> Table:
    """Spearman's correlation of the ratings that a judge's verdicts give with those that people's votes give."""
    theirs = _ratings(record, people)
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for judge in record.judges:
        if judge == people:
            continue
        ours = _ratings(record, judge)
        both = sorted(set(ours) & set(theirs))
        try:
            rho: Estimate | None = spearman([ours[name] for name in both], [theirs[name] for name in both])
        except Undefined as reason:
            rho = None
            notes.append(Note("visit-bench.people.text", "{judge}: {reason}.", judge=judge, reason=sentence(reason)))
        rows.append([judge, rho, len(both)])
    return Table(
        "systems",
        Note("visit-bench.people.title.ratings-beside-people-s", "Ratings beside people's"),
        headings("judge", "Spearman", "contestants"),
        rows,
        notes,
    )


def _ratings(record: Record, judge: str) -> dict[str, float]:
    settled = settle(record, judge, "each")
    if not len(settled):
        return {}
    rows = settled.rows
    try:
        ratings = bradley_terry(rows.one, rows.two, rows.outcome, contestants=len(settled.names), interval="sandwich")
    except Undefined:
        return {}
    named: Sequence[tuple[str, Estimate | None]] = list(zip(settled.names, ratings.estimates, strict=True))
    return {name: rating.value for name, rating in named if rating is not None}
