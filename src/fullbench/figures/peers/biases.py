"""Two biases of reviewers, each as a table of two by two: a liking for length, and one for one's own family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fullbench.figures.joined import joined_record
from fullbench.figures.peers.reviews import TRUTHS
from fullbench.figures.places import OVERALL
from fullbench.nouns.model import family_of
from fullbench.nouns.note import sentence
from fullbench.nouns.record import Record
from fullbench.nouns.text import length_of
from fullbench.nouns.verdict import Verdict
from fullbench.stats.association import Association, association

Chosen = Callable[[Verdict, int], bool | None]
"""Whether the response at a place is of the kind that a bias likes, and the other not; None where neither, or both."""


@dataclass(frozen=True)
class Counted:
    """How often the kind was chosen (columns: yes, no) when the reviewer was wrong and when it was right (rows).

    `test` is None, and `why` says why, where the counts allow none.
    """

    wrong: tuple[int, int]
    right: tuple[int, int]
    test: Association | None
    why: str = ""


def longer(record: Record) -> Chosen:
    """The longer answer."""

    def of(verdict: Verdict, place: int) -> bool | None:
        responses = [record.responses.get((verdict.item, *shown)) for shown in verdict.shown]
        if None in responses:
            return None
        lengths = [length_of(response.text) for response in responses if response is not None]
        return None if lengths[0] == lengths[1] else lengths[place] > lengths[1 - place]

    return of


def own_family(record: Record, families: Mapping[str, str] | None = None) -> Chosen:
    """The answer of the reviewer's own family. Families are those given, or what the names show."""

    def family(name: str) -> str:
        return (families or {}).get(name, family_of(name))

    def of(verdict: Verdict, place: int) -> bool | None:
        reviewer = record.tag(verdict, "reviewer")
        kin = [family(name) == family(reviewer) for name in verdict.contestants]
        return None if kin[0] == kin[1] else kin[place]

    return of


def counted(record: Record, criterion: str, likes: Chosen) -> Counted:
    """Reviews that chose one of two answers, against what those say who stand for the truth. Ties are left out."""
    truth = _truth(record, criterion)
    cells = {(right, liked): 0 for right in (False, True) for liked in (True, False)}
    for verdict in record.where(criterion=criterion, fault=None):
        winner = None if verdict.judge in TRUTHS or len(verdict.contestants) != 2 else _winner(verdict)
        true = truth.get(_case(verdict))
        if winner is None or true is None:
            continue
        liked = likes(verdict, verdict.contestants.index(winner))
        if liked is not None:
            cells[winner == true, liked] += 1
    wrong, right = ((cells[row, True], cells[row, False]) for row in (False, True))
    try:
        return Counted(wrong, right, association([wrong, right]))
    except ValueError as error:
        return Counted(wrong, right, None, sentence(error))


def _truth(record: Record, criterion: str) -> dict[tuple[str, ...], str]:
    """The winner of each pair by those who stand for the truth under this criterion, or under none in particular.

    Several people's votes on a pair count as their majority; a split names no winner.
    """
    truths = record.where(lambda verdict: verdict.judge in TRUTHS and len(verdict.contestants) == 2, fault=None)
    winners: dict[tuple[str, ...], str] = {}
    for named in (OVERALL, criterion):
        for judge in TRUTHS:
            together, _ = joined_record(truths.where(criterion=named, judge=judge), judge)
            for verdict in together:
                winner = _winner(verdict)
                if winner is None:
                    winners.pop(_case(verdict), None)
                else:
                    winners[_case(verdict)] = winner
    return winners


def _case(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.item, *sorted(verdict.contestants))


def _winner(verdict: Verdict) -> str | None:
    if verdict.marks is None or verdict.marks[0] == verdict.marks[1]:
        return None
    return verdict.contestants[0] if verdict.marks[0] > verdict.marks[1] else verdict.contestants[1]
