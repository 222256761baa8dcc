"""Pool of read connections: each is lent for one read and reused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.writing.group_commit_writer import run_with_retries


class Readers:
    """Pool of free connections. Several threads may read at once, each with its own connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._free: list[Connection] = []
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._free)

    @contextmanager
    def lend_connection(self) -> Iterator[Connection]:
        """Lend a connection for one read."""
        with self._database.translate_errors():
            reader = self._take_connection()
            try:
                yield reader
            finally:
                if self._is_closed or not reader.alive():
                    reader.close()
                else:
                    self._free.append(reader)

    def _take_connection(self) -> Connection:
        while self._free:
            try:
                reader = self._free.pop()
            except IndexError:  # another thread took the last one
                break
            if reader.ping():
                return reader
            reader.close()
        return run_with_retries(self._database, partial(self._database.connect, read_only=True))

    def let_go(self) -> None:
        """Close the free connections; the next read opens its own."""
        while self._free:
            self._free.pop().close()

    def close(self) -> None:
        """Close the free connections and keep none from now on."""
        self._is_closed = True
        self.let_go()
