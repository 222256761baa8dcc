"""Contestants of the first board in tiers, next to people's and the best judges' numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.analysis.boards import leaderboard
from fullbench.analysis.boards.choice_of_first_board import FirstBoard, choose_first_board
from fullbench.analysis.people.corrected_leaderboards import RATING, corrected_boards
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, ballot_of
from fullbench.analysis.summary.judge_trust import TRUST_WORDS, Trust, is_baseline, real_judges
from fullbench.analysis.views.view_verdict_helpers import waiting_mask
from fullbench.columns.verdict_columns import STUDY, Columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

BEST_JUDGES = 3
"""Judges that have a column of their own."""
MANY_UNUSABLE = 0.1
"""Share of unusable verdicts of a contestant that the summary mentions."""

Ranks = tuple[int, int]


@dataclass(frozen=True)
class Standing:
    """One contestant on the first board: its tier (None if it is not rated) and its numbers by column."""

    contestant: str
    tier: int | None
    values: Mapping[str, Cell]


@dataclass(frozen=True)
class Leaders:
    """The first board of one study and criterion, best contestant first.

    `columns` are the keys of `Standing.values`: `people`, `corrected`, then judges. `other_judges` have no column.
    `unusable` has the contestants with many unusable verdicts, and their share.
    """

    study: str
    criterion: str
    board: FirstBoard
    standings: Sequence[Standing]
    columns: Sequence[str]
    metric: str
    other_judges: frozenset[str]
    items: int
    due: int
    unusable: Mapping[str, float]

    @property
    def tiers(self) -> list[list[str]]:
        """The rated contestants of each tier, the best tier first."""
        numbers = sorted({standing.tier for standing in self.standings if standing.tier is not None})
        return [[one.contestant for one in self.standings if one.tier == number] for number in numbers]


def tiers_of_ranks(ranks: Sequence[Ranks | None]) -> list[int | None]:
    """Return the tier of each contestant from its range of simultaneous ranks.

    The first tier has all that may be first. The next has all that may be the best of the others, and so on: with 95 %
    confidence, no contestant belongs above its tier.

    >>> tiers_of_ranks([(1, 2), (1, 3), (2, 4), (4, 6), (5, 6), None])
    [1, 1, 2, 3, 4, None]
    """
    tiers: list[int | None] = [None] * len(ranks)
    number, placed = 0, 0
    while members := [who for who, rank in enumerate(ranks) if rank and tiers[who] is None and rank[0] <= placed + 1]:
        number += 1
        for who in members:
            tiers[who] = number
        placed += len(members)
    for who, rank in enumerate(ranks):
        if rank and tiers[who] is None:
            tiers[who] = number + 1
    return tiers


def leading_contestants(
    columns: Columns, leaderboards: Sequence[Table], trusts: Sequence[Trust], *, rule: VoteRule = "default"
) -> list[Leaders]:
    """Return the first board of every study and criterion, the default criterion (and so a rubric's total) first.

    Args:
        columns: All verdicts.
        leaderboards: Their leaderboards, from which the numbers are taken.
        trusts: Trust in the judges; the best have columns of their own.
        rule: Rule that joins several people's votes.
    """
    tables: dict[tuple[str, str, str, str], Table] = {}
    for table in leaderboards:
        source = table.source
        if {"judge", "criterion", "family"} <= set(source):
            scope = str(source.get("study", STUDY)), str(source["criterion"])
            tables.setdefault((*scope, str(source["judge"]), str(source["family"])), table)
    all_leaders = []
    for (study, criterion), part in columns.by("study", "criterion"):
        ranked = _rank_judges(
            part, [leaders for leaders in trusts if (leaders.study, leaders.criterion) == (study, criterion)]
        )
        board = choose_first_board(_without_baselines(part), rule=rule) or choose_first_board(part, rule=rule)
        if board is not None:
            scope_tables = {(key[2], key[3]): table for key, table in tables.items() if key[:2] == (study, criterion)}
            corrected = _corrected_values(part, board, rule) if board.kind == "corrected" else {}
            first = PEOPLE if board.kind == "people" else board.judge
            if not corrected and (first, board.family) not in scope_tables:
                # The site stores boards one by one, so the first board may not be stored yet.
                settings = leaderboard.Settings(votes=rule)
                for table in leaderboard.leaderboard_tables(part.where(judge=first), settings):
                    scope_tables.setdefault((first, str(table.source["family"])), table)
            all_leaders.append(_leaders(part, board, scope_tables, ranked, corrected))
    studies = list(dict.fromkeys(leaders.study for leaders in all_leaders))
    return sorted(all_leaders, key=lambda leaders: (studies.index(leaders.study), leaders.criterion != OVERALL))


def _without_baselines(part: Columns) -> Columns:
    return part.where(judge=[name for name in part.judges() if not is_baseline(name)])


def _rank_judges(part: Columns, trusts: Sequence[Trust]) -> list[str]:
    """Return the judges without baselines, the most trusted first; of equals the one that agrees best with people."""
    order = {trust.judge: trust.order for trust in trusts}
    judges = [judge for judge in real_judges(part) if not is_baseline(judge)] or real_judges(part)
    return sorted(judges, key=lambda judge: order.get(judge, (len(TRUST_WORDS), 0.0)))


def _leaders(
    part: Columns,
    board: FirstBoard,
    tables: Mapping[tuple[str, str], Table],
    ranked: Sequence[str],
    corrected: Mapping[str, tuple[Estimate, Ranks | None]],
) -> Leaders:
    """Return the first board of verdicts that are all of one study and criterion."""
    scope = tuple(part.names[name][int(getattr(part, name)[0])] for name in ("study", "criterion"))
    family = board.family
    in_family = [judge for judge in ranked if (judge, family) in tables]
    tables_by_head = {"people": tables[PEOPLE, family]} if (PEOPLE, family) in tables else {}
    best = [board.judge] if board.kind == "judge" else []
    best += [judge for judge in in_family if judge not in best][: BEST_JUDGES - len(best)]
    tables_by_head |= {judge: tables[judge, family] for judge in best if (judge, family) in tables}
    metric = _common_metric(list(tables_by_head.values()), use_means=family == "score" and not corrected)
    values: dict[str, Mapping[str, Cell]] = {name: _cells(table, metric) for name, table in tables_by_head.items()}
    ranks: dict[str, Ranks | None]
    if corrected:
        people = {"people": values.pop("people")} if "people" in values else {}
        values = {**people, "corrected": {name: estimate for name, (estimate, _) in corrected.items()}, **values}
        ranks = {name: rank for name, (_, rank) in corrected.items()}
    else:
        main = "people" if board.kind == "people" else board.judge
        ranks = _ranks_of(tables[PEOPLE if board.kind == "people" else board.judge, family])
        values = {main: values.pop(main), **values} if main in values else values
    names = list(dict.fromkeys([*ranks, *(name for cells in values.values() for name in cells)]))
    tiers = dict(zip(names, tiers_of_ranks([ranks.get(name) for name in names]), strict=True))
    last = max((tier for tier in tiers.values() if tier is not None), default=0) + 1
    ordered = sorted(names, key=lambda name: tiers[name] or last)  # stable: within a tier in the order of the board
    standings = [
        Standing(name, tiers[name], {column: cells.get(name) for column, cells in values.items()}) for name in ordered
    ]
    due = sum(entry.cases for entry in part.due if (entry.study, entry.criterion) == scope)
    return Leaders(
        scope[0], scope[1], board, standings, list(values), metric, frozenset(in_family).difference(values),
        len(np.unique(part.item)), due, _unusable_shares(part),
    )  # fmt: skip


def _corrected_values(part: Columns, board: FirstBoard, rule: VoteRule) -> dict[str, tuple[Estimate, Ranks | None]]:
    is_judge_board = board.judge in part.judges()
    boards = corrected_boards(
        _without_baselines(part), judges=[board.judge] if is_judge_board else [], together=not is_judge_board, rule=rule
    )
    corrected_board = next((each for each in boards if each.key.family == board.family), None)
    if corrected_board is None:
        return {}
    return {line.contestant: (line.corrected_estimate, line.rank) for line in corrected_board.lines_for(RATING)}


def _common_metric(tables: Sequence[Table], *, use_means: bool) -> str:
    """Return the column that all boards have: the mean mark on one ballot if it may be used, else the rating."""
    if use_means:
        ballots = [{str(column) for column in table.typed_columns if ballot_of(column)} for table in tables]
        if ballots and all(len(each) == 1 for each in ballots) and len(set.union(*ballots)) == 1:
            return ballots[0].pop()
    return "rating"


def _cells(table: Table, metric: str) -> dict[str, Cell]:
    place = table.place(metric)
    if place is None:
        return {}
    return {str(name): cell for name, cell in zip(table.column("contestant"), table.cells(place), strict=True)}


def _ranks_of(table: Table) -> dict[str, Ranks | None]:
    return {
        str(name): parse_rank(str(rank))
        for name, rank in zip(table.column("contestant"), table.column("rank"), strict=True)
    }


def parse_rank(text: str) -> Ranks | None:
    """Parse a rank as tables show it.

    >>> parse_rank("2-4"), parse_rank("3"), parse_rank("-")
    ((2, 4), (3, 3), None)
    """
    best, _, worst = text.partition("-")
    return (int(best), int(worst or best)) if best else None


def _unusable_shares(part: Columns) -> dict[str, float]:
    """Return the contestants with many unusable verdicts of real judges, and their share."""
    kept = part.where(judge=[name for name in part.judges() if name not in {PEOPLE, ADJUDICATION}])
    kept = kept.rows(~waiting_mask(kept)) if len(kept) else kept
    sizes = kept.response_counts.astype(np.int64)
    codes = kept.contestant.astype(np.int64)
    is_unusable = np.repeat(kept.fault >= 0, sizes)
    size = len(kept.names["contestant"])
    shown, unusable = np.bincount(codes, minlength=size), np.bincount(codes[is_unusable], minlength=size)
    return {
        name: unusable[code] / shown[code]
        for code, name in enumerate(kept.names["contestant"])
        if shown[code] and unusable[code] > MANY_UNUSABLE * shown[code]
    }
