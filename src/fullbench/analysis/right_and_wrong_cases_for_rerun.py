"""Subsets of cases that a judge got right (`hq`) or wrong (`hard`), for running again."""

from __future__ import annotations

from typing import Literal, get_args

from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    compare_with_people,
    ranking_letters,
    winner_index,
)
from fullbench.core.rubric import HALLUCINATES
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Pairing, Record
from fullbench.errors import InputError
from fullbench.stats.agreement.per_item_ranking_agreement import rank_correlation

Subset = Literal["hq", "hard"]


def agrees_with_people(kind: str, pairing: Pairing) -> bool:
    """Return True if judge and people have the same score, the same winner (or tie), or the same order."""
    if kind == "scores":
        return abs(pairing.marks[0] - pairing.other_marks[0]) < 0.5
    if kind == "pairs":
        return winner_index(pairing.marks) == winner_index(pairing.other_marks)
    return ranking_letters(pairing.marks) == ranking_letters(pairing.other_marks)


def contradicts_people(kind: str, pairing: Pairing) -> bool:
    """Return True if scores differ by 2 or more, winners differ, or the rank correlation is negative."""
    if kind == "scores":
        return abs(pairing.marks[0] - pairing.other_marks[0]) >= 2
    if kind == "pairs":
        return None not in {winner_index(pairing.marks), winner_index(pairing.other_marks)} and not agrees_with_people(
            kind, pairing
        )
    return rank_correlation(ranking_letters(pairing.marks), ranking_letters(pairing.other_marks)) < 0


def select_subset(record: Record, judge: str, which: Subset, *, people: str = PEOPLE) -> Record:
    """Return the cases on which a judge always agrees with people (`hq`), or is clearly wrong (`hard`).

    `hard` cases contradict people at least once, or people found a hallucination. The returned record has these items,
    their responses, and the verdicts of people and the judge.
    """
    if which not in get_args(Subset):
        raise InputError(f"unknown subset {which!r}; known: {', '.join(get_args(Subset))}")
    if judge not in record.judges:
        raise InputError(f"the record has no verdict of {judge!r}; judges there: {', '.join(record.judges)}")
    caught = {
        verdict.item
        for verdict in record.where(criterion=HALLUCINATES, contestant=judge, fault=None)
        if verdict.marks is not None and verdict.marks[0] > 1
    }
    comparison = compare_with_people(record.where(criterion="overall"), people)
    flags_by_set: dict[tuple[str, frozenset[tuple[str, int]]], list[tuple[bool, bool]]] = {}
    for kind in AGREEMENT_METRICS:
        for pairing in comparison.pairings(judge, kind):
            hard = contradicts_people(kind, pairing) or pairing.verdict.case in caught
            place = (pairing.verdict.item, frozenset(pairing.verdict.shown_responses))
            flags_by_set.setdefault(place, []).append((agrees_with_people(kind, pairing) and not hard, hard))
    # Trials and orders are pooled, so that one set of responses is in at most one subset.
    panels = {
        place
        for place, flags in flags_by_set.items()
        if (any(hard for _, hard in flags) if which == "hard" else all(good for good, _ in flags))
    }
    if not panels:
        raise InputError(f"no case of {judge!r} belongs to the subset {which!r}")
    verdicts = [
        verdict
        for verdict in record.where(criterion="overall")
        if verdict.judge in {judge, people} and (verdict.item, frozenset(verdict.shown_responses)) in panels
    ]
    items = {item for item, _ in panels}
    response_keys = {(item, *place_shown) for item, together in panels for place_shown in together}
    return Record(
        tuple(verdicts),
        {name: item for name, item in record.items.items() if name in items},
        {place: response for place, response in record.responses.items() if place in response_keys},
        record.asks,
    )
