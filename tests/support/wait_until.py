"""Waiting for what is about to happen, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

LONG = 120.0
"""Seconds in which anything happens that is to happen at all, on a machine with eight times as much to do as it can."""


def until(look: Callable[[], Seen], *, seconds: float = LONG) -> Seen:
    """Look again and again until there is something to see, and give it."""
    end = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < end, f"it did not happen within {seconds:g} s"
        time.sleep(0.05)
    return seen
