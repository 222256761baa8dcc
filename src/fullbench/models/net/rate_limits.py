"""How fast to ask: so many a minute, and as many at a time as the server bears."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

START = 8
CEILING = 256
REST = 8


class Rate(Protocol):
    """So many a minute."""

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount`; the seconds to wait for it."""

    def tighten(self, per_minute: float) -> None:
        """So many a minute at most, from now on."""

    def correct(self, difference: float) -> None:
        """What was taken turned out to be so much more (or less)."""


class Pace:
    """So many a minute, evenly: whoever comes is told when it is his turn.

    A second of standing idle may be caught up with, no more. Plain arithmetic behind a lock, so that several threads
    may share one.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = 60.0 / per_minute
        self._clock = clock
        self._turn = clock()
        self._lock = threading.Lock()

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount`; the seconds to wait for it."""
        with self._lock:
            now = self._clock()
            turn = max(self._turn, now - 1.0)
            self._turn = turn + amount * self._each
            return max(0.0, turn - now)

    def tighten(self, per_minute: float) -> None:
        """So many a minute at most, from now on."""
        with self._lock:
            self._each = max(self._each, 60.0 / per_minute)

    def correct(self, difference: float) -> None:
        """What was taken turned out to be so much more (or less)."""
        with self._lock:
            self._turn += difference * self._each


class Throttle:
    """How many calls may be in flight: doubled until that no longer helps, then raised by little; halved when the
    server says it has too much to do.

    A round is as many good calls as may be in flight; a step that brought no more of them a second is taken back, and
    tried again after some rounds. Calls that were sent before the last halving do not halve again:
    they tell of the same jam.
    """

    def __init__(self, start: int, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.width = min(start, ceiling)
        self._ceiling = ceiling
        self.clock = clock
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._steep = True
        self._halved = clock()
        self._rest = 0
        self._best = 0.0
        self._before = self.width
        self._begin_round()

    def _begin_round(self) -> None:
        self._good = 0
        self._since = self.clock()

    async def enter(self) -> None:
        """Wait for a free place and take it."""
        if self._active < self.width and not self._waiting:
            self._active += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self._active -= 1
        while self._waiting and self._active < self.width:
            place = self._waiting.popleft()
            if not place.done():
                self._active += 1
                place.set_result(None)

    def went_well(self) -> None:
        """A call was answered; at the end of a round, see whether more would help."""
        self._good += 1
        if self._good >= self.width:
            if self.width < self._ceiling and self._active * 2 >= self.width:
                self._end_round(self._good / max(self.clock() - self._since, 1e-9))
            self._begin_round()

    def _end_round(self, rate: float) -> None:
        helped = rate > self._best * (1.25 if self._steep else 1.02)
        if self._rest:
            self._rest -= 1
            self._best = rate
            if not self._rest:
                self._grow()
        elif helped:
            self._best = rate
            self._grow()
        else:
            self.width = self._before
            self._steep = False
            self._rest = REST

    def _grow(self) -> None:
        self._before = self.width
        more = self.width if self._steep else max(1, self.width // 8)
        self.width = min(self._ceiling, self.width + more)

    def was_too_much(self, sent: float, wait: float | None = None) -> None:
        """The server has too much to do; the call was sent at `sent`, and the server may have asked for a `wait`.

        The wait is the call's own affair here; a throttle that is shared passes it on.
        """
        if sent < self._halved:
            return
        self.width = self._before = max(1, self.width // 2)
        self._halved = self.clock()
        self._steep = False
        self._rest = 0
        self._best = 0.0
        self._begin_round()

    async def close(self) -> None:
        """No further call comes."""


class Office(Protocol):
    """Who keeps the limits of a server: this process alone, or one for all machines of a cluster."""

    def rate(self, server: str, what: str, per_minute: float) -> Rate: ...

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        """How many calls may be in flight. Without a ceiling, as many as the server bears."""


class Alone:
    """Every model keeps its own limits."""

    def rate(self, server: str, what: str, per_minute: float) -> Rate:
        return Pace(per_minute)

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        return Throttle(start, ceiling or CEILING)


ALONE = Alone()
_office: ContextVar[Office] = ContextVar("office", default=ALONE)


def office() -> Office:
    """Who keeps the limits here and now."""
    return _office.get()


@contextmanager
def kept_by(keeper: Office) -> Iterator[None]:
    """Let `keeper` keep the limits of whatever is asked inside."""
    token = _office.set(keeper)
    try:
        yield
    finally:
        _office.reset(token)
