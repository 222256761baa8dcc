"""People beside the reviewers: when their votes settle a case, and how far they are of one mind with the reviewers.

Two tasks. To *choose*, a person sees the two answers and says which is better, as the reviewer did. To *agree*, a
person is told the reviewer's ruling and says whether it is right. Nobody does both on one picture (a study for people
that is made `--apart-from` the other sees to it). Two people do each task; where they differ, up to five vote, and the
majority has it.

In a record, a choice is a verdict of `human` on the reviewer's own case; an agreement is a verdict of `human` on the
reviewer's ruling itself, as `Record.appeal` puts it up for judgement: its item is the case, its contestant the
reviewer, its criterion `agrees`, its mark the higher one for yes. Each vote is one person's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import AGREES, CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.stats.intervals.share_intervals import wilson

FIRST, MOST = 2, 5
_Vote = TypeVar("_Vote", bound=Hashable)


def settled(votes: Sequence[_Vote]) -> _Vote | None:
    """What the votes come to, in the order they were given; None where more are needed, or five are at odds.

    >>> settled(["A", "A"]), settled(["A", "B"]), settled(["A", "B", "B"]), settled(["A", "B", "C", "C", "A"])
    ('A', None, 'B', None)
    """
    counted = votes[:MOST]
    if len(counted) < FIRST:
        return None
    (best, most), *others = Counter(counted).most_common(2)
    return best if most >= FIRST and (not others or others[0][1] < most) else None


def against_people(record: Record) -> Table:
    """For each criterion: the share of rulings that people agree with when told, and that they make themselves."""
    chosen, agreed = _votes(record)
    rows: list[list[Cell]] = []
    for criterion in (CORRECTNESS, VISUAL):
        rulings = [verdict for verdict in record.where(criterion=criterion, fault=None) if verdict.judge != PEOPLE]
        agreements = [
            settled(agreed[verdict.case, verdict.judge])
            for verdict in rulings
            if (verdict.case, verdict.judge) in agreed
        ]
        choices = [
            (settled(chosen[_pair(verdict)]), _winner(verdict)) for verdict in rulings if _pair(verdict) in chosen
        ]  # fmt: skip
        yes = [vote for vote in agreements if vote is not None]
        same = [people == reviewer for people, reviewer in choices if people is not None]
        if yes or same:
            open_ = len(agreements) - len(yes) + len(choices) - len(same)
            rows.append([criterion, wilson(sum(yes), len(yes)) if yes else None,
                         wilson(sum(same), len(same)) if same else None, open_])  # fmt: skip
    notes = [
        Note(
            "peers.people.agreement-told-the-ruling-people",
            "Agreement: told the ruling, people say that it is right. Consistency: not told, they rule the same.",
        ),
        Note(
            "peers.people.votes-that-differ-are-settled",
            "{first} votes that differ are settled by up to {most}; open: cases that are not settled yet.",
            first=FIRST,
            most=MOST,
        ),
    ]
    return Table(
        "people",
        Note("peers.people.title.reviewers-and-people", "Reviewers and people"),
        headings("criterion", "agreement", "consistency", "open"),
        rows,
        notes,
    )


_Pair = tuple[str, str, tuple[str, ...]]
_NO = 1.0
"""The mark on the ballot of reviews that is no; yes is one more."""


def _votes(record: Record) -> tuple[dict[_Pair, list[str]], dict[tuple[str, str], list[bool]]]:
    """People's choices by item, criterion and pair; and their yes or no by case and reviewer."""
    chosen: dict[_Pair, list[str]] = {}
    agreed: dict[tuple[str, str], list[bool]] = {}
    votes = record.where(judge=PEOPLE, fault=None)
    for verdict in sorted(votes, key=lambda vote: (vote.at, vote.trial, vote.rater)):
        if len(verdict.contestants) == 2:
            chosen.setdefault(_pair(verdict), []).append(_winner(verdict))
        elif verdict.marks is not None and verdict.criterion == AGREES:
            agreed.setdefault((verdict.item, verdict.contestants[0]), []).append(verdict.marks[0] > _NO)
    return chosen, agreed


def _pair(verdict: Verdict) -> _Pair:
    return verdict.item, verdict.criterion, tuple(sorted(verdict.contestants))


def _winner(verdict: Verdict) -> str:
    """Who was put first, or the word for a tie."""
    marks = verdict.marks or ()
    best = [name for name, mark in zip(verdict.contestants, marks, strict=False) if mark == max(marks)]
    return best[0] if len(best) == 1 else "tie"
