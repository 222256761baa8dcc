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
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullbench.columns.table import Columns
from fullbench.errors import LedgerError
from fullbench.ledger import accounts, chain, declaring, membership, naming, reading, rows
from fullbench.ledger import columns as narrow_columns
from fullbench.ledger.accounts import Account, Role
from fullbench.ledger.adding import Adder
from fullbench.ledger.chain import Head
from fullbench.ledger.database import Connection, Durability, database
from fullbench.ledger.lending import Readers
from fullbench.ledger.pictures import Pictures, pictures_at
from fullbench.ledger.reading import Names
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
        study: str | None = None,
        supersede: bool = False,
    ) -> None:
        """Open the ledger at `path`.

        `path` is a file, or the URL of a database on a PostgreSQL server (`postgresql://user@host/database`).
        What is added becomes a member of `study` (`default` where none is named), within which an item id stands for
        one content; with `supersede` a later content takes the place of the earlier one.
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
        self.study = study or membership.DEFAULT
        self._study_named = study is not None
        self._closed = False
        self._readers = Readers(self._database)
        self._writer: Writer | None = None
        self._database.prepare(read_only=read_only)
        if not read_only:
            with self._database.plainly():
                self._writer = Writer(self._database, on_commit)
            self._adder = Adder(
                self._database, self._writer, lambda: self.pictures, keep_pictures=keep_pictures, study=self.study,
                supersede=supersede,
            )  # fmt: skip
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

    def _setting(self, name: str, order: str = "DESC") -> str | None:
        """What was set last; read even where it is damaged, so that a ledger can be opened to be verified."""
        sql = f"SELECT value FROM settings WHERE name = ? ORDER BY rowid {order} LIMIT 1"
        with self._reading() as reader, reader.snapshot():
            found = reader.execute(sql, (name,)).fetchone()
        return None if found is None else str(found[0])

    @property
    def identity(self) -> str:
        """A random id that no other ledger has: made with the ledger, and kept whatever is added."""
        return self._setting("identity", "ASC") or ""

    @property
    def salt(self) -> bytes:
        """Random bytes that no other ledger has, for what nobody should be able to guess from outside."""
        return bytes.fromhex(self._setting("salt", "ASC") or "")

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

    def declare(self, role: Role, name: str, settings: Mapping[str, Any]) -> str | None:
        """Keep what stands behind the name of a judge or contestant; the same name with other settings is refused.

        Settings that were not there before, as a newer version may have, are adopted: one sentence says so.
        """
        text = rows.settings_text(settings)
        writer = self._writing()
        known = self._declared(role, name)
        if known is None:
            writer.keep(f"{role}s", (name, text, time.time()))
            known = self._declared(role, name) or text
        if known == text:
            return None
        new = declaring.added(rows.load(known), rows.load(text))
        if not new:
            raise declaring.refusal(self.place, role, name, known, settings)
        writer.keep("adoptions", (role, name, text, time.time()))
        return f"{self.place}: the {role} {name!r} now also has the settings {', '.join(new)}; they were adopted"

    def _declared(self, role: Role, name: str) -> str | None:
        with self._reading() as reader:
            return declaring.settings_of(reader, role, name)

    def adopt(self, role: Role, name: str, former_names: Sequence[str]) -> str | None:
        """Let a judge or contestant take over what it gave under a former name, where it has given nothing yet.

        To be called before a run, with the names that earlier versions gave it. One sentence says what was done.
        """
        former = self.former(role, name, former_names)
        return None if former is None else self.alias(role, former, name)

    def former(self, role: Role, name: str, former_names: Sequence[str]) -> str | None:
        """The former name whose verdicts or responses `adopt` would take over; None where there is none."""
        with self._reading() as reader:
            return declaring.former_of(reader, role, name, former_names)

    def alias(self, role: Role, former: str, name: str) -> str:
        """Let all that was given under a former name be read under another one from now on."""
        writer = self._writing()
        with self._reading() as reader:
            declaring.check_alias(reader, self.place, role, former, name)
        writer.keep("aliases", (role, former, name, time.time()))
        return f"{self.place}: the {role} {former!r} is called {name!r} from now on; what it gave is not asked again"

    def add(self, *entries: Verdict | Failure | Case | Item) -> None:
        """Add verdicts, failed calls of judges, cases (with their items and responses) or items."""
        writer = self._writing()
        with writer.lock:
            known = self._adder.known(
                entry.item if isinstance(entry, Case) else entry for entry in entries if isinstance(entry, Case | Item)
            )
            for entry in entries:
                if isinstance(entry, Verdict):
                    self._adder.verdict(entry)
                elif isinstance(entry, Failure):
                    writer.put("failures", rows.failure_row("judge", entry), entry)
                elif isinstance(entry, Case):
                    self._adder.case(entry, known)
                else:
                    self._adder.item(entry, known)

    def join(self, cases: Iterable[str]) -> None:
        """Make cases that the ledger holds, and their items, members of this study, which shares their verdicts."""
        writer = self._writing()
        with writer.lock:
            self._adder.join(dict.fromkeys(cases))

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
            known = self._adder.known([item])
            self._adder.item(item, known)
            if isinstance(response, Failure):
                writer.put("failures", rows.failure_row("contestant", response), response)
            else:
                row = rows.response_row(item, response, usage, prompt, at)
                self._adder.response(item, response, row, known)

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

    def studies(self) -> list[str]:
        """The names of all studies, in the order in which they came."""
        with self._reading() as reader:
            return membership.studies(reader)

    def set_aside(self, study: str | None = None) -> int:
        """How many verdicts of a study are left out of its record: an item's later content took the earlier's place."""
        with self._reading() as reader:
            chosen = self._study(reader, study)
            return 0 if chosen is None else accounts.set_aside(reader, chosen)

    def _study(self, reader: Connection, study: str | None) -> str | None:
        """The study that is meant where one must be: as named, or the only one there is; None in an empty ledger."""
        there = membership.studies(reader)
        if study is not None or self._study_named:
            named = study or self.study
            if there and named not in there and (study is not None or self.read_only):
                raise LedgerError(f"{self.place}: there is no study {named!r}; it holds {', '.join(map(repr, there))}")
            return named
        # What an id's second content went to when the ledger was brought up to date is asked for by name.
        main = [name for name in there if not name.startswith(f"{membership.DEFAULT}~")]
        if len(main) > 1:
            raise LedgerError(
                f"{self.place}: the ledger holds the studies {', '.join(map(repr, there))}, which never meet in one "
                "table; name one (--study NAME)"
            )
        return next(iter(main or there), None)

    def heard(self, judge: str, keys: Iterable[tuple[str, int]], *, rater: str = "") -> set[tuple[str, int]]:
        """Those of these cases (key and trial) in which the judge has ruled, in whatever study; `rater` says who of
        the people that are one judge."""
        judge, _, rater = naming.voter(judge, 0, rater)
        with self._reading() as reader:
            return reading.heard(reader, judge, keys, rater)

    def answered(self, contestant: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these items (key and sample) to which the contestant has answered."""
        with self._reading() as reader:
            return reading.answered(reader, contestant, keys)

    def verdicts(
        self,
        judge: Names = None,
        *,
        cases: Iterable[str] | None = None,
        texts: bool = True,
        study: str | None = None,
        revisions: bool = False,
    ) -> Iterator[Verdict]:
        """Verdicts in the order they were given (by 500 cases at a time, where `cases` names them), streamed.

        `texts=False` leaves out what judges wrote. Without `study`, those of all studies are given; with `revisions`,
        also votes that were changed and replies that were read again later.
        """
        with self._reading() as reader:
            yield from reading.verdicts(reader, judge, cases, texts=texts, study=study, revisions=revisions)

    def narrow(self, *columns: str, judge: Names = None, study: str | None = None) -> Iterator[rows.Row]:
        """Some columns of the verdicts' rows, streamed: what figures over millions of verdicts are computed from.

        As `verdicts`, each under today's names and only the newest revision of each.
        """
        with self._reading() as reader:
            yield from reading.narrow(reader, columns, judge, study)

    def since(self, place: int, limit: int) -> list[tuple[int, Verdict]]:
        """Verdicts in the order of entry, each with its place in it: those after `place` (0: from the start)."""
        with self._reading() as reader, self._database.settled(reader):
            return reading.since(reader, place, limit)

    def members_since(self, place: int, limit: int) -> list[tuple[int, str, str]]:
        """Studies and the keys of their cases in the order of entry, each with its place in it, as `since`."""
        with self._reading() as reader, self._database.settled(reader):
            return membership.since(reader, place, limit)

    def studies_of(self, places: Sequence[int]) -> dict[int, list[str]]:
        """The studies that the verdicts at these places (see `since`) belong to."""
        with self._reading() as reader:
            return membership.of_verdicts(reader, places)

    def responses(
        self, contestant: Names = None, *, item_keys: Iterable[str] | None = None, study: str | None = None
    ) -> Iterator[Response]:
        """Responses in the order they were given, streamed; with `study`, those to its items."""
        with self._reading() as reader:
            yield from reading.responses(reader, contestant, item_keys, self._find, study)

    def failures(self, name: str) -> Iterator[Failure]:
        """The calls of a judge or contestant that brought nothing, streamed."""
        with self._reading() as reader:
            yield from reading.failures(reader, name)

    def items(self, *, study: str | None = None) -> Iterator[Item]:
        """Items in the order they came, each with its latest tags, streamed; with `study`, as they are there."""
        with self._reading() as reader:
            yield from reading.items(reader, self._find, study)

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
        study: str | None = None,
    ) -> Record:
        """Verdicts of a study with their items and responses: of these judges, on items that bear these tags.

        The study is the one named, or the one this ledger was opened for, or the only one there is. `cases` keeps to
        the verdicts on these cases, whatever study they belong to. `set_aside` counts what is left out.
        """
        with self._reading() as reader:
            chosen = self._study(reader, study) if cases is None or study is not None else None
            return reading.record(reader, self._find, judge=judge, cases=cases, tags=tags, texts=texts, study=chosen)

    def columns(self, judge: Names = None, *, beside: Iterable[Verdict] = (), study: str | None = None) -> Columns:
        """The verdicts of these judges, and others `beside` them, as the columns that figures read: no texts.

        Of one study where it is named, or where the ledger was opened for one; else of every study, each apart.
        """
        with self._reading() as reader:
            named = study or (self.study if self._study_named else None)
            return narrow_columns.columns(reader, reading.names_of(judge), beside, None if named is None else [named])

    def bill(self) -> list[Account]:
        """What each judge and contestant used, failed calls included."""
        with self._reading() as reader:
            return accounts.bill(reader)

    def digest(self) -> str:
        """Stands for all that was judged and ruled, whatever the order, the times and the cost."""
        with self._reading() as reader:
            return accounts.content_digest(reader)

    def describe(self) -> dict[str, Any]:
        """What is inside, as a JSON value."""
        with self._reading() as reader:
            return {
                "path": self.place,
                "pictures": None if self._pictures is None else self._pictures.place,
                "bytes": self._database.size(reader),
                "schema": self._database.version(reader),
                "head": str(self._head(reader)),
                "identity": self.identity,
                **accounts.describe(reader),
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
            counted = {"counts": accounts.counts(reader), "chains": accounts.chains(reader)}
            return {"path": self.place, **counted, "head": str(self._head(reader))}

    # Within

    def _head(self, reader: Connection) -> Head:
        with self._database.settled(reader):
            return chain.head(reader, self._database.own_commits)

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

    def _find(self, digest: str) -> Picture:
        with self._reading() as reader:
            found = reader.execute("SELECT media, path FROM pictures WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise LedgerError(f"{self.place}: the picture {digest} is not known; run `fullbench ledger verify`")
        media, path = found
        if path is not None and (self._pictures is None or not self._pictures.has(digest)):
            return Picture(digest, media, Path(path))
        return self.pictures.find(digest, media)
