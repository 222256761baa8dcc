"""Rate limits: calls and tokens per minute, and an adaptive number of concurrent calls."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

START = 8
CEILING = 256
REST = 8


class Rate(Protocol):
    """A limit per minute."""

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount` and return the seconds to wait for it."""

    def tighten(self, per_minute: float) -> None:
        """Lower the limit to `per_minute` if it is higher."""

    def correct(self, difference: float) -> None:
        """Add `difference` to an amount already taken, when the true amount is known."""


class Pace:
    """A limit per minute, spread evenly: each caller gets the time of its turn.
    At most one second of idle time may be caught up. A lock makes it safe to share between threads.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = 60.0 / per_minute
        self._clock = clock
        self._turn = clock()
        self._lock = threading.Lock()

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount` and return the seconds to wait for it."""
        with self._lock:
            now = self._clock()
            turn = max(self._turn, now - 1.0)  # at most one idle second may be caught up
            self._turn = turn + amount * self._each
            return max(0.0, turn - now)

    def tighten(self, per_minute: float) -> None:
        """Lower the limit to `per_minute` if it is higher."""
        with self._lock:
            self._each = max(self._each, 60.0 / per_minute)

    def correct(self, difference: float) -> None:
        """Add `difference` to an amount already taken, when the true amount is known."""
        with self._lock:
            self._turn += difference * self._each


class Throttle:
    """Adaptive number of calls in flight: doubled while that helps, then raised slowly; halved on overload.

    A round is as many successful calls as may be in flight. A step that did not raise the rate is undone and tried
    again after some rounds. Calls sent before the last halving do not halve again: they report the same overload.
    """

    def __init__(self, start: int, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.width = min(start, ceiling)
        self._ceiling = ceiling
        self.clock = clock
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._steep = True
        self._halved_at = clock()
        self._rounds_to_pause = 0
        self._best = 0.0
        self._before = self.width
        self._begin_round()

    def _begin_round(self) -> None:
        self._good = 0
        self._since = self.clock()

    async def enter(self) -> None:
        """Wait for a free slot and take it."""
        if self._active < self.width and not self._waiting:
            self._active += 1
            return
        import asyncio

        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the slot back."""
        self._active -= 1
        while self._waiting and self._active < self.width:
            place = self._waiting.popleft()
            if not place.done():
                self._active += 1
                place.set_result(None)

    def record_success(self) -> None:
        """Count an answered call; at the end of a round, check whether more calls would help."""
        self._good += 1
        if self._good >= self.width:
            if self.width < self._ceiling and self._active * 2 >= self.width:
                self._end_round(self._good / max(self.clock() - self._since, 1e-9))
            self._begin_round()

    def _end_round(self, rate: float) -> None:
        is_faster = rate > self._best * (1.25 if self._steep else 1.02)
        if self._rounds_to_pause:
            self._rounds_to_pause -= 1
            self._best = rate
            if not self._rounds_to_pause:
                self._grow()
        elif is_faster:
            self._best = rate
            self._grow()
        else:
            self.width = self._before
            self._steep = False
            self._rounds_to_pause = REST

    def _grow(self) -> None:
        self._before = self.width
        more = self.width if self._steep else max(1, self.width // 8)
        self.width = min(self._ceiling, self.width + more)

    def record_overload(self, sent_at: float, wait: float | None = None) -> None:
        """Halve the width: the server is overloaded. `sent_at` is when the call was sent.
        `wait`, the pause that the server requested, is handled by the call itself; a shared throttle passes it on.
        """
        if sent_at < self._halved_at:
            return
        self.width = self._before = max(1, self.width // 2)
        self._halved_at = self.clock()
        self._steep = False
        self._rounds_to_pause = 0
        self._best = 0.0
        self._begin_round()

    async def close(self) -> None:
        """Do nothing; a shared throttle can release its resources here."""


class RateLimits(Protocol):
    """Owner of a server's limits: this process alone, or one place for all machines of a cluster."""

    def rate(self, server: str, what: str, per_minute: float) -> Rate: ...

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        """Return the throttle of a server. Without a ceiling it adapts to the server."""


class ProcessRateLimits:
    """Limits kept separately by each model in this process."""

    def rate(self, server: str, what: str, per_minute: float) -> Rate:
        return Pace(per_minute)

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        return Throttle(start, ceiling or CEILING)


CallLimit = Callable[[], int]
_call_limit: ContextVar[CallLimit] = ContextVar("call limit", default=lambda: sys.maxsize)


def current_call_limit() -> CallLimit:
    """Return the function that gives the most calls in flight in this context, now."""
    return _call_limit.get()


@contextmanager
def limit_calls_in_flight(call_limit: CallLimit) -> Iterator[None]:
    """Let at most `call_limit()` calls of each stream inside this context be in flight; it is at least 1."""
    token = _call_limit.set(call_limit)
    try:
        yield
    finally:
        _call_limit.reset(token)


PROCESS_RATE_LIMITS = ProcessRateLimits()
_current_rate_limits: ContextVar[RateLimits] = ContextVar("office", default=PROCESS_RATE_LIMITS)


def current_rate_limits() -> RateLimits:
    """Return the rate limits of this context."""
    return _current_rate_limits.get()


@contextmanager
def use_rate_limits(rate_limits: RateLimits) -> Iterator[None]:
    """Use `rate_limits` for calls inside this context."""
    token = _current_rate_limits.set(rate_limits)
    try:
        yield
    finally:
        _current_rate_limits.reset(token)
