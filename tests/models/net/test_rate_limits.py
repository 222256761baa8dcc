"""Pace and throttle, on a clock of the test's own."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import InputError
from fullbench.models.model_settings import Limits
from fullbench.models.net.rate_limits import Pace, Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(st.floats(1, 10_000), st.lists(st.tuples(st.floats(0, 5), st.floats(0.1, 50)), min_size=1, max_size=60))
def test_no_stretch_of_time_holds_more_than_its_share(per_minute, arrivals):
    clock = Clock()
    pace = Pace(per_minute, clock)
    taken = []
    for gap, amount in arrivals:
        clock.now += gap
        taken.append((clock.now + pace.take(amount), amount))
    for i, (start, _) in enumerate(taken):
        for j in range(i, len(taken)):
            end = taken[j][0]
            inside = sum(amount for _, amount in taken[i:j])
            assert inside <= per_minute / 60 * (end - start + 1.0) * (1 + 1e-9) + 1e-6


def test_pace_is_even_from_the_start():
    pace = Pace(60, Clock())
    assert [pace.take() for _ in range(4)] == [0, 1, 2, 3]


def test_pace_is_corrected():
    pace = Pace(60, Clock())
    pace.take(10)
    pace.correct(-7)
    assert pace.take(1) == pytest.approx(3)


def crowd(throttle: Throttle, clock: Clock, rounds: int, rate) -> None:
    """Rounds of full use; `rate(width)` calls a second come back."""
    for _ in range(rounds):
        width = throttle.width
        throttle._active = width
        for _ in range(width):
            clock.now += 1 / rate(width)
            throttle.record_success()


def test_it_grows_while_that_helps():
    clock = Clock()
    throttle = Throttle(8, 256, clock)
    crowd(throttle, clock, 12, lambda width: 10.0 * width)
    assert throttle.width == 256


def test_it_stops_growing_where_that_does_not_help():
    clock = Clock()
    throttle = Throttle(8, 256, clock)
    crowd(throttle, clock, 40, lambda width: 10.0 * min(width, 20))
    assert 16 <= throttle.width <= 36


def test_it_does_not_grow_when_not_in_use():
    clock = Clock()
    throttle = Throttle(8, 256, clock)
    for _ in range(1000):
        clock.now += 0.01
        throttle.record_success()
    assert throttle.width == 8


def test_it_halves_once_for_one_jam_and_recovers():
    clock = Clock()
    throttle = Throttle(64, 64, clock)
    sent = clock.now
    clock.now += 1
    for _ in range(64):
        throttle.record_overload(sent)
    assert throttle.width == 32
    crowd(throttle, clock, 60, lambda width: 10.0 * width)
    assert throttle.width == 64


def test_it_never_closes():
    clock = Clock()
    throttle = Throttle(8, 8, clock)
    for _ in range(20):
        clock.now += 1
        throttle.record_overload(clock.now)
    assert throttle.width == 1


def test_places_are_given_in_order_and_returned_when_cancelled():
    async def play() -> list[str]:
        throttle = Throttle(1, 1)
        seen = []

        async def visit(name: str) -> None:
            await throttle.enter()
            try:
                seen.append(name)
                await asyncio.sleep(0.001)
            finally:
                throttle.leave()

        tasks = [asyncio.create_task(visit(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert throttle._active == 0
        return seen

    assert asyncio.run(play()) == ["a", "c", "d"]


def test_limits_must_be_above_zero():
    with pytest.raises(InputError, match="'rpm' must be above zero"):
        Limits(rpm=0)
    assert Limits(backoff=0).backoff == 0
