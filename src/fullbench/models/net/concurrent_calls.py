"""Many calls at a time behind a plain iterator: one event loop, in the caller's own thread, that runs only while the
caller waits for the next reply."""

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

SLOW_PULL = 0.001
LONGEST_TURN = 0.01
ADDRESS_SECONDS = 300.0
"""For so long a server's address is not looked up again: every new connection would ask."""
LONG_PAUSE = 1.0
"""A caller who is away for so many seconds is busy with something else than with replies."""
T = TypeVar("T")


class Asker(Protocol):
    """Whatever puts one prompt to a model. `width` prompts at most are taken on at a time."""

    @property
    def width(self) -> int: ...

    @property
    def ended(self) -> ModelError | None:
        """Why no further prompt can do; None while they can."""

    def __call__(self, prompt: Prompt, /) -> Coroutine[Any, Any, Reply]: ...

    def hurry(self) -> None:
        """No further prompt comes: wait for nothing but what is on its way."""


def stream(prompts: Iterable[Prompt], opened: AbstractAsyncContextManager[Asker]) -> Iterator[Reply]:
    """Ask every prompt and yield the replies in the order they come.

    A prompt is pulled only when there is room for it, and in the caller's thread, outside of the event loop: the
    source may itself be such a stream. When the server or the source gives up, the stream ends with that error, but
    only after all that was on its way has been yielded. Closing the iterator early cancels what is on its way.
    """
    loop = _Loop()
    flight = _Flight(loop, iter(prompts))
    try:
        asker = loop.complete(opened.__aenter__())
        while flight.more or flight.running:
            spent = flight.fill(asker)
            if flight.running:
                loop.turn(spent)
            while flight.landed:
                yield flight.landed.popleft().result()
            if asker.ended is not None and flight.error is None:
                flight.stop(asker.ended)
                asker.hurry()
        if flight.error is not None:
            raise flight.error
    finally:
        loop.end(flight.abandon(), opened)


class _Flight:
    """The prompts that are on their way, and those that are back."""

    def __init__(self, loop: _Loop, source: Iterator[Prompt]) -> None:
        self.more = True
        self.running: set[asyncio.Task[Reply]] = set()
        self.landed: deque[asyncio.Task[Reply]] = deque()
        self.error: FullbenchError | None = None
        self._loop = loop
        self._source = source
        self._over = False

    def fill(self, asker: Asker) -> float | None:
        """Pull prompts while there is room. Where the source is slow, the seconds that the last pull took: what is on
        its way should now have as long."""
        while self.more and len(self.running) < asker.width:
            before = time.monotonic()
            try:
                prompt = next(self._source)
            except StopIteration:
                self.more = False
                return None
            except FullbenchError as error:
                self.stop(error)
                return None
            task = self._loop.create_task(asker(prompt))
            self.running.add(task)
            task.add_done_callback(self._land)
            spent = time.monotonic() - before
            if spent > SLOW_PULL:
                return min(spent, LONGEST_TURN)
        return None

    def stop(self, error: FullbenchError) -> None:
        """Take on no more; the first error is the one to be told."""
        self.more = False
        self.error = self.error or error

    def _land(self, task: asyncio.Task[Reply]) -> None:
        self.running.discard(task)
        self.landed.append(task)
        if not self._over:
            self._loop.stop()

    def abandon(self) -> list[asyncio.Task[Reply]]:
        """What nobody waits for any longer."""
        self._over = True
        return [*self.running, *self.landed]


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that is run in turns.

    Its clock stands still between turns, so that a caller who takes his time does not make calls time out. Where
    another loop is running already (a notebook), turns are taken in a thread beside it.
    """

    def __init__(self) -> None:
        self._lost = self.pause = 0.0
        self._left = self.resumed = time.monotonic()
        self._aside: ThreadPoolExecutor | None = None
        self._addresses: dict[tuple[Any, ...], tuple[float, asyncio.Task[list[Any]]]] = {}
        super().__init__()

    def time(self) -> float:
        return time.monotonic() - self._lost

    async def getaddrinfo(
        self, host: str | bytes | None, port: str | bytes | int | None,
        *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0,  # noqa: A002 - the name that loops have
    ) -> list[Any]:  # fmt: skip
        """As any loop's, but all who ask for the same wait for one lookup; one that failed is tried again."""
        key = (host, port, family, type, proto, flags)
        asked, lookup = self._addresses.get(key, (0.0, None))
        if lookup is None or self.time() - asked > ADDRESS_SECONDS or (lookup.done() and lookup.exception()):
            lookup = self.create_task(
                super().getaddrinfo(host, port, family=family, type=type, proto=proto, flags=flags)
            )
            self._addresses[key] = self.time(), lookup
        return await asyncio.shield(lookup)

    def turn(self, seconds: float | None) -> None:
        """Run until something lands, but no longer than so many seconds."""

        def work() -> None:
            bell = None if seconds is None else self.call_later(seconds, self.stop)
            self.run_forever()
            if bell is not None:
                bell.cancel()

        self._run(work)

    def complete(self, awaitable: Awaitable[T]) -> T:
        """Run until this is done, and give its result."""
        return self._run(lambda: self.run_until_complete(awaitable))

    def _run(self, work: Callable[[], T]) -> T:
        self.resumed = time.monotonic()
        self.pause = self.resumed - self._left
        self._lost += self.pause
        try:
            if not _in_a_loop():
                return work()
            if self._aside is None:
                self._aside = ThreadPoolExecutor(1, "fullbench")
            return self._aside.submit(work).result()
        finally:
            self._left = time.monotonic()

    def end(self, tasks: list[asyncio.Task[Reply]], opened: AbstractAsyncContextManager[Asker]) -> None:
        """Cancel what is on its way, leave the context, and close."""

        async def leave() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await opened.__aexit__(None, None, None)
            await self.shutdown_asyncgens()
            await self.shutdown_default_executor()

        try:
            self.complete(leave())
        finally:
            self.finish()

    def finish(self) -> None:
        """Close, and end the thread beside."""
        self.close()
        if self._aside is not None:
            self._aside.shutdown()


def unread(now: float) -> float:
    """The seconds for which a reply that is seen now may have lain unread, because the caller was away for long."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, _Loop) or loop.pause < LONG_PAUSE or now - loop.resumed > loop.pause:
        return 0.0
    return loop.pause


def complete(awaitable: Awaitable[T]) -> T:
    """Run one thing to its end, in a notebook too, where another loop is running already."""
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
