"""The ledger: every response and verdict ever given, in one SQLite file.

**Append-only.** Rows are only ever inserted; triggers forbid the rest. There is one verdict for each judge, case and
trial: the first one stays, and a second one that was paid for is kept as a failure, so that the bill stays true.

**Durable.** Rows are committed in groups: every `GROUP` rows, or `DELAY` seconds after the first of them, whichever
comes first; `acknowledged` counts those committed, `on_commit` is called with them. An acknowledged row survives
kill -9 at any moment. With `durability="process"` (the default) a loss of *power* may take the last moments of
acknowledged rows, never the ledger's soundness; `durability="power"` waits for the disk at every commit.

**Threads and processes.** One `Ledger` may be used from several threads: writing takes turns, each reading thread has
its own connection and sees a consistent state, and whatever was added before a read is committed before it. Several
processes may write one ledger; `sole(name)` keeps two of them from asking the same judge at once. It must lie on a
local disk. Do not carry an open ledger through `os.fork`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullbench.core.cases import NOTHING, Case, Failure, Usage, Verdict
from fullbench.core.errors import LedgerError
from fullbench.core.items import Item, Response
from fullbench.core.pictures import Picture
from fullbench.core.record import Record
from fullbench.ledger import locks, reading, rows
from fullbench.ledger.opening import Durability, connect, prepare
from fullbench.ledger.pictures import PictureFolder
from fullbench.ledger.reading import Account, Names
from fullbench.ledger.trouble import plainly

GROUP = 50
DELAY = 0.02
LOOKUP = 500
RECENT = 4_096

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


class Ledger(AbstractContextManager["Ledger"]):
    """A ledger on disk, made where there is none. See the module's text for what it promises."""

    def __init__(
        self,
        path: str | Path,
        *,
        read_only: bool = False,
        durability: Durability = "process",
        keep_pictures: bool = True,
        on_commit: OnCommit | None = None,
    ) -> None:
        """Open the ledger at `path`.

        With `keep_pictures` the pictures of items and responses are copied beside the ledger, so that it can be read
        when the data set is gone; without, a picture that came from a file is remembered by its path only.
        """
        self.path = Path(path)
        self.read_only = read_only
        self.pictures = PictureFolder(self.path)
        self.acknowledged = 0
        self._keep_pictures = keep_pictures
        self._on_commit = on_commit
        self._lock = threading.RLock()
        self._ripe = threading.Condition(self._lock)
        self._pending: dict[str, list[rows.Row]] = {table: [] for table in INSERTS}
        self._entries: list[Entry] = []
        self._since = 0.0
        self._seen: dict[tuple[str, str], str] = {}
        self._trouble: LedgerError | None = None
        self._closed = False
        self._flusher: threading.Thread | None = None
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        prepare(self.path, read_only=read_only)
        with plainly(self.path):
            self._writer = None if read_only else connect(self.path, read_only=False, durability=durability)

    # Writing

    def declare(self, role: reading.Role, name: str, settings: Mapping[str, Any]) -> None:
        """Keep what stands behind the name of a judge or contestant; the same name with other settings is refused."""
        text = rows.settings_text(settings)
        with self._lock, plainly(self.path):
            writer = self._writing()
            writer.execute(
                f"INSERT INTO {role}s (name, settings, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (name, text, time.time()),
            )
            known = writer.execute(f"SELECT settings FROM {role}s WHERE name = ?", (name,)).fetchone()[0]
        if known != text:
            raise LedgerError(
                f"{self.path}: the {role} {name!r} is known with the settings {known} and now has {text}; a name "
                f"stands for one way of answering: give this {role} another name, or use another ledger"
            )

    def add(self, *entries: Verdict | Failure | Case | Item) -> None:
        """Add verdicts, failed calls of judges, cases (with their items and responses) or items."""
        with self._lock:
            self._writing()
            for entry in entries:
                if isinstance(entry, Verdict):
                    self._buffer("verdicts", rows.verdict_row(entry), entry)
                elif isinstance(entry, Failure):
                    self._buffer("failures", rows.failure_row("judge", entry), entry)
                elif isinstance(entry, Case):
                    self._add_case(entry)
                else:
                    self._add_item(entry)

    def add_response(
        self,
        item: Item,
        response: Response | Failure,
        *,
        usage: Usage = NOTHING,
        prompt: str = "",
        at: float = 0.0,
    ) -> None:
        """Add what a contestant answered to an item, or the call to it that failed.

        One response is kept for each contestant, item and trial. Another one with the same words is ignored, with
        other words refused: a contestant's name stands for one way of answering.
        """
        with self._lock:
            self._writing()
            self._add_item(item)
            if isinstance(response, Failure):
                self._buffer("failures", rows.failure_row("contestant", response), response)
            else:
                self._add_response(item, response, usage, prompt, at)

    def flush(self) -> None:
        """Commit all that was added. When this returns, it is durable."""
        with self._lock:
            self._trouble = None
            if self._entries:
                self._commit()

    def close(self) -> None:
        """Commit what is left and let go of the file."""
        with self._lock:
            if self._closed:
                return
            try:
                self.flush()
            except LedgerError as error:
                raise LedgerError(f"{error} ({len(self._entries)} entries were not written)") from error
            finally:
                self._closed = True
                self._ripe.notify_all()
                for reader in self._readers:
                    reader.close()
                if self._writer is not None:
                    self._writer.close()
        if self._flusher is not None:
            self._flusher.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sole(self, name: str) -> AbstractContextManager[None]:
        """Hold a judge or contestant for this run alone; a second run gets one sentence that says who holds it."""
        return locks.sole(self.path, name)

    # Reading

    def heard(self, judge: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these cases (key and trial) in which the judge has ruled."""
        sql = "SELECT case_key, trial FROM verdicts WHERE judge = ? AND case_key IN"
        return self._known(sql, judge, keys)

    def answered(self, contestant: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these items (key and trial) to which the contestant has answered."""
        sql = "SELECT item_key, trial FROM responses WHERE contestant = ? AND item_key IN"
        return self._known(sql, contestant, keys)

    def verdicts(
        self, judge: Names = None, *, cases: Iterable[str] | None = None, texts: bool = True
    ) -> Iterator[Verdict]:
        """Verdicts in the order they were given, streamed; `texts=False` leaves out what judges wrote."""
        with self._reading() as reader:
            yield from reading.verdicts(reader, judge, cases, texts)

    def responses(self, contestant: Names = None, *, item_keys: Iterable[str] | None = None) -> Iterator[Response]:
        """Responses in the order they were given, streamed."""
        with self._reading() as reader:
            yield from reading.responses(reader, contestant, item_keys, self._find)

    def items(self) -> Iterator[Item]:
        """Items in the order they came, each with its latest tags, streamed."""
        with self._reading() as reader:
            yield from reading.items(reader, self._find)

    def case(self, key: str, trial: int = 0) -> Case | None:
        """What was judged under a case's key; None when only the verdict is known."""
        with self._reading() as reader:
            return reading.case(reader, key, trial, self._find)

    def record(
        self,
        judge: Names = None,
        *,
        cases: Iterable[str] | None = None,
        tags: Mapping[str, str] | None = None,
        texts: bool = True,
    ) -> Record:
        """Verdicts with their items and responses: of these judges, on these cases, on items that bear these tags.

        Where an item id was used for several contents, the latest is given; `cases` keeps to the verdicts on yours.
        """
        with self._reading() as reader:
            return reading.record(reader, self._find, judge=judge, cases=cases, tags=tags, texts=texts)

    def bill(self) -> list[Account]:
        """What each judge and contestant used, failed calls included."""
        with self._reading() as reader:
            return reading.bill(reader)

    def digest(self) -> str:
        """Stands for all that was judged and ruled, whatever the order, the times and the cost."""
        with self._reading() as reader:
            return reading.content_digest(reader)

    def describe(self) -> dict[str, Any]:
        """What is inside, as a JSON value."""
        with self._reading() as reader:
            return {"path": str(self.path), "bytes": self.path.stat().st_size, **reading.describe(reader)}

    def verify(self) -> list[str]:
        """Everything that is wrong with this ledger, one sentence each; empty when it is sound."""
        from fullbench.ledger.verify import problems

        with self._reading() as reader:
            return [*problems(reader, self._find), *self.pictures.damaged()]

    # Within

    def _writing(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError(f"{self.path}: the ledger is closed")
        if self._writer is None:
            raise LedgerError(f"{self.path}: the ledger was opened for reading only")
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        return self._writer

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        self.flush()
        with plainly(self.path):
            if self._closed:
                raise LedgerError(f"{self.path}: the ledger is closed")
            reader: sqlite3.Connection | None = getattr(self._local, "reader", None)
            if reader is None:
                reader = self._local.reader = connect(self.path, read_only=True)
                with self._lock:
                    self._readers.append(reader)
            yield reader

    def _known(self, sql: str, name: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        wanted = iter(set(keys))
        found: set[tuple[str, int]] = set()
        with self._reading() as reader:
            while chunk := list(islice(wanted, LOOKUP)):
                marks = ", ".join("?" * len(chunk))
                rows_ = reader.execute(f"{sql} ({marks})", (name, *(key for key, _ in chunk)))
                found |= set(chunk).intersection(rows_)
        return found

    def _buffer(self, table: str, row: rows.Row, entry: Entry) -> None:
        self._pending[table].append(row)
        self._entries.append(entry)
        if len(self._entries) == 1:
            self._since = time.monotonic()
            self._wake()
        elif len(self._entries) >= GROUP:
            self._commit()

    def _wake(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_late, name="fullbench-ledger", daemon=True)
            self._flusher.start()
        self._ripe.notify_all()

    def _flush_late(self) -> None:
        """Commit what no further row pushes out in time."""
        with self._ripe:
            while not self._closed:
                if not self._entries or self._trouble is not None:
                    self._ripe.wait()
                elif (left := self._since + DELAY - time.monotonic()) > 0:
                    self._ripe.wait(left)
                else:
                    try:
                        self._commit()
                    except LedgerError as error:
                        self._trouble = error

    def _commit(self) -> None:
        writer, entries = self._writing(), self._entries
        with plainly(self.path):
            writer.execute("BEGIN IMMEDIATE")
            try:
                for table, pending in self._pending.items():
                    if pending:
                        done = writer.executemany(INSERTS[table], pending).rowcount
                        if table == "verdicts" and done < len(pending):
                            writer.executemany(INSERTS["failures"], reading.heard_twice(writer, pending))
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise
        for pending in self._pending.values():
            pending.clear()
        self._entries = []
        self.acknowledged += len(entries)
        if self._on_commit is not None:
            self._on_commit(entries)

    def _seen_lately(self, table: str, key: str, content: str = "") -> bool:
        return self._seen.get((table, key)) == content

    def _remember(self, table: str, key: str, content: str = "") -> None:
        """Spare a short while's repetitions; the memory never grows beyond `RECENT`."""
        if len(self._seen) >= RECENT:
            self._seen.clear()
        self._seen[table, key] = content

    def _add_case(self, case: Case) -> None:
        if self._seen_lately("cases", case.key):
            return
        self._add_item(case.item)
        for response in case.responses:
            self._add_response(case.item, response, NOTHING, "", 0.0)
        self._remember("cases", case.key)
        self._buffer("cases", rows.case_row(case), case)

    def _add_item(self, item: Item) -> None:
        tags = rows.tags_text(item.tags)
        if not self._seen_lately("items", item.key, tags):
            self._add_pictures(item.pictures)
            self._remember("items", item.key, tags)
            self._buffer("items", rows.item_row(item), item)

    def _add_response(self, item: Item, response: Response, usage: Usage, prompt: str, at: float) -> None:
        place = f"{item.key} {response.trial} {response.contestant}"
        known = self._seen.get(("responses", place)) or self._response_key(item, response)
        if known is not None and known != response.key:
            raise LedgerError(
                f"{self.path}: {response.contestant!r} answered item {item.id!r} differently before (trial "
                f"{response.trial}); give this contestant another name, or use another ledger"
            )
        if known is None:
            self._add_pictures(response.pictures)
        self._remember("responses", place, response.key)
        if known is None:
            self._buffer("responses", rows.response_row(item, response, usage, prompt, at), response)

    def _response_key(self, item: Item, response: Response) -> str | None:
        with plainly(self.path):
            found = self._writing().execute(
                "SELECT key FROM responses WHERE item_key = ? AND contestant = ? AND trial = ?",
                (item.key, response.contestant, response.trial),
            ).fetchone()  # fmt: skip
        return None if found is None else str(found[0])

    def _add_pictures(self, pictures: Iterable[Picture]) -> None:
        for picture in pictures:
            if self._seen_lately("pictures", picture.digest):
                continue
            away = not self._keep_pictures and isinstance(picture.source, Path)
            if not away:
                self.pictures.keep(picture)
            self._remember("pictures", picture.digest)
            self._pending["pictures"].append((picture.digest, picture.media, str(picture.source) if away else None))

    def _find(self, digest: str) -> Picture:
        kept = self.pictures.path(digest)
        with self._reading() as reader:
            found = reader.execute("SELECT media, path FROM pictures WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise LedgerError(f"{self.path}: the picture {digest} is not known; run `fullbench ledger verify`")
        media, path = found
        return Picture(digest, media, kept if path is None or kept.exists() else Path(path))
