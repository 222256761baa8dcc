"""Money set aside, and who has a share in it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from fullbench.nouns.call import Usage


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

    def reserve(self) -> bool:
        """Whether one more task may be asked; it then counts as in flight."""
        budget = self.budget
        with budget.lock:
            if budget.foreseen() > budget.limit or budget.spent >= budget.limit > 0:
                return False
            budget.in_flight += 1
            return True

    def spend(self, dollars: float) -> None:
        """An attempt cost so much, whatever came of it."""
        with self.budget.lock:
            self._add(live=dollars)

    def pay(self, usage: Usage) -> None:
        """A task is done."""
        with self.budget.lock:
            self._add(settled=usage.dollars or 0.0)
            self.budget.settled += usage.dollars or 0.0
            self.budget.paid += 1
            self.budget.in_flight -= 1

    @property
    def spent_up(self) -> str:
        return f"the budget of ${self.budget.limit:g} is spent"

    @property
    def empty(self) -> str:
        """Why nothing more may be asked; nothing where there is money left."""
        return self.spent_up if self.budget.spent > self.budget.limit else ""

    def _add(self, live: float = 0.0, settled: float = 0.0) -> None:
        before = max(self._live, self._settled)
        self._live += live
        self._settled += settled
        self.budget.spent += max(self._live, self._settled) - before
