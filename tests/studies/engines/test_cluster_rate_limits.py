from __future__ import annotations

import asyncio
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench import Prompt
from fullbench.core.item import Turn
from fullbench.errors import InputError, MissingExtra, ModelError
from fullbench.models.net.rate_limits import CEILING, use_rate_limits
from fullbench.models.net.server_rates_and_circuit_breakers import Provider
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines.cluster_rate_limits import (
    LEASE,
    SILENT,
    LeasedPace,
    RateLimitCoordinator,
    WorkerRateLimits,
)
from tests.support.fake_chat_server import FakeServer


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def direct(office: RateLimitCoordinator) -> object:
    """An office next door: called, not sent for. Calls are one at a time, as an actor takes them."""
    lock = threading.Lock()

    def call(method: str, *rest: object) -> object:
        with lock:
            return getattr(office, method)(*rest)

    return call


@given(
    ceiling=st.integers(1, 20),
    steps=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 20), st.booleans()), max_size=60),
)
def test_shares_never_pass_the_ceiling(ceiling, steps):
    """Workers come, use what they were granted or less, and go; at no moment may more be in flight than the ceiling."""
    office, granted, using = RateLimitCoordinator(Clock()), {}, {}
    for worker, wish, leaves in steps:
        if leaves:
            office.remove_worker(worker)
            granted.pop(worker, None)
            using.pop(worker, None)
            continue
        grant = office.agree("s", worker, using.get(worker, 0), ceiling).calls
        granted[worker] = grant
        using[worker] = min(wish, grant) if wish < grant else max(grant, min(using.get(worker, 0), wish))
        assert sum(max(granted[name], using[name]) for name in granted) <= ceiling


def test_shares_become_even_once_calls_have_landed():
    office = RateLimitCoordinator(Clock())
    assert office.agree("s", "a", 0, 10).calls == 10
    assert office.agree("s", "b", 0, 10).calls == 0
    assert office.agree("s", "a", 10, 10).calls == 5
    assert office.agree("s", "b", 0, 10).calls == 0
    assert office.agree("s", "a", 4, 10).calls == 5
    assert office.agree("s", "b", 0, 10).calls == 5
    office.remove_worker("a")
    assert office.agree("s", "b", 5, 10).calls == 10
    assert office.agree("s", "b", 5, None).calls == CEILING


@pytest.mark.parametrize("per_minute", [30, 600, 60_000])
def test_leases_keep_the_rate_and_are_few(per_minute):
    """Three workers take turns as fast as they are let: what passes is the rate, and the office is asked seldom."""
    clock, asked = Clock(), 0
    office = RateLimitCoordinator(clock)

    def lease(rate: float, amount: float) -> float:
        nonlocal asked
        asked += 1
        return office.lease("s", "requests", rate, amount)

    paces = [LeasedPace(per_minute, lease, clock) for _ in range(3)]
    ready = [clock.now] * 3
    passed, took = [], 3_000 if per_minute > 1_000 else 60
    while len(passed) < took:
        worker = min(range(3), key=ready.__getitem__)
        clock.now = max(clock.now, ready[worker])
        ready[worker] = clock.now + paces[worker].take()
        passed.append(ready[worker])
    passed.sort()
    a_second = per_minute / 60
    seconds = passed[-1] - passed[0]
    assert seconds * a_second <= took + 3 * LEASE * a_second + 1
    for first in range(0, took, 7):
        for last in range(first, took, 11):
            assert last - first <= (passed[last] - passed[first]) * a_second + 3 * LEASE * a_second + 1
    assert asked <= min(took, seconds / LEASE + 4)


def test_tokens_that_were_not_used_are_given_back():
    clock = Clock()
    office = RateLimitCoordinator(clock)
    pace = LeasedPace(60_000, partial(office.lease, "s", "tokens"), clock)
    assert pace.take(5_000) == 0
    pace.correct(-4_000)
    assert pace.take(3_000) == pytest.approx(1.0)
    assert pace.take(10_000) == pytest.approx(5.0)


def test_a_jam_that_one_saw_slows_the_others():
    clock = Clock()
    call = direct(RateLimitCoordinator(clock))
    one, two = (WorkerRateLimits(name, call).throttle("s", 8, None) for name in ("one", "two"))
    for throttle in (one, two):
        throttle.clock = clock
        throttle._halved_at = clock()

    async def enter(throttle: object) -> None:
        async with asyncio.timeout(0.05):
            await throttle.enter()

    asyncio.run(enter(two))
    clock.now += 5
    one.record_overload(clock.now, 20.0)
    clock.now += 1
    with pytest.raises(TimeoutError):
        asyncio.run(enter(two))
    assert (one.width, two.width) == (4, 4)
    clock.now += 20
    asyncio.run(enter(two))
    assert two.width == 4


def test_an_office_closes_with_its_last_run():
    office = RateLimitCoordinator(Clock())
    assert office.beat("a")
    assert office.beat("b")
    assert not office.close("a")
    assert office.close("b")
    assert not office.beat("c")


def test_what_a_killed_run_held_is_free_again():
    clock = Clock()
    office = RateLimitCoordinator(clock)
    office.beat("killed")
    assert office.agree("s", "killed/1", 0, 8).calls == 8
    assert office.beat("next")
    assert office.agree("s", "next/1", 0, 8).calls == 0
    clock.now += SILENT + 1
    assert office.beat("next")
    assert office.agree("s", "next/1", 0, 8).calls == 8
    assert office.close("next")


def test_models_of_two_processes_keep_one_limit():
    """Two models that know nothing of each other but the office, against a real server."""
    with FakeServer(says="yes", latency=0.02) as server:
        call = direct(RateLimitCoordinator())

        def ask(name: str) -> int:
            model = judge_contestant_and_benchmark_specs.contestant_from_spec(
                f"vllm:m@{server.url}?rpm=1200&concurrency=5"
            )
            with use_rate_limits(WorkerRateLimits(name, call)):
                model.__dict__["_provider"] = own = Provider(model.url, model.key)
                own.join(model.limits)
                return sum(1 for _ in model.answer(Prompt((Turn("user", (f"#{n}",)),)) for n in range(30)))

        with ThreadPoolExecutor() as pool:
            assert list(pool.map(ask, ["a", "b"])) == [30, 30]
        books = server.books()
    at = sorted(books["arrivals"])
    assert books["most"] <= 5
    assert (at[-1] - at[0]) * 20 >= 60 - 1 - 1.5 * 20


@pytest.mark.parametrize(
    "error", [InputError("bad", path="a.toml", line=3), MissingExtra("this", "ray"), ModelError("no key")]
)
def test_errors_can_be_sent(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)


def test_of_several_limits_the_strictest_counts():
    clock = Clock()
    office = RateLimitCoordinator(clock)
    lease = partial(office.lease, "s", "requests")
    lax, strict = LeasedPace(6_000, lease, clock), LeasedPace(6_000, lease, clock)
    strict.tighten(60)
    assert strict.take() == 0
    assert lax.take() == pytest.approx(1.0)
