"""What all who ask one server share in this process: so many a minute, and whether it is any use to ask just now."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from fullbench.models.model_settings import Key, Limits
from fullbench.models.net.rate_limits import Rate, office

LONGEST_HOLD = 30.0
POLL = 0.05
_log = logging.getLogger("fullbench")


class Gate:
    """Lets calls through while a server answers.

    After `breaks` failures in a row it shuts: nobody asks for `rest` seconds, then one call tries. When that one is
    answered the gate is open again; when not, the rest is twice as long (30 seconds at most). A server that names a
    time to wait shuts it for that long. Plain arithmetic behind a lock, so that several threads may share one.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.shut = False
        self.down_since: float | None = None
        self.why = ""
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._row = 0
        self._rests = 0
        self._until = 0.0
        self._probing = False

    def turn(self) -> float:
        """The seconds until one may look again; 0 is: ask now. Behind a shut gate whoever is told 0 is the one to try,
        and says how it went (`good`, `bad`) or that it did not (`gave_up`)."""
        with self._lock:
            now = self._clock()
            if now < self._until:
                return self._until - now
            if self.down_since is None:
                self.shut = False
                return 0.0
            if self._probing:
                return POLL
            self._probing = True
            return 0.0

    def good(self) -> None:
        """A call was answered, be it with a complaint: the server is there."""
        if not self._row and self.down_since is None:
            return
        with self._lock:
            if self.down_since is not None:
                _log.warning("%s answers again after %.0f s", self._name, self._clock() - self.down_since)
            self._row = self._rests = 0
            self._probing = False
            self.down_since = None
            self.shut = self._clock() < self._until

    def bad(self, why: str, limits: Limits) -> None:
        """A call failed in a way that is the server's."""
        with self._lock:
            self._row += 1
            self.why = why
            now = self._clock()
            if self._row < limits.breaks or (self.down_since is not None and not self._probing):
                return
            rest = min(LONGEST_HOLD, limits.rest * 2.0**self._rests)
            if self.down_since is None:
                self.down_since = now
                _log.warning(
                    "%s failed %d times in a row (the last: %s); calls rest, and one at a time tries again",
                    self._name, self._row, why,
                )  # fmt: skip
            self._rests += 1
            self._until = now + rest
            self._probing = False
            self.shut = True

    def gave_up(self) -> None:
        """Whoever was to try did not come to it."""
        with self._lock:
            self._probing = False

    def hold(self, seconds: float) -> None:
        """The server asks to be left alone for so long."""
        with self._lock:
            self._until = max(self._until, self._clock() + min(seconds, LONGEST_HOLD))
            self.shut = True


@dataclass(eq=False)
class Provider:
    """One server, asked with one key: its paces, and a gate for each of its models.

    Of several limits that are given for it the strictest counts.
    """

    url: str
    key: Key
    requests: Rate | None = None
    tokens: Rate | None = None
    _gates: dict[str, Gate] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        return provider, (self.url, self.key)

    def join(self, limits: Limits) -> None:
        """Take somebody's limits into account."""
        self.requests = self._strictest(self.requests, "requests", limits.rpm)
        self.tokens = self._strictest(self.tokens, "tokens", limits.tpm)

    def gate(self, model: str) -> Gate:
        return self._gates.setdefault(model, Gate(f"{model} at {self.url}"))

    def _strictest(self, rate: Rate | None, what: str, per_minute: float | None) -> Rate | None:
        if per_minute is None:
            return rate
        if rate is None:
            return office().rate(f"{self.url} with {self.key.hint}", what, per_minute)
        rate.tighten(per_minute)
        return rate


_known: WeakValueDictionary[tuple[str, Key], Provider] = WeakValueDictionary()
_lock = threading.Lock()


def provider(url: str, key: Key) -> Provider:
    """The provider behind an address and a key; the same one for all who ask it while anybody does."""
    with _lock:
        known = _known.get((url, key))
        if known is None:
            known = _known[url, key] = Provider(url, key)
        return known
