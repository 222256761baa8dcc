"""Concurrent calls behind a plain iterator, on an event loop in the caller's thread that runs only during `next`."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from fullbench.core.model import Prompt, Reply
from fullbench.errors import FullbenchError, ModelError
from fullbench.models.net.rate_limits import current_call_limit

SLOW_PULL = 0.001
LONGEST_TURN = 0.01
ADDRESS_SECONDS = 300.0
"""Seconds to cache the address of a host: otherwise every new connection would look it up."""
LONG_PAUSE = 1.0
"""A caller absent for this many seconds is busy with something else."""
T = TypeVar("T")


class PromptSender(Protocol):
    """Anything that sends one prompt to a model. At most `width` prompts are in flight."""

    @property
    def width(self) -> int: ...

    @property
    def fatal_error(self) -> ModelError | None:
        """Return why no further prompt can succeed, or None."""

    def __call__(self, prompt: Prompt, /) -> Coroutine[Any, Any, Reply]: ...

    def stop_waiting(self) -> None:
        """Wait only for running calls: no further prompt comes."""


def stream_replies(
    prompts: Iterable[Prompt], sender_context: AbstractAsyncContextManager[PromptSender]
) -> Iterator[Reply]:
    """Send every prompt and yield the replies in the order they arrive.

    A prompt is pulled only when there is room for it, in the caller's thread and outside of the event loop: the
    source may itself be such a stream. If the server or the source fails, the stream ends with that error after all
    running calls have been yielded. Closing the iterator early cancels running calls.
    """
    loop = _Loop()
    flight = _CallsInFlight(loop, iter(prompts))
    try:
        sender = loop.complete(sender_context.__aenter__())
        while flight.has_more or flight.running:
            pull_seconds = flight.fill(sender)
            if flight.running:
                loop.run_turn(pull_seconds)
            while flight.finished_tasks:
                yield flight.finished_tasks.popleft().result()
            if sender.fatal_error is not None and flight.error is None:
                flight.stop(sender.fatal_error)
                sender.stop_waiting()
        if flight.error is not None:
            raise flight.error
    finally:
        loop.end(flight.abandon(), sender_context)


class _CallsInFlight:
    def __init__(self, loop: _Loop, source: Iterator[Prompt]) -> None:
        self.has_more = True
        self.running: set[asyncio.Task[Reply]] = set()
        self.finished_tasks: deque[asyncio.Task[Reply]] = deque()
        self.error: FullbenchError | None = None
        self._loop = loop
        self._source = source
        self._is_abandoned = False
        self._call_limit = current_call_limit()

    def fill(self, sender: PromptSender) -> float | None:
        """Pull prompts while there is room. If the source is slow, return the duration of the last pull: running calls
        get as much time.
        """
        while self.has_more and len(self.running) < min(sender.width, self._call_limit()):
            before = time.monotonic()
            try:
                prompt = next(self._source)
            except StopIteration:
                self.has_more = False
                return None
            except FullbenchError as error:
                self.stop(error)
                return None
            task = self._loop.create_task(sender(prompt))
            self.running.add(task)
            task.add_done_callback(self._finish_task)
            pull_seconds = time.monotonic() - before
            if pull_seconds > SLOW_PULL:
                return min(pull_seconds, LONGEST_TURN)
        return None

    def stop(self, error: FullbenchError) -> None:
        self.has_more = False
        self.error = self.error or error

    def _finish_task(self, task: asyncio.Task[Reply]) -> None:
        self.running.discard(task)
        self.finished_tasks.append(task)
        if not self._is_abandoned:
            self._loop.stop()

    def abandon(self) -> list[asyncio.Task[Reply]]:
        self._is_abandoned = True
        return [*self.running, *self.finished_tasks]


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that runs in turns.

    Its clock stops between turns, so that a slow caller does not make calls time out. If another loop is already
    running (in a notebook), turns run in a separate thread.
    """

    def __init__(self) -> None:
        self._paused_seconds = self.pause_seconds = 0.0
        self._left_at = self.resumed_at = time.monotonic()
        self._worker_thread: ThreadPoolExecutor | None = None
        self._addresses: dict[tuple[Any, ...], tuple[float, asyncio.Task[list[Any]]]] = {}
        super().__init__()

    def time(self) -> float:
        return time.monotonic() - self._paused_seconds

    async def getaddrinfo(
        self, host: str | bytes | None, port: str | bytes | int | None,
        *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0,  # noqa: A002 - the name that loops have
    ) -> list[Any]:  # fmt: skip
        """Cache lookups: callers of the same address share one lookup, and a failed one is repeated."""
        key = (host, port, family, type, proto, flags)
        looked_up_at, lookup = self._addresses.get(key, (0.0, None))
        if lookup is None or self.time() - looked_up_at > ADDRESS_SECONDS or (lookup.done() and lookup.exception()):
            lookup = self.create_task(
                super().getaddrinfo(host, port, family=family, type=type, proto=proto, flags=flags)
            )
            self._addresses[key] = self.time(), lookup
        return await asyncio.shield(lookup)

    def run_turn(self, seconds: float | None) -> None:
        def work() -> None:
            bell = None if seconds is None else self.call_later(seconds, self.stop)
            self.run_forever()
            if bell is not None:
                bell.cancel()

        self._run(work)

    def complete(self, awaitable: Awaitable[T]) -> T:
        return self._run(lambda: self.run_until_complete(awaitable))

    def _run(self, work: Callable[[], T]) -> T:
        self.resumed_at = time.monotonic()
        self.pause_seconds = self.resumed_at - self._left_at
        self._paused_seconds += self.pause_seconds
        try:
            if not _in_a_loop():
                return work()
            if self._worker_thread is None:
                self._worker_thread = ThreadPoolExecutor(1, "fullbench")
            return self._worker_thread.submit(work).result()
        finally:
            self._left_at = time.monotonic()

    def end(self, tasks: list[asyncio.Task[Reply]], sender_context: AbstractAsyncContextManager[PromptSender]) -> None:
        async def leave() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await sender_context.__aexit__(None, None, None)
            await self.shutdown_asyncgens()
            await self.shutdown_default_executor()

        try:
            self.complete(leave())
        finally:
            self.finish()

    def finish(self) -> None:
        self.close()
        if self._worker_thread is not None:
            self._worker_thread.shutdown()


def unread_seconds(now: float) -> float:
    """Return how long a reply seen now may have been unread because the caller was busy."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, _Loop) or loop.pause_seconds < LONG_PAUSE or now - loop.resumed_at > loop.pause_seconds:
        return 0.0
    return loop.pause_seconds


def run_awaitable(awaitable: Awaitable[T]) -> T:
    """Run one awaitable to its end, also in a notebook where another loop is running."""
    loop = _Loop()
    try:
        return loop.complete(awaitable)
    finally:
        loop.finish()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
