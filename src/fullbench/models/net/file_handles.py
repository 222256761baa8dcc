"""File handles: every call in flight takes one, and a process has only so many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPARE = 96
"""Handles left for everything else: ledger, pictures, modules that are imported late."""
_log = logging.getLogger("fullbench")
_lock = threading.Lock()
_promised: list[int] = []


@contextmanager
def connections(wanted: int, who: str, *, asked_for: bool) -> Iterator[int]:
    """How many calls may be in flight: as many as wanted, or fewer where the process has too few file handles.

    The limit of the process is raised as far as it may be; where that is not enough and the number was `asked_for`, one
    sentence says so.
    """
    with _lock:
        room = _room(wanted)
        allowed = max(1, min(wanted, room))
        _promised.append(allowed)
    if allowed < wanted and asked_for:
        _log.warning(
            "%s: %d calls at a time take more file handles than this process may have; %d at a time are asked "
            "(raise the limit with ulimit -n)", who, wanted, allowed,
        )  # fmt: skip
    try:
        yield allowed
    finally:
        with _lock:
            _promised.remove(allowed)


def _room(wanted: int) -> int:
    """The calls that there are handles for beside those that others were promised."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    taken = SPARE + sum(_promised) if _promised else SPARE + _open()
    needed = taken + wanted
    if needed > soft and (hard == resource.RLIM_INFINITY or hard > soft):
        raised = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        except (ValueError, OSError):  # the system has a limit of its own above which it raises nothing
            pass
    return soft - taken


def _open() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return sum(1 for _ in Path(folder).iterdir())
        except OSError:
            continue
    return 32
