"""A small ledger with one of everything: pairs in both orders, scores, rankings, faults, people, pictures, Chinese."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from tests.support.data_builders import png

HOSTILE = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>"
WORTH = {"alpha": 3.0, "beta": 2.0, "gamma": 1.0, f"delta {HOSTILE}": 0.0}
JUDGES = ("steady", "first-lover", f"odd {HOSTILE}")
PEOPLE = ("ann", "bob", "cy")
"""The raters behind the judge `human`."""
OWN_NAMES = {name: name for name in PEOPLE}
"""Accounts whose random ids are the raters' names, so that pages show raters as the ledger has them."""
TASKS = ("counting", "比较")


def items(count: int = 12) -> list[Item]:
    return [
        Item.ask(
            f"q{number}",
            f"How many squares are there in picture {number}? 图中第{number}张有几个方块？" + HOSTILE * (number == 1),
            Picture.from_bytes(png((number * 9 % 256, 80, 120), (64, 48))),
            reference="四个方块",
            captions=("a square",),
            tags={"task": TASKS[number % 2], **({"sensitive": "yes"} if number == 2 else {})},
        )
        for number in range(count)
    ]


def answers(item: Item) -> list[Response]:
    return [
        Response.say(item.id, name, f"{name} says there are {number + 2} squares in {item.id}; 地球更大 {HOSTILE}")
        for number, name in enumerate(WORTH)
    ]


def verdicts(seed: int = 0, count: int = 12) -> Iterator[tuple[Case, list[Verdict]]]:
    """Cases with what everybody ruled on them."""
    draw = random.Random(seed)
    for item in items(count):
        said = answers(item)
        for pair in combinations(said, 2):
            for order in (pair, pair[::-1]):
                case = Case(item, order, Choice())
                yield case, [_pair(case, judge, draw) for judge in (*JUDGES, *PEOPLE)]
        for one in said:
            case = Case(item, (one,), Score(1, 5))
            yield case, [_score(case, judge, draw) for judge in (*JUDGES, *PEOPLE[:1])]
        case = Case(item, next(permutations(said)), Ranking(), "style")
        yield case, [_ranking(case, judge, draw) for judge in JUDGES]


def fill(path: Path, seed: int = 0, count: int = 12) -> Path:
    """A ledger with all of it."""
    with Ledger(path) as ledger:
        for case, ruled in verdicts(seed, count):
            ledger.add(case, *ruled)
    return path


def _worth(case: Case, draw: random.Random, noise: float) -> list[float]:
    return [WORTH[name] + draw.gauss(0, noise) for name in case.contestants]


def _verdict(case: Case, judge: str, ruling: object) -> Verdict:
    told = f"{judge} thinks about {case.item.id}: 第一个回答更好 {HOSTILE}"
    judge, rater = ("human", judge) if judge in PEOPLE else (judge, "")
    return Verdict.from_case(
        case, judge, ruling, text=told, usage=Usage(1, 0, 900, 40, 0.002, 0.5), at=1000.0, rater=rater
    )


def _pair(case: Case, judge: str, draw: random.Random) -> Verdict:
    if judge.startswith("odd") and draw.random() < 0.2:
        return _verdict(case, judge, draw.choice(["refused", "unreadable", "abstained"]))
    one, two = _worth(case, draw, 1.5 if judge in PEOPLE else 0.5)
    one += 2.0 if judge == "first-lover" else 0.0
    marks = (0.5, 0.5) if abs(one - two) < 0.2 else (1.0, 0.0) if one > two else (0.0, 1.0)
    return _verdict(case, judge, marks)


def _score(case: Case, judge: str, draw: random.Random) -> Verdict:
    (worth,) = _worth(case, draw, 1.0)
    return _verdict(case, judge, (float(min(5, max(1, round(worth + 1)))),))


def _ranking(case: Case, judge: str, draw: random.Random) -> Verdict:
    worth = _worth(case, draw, 1.0)
    return _verdict(case, judge, [float(1 + sum(other < one for other in worth)) for one in worth])
