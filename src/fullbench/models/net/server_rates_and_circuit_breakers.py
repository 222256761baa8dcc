"""State shared by all callers of one server in this process: rates per minute, uploads, a circuit breaker per model."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from fullbench.models.model_settings import Key, Limits
from fullbench.models.net.rate_limits import Rate, current_rate_limits

LONGEST_HOLD = 30.0
POLL = 0.05
_log = logging.getLogger("fullbench")


class Gate:
    """Circuit breaker: lets calls through while a server answers.

    After `breaks` failures in a row it shuts for `rest` seconds, then one call tries (the probe). If the probe
    succeeds, the gate opens; if not, the pause doubles (30 seconds at most). A wait requested by the server shuts it
    for that long. A lock makes it safe to share between threads.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_shut = False
        self.down_since: float | None = None
        self.last_error = ""
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._failures_in_row = 0
        self._pause_count = 0
        self._shut_until = 0.0
        self._probing = False

    def wait_seconds(self) -> float:
        """Return the seconds until the next check; 0 means call now.

        Behind a shut gate, the caller that gets 0 is the probe. It must call `record_success`, `record_failure` or
        `release_probe`.
        """
        with self._lock:
            now = self._clock()
            if now < self._shut_until:
                return self._shut_until - now
            if self.down_since is None:
                self.is_shut = False
                return 0.0
            if self._probing:
                return POLL
            self._probing = True
            return 0.0

    def record_success(self) -> None:
        """Record that the server answered, even if with a complaint."""
        if not self._failures_in_row and self.down_since is None:  # the usual case takes no lock
            return
        with self._lock:
            if self.down_since is not None:
                _log.warning("%s answers again after %.0f s", self._name, self._clock() - self.down_since)
            self._failures_in_row = self._pause_count = 0
            self._probing = False
            self.down_since = None
            self.is_shut = self._clock() < self._shut_until

    def record_failure(self, why: str, limits: Limits) -> None:
        """Record a failure of the server."""
        with self._lock:
            self._failures_in_row += 1
            self.last_error = why
            now = self._clock()
            if self._failures_in_row < limits.breaks or (self.down_since is not None and not self._probing):
                return
            pause = min(LONGEST_HOLD, limits.rest * 2.0**self._pause_count)
            if self.down_since is None:
                self.down_since = now
                _log.warning(
                    "%s failed %d times in a row (the last: %s); calls rest, and one at a time tries again",
                    self._name, self._failures_in_row, why,
                )  # fmt: skip
            self._pause_count += 1
            self._shut_until = now + pause
            self._probing = False
            self.is_shut = True

    def release_probe(self) -> None:
        """Give up the probe, so that another call can try."""
        with self._lock:
            self._probing = False

    def hold(self, seconds: float) -> None:
        """Shut the gate for the wait that the server requested."""
        with self._lock:
            self._shut_until = max(self._shut_until, self._clock() + min(seconds, LONGEST_HOLD))
            self.is_shut = True


@dataclass(frozen=True)
class UploadedFile:
    """A file at the server, and the time until which it can be used."""

    uri: str
    usable_until: float


@dataclass(eq=False)
class UploadRegister:
    """Files that all callers of one server with one key have uploaded, by digest; threads may share it."""

    files: dict[str, UploadedFile] = field(default_factory=dict)
    unprocessed: dict[str, str] = field(default_factory=dict)
    """Names at the server of files that it had not processed when last looked at."""
    _claimed: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, digest: str) -> UploadedFile | None:
        """Return an uploaded file that can still be used."""
        file = self.files.get(digest)
        return file if file is not None and time.time() < file.usable_until else None

    def claim(self, digest: str) -> bool:
        """Return True if the caller may upload a file now: nobody else does."""
        with self._lock:
            is_free = digest not in self._claimed
            self._claimed.add(digest)
            return is_free

    @contextmanager
    def release_at_end(self, digest: str) -> Iterator[None]:
        """Give up a claim at the end of the block."""
        try:
            yield
        finally:
            with self._lock:
                self._claimed.discard(digest)


@dataclass(eq=False)
class Provider:
    """One server with one key: its rates per minute (the strictest of those given) and a gate for each model."""

    url: str
    key: Key
    requests: Rate | None = None
    tokens: Rate | None = None
    uploads: UploadRegister = field(default_factory=UploadRegister)
    _gates: dict[str, Gate] = field(default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        return get_provider, (self.url, self.key)

    def join(self, limits: Limits) -> None:
        """Apply the limits of one more user."""
        self.requests = self._strictest(self.requests, "requests", limits.rpm)
        self.tokens = self._strictest(self.tokens, "tokens", limits.tpm)

    def gate(self, model: str) -> Gate:
        return self._gates.setdefault(model, Gate(f"{model} at {self.url}"))

    def _strictest(self, rate: Rate | None, what: str, per_minute: float | None) -> Rate | None:
        if per_minute is None:
            return rate
        if rate is None:
            return current_rate_limits().rate(f"{self.url} with {self.key.hint}", what, per_minute)
        rate.tighten(per_minute)
        return rate


_providers: WeakValueDictionary[tuple[str, Key], Provider] = WeakValueDictionary()
_lock = threading.Lock()


def get_provider(url: str, key: Key) -> Provider:
    """Return the provider of an address and a key; one object is shared by all its users."""
    with _lock:
        server = _providers.get((url, key))
        if server is None:
            server = _providers[url, key] = Provider(url, key)
        return server
