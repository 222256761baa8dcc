"""What all who ask one server share: paces, the gate before a server that fails, and second requests."""

from __future__ import annotations

import gc
import pickle
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import InputError, ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_settings import Key, Limits
from fullbench.models.net.hedged_requests import ENOUGH, Hedge
from fullbench.models.net.server_rates_and_circuit_breakers import Gate, get_provider
from tests.models.conftest import ask
from tests.models.net.test_rate_limits import Clock
from tests.support.fake_chat_server import FakeServer

LIMITS = Limits(breaks=3, rest=2.0)


def test_a_gate_shuts_lets_one_try_and_opens(caplog):
    clock = Clock()
    gate = Gate("the server", clock)
    for _ in range(2):
        gate.record_failure("500", LIMITS)
    gate.record_success()
    for _ in range(2):
        gate.record_failure("500", LIMITS)
    assert not gate.is_shut, "only failures in a row count"
    gate.record_failure("500", LIMITS)
    for _ in range(5):
        gate.record_failure("500: those that were on their way", LIMITS)
    assert (gate.is_shut, gate.wait_seconds()) == (True, 2.0)
    clock.now += 2.0
    assert gate.wait_seconds() == 0.0, "one may try"
    assert gate.wait_seconds() > 0, "one alone"
    gate.record_failure("500", LIMITS)
    assert gate.wait_seconds() == 4.0, "twice as long"
    clock.now += 4.0
    assert gate.wait_seconds() == 0.0
    gate.release_probe()
    assert gate.wait_seconds() == 0.0, "then somebody else"
    gate.record_success()
    assert (gate.is_shut, gate.wait_seconds()) == (False, 0.0)
    assert [record.getMessage() for record in caplog.records] == [
        "the server failed 3 times in a row (the last: 500); calls rest, and one at a time tries again",
        "the server answers again after 6 s",
    ]


def test_a_wait_that_the_server_names_holds_everybody_back():
    clock = Clock()
    gate = Gate("the server", clock)
    gate.hold(5.0)
    gate.record_success()
    assert (gate.is_shut, gate.wait_seconds()) == (True, 5.0)
    clock.now += 5.0
    assert (gate.wait_seconds(), gate.is_shut) == (0.0, False)
    gate.hold(100_000.0)
    assert gate.wait_seconds() == 30.0


@given(
    st.lists(st.sampled_from(["record_success", "bad", "wait_seconds", "release_probe", "hold", "wait"]), max_size=80)
)
def test_a_gate_never_stays_shut_for_a_server_that_answers(steps):
    clock = Clock()
    gate = Gate("the server", clock)
    for step in steps:
        if step == "bad":
            gate.record_failure("500", LIMITS)
        elif step == "hold":
            gate.hold(3.0)
        elif step == "wait":
            clock.now += 1.0
        else:
            getattr(gate, step)()
    gate.release_probe()
    for _ in range(100):
        if not (wait := gate.wait_seconds()):
            break
        clock.now += wait
    gate.record_success()
    assert (gate.wait_seconds(), gate.down_since) == (0.0, None)


def test_one_provider_for_all_who_ask_it_and_the_strictest_limit_counts():
    began = time.monotonic()
    one = ChatModel("a", "http://localhost:1/v1", limits=Limits(rpm=600))
    two = ChatModel("b", "http://localhost:1/v1/", limits=Limits(rpm=60))
    other = ChatModel("a", "http://localhost:2/v1", limits=Limits(rpm=60))
    assert one._provider is two._provider is not other._provider
    assert one._provider.requests.take() == 0.0
    wait = two._provider.requests.take()
    assert 1.0 - (time.monotonic() - began) <= wait <= 1.0 + 1e-6, "the second has its turn after one second"
    assert one._provider.gate("a") is not two._provider.gate("b")
    assert pickle.loads(pickle.dumps(one._provider)) is one._provider
    key = (one.url, one.key)
    del one, two
    gc.collect()
    assert get_provider(*key).requests is None, "nobody asks any longer: nothing is remembered"


def test_judges_of_one_provider_share_its_requests_a_minute():
    """Two models in two threads, 1,200 a minute for both together: 24 calls take at least 23 twentieths of a second."""
    with FakeServer() as server:
        models = [ChatModel(name, server.url, limits=Limits(rpm=1200)) for name in "ab"]
        started = time.monotonic()
        threads = [threading.Thread(target=lambda m=m: list(m.answer(map(ask, range(12))))) for m in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - started >= 23 / 20
        assert sum(server.books()["answered"].values()) == 24


def test_a_server_that_is_sick_for_a_while_is_left_alone_and_no_prompt_is_lost(caplog):
    with FakeServer(sick=(40, 10), latency=0.01) as server:
        limits = Limits(backoff=0.01, concurrency=2, attempts=20, breaks=5, rest=0.02)
        replies = list(ChatModel("x", server.url, limits=limits).answer(map(ask, range(200))))
        books = server.books()
    assert [reply.error for reply in replies if reply.error] == []
    assert len(replies) == 200
    assert books["sent"] == {"good": 200, "sick": 10}
    told = [record.getMessage() for record in caplog.records]
    assert [text.split(" at ")[0] for text in told] == ["x", "x"]
    assert "times in a row (the last: 500: it hurts); calls rest" in told[0]
    assert "answers again after" in told[1]


def test_a_server_that_stays_down_ends_the_run_in_one_sentence():
    with FakeServer(sick=(30, 10_000)) as server:
        limits = Limits(backoff=0.01, concurrency=8, breaks=10, rest=0.05, patience=0.6)
        replies = []
        with pytest.raises(
            ModelError, match=r"has failed for 0\.6 s \(the last: 500: it hurts\); what was done is kept"
        ):
            replies.extend(ChatModel("x", server.url, limits=limits).answer(map(ask, range(5000))))
        books = server.books()
    assert sum(reply.error is None for reply in replies) == 30
    assert books["sent"]["sick"] < 60, "it was hardly asked any more"


def test_a_slow_call_is_sent_again_and_both_are_billed():
    def slowest(hedge: float | None) -> tuple[float, int, int]:
        with FakeServer(latency=0.05, slow=0.04, seed=3) as server:
            model = ChatModel("x", server.url, limits=Limits(concurrency=8, hedge=hedge))
            replies = list(model.answer(map(ask, range(300))))
            books = server.books()
        assert [reply.error for reply in replies if reply.error] == []
        assert sum(reply.usage.tokens_in for reply in replies) == 100 * sum(reply.usage.calls for reply in replies)
        waited = sorted(reply.usage.seconds for reply in replies[60:])
        return waited[-6], sum(reply.usage.calls for reply in replies), sum(books["attempts"].values())

    plain, calls, sent = slowest(None)
    assert (calls, sent) == (300, 300)
    hedged, calls, sent = slowest(0.9)
    assert plain > 0.99, "some calls take twenty times as long"
    assert hedged < 0.5 * plain, "and need not be waited for"
    assert 300 < calls <= 400


def test_a_hedge_waits_until_it_knows_what_is_slow():
    hedge = Hedge(0.9)
    for number in range(ENOUGH):
        assert hedge.slow_threshold() is None
        hedge.record_duration(float(number))
    assert hedge.slow_threshold() == 18.0
    with pytest.raises(InputError, match=r"between 0 and 1, such as 0\.95; found 1"):
        Limits(hedge=1.0)


def test_a_key_tells_providers_apart():
    assert get_provider("http://h/v1", Key(("A",))) is not get_provider("http://h/v1", Key(("B",)))
