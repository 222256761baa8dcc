"""What a ledger can be asked: everything that reads it and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.panel import VIEWED, View, view_of
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import (
    aliases,
    contents_and_cost,
    declared_settings,
    read_queries,
    row_conversion,
    schema,
    study_members,
)
from fullbench.ledger.contents_and_cost import Account
from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.pictures.picture_folder import Pictures, no_place
from fullbench.ledger.read_connections import Readers
from fullbench.ledger.read_queries import Names

if TYPE_CHECKING:
    from fullbench.columns.verdict_columns import Columns, Due, Failed


class Readable:
    """The reading half of a `Ledger`."""

    place: str
    study: str
    read_only: bool
    study_named: bool
    _closed: bool
    _database: Database
    _readers: Readers
    _pictures: Pictures | None

    def flush(self) -> None:
        """Commit all that was added."""
        raise NotImplementedError

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection to look at the tables with one's own SQL (`?` for values); all that was added is there."""
        with self._reading() as reader:
            yield reader

    @cached_property
    def _settings(self) -> list[tuple[str, str]]:
        """Names and values in the order they were set, before this ledger was opened; read even where they are damaged,
        so that a ledger can be opened to be verified."""
        with self._reading() as reader, reader.snapshot():
            found = reader.execute("SELECT name, value FROM settings ORDER BY rowid").fetchall()
        return [(str(name), str(value)) for name, value in found]

    @property
    def identity(self) -> str:
        """A random id that no other ledger has: made with the ledger, and kept whatever is added."""
        return dict(reversed(self._settings)).get("identity", "")

    @property
    def salt(self) -> bytes:
        """Random bytes that no other ledger has, for what nobody should be able to guess from outside."""
        return bytes.fromhex(dict(reversed(self._settings)).get("salt", ""))

    @property
    def pictures(self) -> Pictures:
        """Where pictures lie."""
        if self._pictures is None:
            raise no_place(self.place)
        return self._pictures

    def studies(self) -> list[str]:
        """The names of all studies, in the order in which they came."""
        with self._reading() as reader:
            return study_members.studies(reader)

    def set_aside(self, study: str | None = None) -> int:
        """How many verdicts of a study are left out of its record: an item's later content took the earlier's place."""
        with self._reading() as reader:
            chosen = self._study(reader, study)
            return 0 if chosen is None else contents_and_cost.set_aside(reader, chosen)

    def chosen_study(self, study: str | None = None) -> str | None:
        """The study that is meant: as named, or the only one there is; None in an empty ledger."""
        with self._reading() as reader:
            return self._study(reader, study)

    def _study(self, reader: Connection, study: str | None) -> str | None:
        """The study that is meant where one must be: as named, or the only one there is; None in an empty ledger."""
        there = study_members.studies(reader)
        if study is not None or self.study_named:
            named = study or self.study
            if there and named not in there and (study is not None or self.read_only):
                raise LedgerError(f"{self.place}: there is no study {named!r}; it holds {', '.join(map(repr, there))}")
            return named
        if len(there) > 1:
            raise LedgerError(
                f"{self.place}: the ledger holds the studies {', '.join(map(repr, there))}, which never meet in one "
                "table; name one (--study NAME)"
            )
        return next(iter(there), None)

    def one_study(self, study: str | None = None) -> str | None:
        """The study that is meant: as named, or the only one there is; several are refused with a sentence."""
        with self._reading() as reader:
            return self._study(reader, study)

    def heard(self, judge: str, keys: Iterable[tuple[str, int]], *, rater: str = "") -> set[tuple[str, int]]:
        """Those of these cases (key and trial) in which the judge has ruled, in whatever study; `rater` says who of
        the people that are one judge."""
        judge, _, rater = aliases.voter(judge, 0, rater)
        with self._reading() as reader:
            return read_queries.heard(reader, judge, keys, rater)

    def answered(self, contestant: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these items (key and sample) to which the contestant has answered."""
        with self._reading() as reader:
            return read_queries.answered(reader, contestant, keys)

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
            yield from read_queries.verdicts(reader, judge, cases, texts=texts, study=study, revisions=revisions)

    def narrow(self, *columns: str, judge: Names = None, study: str | None = None) -> Iterator[row_conversion.Row]:
        """Some columns of the verdicts' rows, streamed: what figures over millions of verdicts are computed from.

        As `verdicts`, each under today's names and only the newest revision of each.
        """
        with self._reading() as reader:
            yield from read_queries.narrow(reader, columns, judge, study)

    def since(self, place: int, limit: int) -> list[tuple[int, Verdict]]:
        """Verdicts in the order of entry, each with its place in it: those after `place` (0: from the start)."""
        with self._reading() as reader, self._database.settled(reader):
            return read_queries.since(reader, place, limit)

    def members_since(self, place: int, limit: int) -> list[tuple[int, str, str]]:
        """Studies and the keys of their cases in the order of entry, each with its place in it, as `since`."""
        with self._reading() as reader, self._database.settled(reader):
            return study_members.since(reader, place, limit)

    def aliased(self) -> int:
        """Grows whenever a name takes the place of another: rows that were read before have other names since."""
        with self._reading() as reader:
            return int(reader.execute("SELECT coalesce(max(rowid), 0) FROM aliases").fetchone()[0])

    def superseded(self, since: int) -> tuple[int, dict[str, set[str]]]:
        """The cases, by study, on contents that a later one took the place of, where that happened after a moment,
        which is a number that grows; and the moment of the last time."""
        last = "SELECT coalesce(max(rowid), 0) FROM study_items WHERE revision > 0"
        with self._reading() as reader, self._database.settled(reader):
            moment = int(reader.execute(last).fetchone()[0])
            if moment <= since:
                return moment, {}
            studies = reader.execute("SELECT DISTINCT study FROM study_items WHERE revision > 0").fetchall()
            return moment, {study: study_members.superseded(reader, study) for (study,) in studies}

    def formers(self, role: str, name: str) -> list[str]:
        """The names whose place a judge's or contestant's name has taken."""
        with self._reading() as reader:
            return list(aliases.Naming.read(reader).formers(role, [name])[1:])

    def failed(self) -> dict[str, int]:
        """How many calls of each judge failed."""
        with self._reading() as reader:
            return contents_and_cost.failed(reader)

    def studies_of(self, places: Sequence[int]) -> dict[int, list[str]]:
        """The studies that the verdicts at these places (see `since`) belong to."""
        with self._reading() as reader:
            return study_members.of_verdicts(reader, places)

    def responses(
        self, contestant: Names = None, *, item_keys: Iterable[str] | None = None, study: str | None = None
    ) -> Iterator[Response]:
        """Responses in the order they were given, streamed; with `study`, those to its items."""
        with self._reading() as reader:
            yield from read_queries.responses(reader, contestant, item_keys, self._find, study)

    def failures(self, name: str) -> Iterator[Failure]:
        """The calls of a judge or contestant that brought nothing, streamed."""
        with self._reading() as reader:
            yield from read_queries.failures(reader, name)

    def failed_for_good(self, name: str) -> set[tuple[str, int]]:
        """What a judge or contestant was asked in vain and can never be: the keys of cases or items, with the trial."""
        with self._reading() as reader:
            return read_queries.failed_for_good(reader, name)

    def has_ruled(self, judge: str) -> bool:
        """Whether a judge has ever ruled on anything here."""
        with self._reading() as reader:
            return read_queries.has_ruled(reader, judge)

    def unruled(self, judges: Names, study: str) -> tuple[list[Due], list[Failed]]:
        """The cases of a study that are due, as far as a call for them failed, and what the failed calls used."""
        from fullbench.ledger import columns_from_rows as narrow_columns  # late: it needs numpy

        with self._reading() as reader:
            return narrow_columns.unruled(reader, read_queries.names_of(judges), study)

    def spent(self, study: str) -> float:
        """The dollars that a study has cost so far, failed calls included, as far as prices were known."""
        with self._reading() as reader:
            return contents_and_cost.spent(reader, study)

    def items(self, *, study: str | None = None) -> Iterator[Item]:
        """Items in the order they came, each with its latest tags, streamed; with `study`, as they are there."""
        with self._reading() as reader:
            yield from read_queries.items(reader, self._find, study)

    def case(self, key: str, trial: int = 0) -> Case | None:
        """What was judged under a case's key; None when only the verdict is known."""
        with self._reading() as reader:
            return read_queries.case(reader, key, trial, self._find)

    def cases(self, keys: Iterable[str]) -> list[Case]:
        """What was judged under these keys, a few questions for all; cases of which only verdicts are known are not."""
        with self._reading() as reader:
            return list(read_queries.cases(reader, keys, self._find))

    def beginning_with(self, key: str) -> list[tuple[str, str]]:
        """The cases whose key begins so, and the verdicts whose checksum does: a case's key, and a checksum or none."""
        with self._reading() as reader:
            return read_queries.beginning_with(reader, key) if key else []

    def sums(self, case: str) -> list[str]:
        """The checksums of the verdicts in a case, all revisions, in the order in which `verdicts` gives them."""
        with self._reading() as reader:
            rows_ = reader.execute("SELECT sum FROM verdicts WHERE case_key = ? ORDER BY rowid", (case,))
            return [row[0] for row in rows_]

    def picture(self, digest: str) -> Picture:
        """The picture with that digest; a `LedgerError` when no row names it."""
        return self._find(digest)

    def record(
        self, judge: Names = None, *, cases: Iterable[str] | None = None, tags: Mapping[str, str] | None = None,
        texts: bool = True, study: str | None = None, pilots: bool = False,
    ) -> Record:  # fmt: skip
        """Verdicts of a study with their items and responses: of these judges, on items that bear these tags.

        The study is the one named, or the one this ledger was opened for, or the only one there is. `cases` keeps to
        the verdicts on these cases, whatever study they belong to. `set_aside` counts what is left out. Votes that
        people cast in pilots are left out too, unless `pilots` asks for them; `pilot_votes` counts them.
        """
        with self._reading() as reader:
            chosen = self._study(reader, study) if cases is None or study is not None else None
            return read_queries.record(
                reader, self._find, judge=judge, cases=cases, tags=tags, texts=texts, study=chosen, pilots=pilots
            )

    def beside(self, verdicts: Iterable[Verdict], *, study: str | None = None) -> Record:
        """Some verdicts of a study with the items and responses that they speak of."""
        with self._reading() as reader:
            return read_queries.beside(reader, self._find, tuple(verdicts), self._study(reader, study))

    def items_of_tagged(self, tag: str) -> set[str]:
        """The items that have a response with this tag, whatever its value."""
        with self._reading() as reader:
            return read_queries.items_of_tagged(reader, tag)

    def lacking_pictures(self, study: str | None = None) -> set[str]:
        """The items, of a study or of all, that name pictures which are not there."""
        with self._reading() as reader:
            return read_queries.items_that_lack_pictures(reader, study)

    def columns(
        self, judge: Names = None, *, beside: Iterable[Verdict] | Mapping[str, Iterable[Verdict]] = (),
        study: str | None = None, pilots: bool = False,
    ) -> Columns:  # fmt: skip
        """The verdicts of these judges, and others `beside` them (by study where they belong to several), as the
        columns that figures read: no texts.

        Of one study where it is named, or where the ledger was opened for one; else of every study, each apart. Votes
        that people cast in pilots are among them only where `pilots` asks for them.
        """
        from fullbench.ledger import (
            columns_from_rows as narrow_columns,  # late: it needs numpy, and whoever only asks does not
        )

        with self._reading() as reader:
            named = self._study(reader, study) if study or self.study_named else None
            chosen = None if named is None else [named]
            return narrow_columns.columns(reader, read_queries.names_of(judge), beside, chosen, pilots=pilots)

    def pilot_votes(self, study: str | None = None) -> int:
        """How many votes people cast in pilots, in a study or in all: they are in no record unless asked for."""
        with self._reading() as reader:
            return read_queries.pilot_votes(reader, study)

    def pilots_since(self, place: int) -> bool:
        """Whether a pilot voted after a place (see `since`)."""
        with self._reading() as reader:
            return read_queries.pilots_since(reader, place)

    def views(self) -> list[View]:
        """The panels, cascades and rubrics that studies in this ledger named."""
        begins = " OR ".join("name LIKE ?" for _ in VIEWED)
        sql = f"SELECT DISTINCT name FROM judges WHERE {begins} ORDER BY name"
        with self._reading() as reader:
            names = [str(name) for (name,) in reader.execute(sql, tuple(f"{start}%" for start in VIEWED))]
            declared = {name: declared_settings.settings_of(reader, "judge", name) for name in names}
        return [view_of(name, row_conversion.load(text)) for name, text in declared.items() if text is not None]

    def bill(self) -> list[Account]:
        """What each judge and contestant used, failed calls included."""
        with self._reading() as reader:
            return contents_and_cost.bill(reader)

    def digest(self) -> str:
        """Stands for all that was judged and ruled, whatever the order, the times and the cost."""
        with self._reading() as reader:
            return contents_and_cost.content_digest(reader)

    def describe(self) -> dict[str, Any]:
        """What is inside, as a JSON value."""
        with self._reading() as reader:
            return {
                "path": self.place,
                "pictures": None if self._pictures is None else self._pictures.place,
                "bytes": self._database.size(reader),
                "schema": schema.VERSION,
                "head": str(self._head(reader)),
                "identity": self.identity,
                **contents_and_cost.describe(reader),
            }

    def head(self) -> Head:
        """Stands for every row in its place: noted elsewhere, it proves later that nothing was rewritten."""
        with self._reading() as reader:
            return self._head(reader)

    def verify(self, noted: Head | None = None) -> list[str]:
        """All that is wrong here, a sentence each; empty when it is sound. `noted` is a head that it had before."""
        from fullbench.ledger.integrity.verify_ledger import problems

        with self._reading() as reader:
            found = problems(self._database, reader, self._find, noted)
            return [text.encode("utf-8", "backslashreplace").decode() for text in found]

    def verify_signatures(self, key: Path, files: Sequence[Path] = ()) -> list[str]:
        """What the signatures by a public key show, those in the ledger and those in files; empty when all hold."""
        from fullbench.ledger.integrity import signatures

        public = signatures.public_key(key)
        elsewhere = [signature for path in files for signature in signatures.noted(path)]
        with self._reading() as reader, reader.snapshot():
            return list(signatures.problems(reader, self.identity, public, elsewhere))

    def checked(self) -> dict[str, Any]:
        """What `verify` looks at, counted, as a JSON value."""
        with self._reading() as reader:
            counted = {"counts": contents_and_cost.counts(reader), "chains": contents_and_cost.chains(reader)}
            return {"path": self.place, **counted, "head": str(self._head(reader))}

    # Within

    def _head(self, reader: Connection) -> Head:
        with self._database.settled(reader):
            return row_chain.head(reader)

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
