"""Cases (what is heard), verdicts (what was ruled) and what a call used."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Literal

from fullbench.core.ballots import Ballot
from fullbench.core.errors import InputError
from fullbench.core.items import Item, Response, digest, once

Fault = Literal["refused", "unreadable", "recused"]
FAULTS: tuple[Fault, ...] = ("refused", "unreadable", "recused")


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: calls that were answered, attempts that were not, tokens, dollars, seconds.

    `dollars` is None where no price is known, and stays None when added to: an unknown price is never zero.
    """

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        if self is NOTHING:
            return other
        dollars = None if self.dollars is None or other.dollars is None else self.dollars + other.dollars
        return Usage(
            self.calls + other.calls,
            self.retries + other.retries,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            dollars,
            self.seconds + other.seconds,
        )


NOTHING = Usage()


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge ruled in one case: a mark for every response shown, or the fault that prevented it."""

    case: str
    judge: str
    item: str
    contestants: tuple[str, ...]
    ballot: str
    criterion: str = "overall"
    trial: int = 0
    marks: tuple[float, ...] | None = None
    fault: Fault | None = None
    text: str = ""
    usage: Usage = NOTHING
    prompt: str = ""
    earlier: tuple[str, ...] = ()
    at: float = 0.0

    def __post_init__(self) -> None:
        if (self.marks is None) == (self.fault is None):
            raise InputError(f"a verdict has marks or a fault, never both and never neither (case {self.case})")
        if self.fault is not None and self.fault not in FAULTS:
            raise InputError(f"unknown fault {self.fault!r}: {', '.join(FAULTS)} are known (case {self.case})")
        if self.marks is not None:
            if len(self.marks) != len(self.contestants):
                found = f"{len(self.marks)} marks for {len(self.contestants)} responses"
                raise InputError(f"a verdict gives every response shown one mark; found {found} (case {self.case})")
            if not all(map(math.isfinite, self.marks)):
                raise InputError(f"a mark must be a finite number; found {self.marks} (case {self.case})")

    @classmethod
    def of(
        cls,
        case: Case,
        judge: str,
        ruling: Sequence[float] | Fault,
        *,
        text: str = "",
        usage: Usage = NOTHING,
        prompt: str = "",
        earlier: tuple[str, ...] = (),
        at: float = 0.0,
    ) -> Verdict:
        """The verdict of `judge` in `case`: marks in the order shown, or the name of a fault."""
        fault, marks = (ruling, None) if isinstance(ruling, str) else (None, tuple(map(float, ruling)))
        names = case.contestants
        spec = case.ballot.spec
        return cls(
            case.key, judge, case.item.id, names, spec, case.criterion, case.trial,
            marks, fault, text, usage, prompt, earlier, at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that brought no reply (network, server, time-out). Not a verdict: the case is due again next time."""

    case: str
    judge: str
    trial: int
    error: str
    usage: Usage = NOTHING


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
