"""The ledger: every response and verdict ever given, in one SQLite file.

**Append-only.** Rows are only ever inserted; triggers forbid the rest. There is one verdict for each judge, case and
trial: the first one stays, and a second one that was paid for is kept as a failure, so that the bill stays true.

**Durable.** Rows are committed in groups: every 128 entries, or 20 ms after the first of them, whichever comes
first; `acknowledged` counts those committed, `on_commit` is called with them. An acknowledged row survives
kill -9 at any moment, and a loss of power: every commit waits for the disk. With `durability="process"` it does not
wait, and a loss of *power* may take the last moments of acknowledged rows, never the ledger's soundness. A server
decides that by its own settings.

**Threads and processes.** One `Ledger` may be used from several threads: writing takes turns, each read has a
connection to itself, and whatever was added before a read is committed before it. Several processes may write one
ledger; `sole(name)` keeps two of them from asking the same judge at once. It must lie on a local disk. Do not carry
an open ledger through `os.fork`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullbench.core.call import NOTHING, Call, Usage
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import declared_settings, row_conversion, study_members
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_from_path import database, durability_of, pictures_at
from fullbench.ledger.database_interface import Connection, Durability
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.pictures.picture_folder import Pictures
from fullbench.ledger.read_api import Readable
from fullbench.ledger.read_connections import Readers
from fullbench.ledger.writing.add_entries import Adder
from fullbench.ledger.writing.group_commit_writer import OnCommit, Writer


class Ledger(Readable, AbstractContextManager["Ledger"]):
    """A ledger on disk, made where there is none. See the module's text for what it promises."""

    def __init__(
        self,
        path: str | Path,
        *,
        read_only: bool = False,
        durability: Durability | None = None,
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
        `durability` is `power` or `process`; where it is not said, `FULLBENCH_DURABILITY`, else `power`.
        `on_commit` is called with the entries of each commit, in the thread that made it; it must not wait for others.
        """
        survives = durability_of(durability)
        self._database = database(path, survives)
        self.place = self._database.place
        self.path = self._database.path
        self.title = self.path.stem
        self.read_only = read_only
        self.study = study or study_members.DEFAULT
        self.study_named = study is not None
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
            self._pictures = self._place_of_pictures(pictures, sync=survives == "power")
        except BaseException:
            self.close()
            raise

    def keep_rows(self, table: str, made: Sequence[row_conversion.Row]) -> None:
        """Commit rows as another ledger has them, without its seals."""
        self._writing().keep(table, *made)

    @contextmanager
    def moment(self) -> Iterator[tuple[Connection, Head]]:
        """A connection whose reads all see one moment, and the head of that moment; others may write meanwhile."""
        with self._reading() as reader, ExitStack() as reading:
            with self._database.settled(reader):
                reading.enter_context(reader.snapshot())
                head = row_chain.head(reader)
            yield reader, head

    def vacuum(self, *, dry_run: bool = False) -> int:
        """Give the database's free space back; the bytes that were freed, or would be."""
        self.flush()
        self._readers.let_go()
        return self._database.vacuum(dry_run=dry_run)

    def _place_of_pictures(self, wanted: str | Path | None, *, sync: bool) -> Pictures | None:
        """Where pictures lie: as wanted now, as remembered, or beside the ledger."""
        remembered = dict(self._settings).get("pictures")
        if wanted is not None and "://" not in str(wanted):
            wanted = Path(wanted).absolute()
        if self._database.brings_pictures:
            remembered = None
        place = wanted or remembered or self._database.folder
        self.pictures_named = bool(wanted or remembered)
        self.has_pictures = place is not None
        found = None if place is None else pictures_at(place, sync=sync)
        if wanted is not None and str(place) != remembered and self._writer is not None:
            self._writer.keep("settings", ("pictures", str(place), time.time()))
        return found

    @property
    def acknowledged(self) -> int:
        """How many entries added here are on disk; items and responses that a case brought count as well."""
        return 0 if self._writer is None else self._writer.acknowledged

    def last_place(self) -> int:
        """The place (see `since`) of the verdict that was entered last; 0 where there is none."""
        with self._reading() as reader:
            return int(reader.execute("SELECT coalesce(max(rowid), 0) FROM verdicts").fetchone()[0])

    def last_verdicts(self) -> dict[str, float]:
        """When the last verdict of each study was given, in seconds since 1970; 0 where there is none."""
        found = {}
        with self._reading() as reader:
            for study in study_members.studies(reader):
                condition, values = study_members.condition(study)
                sql = f"SELECT coalesce(max(at), 0) FROM verdicts WHERE {condition}"
                found[study] = float(reader.execute(sql, values).fetchone()[0])
        return found

    def settings_behind(self, role: Role, name: str) -> Mapping[str, Any] | None:
        """What was declared behind the name of a judge or contestant, or behind one whose place it took."""
        declared = (self._declared(role, known) for known in (name, *self.formers(role, name)))
        text = next((text for text in declared if text is not None), None)
        return None if text is None else row_conversion.load(text)

    # Writing

    def declare(self, role: Role, name: str, settings: Mapping[str, Any]) -> str | None:
        """Keep what stands behind the name of a judge or contestant; the same name with other settings is refused.

        Settings that were not there before, as a newer version may have, are adopted: one sentence says so.
        """
        writer, text, known = self._writing(), row_conversion.settings_text(settings), self._declared(role, name)
        if known is None:
            own = writer.keep(f"{role}s", (name, text, time.time()))
            known = text if own else self._declared(role, name) or text
        if known == text:
            return None
        new = declared_settings.added(row_conversion.load(known), row_conversion.load(text))
        if not new:
            raise declared_settings.refusal(self.place, role, name, known, settings)
        writer.keep("adoptions", (role, name, text, time.time()))
        return f"{self.place}: the {role} {name!r} now also has the settings {', '.join(new)}; they were adopted"

    def twin_of(self, judge: str) -> str | None:
        """The name under which the very same judge has ruled here, where it has not under this one."""
        with self._reading() as reader:
            return declared_settings.twin_of(reader, judge)

    def _declared(self, role: Role, name: str) -> str | None:
        with self._reading() as reader:
            return declared_settings.settings_of(reader, role, name)

    def alias(self, role: Role, former: str, name: str) -> str:
        """Let all that was given under a former name be read under another one from now on."""
        writer = self._writing()
        with self._reading() as reader:
            declared_settings.check_alias(reader, self.place, role, former, name)
        writer.keep("aliases", (role, former, name, time.time()))
        return f"{self.place}: the {role} {former!r} is called {name!r} from now on; what it gave is not asked again"

    def add(self, *entries: Verdict | Failure | Case | Item) -> None:
        """Add verdicts, failed calls of judges, cases (with their items and responses) or items."""
        writer = self._writing()
        if len(entries) == 1 and isinstance(entries[0], Verdict):  # as runs add them, by the million
            with writer.lock:
                self._adder.verdict(entries[0])
            return
        brought = (entry for entry in entries if isinstance(entry, Case | Item))
        items = [entry if isinstance(entry, Item) else entry.item for entry in brought]
        with writer.alone():
            known = self._adder.known(items)
            with writer.lock:
                for entry in entries:
                    if isinstance(entry, Verdict):
                        self._adder.verdict(entry)
                    elif isinstance(entry, Failure):
                        self._adder.calls(entry.exchanges, entry.judge)
                        writer.put("failures", row_conversion.failure_row("judge", entry), entry, paid=True)
                    elif isinstance(entry, Case):
                        self._adder.case(entry, known)
                    else:
                        self._adder.item(entry, known)

    def join(self, cases: Iterable[str] = (), items: Collection[Item] = ()) -> None:
        """Make cases (by their keys) and items that the ledger holds members of this study, which then shares what was
        ruled on them and answered to them."""
        writer = self._writing()
        with writer.lock:
            self._adder.join(list(dict.fromkeys(cases)), items)

    def add_response(
        self,
        item: Item,
        response: Response | Failure,
        *,
        usage: Usage = NOTHING,
        prompt: str = "",
        at: float = 0.0,
        exchanges: Sequence[Call] = (),
    ) -> None:
        """Add what a contestant answered to an item, or the call to it that failed.

        `exchanges` are the calls that it came from, with what was thought. One response is kept for each contestant,
        item and trial. Another one with the same words is ignored, with other words refused: a contestant's name stands
        for one way of answering.
        """
        writer = self._writing()
        with writer.alone():
            known = self._adder.known_of(item)
            with writer.lock:
                self._adder.item(item, known)
                if isinstance(response, Failure):
                    self._adder.calls(response.exchanges, response.judge, "contestant")
                    writer.put("failures", row_conversion.failure_row("contestant", response), response, paid=True)
                else:
                    row = row_conversion.response_row(item, response, usage, prompt, at)
                    self._adder.calls(exchanges, response.contestant, "contestant")
                    self._adder.response(item, response, row, known, paid=True)

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

    def sole_soon(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Begin to hold names for which `sole` is called before this ends: where the ledger is far, that takes time in
        which something else can be done."""
        return self._database.sole_soon(names)

    def _writing(self) -> Writer:
        if self._closed:
            raise LedgerError(f"{self.place}: the ledger is closed")
        if self._writer is None:
            raise LedgerError(f"{self.place}: the ledger was opened for reading only")
        self._writer.check()
        return self._writer
