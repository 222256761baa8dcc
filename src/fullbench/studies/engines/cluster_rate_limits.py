"""Rate limits of model servers, shared by all workers of a cluster.

`RateLimitCoordinator` holds the state; on a cluster it is a Ray actor. Workers do not contact it for every call. They
lease a rate for half a second at a time, and agree on the number of parallel calls twice a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fullbench.models.net.rate_limits import CEILING, Pace, Rate, Throttle

LEASE = 0.5
AGREEMENT_INTERVAL = 0.5
LONGEST_HOLD = 60.0  # a server's longer wait is cut to this many seconds
SILENT = 10.0  # must be several beats, or a slow run would lose its shares
BEAT = 2.0
SAME_JAM = 0.25  # an overload reported this soon after our own is the same one: do not halve the width twice


@dataclass
class _WorkerShare:
    granted_calls: int
    using: int


@dataclass
class _Server:
    """State of one server: rates, workers, last overload, and the end of the wait it asked for."""

    rates: dict[str, Pace] = field(default_factory=dict)
    places: dict[str, _WorkerShare] = field(default_factory=dict)
    last_jam: float = float("-inf")
    held_until: float = float("-inf")


@dataclass(frozen=True, slots=True)
class Grant:
    """Reply to a worker: number of parallel calls, seconds to wait, seconds since the last overload."""

    calls: int
    hold: float
    jam: float


class RateLimitCoordinator:
    """Holds the limits of every server for all runs on a cluster."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: dict[str, _Server] = {}
        self._runs: dict[str, float] = {}
        self._closed = False

    def beat(self, run: str) -> bool:
        """Register a heartbeat of a run; return False if this coordinator is closing and a new one is needed.

        Runs without a heartbeat for 10 seconds are closed, which frees the shares of their workers.
        """
        now = self._clock()
        if not self._closed:
            self._runs[run] = now
        for silent in [name for name, last_beat in self._runs.items() if now - last_beat > SILENT]:
            self.close(silent)
        return not self._closed

    def close(self, run: str) -> bool:
        """Remove a run; return True if it was the last one."""
        self._runs.pop(run, None)
        for server in self._servers.values():
            for worker in [name for name in server.places if name.startswith(run)]:
                del server.places[worker]
        self._closed = not self._runs
        return self._closed

    def lease(self, server: str, what: str, per_minute: float, amount: float) -> float:
        """Take an amount of a rate and return the seconds until it may be used. The strictest limit applies."""
        rates = self._server(server).rates
        if what not in rates:
            rates[what] = Pace(per_minute, self._clock)
        rates[what].tighten(per_minute)
        return rates[what].take(amount)

    def agree(self, server: str, worker: str, using: int, ceiling: int | None) -> Grant:
        """Return how many parallel calls a worker may make, given that it makes `using` now.

        A ceiling is shared evenly. Calls that another worker may still be making are not given away, so that the sum
        never exceeds the ceiling while shares change.
        """
        now, state = self._clock(), self._server(server)
        granted_calls = CEILING if ceiling is None else self._share(state.places, worker, using, ceiling)
        return Grant(granted_calls, max(0.0, state.held_until - now), now - state.last_jam)

    def jam(self, server: str, wait: float | None) -> None:
        """Record that a server is overloaded, and the wait that it asked for, if any."""
        now, state = self._clock(), self._server(server)
        state.last_jam = now
        state.held_until = max(state.held_until, now + min(wait or 0.0, LONGEST_HOLD))

    def leave(self, server: str, worker: str) -> None:
        """Remove a worker that has no more calls to this server."""
        self._server(server).places.pop(worker, None)

    def remove_worker(self, worker: str) -> None:
        """Remove a worker that has ended or died."""
        for server in self._servers:
            self.leave(server, worker)

    def _server(self, server: str) -> _Server:
        return self._servers.setdefault(server, _Server())

    @staticmethod
    def _share(places: dict[str, _WorkerShare], worker: str, using: int, ceiling: int) -> int:
        place_held = places.setdefault(worker, _WorkerShare(0, using))
        each, remainder = divmod(ceiling, len(places))
        fair = each + (list(places).index(worker) < remainder)
        other_calls = sum(max(place.granted_calls, place.using) for place in places.values() if place is not place_held)
        place_held.granted_calls, place_held.using = max(0, min(fair, ceiling - other_calls)), using
        return place_held.granted_calls


Call = Callable[..., Any]
"""Calls a method of the coordinator by name and waits for its result."""


class WorkerRateLimits:
    """Client of the coordinator in a worker; `fullbench.models` uses it before each call."""

    def __init__(self, worker: str, call: Call) -> None:
        self._worker, self._call = worker, call

    def rate(self, server: str, what: str, per_minute: float) -> Rate:
        return LeasedPace(per_minute, partial(self._call, "lease", server, what))

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        return SharedThrottle(start, ceiling, _ThrottleClient(self._worker, server, ceiling, self._call))


@dataclass(frozen=True)
class _ThrottleClient:
    worker: str
    server: str
    ceiling: int | None
    call: Call

    def agree(self, using: int) -> Grant:
        grant: Grant = self.call("agree", self.server, self.worker, using, self.ceiling)
        return grant

    def jam(self, wait: float | None) -> None:
        self.call("jam", self.server, wait)

    def leave(self) -> None:
        self.call("leave", self.server, self.worker)


class LeasedPace(Pace):
    """A rate that is leased in small parts from the coordinator.

    A lease is a span of time, from `_turn` to `_end`, in which only this worker may call at the full rate.
    """

    def __init__(
        self, per_minute: float, lease: Callable[[float, float], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(per_minute, clock)
        self._lease = lease
        self._end = self._turn

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount` and return the seconds to wait for it."""
        with self._lock:
            span, turn = amount * self._each, self._turn
            short = span - (self._end - self._turn)
            if short > 0:
                length = max(short, LEASE)
                wait = self._lease(60.0 / self._each, length / self._each)
                turn = self._clock() + wait
                self._turn, self._end = turn + short, turn + length
            else:
                self._turn += span
            return max(0.0, turn - self._clock())


class SharedThrottle(Throttle):
    """Throttle shared with other workers: one ceiling for all, and an overload slows all."""

    def __init__(
        self, start: int, ceiling: int | None, line: _ThrottleClient, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(start, ceiling or CEILING, clock)
        self._line = line
        self._granted_calls = 0
        self._held_until = self._agreed_at = float("-inf")

    async def enter(self) -> None:
        """Wait for a free place, and for the end of a wait that the server asked for."""
        self._agree()
        while not self._granted_calls:
            await asyncio.sleep(AGREEMENT_INTERVAL / 2)
            self._agree()
        await super().enter()
        if (left := self._held_until - self.clock()) > 0:
            await asyncio.sleep(left)

    def leave(self) -> None:
        super().leave()
        self._agree()

    def record_overload(self, sent_at: float, wait: float | None = None) -> None:
        """Slow down, and inform the other workers."""
        news = sent_at >= self._halved_at or wait is not None
        super().record_overload(sent_at, wait)
        if news:
            self._held_until = max(self._held_until, self.clock() + min(wait or 0.0, LONGEST_HOLD))
            self._line.jam(wait)

    async def close(self) -> None:
        self._line.leave()

    def _agree(self) -> None:
        now = self.clock()
        if now - self._agreed_at < (AGREEMENT_INTERVAL if self._granted_calls else AGREEMENT_INTERVAL / 4):
            return
        self._agreed_at = now
        grant = self._line.agree(self._active)
        self._granted_calls = grant.calls
        self._ceiling = max(1, grant.calls)
        self.width = min(self.width, self._ceiling)
        self._held_until = max(self._held_until, now + grant.hold)
        super().record_overload(now - grant.jam - SAME_JAM)
