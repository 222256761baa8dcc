"""One run at a time for each judge and contestant, by file locks that the system releases even on kill -9."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO

from filelock import lock_descriptor

from fullbench.errors import LedgerError


@contextmanager
def hold_run_lock(ledger: Path, name: str) -> Iterator[None]:
    """Hold the lock of `name` in this ledger; raise an error that names the holder if it is taken."""
    folder = ledger.with_name(ledger.name + ".locks")
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()).open("a+")
    except OSError as error:
        raise LedgerError(f"{folder}: the lock of {name!r} cannot be taken ({error.strerror})") from error
    with file:
        try:
            is_locked = lock_descriptor(file.fileno(), blocking=False)
        except OSError as error:
            raise LedgerError(
                f"{folder}: the lock of {name!r} cannot be taken ({error.strerror}); put the ledger on a disk of this "
                "machine, or on a PostgreSQL server"
            ) from error
        if not is_locked:
            raise LedgerError(_lock_message(ledger, name, _read_holder(file)))
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S"), "name": name}))
        file.flush()
        yield


def _read_holder(file: IO[str]) -> str:
    try:
        file.seek(0)
        holder = json.loads(file.read())
        return f"process {holder['pid']} since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # Windows forbids reading a locked file
        return "another process"


def _lock_message(ledger: Path, name: str, by: str) -> str:
    return f"{ledger}: {name!r} is being asked by {by}; wait for it to end or stop it, then run again"
