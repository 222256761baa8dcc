"""What each writer was told is safe, noted beside the ledger, so that a lost tail shows.

A chain alone cannot tell that its end is missing: a database that lost its last commits is sound in itself. So every
writer notes, after each commit, how far its chain had come, in a small file of its own beside the ledger, and
`verify` looks whether all of that is still there. The note is written after the commit, so it never claims more than
what was acknowledged; a copy of the ledger without the file claims nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from fullbench.ledger.database_interface import Connection

Noted = tuple[str, int, str]
"""A writer, the number of its last acknowledged row, and that row's link."""

_WIDTH = 80
"""Bytes of a line, so that a writer can overwrite its own in place and the file grows by writers, not by commits."""


def path_of(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".heads")


class HeadFile:
    """The line of one writer. A disk that has no room for it must not stop a commit that is already safe."""

    def __init__(self, ledger: Path) -> None:
        self._path = path_of(ledger)
        self._file: int | None = None
        self._offset = 0

    def note(self, writer: str, number: int, link: str) -> None:
        """Note that all rows of this writer up to that number were acknowledged."""
        line = f"{writer} {number} {link}".ljust(_WIDTH - 1).encode() + b"\n"
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
                lock_descriptor(self._file)  # two new writers must not take the same place
                self._offset = -(-os.fstat(self._file).st_size // _WIDTH) * _WIDTH
                self._write(line)
                unlock_descriptor(self._file)
            else:
                self._write(line)

    def _write(self, line: bytes) -> None:
        """Overwrite the writer's own line; `os.pwrite` would do both at once, and Windows has none."""
        assert self._file is not None
        os.lseek(self._file, self._offset, os.SEEK_SET)
        os.write(self._file, line)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def noted(ledger: Path) -> list[Noted]:
    """What all writers noted. To be read before the ledger is looked at: others may commit meanwhile."""
    try:
        lines = path_of(ledger).read_text(errors="replace").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    # A line that a full disk or a loss of power cut short claims nothing.
    return [(words[0], int(words[1]), words[2]) for words in fields if len(words) == 3 and words[1].isdecimal()]


def lost(claims: Iterable[Noted], reader: Connection) -> Iterator[str]:
    """What was acknowledged and is not in the ledger any more, one sentence for each writer."""
    at = "SELECT link FROM commits WHERE writer = ? AND number = ?"
    last = "SELECT coalesce(max(number), 0) FROM commits WHERE writer = ?"
    for writer, number, link in claims:
        commit = reader.execute(at, (writer, number)).fetchone()
        if commit is None or commit[0] != link:
            there = reader.execute(last, (writer,)).fetchone()[0]
            yield (
                f"the writer {writer!r} was told that its rows up to {number} are safe, and the ledger has them up to "
                f"{there}: acknowledged rows are lost; take a copy from a backup, or delete the file that ends in "
                ".heads beside the ledger to go on without them"
            )
