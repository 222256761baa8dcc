"""Budget of a run in dollars, and the share of each judge or contestant in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from fullbench.core.model_call import Usage


@dataclass
class Budget:
    """Dollar limit shared by all jobs of a run.

    No task starts if spent money plus the expected cost of tasks in flight (the mean so far, at first `guess`) would
    exceed the limit. `before` is what earlier runs of the study spent, if the limit covers all of them.
    """

    limit: float
    guess: float = 0.0
    before: float = 0.0
    spent_dollars: float = 0.0
    paid_tasks: int = 0
    in_flight: int = 0
    settled_dollars: float = 0.0
    reserved_dollars: float = 0.0
    calls_underway: int = 0
    """Needed because a sum of added and subtracted dollars is rarely exactly zero."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.spent_dollars += self.before

    def predicted_dollars(self) -> float:
        """Return the expected spending after all tasks in flight and one more.

        Calls are paid before their tasks end, so the paid part of a task in flight must not be counted twice. On a
        cluster many tasks may be paid and not yet returned.
        """
        run_dollars = self.spent_dollars - self.before
        mean = (
            max(self.settled_dollars / self.paid_tasks, run_dollars / (self.paid_tasks + self.in_flight))
            if self.paid_tasks
            else self.guess
        )
        return self.before + max(self.settled_dollars + (self.in_flight + 1) * mean, run_dollars + mean)

    def reserve_dollars(self, dollars: float) -> float:
        """Reserve the expected cost of one more call. The caller must hold the lock."""
        self.reserved_dollars += dollars
        self.calls_underway += 1
        return dollars

    def share(self) -> Share:
        """Return a share for one judge or contestant."""
        return Share(self)


@dataclass
class Share:
    """Share of one judge or contestant in a budget.

    If the model reports costs per call, each attempt and retry is booked at once (`spend`). Otherwise the outcomes are
    summed (`pay`). The larger of both sums counts, so nothing is counted twice.
    """

    budget: Budget
    _live_dollars: float = 0.0
    _settled_dollars: float = 0.0
    _calls: int = 0
    """Calls that cost something."""
    _short: str = ""
    """Reason why not even one call can be paid, or ""."""

    def reserve(self) -> bool:
        """Return True if one more task may start; it then counts as in flight."""
        budget = self.budget
        with budget.lock:
            if self._short or budget.predicted_dollars() > budget.limit or budget.spent_dollars >= budget.limit > 0:
                return False
            budget.in_flight += 1
            return True

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """Reserve dollars for one more call and return them, or None if the call must wait or cannot be paid.

        `price` returns the minimum and the expected cost. `reserve` starts tasks by the mean cost of earlier ones,
        which is unknown before the first is paid. Without this check, as many calls as a server accepts at once would
        be made at any price.
        """
        budget = self.budget
        with budget.lock:
            least, expected_dollars = (0.0, self._live_dollars / self._calls) if self._calls else price()
            if budget.spent_dollars + budget.reserved_dollars + expected_dollars <= budget.limit:
                return budget.reserve_dollars(expected_dollars)
            if budget.calls_underway:
                return None
            if budget.spent_dollars + least > budget.limit:
                left = (
                    f"is spent but for ${budget.limit - budget.spent_dollars:.2g}, and"
                    if budget.spent_dollars
                    else "is too small:"
                )
                self._short = f"the budget of ${budget.limit:g} {left} one call takes about ${expected_dollars:.2g}"
                return None
            return budget.reserve_dollars(expected_dollars)

    def release(self, reserved_dollars: float) -> None:
        """Free the dollars reserved for a call that has ended."""
        budget = self.budget
        with budget.lock:
            budget.calls_underway -= 1
            budget.reserved_dollars = (
                max(0.0, budget.reserved_dollars - reserved_dollars) if budget.calls_underway else 0.0
            )

    def spend(self, dollars: float) -> None:
        """Book the cost of one attempt, successful or not."""
        with self.budget.lock:
            self._calls += dollars > 0
            self._add(live_dollars=dollars)

    def pay(self, usage: Usage) -> None:
        """Book the usage of a finished task."""
        with self.budget.lock:
            self._add(settled_dollars=usage.dollars or 0.0)
            self.budget.settled_dollars += usage.dollars or 0.0
            self.budget.paid_tasks += 1
            self.budget.in_flight -= 1

    def give_back(self) -> None:
        """Free the place of a task that was not started after all."""
        with self.budget.lock:
            self.budget.in_flight -= 1

    @property
    def spent_up(self) -> str:
        return self._short or f"the budget of ${self.budget.limit:g} is spent"

    @property
    def empty(self) -> str:
        """Reason why no more calls are possible, or "" if money is left."""
        return self.spent_up if self._short or self.budget.spent_dollars > self.budget.limit else ""

    def _add(self, live_dollars: float = 0.0, settled_dollars: float = 0.0) -> None:
        before = max(self._live_dollars, self._settled_dollars)
        self._live_dollars += live_dollars
        self._settled_dollars += settled_dollars
        self.budget.spent_dollars += max(self._live_dollars, self._settled_dollars) - before
