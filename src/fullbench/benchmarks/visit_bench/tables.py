"""Tables of VisIT-Bench: leaderboards, families, agreement with people, instruction contents, costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.leaderboard_companion_tables import standing_tables
from fullbench.analysis.boards.matches_from_verdicts import Rule, build_matches
from fullbench.analysis.people import votes_on_reference_correctness
from fullbench.analysis.scope_suffixes_of_table_titles import scope_suffix, title_with_scope
from fullbench.analysis.summary.judge_trust import baselines_last
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source
from fullbench.benchmarks.visit_bench.items_and_responses_from_release import REFERENCE, is_judged
from fullbench.benchmarks.visit_bench.verbs_nouns_and_objects import content_tables
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import is_check, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import spearman_correlation
from fullbench.stats.intervals.share_intervals import share_estimate, wilson_interval
from fullbench.stats.ratings.bradley_terry import bradley_terry

FAMILY = "family"
RULE: Rule = "both-agree"
"""The paper's rule for two orders: a winner must win in both, anything else is a tie."""


KINDS: Mapping[str, str] = {
    "single": Note("visit-bench.tables.place.single"),
    "multi": Note("visit-bench.tables.place.multi"),
}
"""Additions to a title by the value of the tag `images`."""


def tables(record: Record) -> list[Table]:
    """Return a leaderboard per judge, families, agreement with people if they voted, unusable verdicts and costs."""
    full_record, record = record, record.where(lambda verdict: not is_check(verdict))
    benchmark_tables: list[Table] = []
    # A user's own items may have no family.
    tag = FAMILY if any(FAMILY in item.tags for item in record.items.values()) else None
    # People's board is the paper's leaderboard; baselines come last.
    judges = sorted(baselines_last(record.judges), key=lambda judge: judge != PEOPLE)
    for judge in judges:
        # The paper counts every single vote of a person as a match.
        votes = Settings(reference=REFERENCE, votes="each")
        settings = votes if judge == PEOPLE else Settings(rule=RULE, reference=REFERENCE)
        boards = standing_tables(record, judge, settings, tag=tag)
        if not benchmark_tables and boards:
            boards[0] = replace(boards[0], source={**boards[0].source, **paper_source("VisIT-Bench", "Elo")})
        benchmark_tables += boards
        benchmark_tables += leaderboards_by_images(record, judge, settings)
    for criterion, part in record.where(lambda verdict: not is_review(verdict)).by("criterion").items():
        if PEOPLE in part.judges:
            behind = scope_suffix("", criterion)
            benchmark_tables += [
                replace(table, name=f"{table.name}{behind}", title=title_with_scope(table.title, behind))
                for table in (
                    agreement_table(part),
                    rating_correlation_table(part),
                )
            ]
    benchmark_tables += [
        votes_on_reference_correctness.reference_table(full_record),
        label_count_table(full_record),
        label_share_table(full_record),
        *content_tables(full_record.items.values()),
    ]
    benchmark_tables += [
        standard_verdict_tables.fault_table(record, together=True),
        standard_verdict_tables.cost_table(record),
    ]
    return [table for table in benchmark_tables if table.rows]


def leaderboards_by_images(record: Record, judge: str, settings: Settings) -> list[Table]:
    """Return leaderboards for items with one image and with several (Tables 3 and 4), if there are both."""
    kinds = record.where(judge=judge).by(lambda verdict: record.tag(verdict, "images"))
    if not set(KINDS) <= set(kinds):
        return []
    return [
        replace(
            table, name=f"board{board.key.scope_suffix()}, {kind}", title=title_with_scope(table.title, KINDS[kind])
        )
        for kind in KINDS
        for board in build_boards(kinds[kind], replace(settings, elo=True))
        if (table := board.table("board")).rows
    ]


def label_count_table(record: Record) -> Table:
    """Count the items by number of images and by people's label of the reference."""
    counts = Counter(
        (item.tags.get("images", ""), item.tags.get("label", "")) for item in record.items.values() if item.tags
    )
    rows: list[list[Cell]] = [[images, label, count] for (images, label), count in sorted(counts.items()) if label]
    return Table(
        "labels",
        Note("visit-bench.tables.title.the-items-that-were-judged"),
        table_columns("images", "people said", "items"),
        rows,
    )


def label_share_table(record: Record) -> Table:
    """Return the share of each reference label, overall and by number of images (Table 2)."""
    groups: dict[str, list[str]] = {}
    for item in record.items.values():
        if label := item.tags.get("label"):
            for group in ("overall", item.tags.get("images", "")):
                if group:
                    groups.setdefault(group, []).append(label)
    names = ("correct", "caption at fault", "reference at fault")
    rows: list[list[Cell]] = [
        [group, name, wilson_interval(group_labels.count(name), len(group_labels))]
        for group, group_labels in groups.items()
        for name in names
    ]
    unverified_count = sum(not is_judged(item) for item in record.items.values())
    notes = [Note("visit-bench.tables.unverified", n=unverified_count)] if unverified_count else []
    title = Note("visit-bench.tables.title.verified")
    hint = {"kind": "bars", "label": "images", "value": "share", "group": "people said"}
    return Table("verified", title, table_columns("images", "people said", "share"), rows, notes, {}, hint)


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
            level_hits = {pair: hit for pair, hit in judge_hits.items() if level in {"all", truth[pair].level}}
            if level_hits:
                share = share_estimate([*level_hits.values()], cluster=[item for item, *_ in level_hits])
                rows.append([judge, level, share])
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
