"""Rows on their way to disk: gathered, and committed together."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fullbench.core.cases import Case, Failure, Verdict
from fullbench.core.errors import LedgerError
from fullbench.core.items import Item, Response
from fullbench.ledger import rows
from fullbench.ledger.rows import Row
from fullbench.ledger.trouble import plainly

GROUP = 128
"""So many entries are committed together at the latest..."""

DELAY = 0.02
"""...or those that were gathered in so many seconds."""

INSERTS = {
    "pictures": "INSERT INTO pictures (digest, media, path) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    "items": f"INSERT INTO items ({rows.ITEM}) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    "responses": f"INSERT INTO responses ({rows.RESPONSE}) VALUES ({', '.join('?' * 15)}) ON CONFLICT DO NOTHING",
    "cases": "INSERT INTO cases (key, item_key, responses, ballot, criterion) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING",
    "verdicts": f"INSERT INTO verdicts ({rows.VERDICT}) VALUES ({', '.join('?' * 20)}) ON CONFLICT DO NOTHING",
    "failures": f"INSERT INTO failures ({rows.FAILURE}) VALUES ({', '.join('?' * 12)})",
}

Entry = Verdict | Failure | Case | Item | Response
OnCommit = Callable[[Sequence[Entry]], None]


class Writer:
    """Gathers rows and commits them in groups; a thread of its own commits what no further row pushes out in time.

    When a commit fails, nothing of it is on disk and its rows stay gathered, so that `flush` can try again.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, on_commit: OnCommit | None) -> None:
        self.path = path
        self.connection = connection
        self.lock = threading.RLock()
        self.acknowledged = 0
        self._on_commit = on_commit
        self._pending: dict[str, list[Row]] = {table: [] for table in INSERTS}
        self._entries: list[Entry] = []
        self._since = 0.0
        self._trouble: LedgerError | None = None
        self._changed = threading.Condition(self.lock)
        self._thread: threading.Thread | None = None
        self._idle = True
        self._closed = False

    def check(self) -> None:
        """Raise what a commit in the background ran into."""
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def put(self, table: str, row: Row, entry: Entry) -> None:
        """Gather a row, and the entry that is acknowledged with it."""
        self._pending[table].append(row)
        self._entries.append(entry)
        if len(self._entries) >= GROUP:
            self._commit()
            return
        if len(self._entries) == 1:
            self._since = time.monotonic()
        if self._idle:
            self._wake()

    def put_picture(self, row: Row) -> None:
        """Gather the row of a picture; it is committed with the entry that shows it."""
        self._pending["pictures"].append(row)

    def flush(self) -> None:
        with self.lock:
            self._trouble = None
            if self._entries:
                self._commit()

    def close(self) -> None:
        with self.lock:
            try:
                self.flush()
            except LedgerError as error:
                raise LedgerError(f"{error} ({len(self._entries)} entries were not written)") from error
            finally:
                self._closed = True
                self._changed.notify_all()
                self.connection.close()
        if self._thread is not None:
            self._thread.join()

    def _wake(self) -> None:
        self._idle = False
        if self._thread is None:
            self._thread = threading.Thread(target=self._commit_late, name="fullbench-ledger", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _commit_late(self) -> None:
        with self.lock:
            while not self._closed:
                if not self._entries or self._trouble is not None:
                    self._idle = True
                    self._changed.wait()
                elif (left := self._since + DELAY - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    try:
                        self._commit()
                    except LedgerError as error:
                        self._trouble = error

    def _commit(self) -> None:
        with plainly(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                for table, pending in self._pending.items():
                    if pending:
                        self._insert(table, pending)
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        for pending in self._pending.values():
            pending.clear()
        entries, self._entries = self._entries, []
        self.acknowledged += len(entries)
        if self._on_commit is not None:
            self._on_commit(entries)

    def _insert(self, table: str, pending: Sequence[Row]) -> None:
        done = self.connection.executemany(INSERTS[table], pending).rowcount
        if table == "verdicts" and done < len(pending):
            self.connection.executemany(INSERTS["failures"], list(_heard_twice(self.connection, pending)))


def _heard_twice(connection: sqlite3.Connection, pending: Sequence[Row]) -> Iterator[Row]:
    """Failures that stand for verdicts which came second and were another call; a plain repetition is none."""
    for row in pending:
        key, judge, trial, usage, at, total = row[0], row[1], row[6], row[11:17], row[17], row[19]
        kept = connection.execute(
            "SELECT calls, retries, tokens_in, tokens_out, dollars, seconds, sum FROM verdicts "
            "WHERE case_key = ? AND judge = ? AND trial = ?",
            (key, judge, trial),
        ).fetchone()
        if kept != (*usage, total):
            yield ("judge", judge, key, trial, "a second verdict in the same case was not kept", *usage, at)
