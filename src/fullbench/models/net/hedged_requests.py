"""A second request where the first is unusually slow: the one that is answered first counts, both are billed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from fullbench.core.call import known_sum
from fullbench.models.dialects import Answer
from fullbench.models.wire.reply_parsing import Tally, Trouble

RECENT = 200
ENOUGH = 20


class Hedge:
    """Remembers how long calls took, and says from when on one is slow."""

    def __init__(self, quantile: float) -> None:
        self._quantile = quantile
        self._took: deque[float] = deque(maxlen=RECENT)

    def saw(self, seconds: float) -> None:
        self._took.append(seconds)

    def after(self) -> float | None:
        """The seconds after which a call is slow; None until enough were seen."""
        if len(self._took) < ENOUGH:
            return None
        return sorted(self._took)[int(self._quantile * len(self._took))]


_Running = set["asyncio.Task[Answer | Trouble]"]
Post = Callable[[Tally], Coroutine[Any, Any, Answer | Trouble]]


async def race(post: Post, after: float, tally: Tally) -> Answer | Trouble:
    """Post, and once more when that takes longer than `after` seconds.

    The slower of two is cut off, and billed like the faster: whether the server charges for it is not known.
    """
    tallies = [Tally(shares=tally.shares), Tally(shares=tally.shares)]
    first = asyncio.ensure_future(post(tallies[0]))
    running: _Running = {first}
    try:
        await asyncio.wait(running, timeout=after)
        if not first.done():
            running.add(asyncio.ensure_future(post(tallies[1])))
        result, running = await _first_answer(running)
    except BaseException:
        await _cut_off(running)
        raise
    await _cut_off(running)
    for used in tallies:
        _add(tally, used)
    if running and isinstance(result, Answer):
        won = next(used for used in tallies if used.calls)
        _add(tally, replace(won, calls=1, retries=0, seconds=0.0))
    return result


async def _first_answer(running: _Running) -> tuple[Answer | Trouble, _Running]:
    """The first answer, or the last trouble where there is none; and what is still on its way."""
    while True:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        results = [task.result() for task in done]
        answers = [result for result in results if isinstance(result, Answer)]
        if answers or not running:
            return (answers or results)[0], running


async def _cut_off(running: _Running) -> None:
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _add(tally: Tally, more: Tally) -> None:
    tally.calls += more.calls
    tally.retries += more.retries
    tally.tokens_in += more.tokens_in
    tally.tokens_out += more.tokens_out
    tally.cached = known_sum(tally.cached, more.cached)
    tally.stored = known_sum(tally.stored, more.stored)
    tally.counted += more.counted
