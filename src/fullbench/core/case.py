"""A case: what is heard."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from typing import Literal

from fullbench.core.ballot import Ballot
from fullbench.core.digests import digest, once
from fullbench.core.item import Item
from fullbench.core.notebook_display import Shown
from fullbench.core.response import Response
from fullbench.errors import InputError


@dataclass(frozen=True)
class Case(Shown):
    """One hearing: an item, the responses in the order shown, the ballot, the criterion, and which trial it is.

    `nonce` is what a ruling may be asked for with, where a ledger gave one: no part of the identity.
    """

    item: Item
    responses: tuple[Response, ...]
    ballot: Ballot
    criterion: str = "overall"
    trial: int = 0
    nonce: str = field(default="", compare=False)

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

    @property
    def samples(self) -> tuple[int, ...]:
        """The sample of each response shown; empty where all are the first."""
        numbers = tuple(response.sample for response in self.responses)
        return numbers if any(numbers) else ()

    def at(self, trial: int) -> Case:
        return replace(self, trial=trial, nonce="")

    def with_nonce(self, nonce: str) -> Case:
        """The same case, its ruling to be asked for with a nonce."""
        same = copy.copy(self)  # unlike `replace`, this keeps the key that was computed
        object.__setattr__(same, "nonce", nonce)
        return same


Orders = Literal["sorted", "shuffled", "both", "all"]
ORDERS: tuple[Orders, ...] = ("sorted", "shuffled", "both", "all")
Meetings = Literal["aligned", "crossed", "all"]


def cases(
    items: Iterable[Item],
    responses: Iterable[Response],
    ballot: Ballot,
    *,
    size: int | None = 1,
    orders: Orders = "both",
    criterion: str = "overall",
    trials: int = 1,
    seed: int = 0,
    samples: Meetings = "aligned",
) -> Iterator[Case]:
    """Every `size` responses of different contestants to each item, as cases; `size=None` shows all contestants.

    Where contestants answered several times, sample i meets sample i of the others
    (`samples="aligned"`); one with a single sample, such as a reference, meets every sample. `samples="crossed"` lets
    every sample meet every other contestant's; `samples="all"` lets it meet its own contestant's too, as the best of n
    needs it and a leaderboard does not.

    `orders="sorted"` shows the responses once, contestants by name; `"shuffled"` once, in an order drawn from the seed,
    the item and the names; `"both"` in that order and in its reverse; `"all"` in every order. An item with too few
    responses gives no case.
    """
    if orders not in ORDERS:
        raise InputError(f"unknown orders {orders!r}; known: {', '.join(ORDERS)}")
    if samples not in {"aligned", "crossed", "all"}:
        raise InputError(f"samples meet 'aligned', 'crossed' or 'all', not {samples!r}")
    answers: dict[str, dict[str, list[Response]]] = {}
    for response in responses:
        answers.setdefault(response.item, {}).setdefault(response.contestant, []).append(response)
    for item in items:
        for shown in _together(answers.get(item.id, {}), size, samples):
            for order in _orders(shown, orders, seed):
                for trial in range(trials):
                    yield Case(item, order, ballot, criterion, trial)


def _together(
    answers: dict[str, list[Response]], size: int | None, samples: Meetings
) -> Iterator[tuple[Response, ...]]:
    """Which responses to one item are shown together, contestants by name."""
    by_name = {name: sorted(answers[name], key=lambda response: response.sample) for name in sorted(answers)}
    if samples == "all":
        everyone = [response for responses in by_name.values() for response in responses]
        if size is not None or len(everyone) > 1:
            yield from combinations(everyone, len(everyone) if size is None else size)
        return
    if size == 1:
        yield from ((response,) for responses in by_name.values() for response in responses)
        return
    if size is None and len(by_name) < 2:
        return
    for chosen in combinations(by_name.values(), len(by_name) if size is None else size):
        if samples == "crossed":
            yield from product(*chosen)
            continue
        several = [{response.sample: response for response in responses} for responses in chosen if len(responses) > 1]
        numbers = sorted(set().union(*several)) if several else [None]
        for number in numbers:
            shown = tuple(
                responses[0] if len(responses) == 1 else next((r for r in responses if r.sample == number), None)
                for responses in chosen
            )
            present = tuple(response for response in shown if response is not None)
            # A contestant that lacks this sample leaves a pair without a meeting, and a list shorter.
            if len(present) == len(chosen) or (size is None and len(present) > 1):
                yield present


def _orders(shown: tuple[Response, ...], orders: Orders, seed: int) -> Iterator[tuple[Response, ...]]:
    if orders == "all":
        yield from permutations(shown)
        return
    if orders != "sorted" and len(shown) > 1:
        numbered = [[response.sample for response in shown]] if any(response.sample for response in shown) else []
        lot = digest([seed, shown[0].item, [response.contestant for response in shown], *numbered])
        shown = tuple(random.Random(lot).sample(shown, len(shown)))
    yield shown
    if orders == "both" and len(shown) > 1:
        yield shown[::-1]
