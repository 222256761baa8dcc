"""Rows on their way to the database: gathered, chained, and committed together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

import orjson

from fullbench.errors import LedgerError
from fullbench.ledger import log_marks, schema
from fullbench.ledger.chain import Chain
from fullbench.ledger.database import Connection, Database, Taken
from fullbench.ledger.rows import Row
from fullbench.ledger.settling import Batch, settle
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Failure, Verdict

GROUP = 128
"""So many entries are committed together at the latest..."""

DELAY = 0.02
"""...or those that were gathered in so many seconds."""

LOG = 16 * 1024 * 1024
"""So long may the write-ahead log of SQLite grow before it is brought into the main file."""

MUCH = 65_536
"""Texts of so many characters make a row, so that reading a single one stays quick."""

Entry = Verdict | Failure | Case | Item | Response
T = TypeVar("T")
OnCommit = Callable[[Sequence[Entry]], None]


class Writer:
    """Gathers rows and commits them in groups; a thread of its own commits what no further row pushes out in time.

    When a commit fails, nothing of it is kept by the database and its rows stay gathered, so that `flush` can try
    again. When the answer to a commit is lost with the connection, the next one looks whether it was done.
    """

    def __init__(self, database: Database, on_commit: OnCommit | None) -> None:
        self.database = database
        self.connection: Connection = database.connect(read_only=False)
        self.lock = threading.RLock()
        self.acknowledged = 0
        self._on_commit = on_commit
        self._chain = Chain.begin()
        self._head_note = database.head_note()
        self._pending: Batch = {table: [] for table in schema.TABLES if table != "commits"}
        self._numbers = count()
        self._begin_texts()
        self._entries: list[Entry] = []
        self._wary = False
        self._checkpointed_at: int | None = None
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

    def bring(self, table: str, *rows: Row) -> None:
        """Gather rows that are committed with the entry that needs them."""
        self._pending[table].extend(rows)

    def say(self, text: str, earlier: Sequence[str]) -> str:
        """Gather a text and the replies before it; gives the words by which the verdict's row finds them."""
        self._texts.append((text, earlier))
        self._said += len(text)
        words = f"{self._texts_id}.{len(self._texts) - 1}"
        if self._said >= MUCH:
            self._gather_texts()
        return words

    def _gather_texts(self) -> None:
        """Make one row of the texts that were said: rows cost more than texts do."""
        if self._texts:
            self._pending["texts"].append((self._texts_id, orjson.dumps(self._texts).decode()))
            self._begin_texts()

    def _begin_texts(self) -> None:
        self._texts: list[tuple[str, Sequence[str]]] = []
        self._texts_id = f"{self._chain.writer}-{next(self._numbers):08x}"
        self._said = 0

    def keep(self, table: str, *rows: Row) -> None:
        """Commit rows of any table at once, with all that was gathered."""
        with self.lock:
            self._pending[table].extend(rows)
            self._commit()

    def flush(self) -> None:
        with self.lock:
            self._trouble = None
            if self._entries:
                self._commit()

    def close(self) -> None:
        with self.lock:
            try:
                self.flush()
                self._check_place()
            except LedgerError as error:
                if not self._entries:
                    raise
                raise LedgerError(f"{error} ({len(self._entries)} entries were not written)") from error
            finally:
                self._closed = True
                self._changed.notify_all()
                self.connection.close()
                if self._head_note is not None:
                    self._head_note.close()
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
                    except Exception as error:  # noqa: BLE001 (a thread that dies of it would leave the run asking)
                        self._trouble = LedgerError(f"{self.database.place}: a row cannot be written ({error})")

    def _commit(self) -> None:
        self._gather_texts()
        with self.database.plainly():
            patiently(self.database, self._store)
        for pending in self._pending.values():
            pending.clear()
        entries, self._entries = self._entries, []
        self.acknowledged += len(entries)
        self._check_place()
        if self._on_commit is not None and entries:
            self._on_commit(entries)

    def _check_place(self) -> None:
        """Stop where the ledger was deleted or moved: rows that nobody will find are not kept."""
        if not self.database.gone():
            return
        what = f"{self.database.place}: the ledger was deleted or moved away while it was written to"
        try:
            with self.database.plainly():
                saved = self.database.rescue(self.connection)
        except (LedgerError, OSError) as error:
            raise LedgerError(f"{what}, and what it held could not be saved ({error}); put it back") from error
        raise LedgerError(
            f"{what}; all that it held, this run's {self.acknowledged:,} new entries included, is "
            f"saved in {saved}: rename that to {self.database.path.name}, and the same command goes on from there"
        )

    def _store(self) -> None:
        """Commit what was gathered, once: rows whose keys are taken are left out, and billed where they were paid."""
        if not self.connection.alive():
            self.connection.close()
            self.connection = self.database.connect(read_only=False)
            self._wary = True
        self._keep_log_short()
        while True:
            try:
                with self.connection.transaction():
                    if self._wary and self._done_before():
                        return
                    batch, left_out = settle(self.connection, self._pending) if self._wary else (self._pending, False)
                    chain = self._chain.copy()
                    for table, rows in batch.items():
                        if rows:
                            self.connection.insert(table, chain.seal(table, rows))
                    self.connection.insert("commits", chain.seal("commits", [(time.time(), schema.SEALS)]))
            except Taken:
                self._wary = True
                continue
            self._chain, self._wary = chain, left_out
            if self._head_note is not None:
                self._head_note.note(chain.writer, chain.number, chain.link)
            return

    def _keep_log_short(self) -> None:
        """Before the first rows, and when the log has grown long: promise in the main file that more follows."""
        size = self.connection.log_bytes()
        if size is None:
            return
        if self._checkpointed_at is not None:
            if size < self._checkpointed_at:  # the log was begun anew
                self._checkpointed_at = 0
            if size - self._checkpointed_at <= LOG:
                return
        self._chain = log_marks.add(self.connection, self._chain, log_marks.BEGUN, [self._chain.writer])
        self.connection.checkpoint()
        self._checkpointed_at = self.connection.log_bytes()

    def _done_before(self) -> bool:
        """Whether the last try was committed after all, its answer lost."""
        found = self.connection.execute(
            "SELECT number, link FROM commits WHERE writer = ? AND number > ? ORDER BY number DESC LIMIT 1",
            (self._chain.writer, self._chain.number),
        ).fetchone()
        if found is None:
            return False
        self._chain = Chain(self._chain.writer, *found)
        return True


def patiently(database: Database, work: Callable[[], T]) -> T:
    """Do it, again and again while the trouble may pass."""
    pauses = database.pauses()
    while True:
        try:
            return work()
        except database.errors as error:
            pause = next(pauses, None) if database.passing(error) else None
            if pause is None:
                raise
            time.sleep(pause)
