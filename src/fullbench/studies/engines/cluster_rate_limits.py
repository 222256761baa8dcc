"""The limits of servers, kept in one place for all workers of a cluster.

`Office` is plain bookkeeping; on a cluster it is an actor of its own. Workers do not ask it call by call: a rate is
leased for half a second at a time, and how many calls may be in flight is agreed twice a second.
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
AGREED = 0.5
LONGEST_HOLD = 60.0
SILENT = 10.0
BEAT = 2.0
SAME_JAM = 0.25


@dataclass
class _Place:
    """What one worker may have in flight, and has."""

    granted: int
    using: int


@dataclass
class _Server:
    """What is known of one server."""

    rates: dict[str, Pace] = field(default_factory=dict)
    places: dict[str, _Place] = field(default_factory=dict)
    jammed: float = float("-inf")
    held: float = float("-inf")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a worker is told: calls it may have in flight, seconds to hold still, seconds since the last jam."""

    calls: int
    hold: float
    jam: float


class Office:
    """Keeps the limits of every server for all who ask."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._servers: dict[str, _Server] = {}
        self._runs: dict[str, float] = {}
        self._closed = False

    def beat(self, run: str) -> bool:
        """A run is there; False when this office is closing and another one is needed.

        A run that was killed falls silent, and what its workers held is free again.
        """
        now = self._clock()
        if not self._closed:
            self._runs[run] = now
        for silent in [name for name, seen in self._runs.items() if now - seen > SILENT]:
            self.close(silent)
        return not self._closed

    def close(self, run: str) -> bool:
        """A run ends; True when it was the last one."""
        self._runs.pop(run, None)
        for server in self._servers.values():
            for worker in [name for name in server.places if name.startswith(run)]:
                del server.places[worker]
        self._closed = not self._runs
        return self._closed

    def lease(self, server: str, what: str, per_minute: float, amount: float) -> float:
        """Take so much of a rate; the seconds until it may be used. Of several limits the strictest counts."""
        rates = self._server(server).rates
        if what not in rates:
            rates[what] = Pace(per_minute, self._clock)
        rates[what].tighten(per_minute)
        return rates[what].take(amount)

    def agree(self, server: str, worker: str, using: int, ceiling: int | None) -> Grant:
        """How many calls a worker may have in flight, now that it has `using`.

        A ceiling is shared evenly. What another worker may still be using is not given away, so that the sum stays
        within the ceiling while shares change.
        """
        now, state = self._clock(), self._server(server)
        granted = CEILING if ceiling is None else self._share(state.places, worker, using, ceiling)
        return Grant(granted, max(0.0, state.held - now), now - state.jammed)

    def jam(self, server: str, wait: float | None) -> None:
        """A server had too much to do, and asks for a wait where it says so."""
        now, state = self._clock(), self._server(server)
        state.jammed = now
        state.held = max(state.held, now + min(wait or 0.0, LONGEST_HOLD))

    def leave(self, server: str, worker: str) -> None:
        """A worker has no call to this server any more."""
        self._server(server).places.pop(worker, None)

    def gone(self, worker: str) -> None:
        """A worker is no more."""
        for server in self._servers:
            self.leave(server, worker)

    def _server(self, server: str) -> _Server:
        return self._servers.setdefault(server, _Server())

    @staticmethod
    def _share(places: dict[str, _Place], worker: str, using: int, ceiling: int) -> int:
        place_held = places.setdefault(worker, _Place(0, using))
        each, rest = divmod(ceiling, len(places))
        fair = each + (list(places).index(worker) < rest)
        taken = sum(max(place.granted, place.using) for place in places.values() if place is not place_held)
        place_held.granted, place_held.using = max(0, min(fair, ceiling - taken)), using
        return place_held.granted


Call = Callable[..., Any]
"""Calls a method of the office by its name and waits for what it says."""


class Branch:
    """The office as a worker sees it: what `fullbench.models` asks when it is about to call a server."""

    def __init__(self, worker: str, call: Call) -> None:
        self._worker, self._call = worker, call

    def rate(self, server: str, what: str, per_minute: float) -> Rate:
        return LeasedPace(per_minute, partial(self._call, "lease", server, what))

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        return SharedThrottle(start, ceiling, _Line(self._worker, server, ceiling, self._call))


@dataclass(frozen=True)
class _Line:
    """What one throttle says to the office, and hears."""

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
    """A rate of which a small part is held at a time: turns are handed out from it, and more is leased when it is used.

    What is held is a stretch of time, from `_turn` to `_end`, in which this worker alone may ask at the full rate.
    """

    def __init__(
        self, per_minute: float, lease: Callable[[float, float], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(per_minute, clock)
        self._lease = lease
        self._end = self._turn

    def take(self, amount: float = 1.0) -> float:
        """Take a turn for `amount`; the seconds to wait for it."""
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
    """A throttle that agrees with those of the other workers: one ceiling for all, and a jam slows all."""

    def __init__(
        self, start: int, ceiling: int | None, line: _Line, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(start, ceiling or CEILING, clock)
        self._line = line
        self._granted = 0
        self._held = self._agreed = float("-inf")

    async def enter(self) -> None:
        """Wait for a free place and take it; where the server asked for a wait, for that as well."""
        self._agree()
        while not self._granted:
            await asyncio.sleep(AGREED / 2)
            self._agree()
        await super().enter()
        if (left := self._held - self.clock()) > 0:
            await asyncio.sleep(left)

    def leave(self) -> None:
        super().leave()
        self._agree()

    def was_too_much(self, sent: float, wait: float | None = None) -> None:
        """The server has too much to do: tell the others."""
        news = sent >= self._halved or wait is not None
        super().was_too_much(sent, wait)
        if news:
            self._held = max(self._held, self.clock() + min(wait or 0.0, LONGEST_HOLD))
            self._line.jam(wait)

    async def close(self) -> None:
        self._line.leave()

    def _agree(self) -> None:
        now = self.clock()
        if now - self._agreed < (AGREED if self._granted else AGREED / 4):
            return
        self._agreed = now
        grant = self._line.agree(self._active)
        self._granted = grant.calls
        self._ceiling = max(1, grant.calls)
        self.width = min(self.width, self._ceiling)
        self._held = max(self._held, now + grant.hold)
        super().was_too_much(now - grant.jam - SAME_JAM)
