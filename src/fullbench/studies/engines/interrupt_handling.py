"""Stopping a run: the first signal waits for calls in flight, the second abandons them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

FAREWELL_SECONDS = 3.0
"""Maximum seconds in which an exiting process records its calls in flight."""

SIGNAL_EXIT_CODES = {"interrupted": 130, "terminated": 143, "hung up": 129}
"""128 plus the number of the signal."""


@dataclass
class Stop:
    """Flag that stops new calls; calls in flight are awaited."""

    reason: str = ""
    job_counts: list[Any] = field(default_factory=list, repr=False)
    """Lets a run that ends with an error report the counts of its jobs."""
    _farewells: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def pull(self, reason: str) -> None:
        self.reason = self.reason or reason

    @contextmanager
    def run_before_leaving(self, farewell: Callable[[], None]) -> Iterator[None]:
        """Register a function that is called if the process exits while this context is open."""
        self._farewells.append(farewell)
        try:
            yield
        finally:
            self._farewells.remove(farewell)

    def leave(self) -> None:
        """Let each job record the cost of its calls in flight.

        Runs in its own thread, because the exiting thread may hold the lock that the jobs need.
        """

        def say_farewell() -> None:
            for farewell in list(self._farewells):
                with suppress(Exception):
                    farewell()

        last = threading.Thread(target=say_farewell, daemon=True)
        last.start()
        last.join(FAREWELL_SECONDS)
