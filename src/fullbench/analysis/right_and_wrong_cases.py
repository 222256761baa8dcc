"""Which cases a judge got right, and which it got wrong: subsets that can be run again."""

from __future__ import annotations

from typing import Literal, get_args

from fullbench.analysis.agreement.judges_with_people import FIGURES, meet, order, winner
from fullbench.core.record import Pairing, Record
from fullbench.core.rubric import HALLUCINATES
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.agreement.ranking_agreement import rank_correlation

Subset = Literal["hq", "hard"]


def agrees(kind: str, pairing: Pairing) -> bool:
    """Whether judge and people say the same: the same score, the same winner (or a tie), the same order."""
    if kind == "scores":
        return abs(pairing.marks[0] - pairing.other[0]) < 0.5
    if kind == "pairs":
        return winner(pairing.marks) == winner(pairing.other)
    return order(pairing.marks) == order(pairing.other)


def contradicts(kind: str, pairing: Pairing) -> bool:
    """Whether they say the opposite: scores two or more apart, the other winner, an order more reversed than kept."""
    if kind == "scores":
        return abs(pairing.marks[0] - pairing.other[0]) >= 2
    if kind == "pairs":
        return None not in {winner(pairing.marks), winner(pairing.other)} and not agrees(kind, pairing)
    return rank_correlation(order(pairing.marks), order(pairing.other)) < 0


def subset(record: Record, judge: str, which: Subset, *, people: str = PEOPLE) -> Record:
    """The panels on which a judge always agrees with people (`hq`), or once contradicts them or was caught
    hallucinating (`hard`).

    The record that comes back holds these items, their responses, and what people and the judge ruled on them.
    """
    if which not in get_args(Subset):
        raise InputError(f"unknown subset {which!r}; known: {', '.join(get_args(Subset))}")
    if judge not in record.judges:
        raise InputError(f"the record holds no verdict of {judge!r}; judges there: {', '.join(record.judges)}")
    caught = {
        verdict.item
        for verdict in record.where(criterion=HALLUCINATES, contestant=judge, fault=None)
        if verdict.marks is not None and verdict.marks[0] > 1
    }
    meetings = meet(record.where(criterion="overall"), people)
    found: dict[tuple[str, frozenset[tuple[str, int]]], list[tuple[bool, bool]]] = {}
    for kind in FIGURES:
        for pairing in meetings.of(judge, kind):
            hard = contradicts(kind, pairing) or pairing.verdict.case in caught
            place = (pairing.verdict.item, frozenset(pairing.verdict.shown))
            found.setdefault(place, []).append((agrees(kind, pairing) and not hard, hard))
    # One panel, however often and in whatever orders it was heard, is in one subset at most.
    panels = {
        place
        for place, rulings in found.items()
        if (any(hard for _, hard in rulings) if which == "hard" else all(good for good, _ in rulings))
    }
    if not panels:
        raise InputError(f"no case of {judge!r} belongs to the subset {which!r}")
    verdicts = [
        verdict
        for verdict in record.where(criterion="overall")
        if verdict.judge in {judge, people} and (verdict.item, frozenset(verdict.shown)) in panels
    ]
    items = {item for item, _ in panels}
    shown = {(item, *place_shown) for item, together in panels for place_shown in together}
    return Record(
        tuple(verdicts),
        {name: item for name, item in record.items.items() if name in items},
        {place: response for place, response in record.responses.items() if place in shown},
        record.asks,
    )
