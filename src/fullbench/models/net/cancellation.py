"""Cancellation: lets retry loops stop waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

HALT_SECONDS = 0.25
"""Seconds between checks for a stop while a call waits for its retry."""
StopCheck = Callable[[], bool]


_stop_check: ContextVar[StopCheck] = ContextVar("halted", default=lambda: False)


def current_stop_check() -> StopCheck:
    """Return the function that tells whether the run of this context was stopped."""
    return _stop_check.get()


@contextmanager
def stop_calls_when(stop_check: StopCheck) -> Iterator[None]:
    """Let `stop_check` stop retries of the calls inside this context."""
    token = _stop_check.set(stop_check)
    try:
        yield
    finally:
        _stop_check.reset(token)
