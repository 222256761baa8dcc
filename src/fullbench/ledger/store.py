"""The ledger: every response and verdict ever given, in one SQLite file.

**Append-only.** Rows are only ever inserted; triggers forbid the rest. There is one verdict for each judge, case and
trial: the first one stays, and a second one that was paid for is kept as a failure, so that the bill stays true.

**Durable.** Rows are committed in groups: every 128 entries, or 20 ms after the first of them, whichever comes
first; `acknowledged` counts those committed, `on_commit` is called with them. An acknowledged row survives
kill -9 at any moment. With `durability="process"` (the default) a loss of *power* may take the last moments of
acknowledged rows, never the ledger's soundness; `durability="power"` waits for the disk at every commit.

**Threads and processes.** One `Ledger` may be used from several threads: writing takes turns, each read has a
connection to itself, and whatever was added before a read is committed before it. Several processes may write one
ledger; `sole(name)` keeps two of them from asking the same judge at once. It must lie on a local disk. Do not carry
an open ledger through `os.fork`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullbench.columns.table import Columns
from fullbench.errors import LedgerError
from fullbench.ledger import chain, reading, rows
from fullbench.ledger import columns as narrow
from fullbench.ledger.adding import LOOKUP, Adder
from fullbench.ledger.chain import Head
from fullbench.ledger.database import Connection, Durability, database
from fullbench.ledger.lending import Readers
from fullbench.ledger.pictures import Pictures, pictures_at
from fullbench.ledger.reading import Account, Names
from fullbench.ledger.writer import OnCommit, Writer
from fullbench.nouns.call import NOTHING, Usage
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.picture import Picture
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Failure, Verdict


class Ledger(AbstractContextManager["Ledger"]):
    """A ledger on disk, made where there is none. See the module's text for what it promises."""

    def __init__(
        self,
        path: str | Path,
        *,
        read_only: bool = False,
        durability: Durability = "process",
        keep_pictures: bool = True,
        pictures: str | Path | None = None,
        on_commit: OnCommit | None = None,
    ) -> None:
        """Open the ledger at `path`.

        `path` is a file, or the URL of a database on a PostgreSQL server (`postgresql://user@host/database`).
        With `keep_pictures` the pictures of items and responses are copied beside the ledger, or to the place that
        `pictures` names and the ledger remembers, so that it can be read when the data set is gone; without, a picture
        that came from a file is remembered by its path only.
        `on_commit` is called with the entries of each commit, in the thread that made it; it must not wait for others.
        """
        self._database = database(path, durability)
        self.place = self._database.place
        self.path = self._database.path
        self.title = self.path.stem
        self.read_only = read_only
        self._closed = False
        self._readers = Readers(self._database)
        self._writer: Writer | None = None
        self._database.prepare(read_only=read_only)
        if not read_only:
            with self._database.plainly():
                self._writer = Writer(self._database, on_commit)
            self._adder = Adder(self._database, self._writer, lambda: self.pictures, keep_pictures=keep_pictures)
        try:
            self._pictures = self._place_of_pictures(pictures, sync=durability == "power")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection to look at the tables with one's own SQL (`?` for values); all that was added is there."""
        with self._reading() as reader:
            yield reader

    def keep_rows(self, table: str, made: Sequence[rows.Row]) -> None:
        """Commit rows as another ledger has them, without its seals."""
        self._writing().keep(table, *made)

    def vacuum(self, *, dry_run: bool = False) -> int:
        """Give the database's free space back; the bytes that were freed, or would be."""
        self.flush()
        self._readers.let_go()
        return self._database.vacuum(dry_run=dry_run)

    def _place_of_pictures(self, wanted: str | Path | None, *, sync: bool) -> Pictures | None:
        """Where pictures lie: as wanted now, as remembered, or beside the ledger."""
        remembered = self._setting("pictures")
        if wanted is not None and "://" not in str(wanted):
            wanted = Path(wanted).absolute()
        place = wanted or remembered or self._database.folder
        self.pictures_named = bool(wanted or remembered)
        self.has_pictures = place is not None
        found = None if place is None else pictures_at(place, sync=sync)
        if wanted is not None and str(place) != remembered and self._writer is not None:
            self._writer.keep("settings", ("pictures", str(place), time.time()))
        return found

    def _setting(self, name: str) -> str | None:
        """What was set last; read even where it is damaged, so that a ledger can be opened to be verified."""
        sql = "SELECT value FROM settings WHERE name = ? ORDER BY rowid DESC LIMIT 1"
        with self._reading() as reader, reader.snapshot():
            found = reader.execute(sql, (name,)).fetchone()
        return None if found is None else str(found[0])

    @property
    def pictures(self) -> Pictures:
        """Where pictures lie."""
        if self._pictures is None:
            raise LedgerError(
                f"{self.place}: a ledger on a server has no place for pictures; name a folder that all who use it can "
                "reach, or a bucket (--pictures s3://bucket/prefix), once: it is remembered"
            )
        return self._pictures

    @property
    def acknowledged(self) -> int:
        """How many entries added here are on disk; items and responses that a case brought count as well."""
        return 0 if self._writer is None else self._writer.acknowledged

    # Writing

    def declare(self, role: reading.Role, name: str, settings: Mapping[str, Any]) -> None:
        """Keep what stands behind the name of a judge or contestant; the same name with other settings is refused."""
        text = rows.settings_text(settings)
        writer = self._writing()
        known = self._declared(role, name)
        if known is None:
            writer.keep(f"{role}s", (name, text, time.time()))
            known = self._declared(role, name)
        if known != text:
            raise LedgerError(
                f"{self.place}: the {role} {name!r} is known with the settings {known} and now has {text}; a name "
                f"stands for one way of answering: give this {role} another name, or use another ledger"
            )

    def _declared(self, role: reading.Role, name: str) -> str | None:
        with self._reading() as reader:
            found = reader.execute(f"SELECT settings FROM {role}s WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def add(self, *entries: Verdict | Failure | Case | Item) -> None:
        """Add verdicts, failed calls of judges, cases (with their items and responses) or items."""
        writer = self._writing()
        with writer.lock:
            answered = self._adder.answered(entry.item for entry in entries if isinstance(entry, Case))
            for entry in entries:
                if isinstance(entry, Verdict):
                    writer.put("verdicts", rows.verdict_row(entry), entry)
                elif isinstance(entry, Failure):
                    writer.put("failures", rows.failure_row("judge", entry), entry)
                elif isinstance(entry, Case):
                    self._adder.case(entry, answered)
                else:
                    self._adder.item(entry)

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
        writer = self._writing()
        with writer.lock:
            self._adder.item(item)
            if isinstance(response, Failure):
                writer.put("failures", rows.failure_row("contestant", response), response)
            else:
                row = rows.response_row(item, response, usage, prompt, at)
                self._adder.response(item, response, row, self._adder.answered([item]))

    def flush(self) -> None:
        """Commit all that was added. When this returns, it is durable."""
        if self._writer is not None and not self._closed:
            self._writer.flush()

    def close(self) -> None:
        """Commit what is left and let go of the file."""
        if self._closed:
            return
        self._closed = True
        self._readers.close()
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sole(self, name: str) -> AbstractContextManager[None]:
        """Hold a judge or contestant for this run alone; a second run gets one sentence that says who holds it."""
        return self._database.sole(name)

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
        """Verdicts in the order they were given (by 500 cases at a time, where `cases` names them), streamed.

        `texts=False` leaves out what judges wrote.
        """
        with self._reading() as reader:
            yield from reading.verdicts(reader, judge, cases, texts)

    def since(self, place: int, limit: int) -> list[tuple[int, Verdict]]:
        """Verdicts in the order of entry, each with its place in it: those after `place` (0: from the start)."""
        with self._reading() as reader, self._database.settled(reader):
            return reading.since(reader, place, limit)

    def responses(self, contestant: Names = None, *, item_keys: Iterable[str] | None = None) -> Iterator[Response]:
        """Responses in the order they were given, streamed."""
        with self._reading() as reader:
            yield from reading.responses(reader, contestant, item_keys, self._find)

    def failures(self, name: str) -> Iterator[Failure]:
        """The calls of a judge or contestant that brought nothing, streamed."""
        with self._reading() as reader:
            yield from reading.failures(reader, name)

    def items(self) -> Iterator[Item]:
        """Items in the order they came, each with its latest tags, streamed."""
        with self._reading() as reader:
            yield from reading.items(reader, self._find)

    def case(self, key: str, trial: int = 0) -> Case | None:
        """What was judged under a case's key; None when only the verdict is known."""
        with self._reading() as reader:
            return reading.case(reader, key, trial, self._find)

    def cases(self, keys: Iterable[str]) -> list[Case]:
        """What was judged under these cases' keys, a few questions for all; those of which only verdicts are known
        are left out.
        """
        with self._reading() as reader:
            return list(reading.cases(reader, keys, self._find))

    def picture(self, digest: str) -> Picture:
        """The picture with that digest; a `LedgerError` when no row names it."""
        return self._find(digest)

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
        Where a contestant answered several times, the response of the first trial is given.
        """
        with self._reading() as reader:
            return reading.record(reader, self._find, judge=judge, cases=cases, tags=tags, texts=texts)

    def columns(self, judge: Names = None, *, beside: Iterable[Verdict] = ()) -> Columns:
        """The verdicts of these judges, and others `beside` them, as the columns that figures read: no texts."""
        with self._reading() as reader:
            return narrow.columns(reader, reading.names_of(judge), beside)

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
            return {
                "path": self.place,
                "pictures": None if self._pictures is None else self._pictures.place,
                "bytes": self._database.size(reader),
                "schema": self._database.version(reader),
                "head": str(self._head(reader)),
                **reading.describe(reader),
            }

    def head(self) -> Head:
        """Stands for every row in its place: noted elsewhere, it proves later that nothing was rewritten."""
        with self._reading() as reader:
            return self._head(reader)

    def verify(self, noted: Head | None = None) -> list[str]:
        """Everything that is wrong with this ledger, one sentence each; empty when it is sound.

        `noted` is a head that the ledger had before.
        """
        from fullbench.ledger.verify import problems

        with self._reading() as reader:
            found = problems(self._database, reader, self._find, noted)
            return [text.encode("utf-8", "backslashreplace").decode() for text in found]

    def checked(self) -> dict[str, Any]:
        """What `verify` looks at, counted, as a JSON value."""
        with self._reading() as reader:
            counted = {"counts": reading.counts(reader), "chains": reading.chains(reader)}
            return {"path": self.place, **counted, "head": str(self._head(reader))}

    # Within

    def _head(self, reader: Connection) -> Head:
        with self._database.settled(reader):
            return chain.head(reader)

    def _writing(self) -> Writer:
        if self._closed:
            raise LedgerError(f"{self.place}: the ledger is closed")
        if self._writer is None:
            raise LedgerError(f"{self.place}: the ledger was opened for reading only")
        self._writer.check()
        return self._writer

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection for one read, lent from those that are free."""
        if self._closed:
            raise LedgerError(f"{self.place}: the ledger is closed")
        self.flush()
        with self._readers.lent() as reader:
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

    def _find(self, digest: str) -> Picture:
        with self._reading() as reader:
            found = reader.execute("SELECT media, path FROM pictures WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise LedgerError(f"{self.place}: the picture {digest} is not known; run `fullbench ledger verify`")
        media, path = found
        if path is not None and (self._pictures is None or not self._pictures.has(digest)):
            return Picture(digest, media, Path(path))
        return self.pictures.find(digest, media)
