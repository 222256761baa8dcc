"""`Ledger`: the append-only store of items, responses and verdicts in an SQLite file or on a PostgreSQL server.

**Append-only.** Rows are only inserted; triggers forbid updates and deletes. There is one verdict for each judge, case
and trial. The first one stays; a second paid one is stored as a failure, so that the costs stay correct.

**Durable.** Rows are committed in groups: every 128 entries, or 20 ms after the first of them, whichever comes first.
`acknowledged_count` counts committed entries, and `on_commit` gets them. An acknowledged row survives kill -9 and a
loss of power, since every commit waits for the disk. With `durability="process"` commits do not wait: a loss of
*power* may lose the last acknowledged rows but never damages the ledger. A server has its own durability settings.

**Threads and processes.** Several threads may share one `Ledger`. Writes take turns, each read has its own connection,
and everything added before a read is committed before it. Several processes may write to one ledger; `hold_lock(name)`
prevents two of them from calling the same judge at once. The file must be on a local disk. Do not use an open ledger
after `os.fork`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import NOTHING, Call, Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError, LedgerError
from fullbench.ledger import judge_and_contestant_settings, row_conversion, study_membership_of_items_and_cases
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_from_path import database_at, durability_of, pictures_at
from fullbench.ledger.database_interface import Connection, Durability
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.pictures.picture_folder import Pictures
from fullbench.ledger.read_connections import Readers
from fullbench.ledger.verdict_reader import VerdictReader
from fullbench.ledger.writing.deduplicated_rows_from_new_entries import Adder
from fullbench.ledger.writing.group_commit_writer import OnCommit, Writer


class Ledger(VerdictReader, AbstractContextManager["Ledger"]):
    """A ledger, created if it does not exist. The module docstring states its guarantees."""

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

        Args:
            path: A file, or the URL of a PostgreSQL database (`postgresql://user@host/database`).
            read_only: Refuse all writes.
            durability: `power` or `process`; default: `FULLBENCH_DURABILITY`, else `power`.
            keep_pictures: Copy pictures next to the ledger or to `pictures`, so that it does not need the data set.
                Otherwise only the path of a picture file is stored.
            pictures: Folder or bucket for pictures; the ledger remembers it.
            on_commit: Called with the entries of each commit, in the committing thread; it must not block.
            study: Study that new entries join (`default` if None). Within a study, an item id has one content.
            supersede: Let a later content of an item replace the earlier one.
        """
        if not isinstance(path, str | Path):
            raise InputError(f"a ledger is the path of a file or a postgresql:// URL; found {path!r}")
        durability_level = durability_of(durability)
        self.location = path
        self._database = database_at(path, durability_level)
        self.place = self._database.place
        self.path = self._database.path
        self.title = self.path.stem
        self.read_only = read_only
        self.study = study or study_membership_of_items_and_cases.DEFAULT
        self.study_named = study is not None
        self._is_closed = False
        self._readers = Readers(self._database)
        self._writer: Writer | None = None
        self._database.prepare(read_only=read_only)
        if not read_only:
            with self._database.translate_errors():
                self._writer = Writer(self._database, on_commit)
            self._adder = Adder(
                self._database, self._writer, lambda: self.pictures, keep_pictures=keep_pictures, study=self.study,
                supersede=supersede,
            )  # fmt: skip
        try:
            self._pictures = self._place_of_pictures(pictures, sync=durability_level == "power")
        except BaseException:
            self.close()
            raise

    def keep_rows(self, table: str, rows: Sequence[row_conversion.Row]) -> None:
        """Commit rows of another ledger without their chain columns."""
        self._require_writer().keep(table, *rows)

    @contextmanager
    def moment(self) -> Iterator[tuple[Connection, LedgerDigest]]:
        """Yield a connection to a consistent snapshot, and its ledger digest; others may write meanwhile."""
        with self.reader() as reader, ExitStack() as reading:
            with self._database.hold_back_commits(reader):
                reading.enter_context(reader.snapshot())
                ledger_digest = row_chain.ledger_digest(reader)
            yield reader, ledger_digest

    def vacuum(self, *, dry_run: bool = False) -> int:
        """Release the database's free space and return the bytes freed (with `dry_run`, the bytes that would be)."""
        self.flush()
        self._readers.let_go()
        return self._database.vacuum(dry_run=dry_run)

    def _place_of_pictures(self, requested_place: str | Path | None, *, sync: bool) -> Pictures | None:
        stored_place = dict(self._settings).get("pictures")
        if requested_place is not None and "://" not in str(requested_place):
            requested_place = Path(requested_place).absolute()
        if self._database.brings_pictures:
            stored_place = None
        place = requested_place or stored_place or self._database.folder
        self.pictures_named = bool(requested_place or stored_place)
        self.has_pictures = place is not None
        picture_storage = None if place is None else pictures_at(place, sync=sync)
        if requested_place is not None and str(place) != stored_place and self._writer is not None:
            self._writer.keep("settings", ("pictures", str(place), time.time()))
        return picture_storage

    @property
    def is_closed(self) -> bool:
        """True after `close`: nothing can be read any more."""
        return self._is_closed

    @property
    def acknowledged_count(self) -> int:
        """Number of entries added here that are on disk, including items and responses of added cases."""
        return 0 if self._writer is None else self._writer.acknowledged_count

    def settings_behind(self, role: Role, name: str) -> Mapping[str, Any] | None:
        """Return the settings declared for a judge or contestant, or for one of its former names."""
        setting_texts = (self._declared_text(role, past_name) for past_name in (name, *self.former_names(role, name)))
        text = next((text for text in setting_texts if text is not None), None)
        return None if text is None else row_conversion.load_json(text)

    def declare(self, role: Role, name: str, settings: Mapping[str, Any]) -> str | None:
        """Store the settings of a judge or contestant; refuse the same name with other settings.

        Additional settings, as a newer version may have, are adopted; a returned sentence says so.

        Args:
            role: `judge` or `contestant`.
            name: Name of the judge or contestant.
            settings: All settings that can change what it gives.
        """
        writer, text, declared_text = (
            self._require_writer(),
            row_conversion.settings_text(settings),
            self._declared_text(role, name),
        )
        if declared_text is None:
            is_new = writer.keep(f"{role}s", (name, text, time.time()))
            declared_text = text if is_new else self._declared_text(role, name) or text
        if declared_text == text:
            return None
        new = judge_and_contestant_settings.added_settings(
            row_conversion.load_json(declared_text), row_conversion.load_json(text)
        )
        if not new:
            raise judge_and_contestant_settings.settings_conflict_error(self.place, role, name, declared_text, settings)
        writer.keep("adoptions", (role, name, text, time.time()))
        return f"{self.place}: the {role} {name!r} now also has the settings {', '.join(new)}; they were adopted"

    def _declared_text(self, role: Role, name: str) -> str | None:
        with self.reader() as reader:
            return judge_and_contestant_settings.settings_of(reader, role, name)

    def alias(self, role: Role, former: str, name: str) -> str:
        """Read everything stored under a former name under another name from now on.

        Args:
            role: `judge` or `contestant`.
            former: Name under which verdicts or responses are stored.
            name: Name under which they are read.
        """
        writer = self._require_writer()
        with self.reader() as reader:
            judge_and_contestant_settings.check_alias(reader, self.place, role, former, name)
        writer.keep("aliases", (role, former, name, time.time()))
        return f"{self.place}: the {role} {former!r} is called {name!r} from now on; what it gave is not asked again"

    def add(self, *entries: Verdict | Failure | Case | Item) -> None:
        """Add verdicts, failed calls of judges, cases (with their items and responses) or items."""
        writer = self._require_writer()
        if len(entries) == 1 and isinstance(entries[0], Verdict):  # fast path: runs add millions this way
            with writer.lock:
                self._adder.add_verdict(entries[0])
            return
        cases_and_items = (entry for entry in entries if isinstance(entry, Case | Item))
        items = [entry if isinstance(entry, Item) else entry.item for entry in cases_and_items]
        with writer.alone():
            stored_items = self._adder.load_stored_items(items)
            with writer.lock:
                for entry in entries:
                    if isinstance(entry, Verdict):
                        self._adder.add_verdict(entry)
                    elif isinstance(entry, Failure):
                        self._adder.add_calls(entry.exchanges, entry.judge)
                        writer.put("failures", row_conversion.failure_row("judge", entry), entry, is_paid=True)
                    elif isinstance(entry, Case):
                        self._adder.add_case(entry, stored_items)
                    else:
                        self._adder.add_item(entry, stored_items)

    def join(self, cases: Iterable[str] = (), items: Collection[Item] = ()) -> None:
        """Make stored cases (by key) and items members of this study, which then shares their results."""
        writer = self._require_writer()
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
        """Add a contestant's response to an item, or its failed call.

        One response is stored for each contestant, item and trial. A second one with the same text is ignored, and one
        with another text is refused.

        Args:
            item: The item.
            response: The response or the failed call.
            usage: Calls, tokens and dollars that it took.
            prompt: Digest of what was sent.
            at: Seconds since 1970.
            exchanges: The calls that produced it, with their reasoning.
        """
        writer = self._require_writer()
        with writer.alone():
            stored_items = self._adder.load_stored_item(item)
            with writer.lock:
                self._adder.add_item(item, stored_items)
                if isinstance(response, Failure):
                    self._adder.add_calls(response.exchanges, response.judge, "contestant")
                    writer.put("failures", row_conversion.failure_row("contestant", response), response, is_paid=True)
                else:
                    row = row_conversion.response_row(item, response, usage, prompt, at)
                    self._adder.add_calls(exchanges, response.contestant, "contestant")
                    self._adder.add_response(item, response, row, stored_items, is_paid=True)

    def flush(self) -> None:
        """Commit everything that was added. Once this returns, it is durable."""
        if self._writer is not None and not self._is_closed:
            self._writer.flush()

    def close(self) -> None:
        """Commit the remaining entries and close the database."""
        if self._is_closed:
            return
        self._is_closed = True
        self._readers.close()
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def hold_lock(self, name: str) -> AbstractContextManager[None]:
        """Lock a judge or contestant for this run; a second run gets an error that names the holder."""
        return self._database.hold_lock(name)

    def request_locks(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Start acquiring the locks that `hold_lock` needs later, since a remote ledger takes time."""
        return self._database.request_locks(names)

    def _require_writer(self) -> Writer:
        if self._is_closed:
            raise LedgerError(f"{self.place}: the ledger is closed")
        if self._writer is None:
            raise LedgerError(f"{self.place}: the ledger was opened read-only")
        self._writer.check()
        return self._writer
