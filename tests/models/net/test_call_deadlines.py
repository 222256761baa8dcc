"""One timer for all calls, and each is cut off at its own time."""

from __future__ import annotations

import asyncio
import selectors

import pytest

from fullbench.models.net.prompt_call_with_retries import Deadlines


class Clockwork(asyncio.SelectorEventLoop):
    """A loop whose time passes only while all wait, and then at once: a busy machine is late for nothing."""

    def __init__(self) -> None:
        self.now = 0.0
        loop = self

        class Selector(selectors.DefaultSelector):
            def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
                loop.now += timeout or 0.0
                return super().select(0)

        super().__init__(Selector())

    def time(self) -> float:
        return self.now


async def call(deadlines: Deadlines, seconds: float) -> str:
    task = deadlines.begin()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if not deadlines.is_timeout(task):
            raise
        return "late"
    finally:
        deadlines.end(task)
    await asyncio.sleep(0.001)
    return "in time"


def test_each_call_is_cut_off_at_its_own_time():
    async def play() -> tuple[list[str], list[float]]:
        deadlines, loop = Deadlines(0.2), asyncio.get_running_loop()
        started, ended = loop.time(), []

        async def one(delay: float, seconds: float) -> str:
            await asyncio.sleep(delay)
            said = await call(deadlines, seconds)
            ended.append(loop.time() - started)
            return said

        said = await asyncio.gather(one(0, 9), one(0, 0.01), one(0.1, 9), one(0.15, 0.02), one(0.5, 9))
        deadlines.close()
        return said, sorted(ended)

    with asyncio.Runner(loop_factory=Clockwork) as runner:
        said, ended = runner.run(play())
    assert said == ["late", "in time", "late", "in time", "late"]
    assert ended == pytest.approx([0.011, 0.171, 0.2, 0.3, 0.7])


def test_somebody_else_s_cancelling_is_not_swallowed():
    async def play() -> bool:
        deadlines = Deadlines(60)
        task = asyncio.create_task(call(deadlines, 9))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        deadlines.close()
        return task.cancelled()

    assert asyncio.run(play())


def test_late_and_cancelled_at_once_is_cancelled():
    async def play() -> bool:
        deadlines = Deadlines(0.01)
        task = asyncio.create_task(call(deadlines, 9))
        await asyncio.sleep(0)
        deadlines._late.add(task)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        deadlines.close()
        return task.cancelled()

    assert asyncio.run(play())
