"""What runs on the machines of a cluster: a judge or contestant with connections of its own, and a queue before it.

A worker is told and asked in turns: one call brings new tasks and takes away what has been ruled since. It has one
thread that asks. That thread sees its tasks as a stream that ends when the queue runs empty, for a source that waits
would keep the replies waiting that are on their way.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fullbench.errors import FullbenchError
from fullbench.models.net.budget_check import paid_by
from fullbench.models.net.rate_limits import kept_by
from fullbench.studies.engines.cluster_rate_limits import Branch
from fullbench.studies.engines.run_jobs import Ask, Recipe

AHEAD = 16
MOST_AHEAD = 512
LINGER = 0.02
LONGEST_TURN = 0.5
NO_MORE = 0.005
UNHEARD = 5.0
"""A worker that hears nothing of its run for so many seconds begins nothing new: the run, or the way to it, may be
gone, and what it is answered would be paid for and lost."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a worker gives back: outcomes, how many tasks it could take, those it gave up, why it cannot go on, and the
    dollars of all attempts since the last turn, retries among them."""

    outcomes: list[Any] = field(default_factory=list)
    room: int = 0
    dropped: int = 0
    error: FullbenchError | None = None
    spent: float = 0.0


class Till:
    """The budget as a worker sees it: what it spends is told with every turn, and with every turn it is told whether
    money is left."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._lock = threading.Lock()
        self.empty = ""

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """Nobody waits here: who hands out the tasks counts what is on its way everywhere."""
        return 0.0

    def release(self, aside: float) -> None:
        """Nothing was set aside here."""

    def spend(self, dollars: float) -> None:
        with self._lock:
            self._spent += dollars

    def taken(self) -> float:
        """What was spent since this was last asked."""
        with self._lock:
            spent, self._spent = self._spent, 0.0
        return spent


class Worker:
    """Asks, and keeps as much ahead as it is likely to ask before the next turn."""

    def __init__(self, recipe: Recipe, branch: Branch) -> None:
        self._recipe, self._branch = recipe, branch
        self._queue: deque[Any] = deque()
        self._done: list[Any] = []
        self._in_flight = 0
        self._pace = 0
        self._error: FullbenchError | None = None
        self._crash: Exception | None = None
        self._ask: Ask | None = None
        self._changed = threading.Condition()
        self._till = Till()
        self._heard = time.monotonic()

    def begin(self) -> Turn:
        """Make the judge or contestant. Why that cannot be done is told, not raised."""
        try:
            self._ask = self._recipe()
        except FullbenchError as error:
            return Turn(error=error)
        threading.Thread(target=self._work, name="asking", daemon=True).start()
        return Turn(room=AHEAD)

    def turn(self, tasks: list[Any], *, more: bool, halt: bool, spent_up: str = "") -> Turn:
        """Take on tasks, and give back what is done: as soon as there is something, or where more could be taken on.

        With `halt` what was not begun is dropped. `spent_up` says that there is no money left: nothing is tried again.
        """
        self._till.empty = spent_up
        self._heard = time.monotonic()
        with self._changed:
            self._queue.extend(tasks)
            dropped = 0
            if halt or self._error:
                dropped = len(self._queue)
                self._queue.clear()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._news(more), LONGEST_TURN if not dropped else 0)
            some = bool(self._done)
        if some and not halt:
            time.sleep(LINGER)
        with self._changed:
            if self._crash is not None:
                raise self._crash
            if self._error:
                dropped += len(self._queue)
                self._queue.clear()
            outcomes, self._done = self._done, []
            self._pace = len(outcomes)
            return Turn(outcomes, self._room(), dropped, self._error, self._till.taken())

    def _news(self, more: bool) -> bool:
        hungry = more and self._room() * 2 > AHEAD and not self._queue
        return bool(self._done or self._error or self._crash or hungry)

    def _room(self) -> int:
        """Tasks that could be taken on: as many should wait as are in flight, and as go in two turns."""
        return max(0, min(MOST_AHEAD, max(AHEAD, self._in_flight, 2 * self._pace)) - len(self._queue))

    def _work(self) -> None:
        assert self._ask is not None
        try:
            with kept_by(self._branch), paid_by(self._till):
                while True:
                    with self._changed:
                        self._changed.wait_for(self._may_begin)
                    for outcome in self._ask(self._stream()):
                        with self._changed:
                            self._in_flight -= 1
                            self._done.append(outcome)
                            self._changed.notify_all()
        except FullbenchError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
        except Exception as error:  # noqa: BLE001
            with self._changed:
                self._crash = error
                self._changed.notify_all()

    def _may_begin(self) -> bool:
        return bool(self._queue) and time.monotonic() - self._heard < UNHEARD

    def _stream(self) -> Iterator[Any]:
        """The tasks of the queue, until it stays empty for a moment."""
        while True:
            with self._changed:
                if not self._changed.wait_for(self._may_begin, NO_MORE):
                    return
                task = self._queue.popleft()
                self._in_flight += 1
            yield task
