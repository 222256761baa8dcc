"""Agreement of judges and metrics with people's votes on pairs: accuracy by consensus, and system ratings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.core.column_labels import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, error_sentence
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import spearman_correlation
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.stats.ratings.bradley_terry import bradley_terry

Pair = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Majority:
    """People's majority on a pair: `first_won` is about the contestant whose name sorts first."""

    first_won: bool
    votes: int
    total_votes: int

    @property
    def level(self) -> str:
        return f"{self.votes}/{self.total_votes}"


def people_majorities(record: Record, people: str = PEOPLE) -> dict[Pair, Majority]:
    """Return people's majority on every pair in which one side has more votes; ties count for neither."""
    votes: dict[Pair, Counter[int]] = defaultdict(Counter)
    for verdict in record.where(judge=people, fault=None):
        if len(verdict.contestants) == 2:
            votes[_sorted_pair(verdict)][_vote_direction(verdict)] += 1
    majorities_by_pair = {}
    for pair, counts in votes.items():
        if counts[1] != counts[-1]:
            majorities_by_pair[pair] = Majority(counts[1] > counts[-1], max(counts[1], counts[-1]), counts.total())
    return majorities_by_pair


def _sorted_pair(verdict: Verdict) -> Pair:
    first, second = sorted(verdict.contestants)
    return verdict.item, first, second


def _vote_direction(verdict: Verdict) -> int:
    marks = dict(zip(verdict.contestants, verdict.marks or (), strict=True))
    _, first, second = _sorted_pair(verdict)
    return (marks[first] > marks[second]) - (marks[first] < marks[second])


def hits_by_pair(record: Record, judge: str, truth: Mapping[Pair, Majority]) -> dict[Pair, float]:
    """Return 1 per pair if the judge names people's winner, 0 if the other, 1/2 if neither.

    A half is the exact expectation of a coin toss. Several verdicts on a pair (both orders) are averaged.
    """
    scores: dict[Pair, list[float]] = defaultdict(list)
    for verdict in record.where(judge=judge):
        if len(verdict.contestants) == 2 and _sorted_pair(verdict) in truth:
            vote = 0 if verdict.marks is None else _vote_direction(verdict)
            right = 1 if truth[_sorted_pair(verdict)].first_won else -1
            scores[_sorted_pair(verdict)].append((1 + vote * right) / 2)
    return {pair: sum(pair_scores) / len(pair_scores) for pair, pair_scores in scores.items()}


def agreement_table(record: Record, people: str = PEOPLE) -> Table:
    """Return the accuracy in naming people's winner by level of consensus, with chance and one person as ceiling."""
    truth = people_majorities(record, people)
    levels = sorted({majority.level for majority in truth.values()}, reverse=True)
    rows: list[list[Cell]] = []
    for judge in record.judges:
        if judge == people:
            continue
        judge_hits = hits_by_pair(record, judge, truth)
        for level in (*levels, "all"):
            level_hits = [hit for pair, hit in judge_hits.items() if level in {"all", truth[pair].level}]
            if level_hits:
                rows.append([judge, level, wilson_interval(sum(level_hits), len(level_hits))])
    for level in (*levels, "all"):
        level_majorities = [majority for majority in truth.values() if level in {"all", majority.level}]
        if level_majorities:
            rows.append(["(chance)", level, 0.5])
            rows.append(
                [
                    "(one person)",
                    level,
                    sum(majority.votes / majority.total_votes for majority in level_majorities) / len(level_majorities),
                ]
            )
    notes = [Note("visit-bench.people.where-a-judge-names-neither"), Note("visit-bench.people.one-person-how-often-a")]
    hint = {"kind": "bars", "label": "judge", "value": "accuracy", "group": "people who agree"}
    columns = table_columns("judge", "people who agree", "accuracy")
    return Table(
        "people",
        Note("visit-bench.people.title.judges-beside-the-majority-of"),
        columns,
        rows,
        notes,
        {"people": people},
        hint,
    )


def rating_correlation_table(record: Record, people: str = PEOPLE) -> Table:
    """Return Spearman's correlation of ratings from a judge's verdicts with ratings from people's votes."""
    people_ratings = _ratings_by_name(record, people)
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for judge in record.judges:
        if judge == people:
            continue
        judge_ratings = _ratings_by_name(record, judge)
        shared_names = sorted(set(judge_ratings) & set(people_ratings))
        try:
            rho: Estimate | None = spearman_correlation(
                [judge_ratings[name] for name in shared_names], [people_ratings[name] for name in shared_names]
            )
        except Undefined as reason:
            rho = None
            notes.append(Note("visit-bench.people.text", judge=judge, reason=error_sentence(reason)))
        rows.append([judge, rho, len(shared_names)])
    return Table(
        "systems",
        Note("visit-bench.people.title.ratings-beside-people-s"),
        table_columns("judge", "Spearman", "contestants"),
        rows,
        notes,
    )


def _ratings_by_name(record: Record, judge: str) -> dict[str, float]:
    matches = build_matches(record, judge, "each")
    if not len(matches):
        return {}
    rows = matches.rows
    try:
        ratings = bradley_terry(
            rows.first, rows.second, rows.outcome, contestants=len(matches.names), interval="sandwich"
        )
    except Undefined:
        return {}
    rating_pairs: Sequence[tuple[str, Estimate | None]] = list(zip(matches.names, ratings.estimates, strict=True))
    return {name: rating.value for name, rating in rating_pairs if rating is not None}
