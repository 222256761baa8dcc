"""A server that misbehaves in every known way: every prompt ends, and the bill is exact."""

from __future__ import annotations

import time

import pytest

from fullbench.errors import ModelError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import Anthropic, Gemini, OpenAI
from fullbench.models.model_settings import Limits
from tests.models.conftest import ask
from tests.models.rounds import answer_in_rounds
from tests.support.fake_chat_server import FakeServer

PLAN = {
    "429": 0.03, "429after": 0.01, "429date": 0.01, "500": 0.015, "529": 0.005, "reset": 0.01, "cut": 0.01,
    "short": 0.005, "empty": 0.01, "html": 0.005, "soft": 0.005, "hang": 0.004, "drip": 0.003,
}  # fmt: skip


# The faults are the transport's, which all dialects share: one of them in the quick suite, each in the slow one.
@pytest.mark.parametrize(
    "dialect",
    [OpenAI(), *(pytest.param(one, marks=pytest.mark.slow) for one in (Anthropic(), Gemini()))],
    ids=lambda dialect: dialect.name,
)
def test_every_prompt_ends_and_the_bill_is_right(dialect):
    count = 300  # with this seed every fault comes up among them
    with FakeServer(PLAN, seed=92) as server:
        # A good call that is cut off is answered, but not billed: far more seconds than a busy machine takes for 32.
        limits = Limits(backoff=0.005, timeout=5, attempts=8, concurrency=32)
        replies = list(
            ChatModel("x", server.url, dialect, limits=limits, listed_price=(2.0, 8.0)).answer(map(ask, range(count)))
        )
        books = server.books()
    assert len(replies) == count
    assert sorted(id(reply.prompt) for reply in replies) == sorted({id(reply.prompt) for reply in replies})
    assert [reply.error for reply in replies if reply.error] == []
    assert sum(reply.usage.calls for reply in replies) == sum(books["answered"].values())
    assert sum(reply.usage.calls + reply.usage.retries for reply in replies) == sum(books["attempts"].values())
    assert max(books["attempts"].values()) <= 8
    assert set(books["sent"]) == {"good", *PLAN}, "every fault was met"
    for reply in replies:
        number = reply.prompt.turns[0].text.split("#")[1]
        assert reply.usage.calls == books["answered"][number]
        assert reply.usage.dollars == pytest.approx((2 * reply.usage.tokens_in + 8 * reply.usage.tokens_out) / 1e6)


@pytest.mark.parametrize("fault", ["500", "reset", "cut", "short", "empty", "soft", "hang", "drip"])
def test_a_fault_that_never_ends_is_an_honest_error(fault):
    with FakeServer({fault: 1.0}) as server:
        timeout = 2 if fault in {"hang", "drip"} else 120
        limits = Limits(backoff=0.005, timeout=timeout, attempts=3)
        replies = list(ChatModel("x", server.url, limits=limits).answer(map(ask, range(3))))
        books = server.books()
    assert [reply.text for reply in replies] == [""] * 3
    assert all((reply.error or "").startswith("no answer after 3 attempts; the last one: ") for reply in replies)
    assert sum(books["attempts"].values()) == 9
    assert sum(reply.usage.calls for reply in replies) == sum(books["answered"].values())


def test_waiting_longer_than_patience_is_giving_up():
    with FakeServer({"500": 1.0}) as server:
        limits = Limits(backoff=1000.0, patience=0.001)
        (reply,) = ChatModel("x", server.url, limits=limits).answer([ask(1)])
    assert "no answer after 1 attempt;" in (reply.error or "")


def test_a_rate_limit_is_waited_for_and_uses_up_no_attempt():
    """Forty a second, and each prompt is refused twice: with two attempts for each, all would have failed."""
    with FakeServer(per_second=40, refuses=2) as server:
        limits = Limits(backoff=0.05, attempts=2)
        replies = list(ChatModel("x", server.url, limits=limits).answer(map(ask, range(120))))
        books = server.books()
    assert [reply.error for reply in replies if reply.error] == []
    assert sum(reply.usage.calls for reply in replies) == 120
    assert sum(reply.usage.retries for reply in replies) == books["sent"]["too fast"] >= 240


@pytest.mark.slow
def test_thirty_a_minute_answer_120_of_120():
    with FakeServer(per_second=0.5) as server:
        replies = list(ChatModel("x", server.url).answer(map(ask, range(120))))
    assert [reply.error for reply in replies if reply.error] == []


@pytest.mark.parametrize("fault", ["429", "429date"])
def test_a_server_that_says_429_for_ever_ends_the_run_when_patience_does(fault):
    with FakeServer({fault: 1.0}) as server:
        limits = Limits(backoff=0.1, attempts=3, patience=1.5)
        replies = []
        with pytest.raises(ModelError, match=r"has answered nothing for 1\.5 s but that it has too much to do \(429"):
            replies.extend(ChatModel("x", server.url, limits=limits).answer(map(ask, range(500))))
        books = server.books()
    assert sum(reply.usage.retries for reply in replies) == sum(books["attempts"].values()) < 200, "it was not hammered"


def test_the_wait_that_a_server_asks_for_is_kept():
    with FakeServer({"429once": 1.0}) as server:
        started = time.monotonic()
        (reply,) = ChatModel("x", server.url, limits=Limits(backoff=0.0)).answer([ask(1)])
    assert time.monotonic() - started >= 1.0
    assert (reply.error, reply.usage.calls, reply.usage.retries) == (None, 1, 1)


def test_no_more_at_a_time_than_the_server_bears():
    """From 8 at a time to as many as are borne, whatever the speed of the machine is."""
    with FakeServer(bears=20, answers=0) as server:
        replies = answer_in_rounds(server, ChatModel("x", server.url, limits=Limits(backoff=0.02)), 600)
        books = server.books()
    assert [reply.error for reply in replies if reply.error] == []
    assert books["most"] == 20, "what it bears is used"
    assert 0 < books["sent"]["too much"] < 120, "and not fought"
