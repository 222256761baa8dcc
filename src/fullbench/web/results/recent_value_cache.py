"""Small cache of recently used values, shared by the threads of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """Cache of the `max_entries` values used last. A key must contain everything that its value depends on.

    >>> kept = RecentCache[int](2)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, max_entries: int) -> None:
        self._max_entries, self._lock = max_entries, threading.Lock()
        self._entries: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached value of a key, or make it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        # Made outside the lock, so that one slow value does not block others; it may be made twice.
        value = make()
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        return value
