"""A server on which more calls at a time always help, on a clock that does not depend on how busy the machine is."""

from __future__ import annotations

import threading
import time

from fullbench.core.model import Reply
from fullbench.models.chat_model import ChatModel
from fullbench.models.net.rate_limits import CEILING, ProcessRateLimits, Throttle, use_rate_limits
from tests.models.conftest import ask
from tests.support.fake_chat_server import FakeServer
from tests.support.wait_until import LONG


class CountedTime(ProcessRateLimits):
    """Limits whose clock moves by one second for as many answers as there are places for calls."""

    def __init__(self) -> None:
        self.current: Throttle | None = None
        self.started_with = 0
        self._now = 0.0

    def throttle(self, server: str, start: int, ceiling: int | None) -> Throttle:
        """Return a throttle that measures its rate on this clock."""
        self.current, self.started_with = Throttle(start, ceiling or CEILING, self.read_clock), start
        return self.current

    def read_clock(self) -> float:
        """Return a time that is later than any before, so that calls have an order."""
        self._now += 1e-9
        return self._now

    def advance(self) -> None:
        """Let the time of one answer pass."""
        if self.current is not None:
            self._now += 1 / self.current.width


def answer_in_rounds(
    server: FakeServer, model: ChatModel, count: int, limits: CountedTime | None = None
) -> list[Reply]:
    """Return the replies to `count` prompts of a server that was started with `answers=0`.

    The server gives one answer, whenever all calls that may be in flight have arrived.
    """
    limits = limits or CountedTime()
    ended, errors = threading.Event(), []
    before = sum(server.books()["answered"].values())

    def give_answers() -> None:
        end = time.monotonic() + LONG
        while not ended.is_set() and time.monotonic() < end:
            books = server.books()
            left = count - (sum(books["answered"].values()) - before)
            if limits.current is not None and books["in_flight"] >= min(limits.current.width, left) > 0:
                limits.advance()
                server.more(1)
                end = time.monotonic() + LONG
            else:
                time.sleep(0.001)
        if not ended.is_set():
            errors.append(f"no call came for {LONG:g} s: {books}")
            server.more()

    thread = threading.Thread(target=give_answers, daemon=True)
    with use_rate_limits(limits):
        thread.start()
        try:
            replies = list(model.answer(map(ask, range(count))))
        finally:
            ended.set()
            thread.join()
    assert not errors, errors
    return replies
