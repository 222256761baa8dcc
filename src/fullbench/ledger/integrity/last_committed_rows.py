"""Last acknowledged row of each writer, stored in a file next to the ledger, so that a lost tail is detected.

A chain alone cannot show that its end is missing: a database that lost its last commits is still consistent. So after
each commit, every writer notes the end of its chain in its own line of a small file next to the ledger. `verify` checks
that these rows are still there. The note is written after the commit, so it never claims more than was acknowledged. A
copy of the ledger without the file claims nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from fullbench.ledger.database_interface import Connection

AcknowledgedDigest = tuple[str, int, str]
"""A writer, the number of its last acknowledged row, and that row's digest."""

_WIDTH = 80
"""Bytes of a line. A writer overwrites its own line, so the file grows by writers, not by commits."""


def digest_file_path(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".digests")


class DigestFile:
    """Line of one writer. A full disk must not stop a commit that is already safe, so errors are ignored."""

    def __init__(self, ledger: Path) -> None:
        self._path = digest_file_path(ledger)
        self._file: int | None = None
        self._offset = 0

    def note(self, writer: str, number: int, link: str) -> None:
        """Note that all rows of this writer up to that number were acknowledged."""
        line = f"{writer} {number} {link}".ljust(_WIDTH - 1).encode() + b"\n"
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
                lock_descriptor(self._file)  # two new writers must not get the same line
                self._offset = -(-os.fstat(self._file).st_size // _WIDTH) * _WIDTH
                self._write(line)
                unlock_descriptor(self._file)
            else:
                self._write(line)

    def _write(self, line: bytes) -> None:
        """Overwrite the writer's own line; `os.pwrite` would be one call, but Windows lacks it."""
        assert self._file is not None
        os.lseek(self._file, self._offset, os.SEEK_SET)
        os.write(self._file, line)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_acknowledged_digests(ledger: Path) -> list[AcknowledgedDigest]:
    """Return the notes of all writers. Read them before the ledger, since others may commit meanwhile."""
    try:
        lines = digest_file_path(ledger).read_text(errors="replace").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    # Ignore a line that a full disk or a loss of power cut short.
    return [(words[0], int(words[1]), words[2]) for words in fields if len(words) == 3 and words[1].isdecimal()]


def find_lost_rows(claims: Iterable[AcknowledgedDigest], reader: Connection) -> Iterator[str]:
    """Yield one sentence for each writer whose acknowledged rows are missing."""
    at = "SELECT link FROM commits WHERE writer = ? AND number = ?"
    last = "SELECT coalesce(max(number), 0) FROM commits WHERE writer = ?"
    for writer, number, link in claims:
        commit = reader.execute(at, (writer, number)).fetchone()
        if commit is None or commit[0] != link:
            there = reader.execute(last, (writer,)).fetchone()[0]
            yield (
                f"the writer {writer!r} was told that its rows up to {number} are safe, and the ledger has them up to "
                f"{there}: acknowledged rows are lost; take a copy from a backup, or delete the file that ends in "
                ".digests beside the ledger to go on without them"
            )
