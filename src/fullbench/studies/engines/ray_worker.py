"""Worker process on a cluster: a judge or contestant with its own connections and a queue of tasks.

Each call of `Worker.turn` brings new tasks and returns the outcomes since the last one. One thread makes the calls. It
reads the tasks as a stream that ends when the queue is empty: a stream that blocks would delay the replies in flight.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fullbench.errors import FullbenchError
from fullbench.models.net.budget_reservations import charge_calls_to
from fullbench.models.net.rate_limits import use_rate_limits
from fullbench.studies.engines.cluster_rate_limits import WorkerRateLimits
from fullbench.studies.engines.judge_or_contestant_job_and_recipe import Ask, Recipe
from fullbench.studies.engines.task_serialisation_for_ray import carry_frames

# Tasks sent before the pace is known ...
AHEAD = 16
# ... and at most: they wait in the memory of the worker.
MOST_AHEAD = 512
LINGER = 0.02  # seconds to wait for more outcomes after the first, so that one turn returns several
LONGEST_TURN = 0.5  # must stay below MAX_SILENCE_SECONDS
NO_MORE = 0.005  # seconds without a task after which the stream ends
MAX_SILENCE_SECONDS = 5.0
"""Without contact to its run for this long, a worker starts nothing new: its replies might be paid for and lost."""


@dataclass(frozen=True, slots=True)
class WorkerTurn:
    """Result of one turn of a worker.

    `room` is the number of tasks that it can take. `error` stops the worker. `spent_dollars` covers all attempts since
    the last turn, including retries.
    """

    outcomes: list[Any] = field(default_factory=list)
    room: int = 0
    dropped_count: int = 0
    error: FullbenchError | None = None
    spent_dollars: float = 0.0


class WorkerBudget:
    """Budget as seen by a worker: each turn reports its spending and learns whether money is left."""

    def __init__(self) -> None:
        self._spent_dollars = 0.0
        self._lock = threading.Lock()
        self.empty = ""

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """Admit every call: the run that sends the tasks counts calls in flight on all workers."""
        return 0.0

    def release(self, reserved_dollars: float) -> None:
        """Do nothing, because `admit` reserves nothing."""

    def spend(self, dollars: float) -> None:
        with self._lock:
            self._spent_dollars += dollars

    def take_spent_dollars(self) -> float:
        """Return the dollars spent since the last call of this method."""
        with self._lock:
            spent_dollars, self._spent_dollars = self._spent_dollars, 0.0
        return spent_dollars


class Worker:
    """Makes calls, and queues about as many tasks as it can finish before the next turn."""

    def __init__(self, recipe: Recipe, branch: WorkerRateLimits) -> None:
        self._recipe, self._branch = recipe, branch
        self._queue: deque[Any] = deque()
        self._outcomes: list[Any] = []
        self._carried_frames: set[str] = set()
        self._in_flight = 0
        self._pace = 0
        self._error: FullbenchError | None = None
        self._crash: Exception | None = None
        self._ask: Ask | None = None
        self._condition = threading.Condition()
        self._budget = WorkerBudget()
        self._last_contact = time.monotonic()

    def begin(self) -> WorkerTurn:
        """Build the judge or contestant and start the thread. Errors are returned, not raised."""
        try:
            self._ask = self._recipe()
        except FullbenchError as error:
            return WorkerTurn(error=error)
        threading.Thread(target=self._work, name="asking", daemon=True).start()
        return WorkerTurn(room=AHEAD)

    def turn(self, tasks: list[Any], *, more: bool, halt: bool, spent_up: str = "") -> WorkerTurn:
        """Add tasks to the queue and return outcomes as soon as there are some, or if there is room for more tasks.

        With `halt`, tasks that have not started are dropped. `spent_up` is the reason if no money is left; then nothing
        is retried.
        """
        self._budget.empty = spent_up
        self._last_contact = time.monotonic()
        with self._condition:
            self._queue.extend(tasks)
            dropped_count = 0
            if halt or self._error:
                dropped_count = len(self._queue)
                self._queue.clear()
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._news(more), LONGEST_TURN if not dropped_count else 0)
            some = bool(self._outcomes)
        if some and not halt:
            time.sleep(LINGER)
        with self._condition:
            if self._crash is not None:
                raise self._crash
            if self._error:
                dropped_count += len(self._queue)
                self._queue.clear()
            outcomes, self._outcomes = self._outcomes, []
            self._pace = len(outcomes)
            return WorkerTurn(outcomes, self._room(), dropped_count, self._error, self._budget.take_spent_dollars())

    def _news(self, more: bool) -> bool:
        hungry = more and self._room() * 2 > AHEAD and not self._queue
        return bool(self._outcomes or self._error or self._crash or hungry)

    def _room(self) -> int:
        """The queue should hold as many tasks as are in flight, or as two turns finish."""
        return max(0, min(MOST_AHEAD, max(AHEAD, self._in_flight, 2 * self._pace)) - len(self._queue))

    def _work(self) -> None:
        assert self._ask is not None
        try:
            with use_rate_limits(self._branch), charge_calls_to(self._budget):
                while True:
                    with self._condition:
                        self._condition.wait_for(self._may_begin)
                    for outcome in self._ask(self._stream()):
                        carried_outcome = carry_frames(outcome, self._carried_frames)
                        with self._condition:
                            self._in_flight -= 1
                            self._outcomes.append(carried_outcome)
                            self._condition.notify_all()
        except Exception as error:  # noqa: BLE001
            with self._condition:
                if isinstance(error, FullbenchError):
                    self._error = error
                else:
                    self._crash = error
                self._condition.notify_all()

    def _may_begin(self) -> bool:
        return bool(self._queue) and time.monotonic() - self._last_contact < MAX_SILENCE_SECONDS

    def _stream(self) -> Iterator[Any]:
        while True:
            with self._condition:
                if not self._condition.wait_for(self._may_begin, NO_MORE):
                    return
                task = self._queue.popleft()
                self._in_flight += 1
            yield task
