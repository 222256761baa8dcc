"""Rate limits shared by all streams of calls in this process: each request of a reward service has a stream."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from fullbench.models.net.rate_limits import CEILING, Pace, Rate, Throttle


class SharedRateLimits:
    """Owner of one rate per server and kind, and of the slots for calls in flight to each server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: dict[tuple[str, str], Pace] = {}
        self._slots: dict[str, CallSlots] = {}

    def rate(self, server: str, what: str, per_minute: float) -> Rate:
        with self._lock:
            return self._rates.setdefault((server, what), Pace(per_minute))

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        with self._lock:
            slots = self._slots.setdefault(server, CallSlots(ceiling or CEILING))
        return _SharedThrottle(start, ceiling or CEILING, slots)


class CallSlots:
    """Slots for the coroutines of several event loops, each in a thread of its own; first come, first served."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def acquire(self) -> None:
        """Wait for a free slot and take it."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, or to the first that waits."""
        with self._lock:
            while self._waiting:
                loop, place = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(self._grant, place)
                except RuntimeError:  # that loop is closed
                    continue
                return
            self._free += 1

    def _grant(self, place: asyncio.Future[None]) -> None:
        if place.done():  # cancelled meanwhile
            self.release()
        else:
            place.set_result(None)


class _SharedThrottle(Throttle):
    """A stream's own throttle, within the slots of all streams."""

    def __init__(self, start: int, ceiling: int, slots: CallSlots) -> None:
        super().__init__(start, ceiling)
        self._slots = slots

    async def enter(self) -> None:
        await super().enter()
        try:
            await self._slots.acquire()
        except BaseException:
            super().leave()
            raise

    def leave(self) -> None:
        self._slots.release()
        super().leave()
