"""Writer that collects and chains rows and commits them in groups."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import count
from typing import NoReturn, TypeVar

import orjson

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection, Database, DuplicateKeyError
from fullbench.ledger.integrity.row_chain import Chain, read_links
from fullbench.ledger.integrity.row_chain import is_stored as is_chain_stored
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.sqlite import missing_write_ahead_log_marks
from fullbench.ledger.writing.dropped_duplicates_stored_as_failures_if_paid import Batch, drop_duplicates

GROUP, GROUP_FREE = 128, 2_048
"""Commit after this many results of calls, or this many entries of any kind."""

DELAY = 0.02
"""Commit after this many seconds if another entry arrives."""

LATE = 0.03
"""Seconds after which a background thread commits if no further entry arrives. Otherwise the adding thread commits,
since two threads that alternate in one interpreter cost more than the commit itself."""

MOST = 1_024
"""Results of calls that may wait for a commit to a remote database; after that, adding blocks. Waiting results are not
acknowledged: a kill would lose them."""

MOST_FREE = 16_384
"""The same for entries of any kind, most of which cost only memory."""

MUCH = 65_536
"""Characters of texts per row, so that reading a single text stays fast."""

Entry = Verdict | Failure | Case | Item | Response
T = TypeVar("T")
OnCommit = Callable[[Sequence[Entry]], None]


class Writer:
    """Collects rows and commits them in groups; a background thread commits if no further row arrives in time.

    Only that thread writes to a remote database, without holding the lock. While a commit is in progress, rows are
    collected for the next one, so slow connections get larger commits. Callers wait only if they requested a commit
    (`flush`, `keep`) or if too many rows are waiting.

    If a commit fails, the database keeps nothing of it, and its rows stay collected so that `flush` can retry. If the
    reply to a commit is lost with the connection, the next commit checks whether it was stored.
    """

    def __init__(self, database: Database, on_commit: OnCommit | None) -> None:
        self.database = database
        self.connection: Connection = database.connect(read_only=False)
        self.lock = threading.RLock()
        self.acknowledged_count = 0
        self.before: Callable[[], None] | None = None
        """Called before each commit, to finish storing the pictures of its rows."""
        self.after: Callable[..., None] | None = None
        """Called after each commit, and with `each=True` at the end, to check that pictures are still stored."""
        self._on_commit = on_commit
        self._chain = Chain.begin()
        self._head_note = database.digest_note()
        self._pending = _empty_batch()
        self._numbers = count()
        self._begin_texts()
        self._entries: list[Entry] = []
        self._paid = 0
        self._most_paid, self._most = (MOST, MOST_FREE) if database.is_remote else (GROUP, GROUP_FREE)
        self._wary = False
        self._left_out = 0
        self._checkpointed_at: int | None = None
        self._next_mark = 0.0
        self._rescued: LedgerError | None = None
        """Error that is raised after every further commit, once the ledger was saved to another file."""
        self._start = self._last_rowids()
        self._since = 0.0
        self._trouble: LedgerError | None = None
        self._changed = threading.Condition(self.lock)
        self._thread: threading.Thread | None = None
        self._idle = True
        self._is_closed = False
        self._asked_for = self._committed = 0
        self._busy = False
        self._side: Connection | None = None
        self._beside = threading.Lock()

    def check(self) -> None:
        """Raise the error of a commit in the background."""
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def put(self, table: str, row: Row, entry: Entry, *, is_paid: bool) -> None:
        """Collect a row, and the entry that is acknowledged with it; `is_paid` if it is the result of a call."""
        self._pending[table].append(row)
        self._entries.append(entry)
        self._paid += is_paid
        full = self._paid >= self._most_paid or len(self._entries) >= self._most
        if full or (len(self._entries) > 1 and not self.database.is_remote and time.monotonic() - self._since > DELAY):
            self._commit()
            return
        if len(self._entries) == 1:
            self._since = time.monotonic()
        if self._idle:
            self._wake()

    def add_rows(self, table: str, *rows: Row) -> None:
        """Collect rows that are committed together with the next entry."""
        self._pending[table].extend(rows)

    def add_text(self, text: str, earlier: Sequence[str]) -> str:
        """Collect a text and the replies before it; return the reference that the verdict's row stores in `words`."""
        self._texts.append((text, earlier))
        self._said += len(text)
        words = f"{self._texts_id}.{len(self._texts) - 1}"
        if self._said >= MUCH:
            self._gather_texts()
        return words

    def _gather_texts(self) -> None:
        """Put the collected texts into one row, since rows cost more than texts."""
        if self._texts:
            self._pending["texts"].append((self._texts_id, orjson.dumps(self._texts).decode()))
            self._begin_texts()

    def _begin_texts(self) -> None:
        self._texts: list[tuple[str, Sequence[str]]] = []
        self._texts_id = f"{self._chain.writer}-{next(self._numbers):08x}"
        self._said = 0

    def keep(self, table: str, *rows: Row) -> bool:
        """Commit rows of any table now, with everything collected; return False if some may have been dropped."""
        with self.lock:
            left_out = self._left_out
            self._pending[table].extend(rows)
            self._commit()
            return left_out == self._left_out

    def flush(self) -> None:
        with self.lock:
            self._trouble = None
            if self._entries:
                self._commit()
            elif self._busy:
                self._changed.wait_for(lambda: not self._busy)
                self.check()

    @contextmanager
    def lookup_connection(self) -> Iterator[Connection]:
        """Lend a connection that sees committed rows; a remote database has a separate one, so writers never wait."""
        if not self.database.is_remote:
            with self.lock:
                yield self.connection
            return
        with self._beside:
            if self._side is None or not self._side.alive():
                self._side = run_with_retries(self.database, lambda: self.database.connect(read_only=True))
            yield self._side

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Block other writers if lookups are fast; for a remote database, the commit resolves conflicts instead."""
        with nullcontext() if self.database.is_remote else self.lock:
            yield

    def close(self) -> None:
        with self.lock:
            try:
                self.flush()
                self._check_files(is_last=True)
                self._check_chain()
                if self.after is not None:
                    self.after(self._own_pictures, each=True)
            except LedgerError as error:
                if not self._entries:
                    raise
                raise LedgerError(f"{error} ({len(self._entries)} entries were not written)") from error
            finally:
                self._is_closed = True
                self._changed.notify_all()
                self.database.close()
                self.connection.close()
                if self._side is not None:
                    self._side.close()
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
            while not self._is_closed:
                is_commit_requested = self._committed < self._asked_for
                if not (self._entries or is_commit_requested) or self._trouble is not None:
                    self._idle = True
                    self._changed.wait()
                elif not is_commit_requested and (left := self._since + LATE - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    try:
                        self._commit_taken()
                    except LedgerError as error:
                        self._trouble = error
                    except Exception as error:  # noqa: BLE001 (a thread that dies of it would leave the run asking)
                        self._trouble = LedgerError(f"{self.database.place}: a row cannot be written ({error})")
                    self._changed.notify_all()

    def _commit(self) -> None:
        """Rows are durable when this returns."""
        if not self.database.is_remote:
            self._commit_taken()
            return
        self._asked_for += 1
        ticket = self._asked_for
        self._wake()
        self._changed.wait_for(lambda: self._committed >= ticket or self._trouble is not None)
        self.check()

    def _commit_taken(self) -> None:
        """For a remote database the lock is released during the commit."""
        if self.before is not None:
            self.before()
        self._gather_texts()
        batch, self._pending = self._pending, _empty_batch()
        entries, self._entries = self._entries, []
        paid_count = self._paid
        ticket = self._asked_for
        far = self._busy = self.database.is_remote
        try:
            if far:
                self.lock.release()
            try:
                with self.database.translate_errors():
                    run_with_retries(self.database, lambda: self._store(batch))
            finally:
                if far:
                    self.lock.acquire()
                    self._busy = False
        except BaseException as error:
            for table, rows in batch.items():
                # Back to the front, since new rows may have arrived meanwhile.
                self._pending[table][:0] = rows
            self._entries[:0] = entries
            if self.database.is_damage(error.__cause__):
                self._rescue(f"its pages were damaged ({error.__cause__})")
            raise
        self._committed = max(self._committed, ticket)
        self.acknowledged_count += len(entries)
        self._paid -= paid_count
        self._since = time.monotonic()
        self._check_files()
        if self._on_commit is not None and entries:
            self._on_commit(entries)
        if self.after is not None:
            self.after(self._own_pictures)

    def _check_files(self, *, is_last: bool = False) -> None:
        """Raise if the ledger's files were deleted, replaced or damaged, since rows in them would be lost."""
        if self._rescued is not None:
            raise self._rescued
        chain = self._chain
        with self.database.translate_errors():
            position = (chain.writer, chain.number, chain.link) if chain.number else None
            problem = self.database.find_damage(position, is_last=is_last)
            if problem is None and chain.number and self._lacks_mark():
                self.database.checkpoint(self.connection)  # another process ran a checkpoint before these rows
        if problem is not None:
            self._rescue(problem)

    def _check_chain(self) -> None:
        chain = self._chain
        if not chain.number:
            return
        detail = ""
        try:
            with closing(run_with_retries(self.database, lambda: self.database.connect(read_only=True))) as reader:
                # VACUUM may renumber rows; then only a search of the whole table is reliable.
                is_stored = any(is_chain_stored(reader, chain, start) for start in (self._start, {}))
        except self.database.errors as error:
            is_stored, detail = False, f" ({error})"
        if not is_stored:
            problem = f"rows of this run were lost or changed{detail}"
            if self.database.is_remote:
                raise LedgerError(
                    f"{self.database.place}: {problem} while this process wrote to it; restore the ledger from a backup"
                    " of the server, and run the same command again"
                )
            self._rescue(problem)

    def _rescue(self, problem: str) -> NoReturn:
        """Save all rows that the open connection can still read, and the pending ones, to another file; then raise."""
        what = f"{self.database.place}: {problem} while this process wrote to it"
        name = self.database.path.name
        try:
            with self.database.translate_errors():
                rescued_file = self.database.rescue(self.connection)
                self._commit_pending(rescued_file.connection)
        except (LedgerError, OSError) as error:
            raise LedgerError(f"{what}, and its content could not be saved ({error}); take it from a backup") from error
        self.connection.close()
        self.connection = rescued_file.connection
        how = f"delete {name}-wal and {name}-shm, rename that file to {name}, and run the same command again"
        self._rescued = LedgerError(
            f"{what}; everything in it, with the new entries of this run, is saved in {rescued_file.path}: {how}"
            if rescued_file.is_whole
            else f"{what}; the rows that can still be read are saved in {rescued_file.path}, and `fullbench "
            f"ledger verify {rescued_file.path}` names what is missing; take the ledger from a backup, or {how}"
        )
        raise self._rescued

    def _commit_pending(self, connection: Connection) -> None:
        chain = self._chain.copy()
        with connection.transaction():
            pending, _ = drop_duplicates(connection, self._pending)
            for table, rows in _with_end(pending):
                connection.insert(table, chain.seal(table, rows))
        self.acknowledged_count += len(self._entries)
        self._chain, self._pending, self._entries = chain, _empty_batch(), []

    def _own_pictures(self) -> list[str]:
        sql = "SELECT digest FROM pictures WHERE rowid > ? AND writer = ? AND path IS NULL"
        with self.database.translate_errors(), self.lookup_connection() as reader:
            return [name for (name,) in reader.execute(sql, (self._start.get("pictures", 0), self._chain.writer))]

    def _last_rowids(self) -> dict[str, int]:
        sql = "SELECT coalesce(max(rowid), 0) FROM {}"
        return {table: self.connection.execute(sql.format(table)).fetchone()[0] for table in schema.TABLES}

    def _store(self, batch: Batch) -> None:
        """Commit a batch once; rows whose keys exist are dropped, and stored as failures if they were paid for."""
        if not self.connection.alive():
            self.connection.close()
            self.connection = self.database.connect(read_only=False)
            self._wary = True
        self.database.watch_files()
        self._keep_log_short()
        while True:
            chain = self._chain.copy()
            try:
                left_out = self._store_warily(batch, chain) if self._wary else self._store_plainly(batch, chain)
            except DuplicateKeyError:
                self._wary = True
                continue
            if left_out is not False:
                self._left_out += 1
            if left_out is None:
                return
            self._chain, self._wary = chain, left_out
            if self._head_note is not None:
                self._head_note.note(chain.writer, chain.number, chain.link)
            return

    def _store_plainly(self, batch: Batch, chain: Chain) -> bool:
        """If a key exists, nothing is stored."""
        self.connection.commit([(table, chain.seal(table, rows)) for table, rows in _with_end(batch)])
        return False

    def _store_warily(self, batch: Batch, chain: Chain) -> bool | None:
        """Insert rows with new keys; return True if any was dropped, None if the batch was already stored."""
        with self.connection.transaction():
            if self._done_before():
                return None
            accepted_rows, left_out = drop_duplicates(self.connection, batch)
            for table, rows in _with_end(accepted_rows):
                self.connection.insert(table, chain.seal(table, rows))
        return left_out

    def _keep_log_short(self) -> None:
        """Add a mark to the main file if it has none or the log has grown long (see `incomplete_copy_marks`)."""
        size = self.connection.log_bytes()
        if size is None:
            return
        if size < (self._checkpointed_at or 0):  # a checkpoint truncated the log
            self._checkpointed_at = 0
        is_long = (
            self._checkpointed_at is not None
            and size - self._checkpointed_at > missing_write_ahead_log_marks.MAX_LOG_BYTES
        )
        if not is_long and not self._lacks_mark():
            return
        self._chain = missing_write_ahead_log_marks.add_marks(
            self.connection, self._chain, missing_write_ahead_log_marks.LOG_BEGUN, [self._chain.writer]
        )
        is_complete = self.database.checkpoint(self.connection)
        self._checkpointed_at = self.connection.log_bytes()
        self._next_mark = 0.0 if is_complete else time.monotonic() + missing_write_ahead_log_marks.RETRY

    def _lacks_mark(self) -> bool:
        """True if a copy of the main file alone would look like the whole ledger."""
        return time.monotonic() >= self._next_mark and not self.database.is_marked()

    def _done_before(self) -> bool:
        """True if the last attempt was committed although its reply was lost."""
        commit_row = self.connection.execute(
            "SELECT number, link FROM commits WHERE writer = ? AND number > ? ORDER BY number DESC LIMIT 1",
            (self._chain.writer, self._chain.number),
        ).fetchone()
        if commit_row is None:
            return False
        number, link = commit_row
        links = read_links(self.connection, self._chain.writer, self._start)
        self._chain = Chain(self._chain.writer, number, link, links)
        return True


def _empty_batch() -> Batch:
    return {table: [] for table in schema.TABLES if table != "commits"}


def _with_end(batch: Batch) -> Iterator[tuple[str, Sequence[Row]]]:
    yield from ((table, rows) for table, rows in batch.items() if rows)
    yield "commits", [(time.time(), schema.SEALS)]


_MAX_CONTENTION_TRIES = 200
"""Attempts for a transaction that collides with others."""


def run_with_retries(database: Database, work: Callable[[], T]) -> T:
    """Run `work`, and retry while the error may be temporary.
    Conflicts with other writers are counted, not timed: on a busy machine each attempt is slow but lets one through.
    """
    pauses, contention_pauses = database.pauses(), iter([0.05] * _MAX_CONTENTION_TRIES)
    while True:
        try:
            return work()
        except database.errors as error:
            waiting = (
                contention_pauses
                if database.is_contention(error)
                else pauses
                if database.is_transient(error)
                else iter(())
            )
            pause = next(waiting, None)
            if pause is None:
                raise
            time.sleep(pause)
