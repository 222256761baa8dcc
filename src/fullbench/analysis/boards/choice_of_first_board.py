"""Choice of the board that is shown first: what people would say, as far as the votes allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fullbench.analysis.people.corrected_leaderboards import TOGETHER
from fullbench.analysis.people.joined_votes import join_column_votes
from fullbench.analysis.people.paired_verdicts_and_votes import (
    drop_visible_votes,
    family_verdicts,
    has_same_winner,
    has_verdicts,
    paired_outcomes,
    verdict_outcomes,
)
from fullbench.analysis.people.rated_matches import LEAST_VOTES, select_rated_matches
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

BoardKind = Literal["corrected", "people", "judge"]
_FAMILIES: tuple[Family, ...] = ("pair", "ranking", "score")
"""Families in the order in which they are preferred."""


@dataclass(frozen=True)
class FirstBoard:
    """The board to show first: its kind, judge (people, all judges together or one) and family, and the reason."""

    kind: BoardKind
    judge: str
    family: Family
    reason: Note


def choose_first_board(columns: Columns, *, people: str = PEOPLE, rule: VoteRule = "default") -> FirstBoard | None:
    """Return the board to show first; None without a usable verdict.

    1. Corrected, if the voted pairs were drawn at random or with recorded chances, and every contestant has 10 votes,
       not all won and not all lost.
    2. People's, if every contestant has 10 votes.
    3. The judge that agrees best with people, from 10 voted pairs on.
    4. The judge with the most verdicts, with a warning.

    Args:
        columns: Verdicts of one study and criterion.
        people: Judge name of people.
        rule: Rule that joins several people's votes.
    """
    judges = [judge for judge in columns.judges() if judge not in {people, ADJUDICATION}]
    voted_families = _FAMILIES if people in columns.judges() else ()  # comparing with nobody only costs memory
    for family in voted_families:
        in_family = [judge for judge in judges if has_verdicts(columns, judge, family)]
        board = _board_with_votes(columns, in_family, family, people, rule)
        if board is not None:
            return board
    for family in voted_families:
        in_family = [judge for judge in judges if has_verdicts(columns, judge, family)]
        best = _best_judge(columns, in_family, family, people, rule)
        if best is not None:
            return FirstBoard("judge", best, family, Note("first-board.judge", judge=best))
    usable = {
        (family, judge): int((family_verdicts(columns.where(judge=judge), family).fault < 0).sum())
        for family in _FAMILIES for judge in judges
    }  # fmt: skip
    if not any(usable.values()):
        return _people_board_of_few_votes(columns, people)
    family, judge = max(usable, key=lambda key: (usable[key], -_FAMILIES.index(key[0])))
    return FirstBoard("judge", judge, family, Note("first-board.only-judge", judge=judge))


def _board_with_votes(
    columns: Columns, judges: list[str], family: Family, people: str, rule: VoteRule
) -> FirstBoard | None:
    """Return the corrected or people's board if every contestant has enough votes."""
    if judges:
        votes = paired_outcomes(columns, judges, people, family, rule)
        if votes.selection in {"random", "designed"} and len(votes) and select_rated_matches(votes)[0].all():
            judge = judges[0] if len(judges) == 1 else str(TOGETHER)
            return FirstBoard("corrected", judge, family, Note("first-board.corrected", n=votes.vote_count))
    contestants = {
        code for judge in [*judges, people] for code in np.unique(family_verdicts(columns.where(judge=judge), family)
                                                                  .contestant).tolist()
    }  # fmt: skip
    cast, _ = drop_visible_votes(family_verdicts(columns.where(judge=people), family))
    joined = join_column_votes(cast, rule, visible=True).columns
    usable_votes = joined.rows(joined.fault < 0)
    vote_counts = np.bincount(usable_votes.contestant.astype(np.int64), minlength=max(contestants, default=0) + 1)
    if contestants and min(int(vote_counts[code]) for code in contestants) >= LEAST_VOTES:
        return FirstBoard("people", people, family, Note("first-board.people", n=len(usable_votes)))
    return None


def _best_judge(columns: Columns, judges: list[str], family: Family, people: str, rule: VoteRule) -> str | None:
    """Return the judge with the highest accuracy with ties; of equals the one with more voted pairs."""
    ranked: list[tuple[float, int, str]] = []
    for judge in judges:
        verdicts, pairs = verdict_outcomes(columns, [judge], people, family, rule)
        if pairs.vote_count >= LEAST_VOTES:
            accuracy = float(np.nanmean(has_same_winner(verdicts.judge_values[0], verdicts.vote)))
            ranked.append((-accuracy, -pairs.vote_count, judge))
    return min(ranked)[2] if ranked else None


def _people_board_of_few_votes(columns: Columns, people: str) -> FirstBoard | None:
    for family in _FAMILIES:
        if has_verdicts(columns, people, family):
            return FirstBoard("people", people, family, Note("first-board.few-votes", least=LEAST_VOTES))
    return None
