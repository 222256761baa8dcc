"""Agreement of reviewers with people: when people's votes decide a case, and how often both agree.

There are two tasks. To *choose*, a person sees the two answers and picks the better one, as the reviewer did. To
*agree*, a person sees the reviewer's verdict and says whether it is right. No person does both on one picture; the
option `--separate-from` of a study for people ensures this. Two people do each task. If they differ, up to five vote,
and the majority decides.

In a record, a choice is a verdict of `human` on the reviewer's own case. An agreement is a verdict of `human` on the
reviewer's verdict, as created by `Record.appeal`: its item is the case, its contestant the reviewer, its criterion
`agrees`, and the higher mark means yes. Each vote is one person's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import AGREES, CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.stats.intervals.share_intervals import share_estimate

# Two people vote first; up to five vote if they differ.
FIRST, MOST = 2, 5
_Vote = TypeVar("_Vote", bound=Hashable)


def settle_votes(votes: Sequence[_Vote]) -> _Vote | None:
    """Return the majority of votes in the order given, or None if more are needed or five votes tie.

    >>> (settle_votes(["A", "A"]), settle_votes(["A", "B"]), settle_votes(["A", "B", "B"]),
    ...  settle_votes(["A", "B", "C", "C", "A"]))
    ('A', None, 'B', None)
    """
    counted_votes = votes[:MOST]
    if len(counted_votes) < FIRST:
        return None
    (best, most), *runners_up = Counter(counted_votes).most_common(2)
    return best if most >= FIRST and (not runners_up or runners_up[0][1] < most) else None


def _share_by_item(hits: Sequence[tuple[object, str]]) -> Estimate | None:
    """Return the share of hits; those on one item stay together."""
    if not hits:
        return None
    return share_estimate([float(bool(hit)) for hit, _ in hits], cluster=[item for _, item in hits])


def reviewers_with_people_table(record: Record) -> Table:
    """Return per criterion the share of verdicts that people agree with when shown, and that they give themselves."""
    choices_by_pair, agreements_by_case = _people_votes(record)
    rows: list[list[Cell]] = []
    for criterion in (CORRECTNESS, VISUAL):
        verdicts = [verdict for verdict in record.where(criterion=criterion, fault=None) if verdict.judge != PEOPLE]
        agreements = [
            (settle_votes(agreements_by_case[verdict.case, verdict.judge]), verdict.item)
            for verdict in verdicts
            if (verdict.case, verdict.judge) in agreements_by_case
        ]
        choices = [
            (settle_votes(choices_by_pair[_pair_key(verdict)]), _winner_name(verdict), verdict.item)
            for verdict in verdicts
            if _pair_key(verdict) in choices_by_pair
        ]
        yes = [(vote, item) for vote, item in agreements if vote is not None]
        same = [(people == reviewer, item) for people, reviewer, item in choices if people is not None]
        if yes or same:
            open_ = len(agreements) - len(yes) + len(choices) - len(same)
            rows.append([criterion, _share_by_item(yes), _share_by_item(same), open_])
    notes = [
        Note("peers.people.agreement-told-the-ruling-people"),
        Note("peers.people.votes-that-differ-are-settled", first=FIRST, most=MOST),
    ]
    return Table(
        "people",
        Note("peers.people.title.reviewers-and-people"),
        table_columns("criterion", "agreement", "consistency", "open"),
        rows,
        notes,
    )


_Pair = tuple[str, str, tuple[str, ...]]
_NO = 1.0
"""Mark for "no" on the ballot of reviews; "yes" is one more."""


def _people_votes(record: Record) -> tuple[dict[_Pair, list[str]], dict[tuple[str, str], list[bool]]]:
    choices_by_pair: dict[_Pair, list[str]] = {}
    agreements_by_case: dict[tuple[str, str], list[bool]] = {}
    votes = record.where(judge=PEOPLE, fault=None)
    for verdict in sorted(votes, key=lambda vote: (vote.at, vote.trial, vote.rater)):
        if len(verdict.contestants) == 2:
            choices_by_pair.setdefault(_pair_key(verdict), []).append(_winner_name(verdict))
        elif verdict.marks is not None and verdict.criterion == AGREES:
            agreements_by_case.setdefault((verdict.item, verdict.contestants[0]), []).append(verdict.marks[0] > _NO)
    return choices_by_pair, agreements_by_case


def _pair_key(verdict: Verdict) -> _Pair:
    return verdict.item, verdict.criterion, tuple(sorted(verdict.contestants))


def _winner_name(verdict: Verdict) -> str:
    marks = verdict.marks or ()
    best = [name for name, mark in zip(verdict.contestants, marks, strict=False) if mark == max(marks)]
    return best[0] if len(best) == 1 else "tie"
