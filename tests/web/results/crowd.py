"""A ledger with many contestants and judges: each item has some pairs in both orders, ruled on by every judge."""

from __future__ import annotations

import random
from pathlib import Path

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger


def fill(path: Path, *, contestants: int, judges: int, items: int, pairs: int = 10) -> Path:
    """Contestants are worth the more the higher their number."""
    draw = random.Random(contestants)
    with Ledger(path) as ledger:
        for number in range(items):
            item = Item.ask(
                f"item-{number:05}", f"How many shapes? 有几个图形？ {number}", tags={"task": f"t{number % 4}"}
            )
            # Everybody meets somebody, however few items there are.
            for place in range(pairs):
                one = (number * pairs + place) % contestants
                two = draw.choice([other for other in range(contestants) if other != one])
                shown = tuple(Response.say(item.id, f"model-{who:03}", f"There are {who % 7}.") for who in (one, two))
                for order in (shown, shown[::-1]):
                    case = Case(item, order, Choice())
                    first, second = (int(name.removeprefix("model-")) for name in case.contestants)
                    ledger.add(
                        case, *(_ruled(case, judge, first - second, contestants, draw) for judge in range(judges))
                    )
    return path


def _ruled(case: Case, judge: int, lead: int, spread: int, draw: random.Random) -> Verdict:
    # So much noise that everybody may lose to anybody: without that the weakest have no rating.
    ahead = lead + draw.gauss(0, spread * (0.4 + judge / 20)) > 0
    return Verdict.from_case(case, f"judge-{judge:02}", (1.0, 0.0) if ahead else (0.0, 1.0))
