"""Stopping: whoever asks is told, so that nobody waits to try again what is not on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

HALT_SECONDS = 0.25
"""So often a call that waits to be tried again looks whether the run was told to stop."""
Halted = Callable[[], bool]


def _never() -> bool:
    return False


_halted: ContextVar[Halted] = ContextVar("halted", default=_never)


def halted() -> Halted:
    """What says, here and now, whether the run was told to stop."""
    return _halted.get()


@contextmanager
def halted_by(told: Halted) -> Iterator[None]:
    """Let `told` say whether to stop whatever is asked inside."""
    token = _halted.set(told)
    try:
        yield
    finally:
        _halted.reset(token)
