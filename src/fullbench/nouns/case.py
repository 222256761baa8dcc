"""A case: what is heard."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Literal

from fullbench.errors import InputError
from fullbench.nouns.ballot import Ballot
from fullbench.nouns.digests import digest, once
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response


@dataclass(frozen=True)
class Case:
    """One hearing: an item, the responses in the order shown, the ballot, the criterion, and which trial it is."""

    item: Item
    responses: tuple[Response, ...]
    ballot: Ballot
    criterion: str = "overall"
    trial: int = 0

    def __post_init__(self) -> None:
        if not self.responses:
            raise InputError(f"a case on item {self.item.id!r} shows no response")
        self.ballot.check(len(self.responses))
        for response in self.responses:
            if response.item != self.item.id:
                raise InputError(f"a case on item {self.item.id!r} shows a response to item {response.item!r}")

    @once
    def key(self) -> str:
        """Names and content of all that can change the ruling, as a digest; the trial stands beside it."""
        return digest([self.item.key, [r.key for r in self.responses], self.ballot.spec, self.criterion])

    @property
    def contestants(self) -> tuple[str, ...]:
        return tuple(response.contestant for response in self.responses)

    def at(self, trial: int) -> Case:
        return replace(self, trial=trial)


Orders = Literal["sorted", "shuffled", "both", "all"]


ORDERS: tuple[Orders, ...] = ("sorted", "shuffled", "both", "all")


def panels(
    items: Iterable[Item],
    responses: Iterable[Response],
    ballot: Ballot,
    *,
    size: int | None = 1,
    orders: Orders = "both",
    criterion: str = "overall",
    trials: int = 1,
    seed: int = 0,
) -> Iterator[Case]:
    """Every panel of `size` responses to each item, as cases; `size=None` shows all responses of an item at once.

    `orders="sorted"` shows a panel once, contestants by name; `"shuffled"` once, in an order drawn from the seed, the
    item and the names; `"both"` in that order and in its reverse; `"all"` in every order. An item with too few
    responses gives no case.
    """
    if orders not in ORDERS:
        raise InputError(f"unknown orders {orders!r}; known: {', '.join(ORDERS)}")
    shown: dict[str, list[Response]] = {}
    for response in responses:
        shown.setdefault(response.item, []).append(response)
    for item in items:
        ranked = sorted(shown.get(item.id, []), key=lambda r: (r.contestant, r.trial))
        if size is None and len(ranked) < 2:
            continue
        for panel in combinations(ranked, len(ranked) if size is None else size):
            for order in _orders(panel, orders, seed):
                for trial in range(trials):
                    yield Case(item, order, ballot, criterion, trial)


def _orders(panel: tuple[Response, ...], orders: Orders, seed: int) -> Iterator[tuple[Response, ...]]:
    if orders == "all":
        yield from permutations(panel)
        return
    if orders != "sorted" and len(panel) > 1:
        lot = digest([seed, panel[0].item, [response.contestant for response in panel]])
        panel = tuple(random.Random(lot).sample(panel, len(panel)))
    yield panel
    if orders == "both" and len(panel) > 1:
        yield panel[::-1]
