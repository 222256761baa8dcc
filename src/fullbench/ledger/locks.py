"""One run at a time for each judge and contestant: an advisory lock that the system releases even on kill -9."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from fullbench.errors import LedgerError


@contextmanager
def sole(ledger: Path, name: str) -> Iterator[None]:
    """Hold the lock of `name` in this ledger, or say who holds it."""
    folder = ledger.with_name(ledger.name + ".locks")
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()).open("a+")
    except OSError as error:
        raise LedgerError(f"{folder}: the lock of {name!r} cannot be taken ({error.strerror})") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise LedgerError(_taken(ledger, name, file.read())) from None
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S"), "name": name}))
        file.flush()
        yield


def _taken(ledger: Path, name: str, holder: str) -> str:
    try:
        found = json.loads(holder)
        by = f"process {found['pid']} since {found['since']}"
    except (ValueError, KeyError, TypeError):
        by = "another process"
    return f"{ledger}: {name!r} is being asked by {by}; wait for it to end or stop it, then run again"
