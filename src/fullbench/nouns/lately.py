"""The bytes of small files that were read lately, by their digest: a picture is read for its digest, kept in the ledger
and sent within moments, and reading and checking it each time took more than all else that is done with it."""

from __future__ import annotations

import threading
from collections import OrderedDict

MOST = 48 * 2**20
"""So many bytes are held at the most..."""

LARGEST = 2**20
"""...and nothing of a file that is larger: it would push out many others."""


class Lately:
    """The bytes that were read last, up to so many; shared by all threads."""

    def __init__(self, most: int = MOST, largest: int = LARGEST) -> None:
        self._most, self._largest = most, largest
        self._held = 0
        self._bytes: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> bytes | None:
        """What has this digest, where it was read lately."""
        return self._bytes.get(digest)

    def put(self, digest: str, data: bytes) -> None:
        """Hold what was read, and let go of what was read first where that is too much."""
        if len(data) > self._largest or digest in self._bytes:
            return
        with self._lock:
            self._held += len(data) - len(self._bytes.get(digest, b""))
            self._bytes[digest] = data
            while self._held > self._most:
                self._held -= len(self._bytes.popitem(last=False)[1])
