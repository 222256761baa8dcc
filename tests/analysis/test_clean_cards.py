"""A judge without biases is accused on few cards, all questions of a card together, however length goes with worth."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Choice, Item, Record, Response, Score, Verdict
from fullbench.analysis.judge_card import build_card
from fullbench.core.case import Case
from fullbench.core.translatable_note import Note

NAMES = ("own-a", "own-b", "c", "d")
UNCLAIMED = {
    "bias.none", "bias.none-one-vote", "bias.needs-two-votes", "bias.not-after-correction", "bias.interval-only",
    "bias.shift-by-scale", "bias.top-by-scale",
}  # fmt: skip
"""Sentences that claim nothing."""
SCORED, CHOSEN = Score(1, 5), Choice(tie=True)


def court(seed: int, *, items: int, length: float, bias: float = 0.0) -> Record:
    """Two people and a judge that see the same worth with errors of their own; `length` ties words to worth.

    `bias` is what the judge adds for each doubling of the words.
    """
    rng = np.random.default_rng(seed)
    asked, said, verdicts = {}, {}, []
    for number in range(items):
        item = asked[f"i{number}"] = Item.ask(f"i{number}", "What is it?")
        worth = rng.normal(0, 0.4) + rng.normal(0, 0.8, len(NAMES))
        doublings = length * worth + rng.normal(0, 0.7, len(NAMES))
        shown = [
            Response.say(item.id, name, " ".join(["word"] * max(2, round(16 * 2**double))))
            for name, double in zip(NAMES, doublings, strict=True)
        ]
        said |= {(item.id, response.contestant, 0): response for response in shown}
        for judge, rater in (("human", "ann"), ("human", "bob"), ("j", "")):
            felt = worth + (bias * doublings if judge == "j" else 0.0)
            scores = np.clip(np.rint(3 + felt + 0.6 * rng.normal(size=len(NAMES))), 1, 5)
            verdicts += [
                Verdict.from_case(Case(item, (response,), SCORED), judge, (float(mark),), rater=rater)
                for response, mark in zip(shown, scores, strict=True)
            ]
            one, two = rng.choice(len(NAMES), 2, replace=False)
            for first, second in ((one, two), (two, one)) if judge == "j" else (rng.permuted([one, two]),):
                gap = felt[first] - felt[second] + 0.6 * rng.normal()
                marks = (0.5, 0.5) if abs(gap) < 0.25 else (float(gap > 0), float(gap < 0))
                case = Case(item, (shown[first], shown[second]), CHOSEN)
                verdicts.append(Verdict.from_case(case, judge, marks, rater=rater))
    return Record(tuple(verdicts), asked, said)


def accused(record: Record) -> set[str]:
    """What the card of the judge claims, by the ids of its sentences."""
    claims = set()
    for table in build_card(record, "j", own_contestants={"own-a", "own-b"}).tables:
        for note in table.notes if table.name.startswith("biases") else ():
            says = note.values["says"] if isinstance(note, Note) and "says" in note.values else None
            if isinstance(says, Note) and says.id == "probes.claim":
                claims.add(says.values["finding"].id)
    return claims - UNCLAIMED


def most(runs: int) -> int:
    """5 %, and two standard errors of room."""
    return int(runs * 0.05 + 2 * (runs * 0.05 * 0.95) ** 0.5)


def test_clean_judges_are_seldom_accused_and_one_that_loves_length_is():
    runs = 12
    flagged = sum(bool(accused(court(seed, items=30, length=0.5))) for seed in range(runs))
    assert flagged <= most(runs)
    assert "bias.long-gain" in accused(court(99, items=60, length=0.5, bias=0.8))


@pytest.mark.slow
@pytest.mark.parametrize("items", [30, 100])
@pytest.mark.parametrize("length", [-0.5, 0.0, 0.5, 1.0])
def test_at_most_one_card_of_twenty_accuses_a_clean_judge(items, length):
    runs = 200
    flagged = sum(bool(accused(court(1000 + seed, items=items, length=length))) for seed in range(runs))
    assert flagged <= most(runs), f"{flagged} of {runs}"
