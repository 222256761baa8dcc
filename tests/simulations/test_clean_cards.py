"""Cards of judges without a bias that err more than people, use less of the scale, or judge by two criteria."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from fullbench import Item, Record, Response, Verdict
from fullbench.analysis.judge_card import build_card
from tests.analysis.test_clean_cards import accused
from tests.simulations.records import CHOICE, at_most, show

NAMES = ("own-a", "own-b", "c", "d")


@dataclass(frozen=True)
class World:
    """A judge that sees the same worth as people: `noise` is its error (people's is 0.6), `scale` its use of marks.

    Longer answers are better by `length`. `love` is a love of length that people and the judge share.
    """

    noise: float = 0.6
    scale: float = 1.0
    length: float = 0.5
    love: float = 0.0
    criteria: tuple[str, ...] = ("overall",)
    votes: int = 2


WORLDS = {
    "noisier": World(noise=1.2),
    "sharper": World(noise=0.2),
    "compressed": World(scale=0.5),
    "noisier and compressed": World(noise=0.9, scale=0.6),
    "two criteria": World(criteria=("correct", "clear")),
    "shared love of length": World(love=0.4),
    "one vote": World(votes=1, noise=0.9),
}


def draw(seed: int, world: World, items: int) -> Record:
    rng = np.random.default_rng(seed)
    asked, said, verdicts = {}, {}, []
    for number in range(items):
        item = asked[f"i{number}"] = Item.ask(f"i{number}", "What is it?")
        doublings = rng.normal(0, 0.7, len(NAMES))
        for name, double in zip(NAMES, doublings, strict=True):
            text = " ".join(["word"] * max(2, round(16 * 2**double)))
            said[item.id, name, 0] = Response.say(item.id, name, text)
        base = rng.normal(0, 0.4) + world.length * doublings
        for criterion in world.criteria:
            worth = base + rng.normal(0, 0.8, len(NAMES)) + world.love * doublings
            people = [("human", f"r{rater}", 0.6, 1.0) for rater in range(world.votes)]
            for judge, rater, noise, scale in (*people, ("j", "", world.noise, world.scale)):
                felt = scale * worth
                marks = np.clip(np.rint(3 + felt + noise * rng.normal(size=len(NAMES))), 1, 5)
                verdicts += [
                    Verdict(f"{item.id}/{name}/{criterion}", judge, item.id, (name,), "score:1-5", criterion,
                            marks=(float(mark),), rater=rater)
                    for name, mark in zip(NAMES, marks, strict=True)
                ]  # fmt: skip
                one, two = list(combinations(range(len(NAMES)), 2))[number % 6]
                for first, second in ((one, two), (two, one)) if judge == "j" else (rng.permuted([one, two]),):
                    gap = felt[first] - felt[second] + noise * rng.normal()
                    won = 0.5 if abs(gap) < 0.25 * scale else float(gap > 0)
                    names = (NAMES[first], NAMES[second])
                    verdicts.append(
                        Verdict(f"{item.id}/{names}/{criterion}", judge, item.id, names, CHOICE, criterion,
                                marks=(won, 1 - won), rater=rater)
                    )  # fmt: skip
    return Record(tuple(verdicts), asked, said)


def accusations(name: str, items: int, runs: int) -> list[set[str]]:
    return [accused(draw(1000 + seed, WORLDS[name], items)) for seed in range(runs)]


def test_clean_judges_are_seldom_accused_in_a_few_runs():
    found = [bool(names) for name in ("noisier", "compressed") for names in accusations(name, 20, 2)]
    assert sum(found) <= 1


def test_a_card_has_a_section_for_each_criterion():
    card = build_card(draw(1, WORLDS["two criteria"], 20), "j", own_contestants={"own-a", "own-b"})
    names = " ".join(table.name for table in card.tables)
    assert "correct" in names
    assert "clear" in names


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_at_most_one_card_of_twenty_accuses_a_clean_judge(name):
    runs = 100
    found = accusations(name, 60, runs)
    share = np.mean([bool(names) for names in found])
    show(f"clean card, {name}: {share:.3f} of {runs} accused {sorted(set().union(*found))}")
    assert share <= at_most(0.05, runs)
