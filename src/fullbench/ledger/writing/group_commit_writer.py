"""Rows on their way to the database: gathered, chained, and committed together."""

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
from fullbench.ledger.database_interface import Connection, Database, Taken
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.integrity.row_chain import is_stored as is_chain_stored
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.sqlite import incomplete_copy_marks
from fullbench.ledger.writing.duplicate_keys import Batch, settle

GROUP, GROUP_FREE = 128, 2_048
"""So many outcomes of calls are committed together at the latest, so many entries of any kind..."""

DELAY = 0.02
"""...or those that were gathered in so many seconds..."""

LATE = 0.03
"""...or in so many where no further one comes: a thread of its own commits them then. Where more come, whoever brings
them commits, since two threads that take turns in one interpreter cost more than the commit itself."""

MOST = 1_024
"""Where the database is far, so many outcomes of calls may wait for the commit that is on its way; whoever adds more
waits too. What waits is not acknowledged: it is what a kill at that moment would cost..."""

MOST_FREE = 16_384
"""...and so many entries of any kind, most of which cost nothing but memory."""

MUCH = 65_536
"""Texts of so many characters make a row, so that reading a single one stays quick."""

Entry = Verdict | Failure | Case | Item | Response
T = TypeVar("T")
OnCommit = Callable[[Sequence[Entry]], None]


class Writer:
    """Gathers rows and commits them in groups; a thread of its own commits what no further row pushes out in time.

    A database that is far is written to by that thread alone, outside of the lock: while a commit is on its way, rows
    are gathered for the next one, which is the larger the longer the way is, and nobody waits for it but who asked for
    it (`flush`, `keep`), or found too much gathered.

    When a commit fails, nothing of it is kept by the database and its rows stay gathered, so that `flush` can try
    again. When the answer to a commit is lost with the connection, the next one looks whether it was done.
    """

    def __init__(self, database: Database, on_commit: OnCommit | None) -> None:
        self.database = database
        self.connection: Connection = database.connect(read_only=False)
        self.lock = threading.RLock()
        self.acknowledged = 0
        self.before: Callable[[], None] | None = None
        """What must be done before the rows that were gathered are committed: their pictures are in their places."""
        self.after: Callable[..., None] | None = None
        """What is checked after each commit, and with `each=True` at the end: pictures are still in their places."""
        self._on_commit = on_commit
        self._chain = Chain.begin()
        self._head_note = database.head_note()
        self._pending = _empty()
        self._numbers = count()
        self._begin_texts()
        self._entries: list[Entry] = []
        self._paid = 0
        self._most_paid, self._most = (MOST, MOST_FREE) if database.far else (GROUP, GROUP_FREE)
        self._wary = False
        self._left_out = 0
        self._checkpointed_at: int | None = None
        self._next_mark = 0.0
        self._rescued: LedgerError | None = None
        """What is raised after every further commit, once the ledger had to be saved to another file."""
        self._start = {} if database.far else self._last_rowids()
        self._since = 0.0
        self._trouble: LedgerError | None = None
        self._changed = threading.Condition(self.lock)
        self._thread: threading.Thread | None = None
        self._idle = True
        self._closed = False
        self._asked_for = self._committed = 0
        self._busy = False
        self._side: Connection | None = None
        self._beside = threading.Lock()

    def check(self) -> None:
        """Raise what a commit in the background ran into."""
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def put(self, table: str, row: Row, entry: Entry, *, paid: bool) -> None:
        """Gather a row, and the entry that is acknowledged with it; `paid` where it is what a call brought."""
        self._pending[table].append(row)
        self._entries.append(entry)
        self._paid += paid
        full = self._paid >= self._most_paid or len(self._entries) >= self._most
        if full or (len(self._entries) > 1 and not self.database.far and time.monotonic() - self._since > DELAY):
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

    def keep(self, table: str, *rows: Row) -> bool:
        """Commit rows of any table at once, with all that was gathered; False where some may have been left out."""
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
    def looking(self) -> Iterator[Connection]:
        """A connection that sees what was committed: of a far database one to itself, so that nobody who adds waits."""
        if not self.database.far:
            with self.lock:
                yield self.connection
            return
        with self._beside:
            if self._side is None or not self._side.alive():
                self._side = patiently(self.database, lambda: self.database.connect(read_only=True))
            yield self._side

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else adds meanwhile, where looking takes no time; a far database sorts out what two added at once."""
        with nullcontext() if self.database.far else self.lock:
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
                self._closed = True
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
            while not self._closed:
                wanted = self._committed < self._asked_for
                if not (self._entries or wanted) or self._trouble is not None:
                    self._idle = True
                    self._changed.wait()
                elif not wanted and (left := self._since + LATE - time.monotonic()) > 0:
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
        """Commit what was gathered; when this returns, it is durable."""
        if not self.database.far:
            self._commit_taken()
            return
        self._asked_for += 1
        ticket = self._asked_for
        self._wake()
        self._changed.wait_for(lambda: self._committed >= ticket or self._trouble is not None)
        self.check()

    def _commit_taken(self) -> None:
        """Take what was gathered and commit it; where the database is far, the lock is open meanwhile."""
        if self.before is not None:
            self.before()
        self._gather_texts()
        batch, self._pending = self._pending, _empty()
        entries, self._entries = self._entries, []
        paid = self._paid
        ticket = self._asked_for
        far = self._busy = self.database.far
        try:
            if far:
                self.lock.release()
            try:
                with self.database.plainly():
                    patiently(self.database, lambda: self._store(batch))
            finally:
                if far:
                    self.lock.acquire()
                    self._busy = False
        except BaseException as error:
            for table, rows in batch.items():
                self._pending[table][:0] = rows
            self._entries[:0] = entries
            if self.database.is_damage(error.__cause__):
                self._rescue(f"its pages were damaged ({error.__cause__})")
            raise
        self._committed = max(self._committed, ticket)
        self.acknowledged += len(entries)
        self._paid -= paid
        self._since = time.monotonic()
        self._check_files()
        if self._on_commit is not None and entries:
            self._on_commit(entries)
        if self.after is not None:
            self.after(self._own_pictures)

    def _check_files(self, *, is_last: bool = False) -> None:
        """Stop if the ledger's files were deleted, replaced or damaged: rows in them would be lost."""
        if self._rescued is not None:
            raise self._rescued
        chain = self._chain
        with self.database.plainly():
            position = (chain.writer, chain.number, chain.link) if chain.number else None
            problem = self.database.find_damage(position, is_last=is_last)
            if problem is None and chain.number and self._lacks_mark():
                self.database.checkpoint(self.connection)  # rows of this commit follow a foreign checkpoint
        if problem is not None:
            self._rescue(problem)

    def _check_chain(self) -> None:
        """Read all that this writer committed once more, and stop if any of it is not there."""
        chain = self._chain
        if self.database.far or not chain.number:
            return
        detail = ""
        try:
            with closing(self.database.connect(read_only=True)) as reader:
                # VACUUM may number rows anew, so a search in the whole table decides.
                is_stored = any(is_chain_stored(reader, chain, start) for start in (self._start, {}))
        except self.database.errors as error:
            is_stored, detail = False, f" ({error})"
        if not is_stored:
            self._rescue(f"rows of this run were lost or changed{detail}")

    def _rescue(self, problem: str) -> NoReturn:
        """Save all that the open connection still reaches to another file, and stop; what is pending goes there too."""
        what = f"{self.database.place}: {problem} while this process wrote to it"
        name = self.database.path.name
        try:
            with self.database.plainly():
                rescued = self.database.rescue(self.connection)
                self._commit_pending(rescued.connection)
        except (LedgerError, OSError) as error:
            raise LedgerError(f"{what}, and its content could not be saved ({error}); take it from a backup") from error
        self.connection.close()
        self.connection = rescued.connection
        how = f"delete {name}-wal and {name}-shm, rename that file to {name}, and run the same command again"
        self._rescued = LedgerError(
            f"{what}; everything in it, with the new entries of this run, is saved in {rescued.path}: {how}"
            if rescued.is_whole
            else f"{what}; the rows that can still be read are saved in {rescued.path}, and `fullbench ledger verify "
            f"{rescued.path}` names what is missing; take the ledger from a backup, or {how}"
        )
        raise self._rescued

    def _commit_pending(self, connection: Connection) -> None:
        """Commit to the rescued file what could not be committed to the damaged one."""
        chain = self._chain.copy()
        with connection.transaction():
            pending, _ = settle(connection, self._pending)
            for table, rows in _with_end(pending):
                connection.insert(table, chain.seal(table, rows))
        self.acknowledged += len(self._entries)
        self._chain, self._pending, self._entries = chain, _empty(), []

    def _own_pictures(self) -> list[str]:
        """Return the digests of the pictures that this writer brought, but for those that stay where they are."""
        sql = "SELECT digest FROM pictures WHERE rowid > ? AND writer = ? AND path IS NULL"
        with self.database.plainly(), self.looking() as reader:
            return [name for (name,) in reader.execute(sql, (self._start.get("pictures", 0), self._chain.writer))]

    def _last_rowids(self) -> dict[str, int]:
        """Return the last rowid of each table."""
        sql = "SELECT coalesce(max(rowid), 0) FROM {}"
        return {table: self.connection.execute(sql.format(table)).fetchone()[0] for table in schema.TABLES}

    def _store(self, gathered: Batch) -> None:
        """Commit what was gathered, once: rows whose keys are taken are left out, and billed where they were paid."""
        if not self.connection.alive():
            self.connection.close()
            self.connection = self.database.connect(read_only=False)
            self._wary = True
        self.database.watch_files()
        self._keep_log_short()
        while True:
            chain = self._chain.copy()
            try:
                left_out = self._store_warily(gathered, chain) if self._wary else self._store_plainly(gathered, chain)
            except Taken:
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
        """All rows in one go; where a key is taken nothing is kept."""
        self.connection.commit([(table, chain.seal(table, rows)) for table, rows in _with_end(batch)])
        return False

    def _store_warily(self, batch: Batch, chain: Chain) -> bool | None:
        """Rows whose keys are not taken; whether any was left out, and None where all were committed before."""
        with self.connection.transaction():
            if self._done_before():
                return None
            kept, left_out = settle(self.connection, batch)
            for table, rows in _with_end(kept):
                self.connection.insert(table, chain.seal(table, rows))
        return left_out

    def _keep_log_short(self) -> None:
        """Add a mark to the main file if it has none, or if the log has grown long (see `log_marks`)."""
        size = self.connection.log_bytes()
        if size is None:
            return
        if size < (self._checkpointed_at or 0):  # a checkpoint cut the log
            self._checkpointed_at = 0
        is_long = self._checkpointed_at is not None and size - self._checkpointed_at > incomplete_copy_marks.LONG
        if not is_long and not self._lacks_mark():
            return
        self._chain = incomplete_copy_marks.add(
            self.connection, self._chain, incomplete_copy_marks.BEGUN, [self._chain.writer]
        )
        is_complete = self.database.checkpoint(self.connection)
        self._checkpointed_at = self.connection.log_bytes()
        self._next_mark = 0.0 if is_complete else time.monotonic() + incomplete_copy_marks.RETRY

    def _lacks_mark(self) -> bool:
        """Check whether a copy of the main file alone would pass for the whole ledger."""
        return time.monotonic() >= self._next_mark and not self.database.is_marked()

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


def _empty() -> Batch:
    return {table: [] for table in schema.TABLES if table != "commits"}


def _with_end(batch: Batch) -> Iterator[tuple[str, Sequence[Row]]]:
    """The rows of a commit by table, with the row that ends it."""
    yield from ((table, rows) for table, rows in batch.items() if rows)
    yield "commits", [(time.time(), schema.SEALS)]


_CONTENDED = 200
"""How often a transaction that met another is tried."""


def patiently(database: Database, work: Callable[[], T]) -> T:
    """Do it, again and again while the trouble may pass.

    Tries that met somebody else are counted, not timed: on a busy machine each takes long, and each lets one through.
    """
    pauses, met = database.pauses(), iter([0.05] * _CONTENDED)
    while True:
        try:
            return work()
        except database.errors as error:
            waiting = met if database.contended(error) else pauses if database.passing(error) else iter(())
            pause = next(waiting, None)
            if pause is None:
                raise
            time.sleep(pause)
