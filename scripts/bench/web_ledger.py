"""A ledger of many verdicts, made up: what the pages of results are measured on.

Most are pairs in both orders, which every judge rules on and people on some; a tenth are scores by two criteria in a
study of their own, a twentieth rankings of four in a third. Items share some pictures. Half of the judges rule case by
case, as a run of all of them does, the others one after another, as later runs do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from tests.support.data_builders import png

from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Fault, Verdict
from fullbench.ledger.ledger import Ledger

CONTESTANTS, JUDGES, PAIRS, PICTURES = 100, 20, 10, 60
TASKS = ("counting", "colours", "比较", "reading", "memes")
CRITERIA = ("accuracy", "style")
USAGE = Usage(1, 0, 900, 60, 0.001, 0.8)
PAIRED, SCORED, RANKED = "default", "scores", "rankings"
"""The three studies."""


def write(path: Path, verdicts: int) -> None:
    """Write a ledger with about so many verdicts."""
    make = _Maker()
    for study, share, cases in (
        (PAIRED, 0.85, make.pairs()),
        (SCORED, 0.10, make.scores()),
        (RANKED, 0.05, make.rankings()),
    ):
        some = list(islice(cases, int(share * verdicts / (JUDGES + (0.3 if study == PAIRED else 0)))))
        with Ledger(path, study=study) as ledger:
            for place, case in enumerate(some):
                people = [f"r{rater}" for rater in range(3)] if study == PAIRED and place % (2 * PAIRS) < 2 else []
                ledger.add(
                    case,
                    *(make.verdict(case, judge) for judge in range(JUDGES // 2)),
                    *(make.verdict(case, None, rater) for rater in people),
                )
            for judge in range(JUDGES // 2, JUDGES):
                for case in some:
                    ledger.add(make.verdict(case, judge))


class _Maker:
    """Draws items, answers and rulings; contestants are worth the less the higher their number."""

    def __init__(self) -> None:
        self._draw = random.Random(0)
        self._pictures = [Picture.from_bytes(png((number * 4, 90, 160), (320, 240))) for number in range(PICTURES)]
        self._clock = count(1)

    def pairs(self) -> Iterator[Case]:
        for number in count():
            item = self._item("item", number)
            for _ in range(PAIRS):
                shown = self._answers(item, 2)
                yield Case(item, shown, Choice())
                yield Case(item, shown[::-1], Choice())

    def scores(self) -> Iterator[Case]:
        for number in count():
            item = self._item("scored", number)
            for answer in self._answers(item, 5):
                for criterion in CRITERIA:
                    yield Case(item, (answer,), Score(1, 5), criterion)

    def rankings(self) -> Iterator[Case]:
        for number in count():
            item = self._item("ranked", number)
            yield Case(item, self._answers(item, 4), Ranking())

    def _item(self, kind: str, number: int) -> Item:
        tags = {"task": TASKS[number % len(TASKS)], "language": "zh" if number % 2 else "en"}
        return Item.ask(
            f"{kind}-{number:06}",
            f"How many shapes are there in picture {number}? 图{number}里有几个圆形？",
            self._pictures[number % PICTURES],
            tags=tags,
        )

    def _answers(self, item: Item, size: int) -> tuple[Response, ...]:
        chosen = self._draw.sample(range(CONTESTANTS), size)
        return tuple(
            Response.say(item.id, f"model-{who:03}", f"There are {who % 7} shapes, 共{who % 7}个") for who in chosen
        )

    def verdict(self, case: Case, judge: int | None, rater: str = "") -> Verdict:
        """What a judge rules, or one of the people."""
        place, draw = next(self._clock), self._draw
        noise = 0.5 if judge is None else 0.4 + judge / 10
        worth = [-int(name.removeprefix("model-")) / 60 + draw.gauss(0, noise) for name in case.contestants]
        told = f"answer {worth.index(max(worth)) + 1} counts better 因为更准确 {place % 997}"
        ruling: tuple[float, ...] | Fault = "unreadable" if draw.random() < 0.01 else _marks(worth)
        name = PEOPLE if judge is None else f"judge-{judge}"
        return Verdict.from_case(case, name, ruling, text=told, usage=USAGE, at=float(place), rater=rater)


def _marks(worth: list[float]) -> tuple[float, ...]:
    if len(worth) == 1:
        return (float(min(5, max(1, round(4 + worth[0])))),)
    if len(worth) == 2:
        lead = worth[0] - worth[1]
        return (1.0, 0.0) if lead > 0.05 else (0.0, 1.0) if lead < -0.05 else (0.5, 0.5)
    order = sorted(worth)
    return tuple(order.index(value) + 1.0 for value in worth)
