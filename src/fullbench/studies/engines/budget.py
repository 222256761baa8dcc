"""Money set aside, and who has a share in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from fullbench.core.call import Usage


@dataclass
class Budget:
    """Money set aside, shared by all that work at once.

    Nothing is asked once what was spent, and what is in flight will cost at the mean so far, would pass the limit.
    `guess` is the expected price of a task before the first one is paid; `before` is what was spent earlier on the same
    study, where the limit is for all of it.
    """

    limit: float
    guess: float = 0.0
    before: float = 0.0
    spent: float = 0.0
    paid: int = 0
    in_flight: int = 0
    settled: float = 0.0
    aside: float = 0.0
    """What the calls that are on their way are expected to cost."""
    underway: int = 0
    """How many these are: a sum of dollars that were added and taken away again is seldom exactly nothing."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.spent += self.before

    def foreseen(self) -> float:
        """What will be spent once all in flight and one task more are done.

        Calls are paid before their tasks are done: what those in flight have cost already is part of what they will
        cost, and no more than that. On a cluster a good part of them may have been paid and not yet come back.
        """
        own = self.spent - self.before
        mean = max(self.settled / self.paid, own / (self.paid + self.in_flight)) if self.paid else self.guess
        return self.before + max(self.settled + (self.in_flight + 1) * mean, own + mean)

    def set_aside(self, dollars: float) -> float:
        """One call more is on its way, expected to cost so much. Whoever says so holds the lock."""
        self.aside += dollars
        self.underway += 1
        return dollars

    def share(self) -> Share:
        """A part for one judge or contestant."""
        return Share(self)


@dataclass
class Share:
    """One judge's or contestant's part in a budget.

    Calls are paid as they go (`spend`), retries among them, where the model says so; what outcomes add up to (`pay`)
    counts where it does not. Neither is counted twice.
    """

    budget: Budget
    _live: float = 0.0
    _settled: float = 0.0
    _calls: int = 0
    """The calls that cost something."""
    _short: str = ""
    """Why not even one call can be paid."""

    def reserve(self) -> bool:
        """Whether one more task may be asked; it then counts as in flight."""
        budget = self.budget
        with budget.lock:
            if self._short or budget.foreseen() > budget.limit or budget.spent >= budget.limit > 0:
                return False
            budget.in_flight += 1
            return True

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """What is set aside for one call more; None where it has to wait for those on their way. `price` gives what it
        costs at least and what it is likely to cost.

        Tasks are handed out by what others have cost (`reserve`), which nobody knows before the first is paid: as many
        as a server takes at once would be asked at any price. A call that the money does not cover is not made.
        """
        budget = self.budget
        with budget.lock:
            least, expected = (0.0, self._live / self._calls) if self._calls else price()
            if budget.spent + budget.aside + expected <= budget.limit:
                return budget.set_aside(expected)
            if budget.underway:
                return None
            if budget.spent + least > budget.limit:
                left = f"is spent but for ${budget.limit - budget.spent:.2g}, and" if budget.spent else "is too small:"
                self._short = f"the budget of ${budget.limit:g} {left} one call takes about ${expected:.2g}"
                return None
            return budget.set_aside(expected)

    def release(self, aside: float) -> None:
        """A call is over for which so much was set aside."""
        budget = self.budget
        with budget.lock:
            budget.underway -= 1
            budget.aside = max(0.0, budget.aside - aside) if budget.underway else 0.0

    def spend(self, dollars: float) -> None:
        """An attempt cost so much, whatever came of it."""
        with self.budget.lock:
            self._calls += dollars > 0
            self._add(live=dollars)

    def pay(self, usage: Usage) -> None:
        """A task is done."""
        with self.budget.lock:
            self._add(settled=usage.dollars or 0.0)
            self.budget.settled += usage.dollars or 0.0
            self.budget.paid += 1
            self.budget.in_flight -= 1

    def give_back(self) -> None:
        """A task was not asked after all."""
        with self.budget.lock:
            self.budget.in_flight -= 1

    @property
    def spent_up(self) -> str:
        return self._short or f"the budget of ${self.budget.limit:g} is spent"

    @property
    def empty(self) -> str:
        """Why nothing more may be asked; nothing where there is money left."""
        return self.spent_up if self._short or self.budget.spent > self.budget.limit else ""

    def _add(self, live: float = 0.0, settled: float = 0.0) -> None:
        before = max(self._live, self._settled)
        self._live += live
        self._settled += settled
        self.budget.spent += max(self._live, self._settled) - before
