"""Hedged requests: a second request if the first is unusually slow. The first answer counts, both are billed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from fullbench.core.model import Reply
from fullbench.core.model_call import sum_of_known
from fullbench.models.wire.reply_parsing import Trouble, UsageCounter

RECENT = 200
ENOUGH = 20


class Hedge:
    """Recent durations of calls, and the threshold above which a call is slow."""

    def __init__(self, quantile: float) -> None:
        self._quantile = quantile
        self._durations: deque[float] = deque(maxlen=RECENT)

    def record_duration(self, seconds: float) -> None:
        self._durations.append(seconds)

    def slow_threshold(self) -> float | None:
        """Return the seconds after which a call is slow, or None before enough calls were measured."""
        if len(self._durations) < ENOUGH:
            return None
        return sorted(self._durations)[int(self._quantile * len(self._durations))]


_Running = set["asyncio.Task[Reply | Trouble]"]
Post = Callable[[UsageCounter], Coroutine[Any, Any, Reply | Trouble]]


async def race_requests(post: Post, delay: float, counter: UsageCounter) -> Reply | Trouble:
    """Post, and post again if that takes longer than `delay` seconds.
    The slower request is cancelled and billed like the faster one: whether the server charges for it is unknown.
    """
    counters = [UsageCounter(shares=counter.shares, audio_share=counter.audio_share) for _ in range(2)]
    first = asyncio.ensure_future(post(counters[0]))
    running: _Running = {first}
    try:
        await asyncio.wait(running, timeout=delay)
        if not first.done():
            running.add(asyncio.ensure_future(post(counters[1])))
        result, running = await _first_answer(running)
    except BaseException:
        await _cut_off(running)
        raise
    await _cut_off(running)
    for attempt_counter in counters:
        _add_usage(counter, attempt_counter)
    if running and isinstance(result, Reply):  # the slower request sent no bill, so bill it like the faster one
        winner = next(attempt_counter for attempt_counter in counters if attempt_counter.calls)
        _add_usage(counter, replace(winner, calls=1, retries=0, seconds=0.0))
    return result


async def _first_answer(running: _Running) -> tuple[Reply | Trouble, _Running]:
    while True:
        finished_tasks, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        results = [task.result() for task in finished_tasks]
        answers = [result for result in results if isinstance(result, Reply)]
        if answers or not running:
            return (answers or results)[0], running


async def _cut_off(running: _Running) -> None:
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


def _add_usage(counter: UsageCounter, addition: UsageCounter) -> None:
    counter.calls += addition.calls
    counter.audio += addition.audio
    counter.retries += addition.retries
    counter.tokens_in += addition.tokens_in
    counter.tokens_out += addition.tokens_out
    counter.cached = sum_of_known(counter.cached, addition.cached)
    counter.stored = sum_of_known(counter.stored, addition.stored)
    counter.counted += addition.counted
