"""Connections for reading: each is lent for one read, and kept for the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.writing.group_commit_writer import patiently


class Readers:
    """The connections that are free. Several threads may read at once, each with a connection to itself."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._free: list[Connection] = []
        self._closed = False

    def __len__(self) -> int:
        return len(self._free)

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for one read."""
        with self._database.plainly():
            reader = self._taken()
            try:
                yield reader
            finally:
                if self._closed or not reader.alive():
                    reader.close()
                else:
                    self._free.append(reader)

    def _taken(self) -> Connection:
        while self._free:
            try:
                reader = self._free.pop()
            except IndexError:
                break
            if reader.ping():
                return reader
            reader.close()
        return patiently(self._database, partial(self._database.connect, read_only=True))

    def let_go(self) -> None:
        """Close the connections that are free; another read opens its own."""
        while self._free:
            self._free.pop().close()

    def close(self) -> None:
        """Keep no connection any more."""
        self._closed = True
        self.let_go()
