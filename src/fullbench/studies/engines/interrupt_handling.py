"""Stopping: once, and what is in flight is waited for; twice, and it is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

FAREWELL = 3.0
"""Seconds that leaving at once may take: what is in flight is put on the bill in them."""

SIGNALLED = {"interrupted": 130, "terminated": 143, "hung up": 129}
"""Why a run was stopped from outside, and the exit code that says so: 128 and the number of the signal."""


@dataclass
class Stop:
    """A flag that says: ask nothing more, but wait for what is in flight."""

    reason: str = ""
    tallies: list[Any] = field(default_factory=list, repr=False)
    """What came of all work that this flag may stop, so that a run that ends by an error can still say it."""
    _farewells: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def pull(self, reason: str) -> None:
        self.reason = self.reason or reason

    @contextmanager
    def seen_off_by(self, farewell: Callable[[], None]) -> Iterator[None]:
        """While this lasts, whoever leaves at once says so here first."""
        self._farewells.append(farewell)
        try:
            yield
        finally:
            self._farewells.remove(farewell)

    def leave(self) -> None:
        """Let everybody put on the bill what is in flight; in a thread of its own, for the one that leaves may hold the
        very lock that this takes."""

        def say_farewell() -> None:
            for farewell in list(self._farewells):
                with suppress(Exception):
                    farewell()

        last = threading.Thread(target=say_farewell, daemon=True)
        last.start()
        last.join(FAREWELL)
