"""File handles for connections: each call in flight takes one, and a process has a limited number."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPARE = 96
"""Handles reserved for everything else: ledger, pictures, late imports."""
_log = logging.getLogger("fullbench")
_lock = threading.Lock()
_reserved_calls: list[int] = []


@contextmanager
def reserve_connections(call_count: int, model_name: str, *, is_explicit: bool) -> Iterator[int]:
    """Yield how many calls may be in flight: `call_count`, or fewer if file handles are short (with a warning if
    `is_explicit`). The limit of the process is raised as far as possible.
    """
    with _lock:
        free_slots = _count_free_slots(call_count)
        allowed_calls = max(1, min(call_count, free_slots))
        _reserved_calls.append(allowed_calls)
    if allowed_calls < call_count and is_explicit:
        _log.warning(
            "%s: %d calls at a time take more file handles than this process may have; %d at a time are asked "
            "(raise the limit with ulimit -n)", model_name, call_count, allowed_calls,
        )  # fmt: skip
    try:
        yield allowed_calls
    finally:
        with _lock:
            _reserved_calls.remove(allowed_calls)


def _count_free_slots(call_count: int) -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return call_count
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return call_count
    used_handles = SPARE + sum(_reserved_calls) if _reserved_calls else SPARE + _count_open_handles()
    needed_handles = used_handles + call_count
    if needed_handles > soft and (hard == resource.RLIM_INFINITY or hard > soft):
        new_limit = needed_handles if hard == resource.RLIM_INFINITY else min(hard, needed_handles)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))
            soft = new_limit
        except (ValueError, OSError):  # some systems refuse values above a limit of their own
            pass
    return soft - used_handles


def _count_open_handles() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return sum(1 for _ in Path(folder).iterdir())
        except OSError:
            continue
    return 32
