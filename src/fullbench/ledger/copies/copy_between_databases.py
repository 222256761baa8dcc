"""Copies rows and pictures from one ledger into another, in a file or on a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.copies.pseudonyms import Pseudonyms
from fullbench.ledger.database_interface import Connection, chunks, lookup
from fullbench.ledger.name_aliases import normalize_voter
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.writing.dropped_duplicates_stored_as_failures_if_paid import existing_rows, key_of

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger


CHUNK = 2000
LOOKUP_COLUMNS = {"failures": "key", "adoptions": "name"}
"""Tables without a key, and the column by which rows are found that may be equal."""
SKIPPED_TABLES = frozenset({"settings", "commits", "signatures"})
"""Tables that belong to one ledger only: its identity and place of pictures, its commits, its signatures."""


@dataclass
class CopyCounts:
    """Counts for one table: new rows, rows already there, and rows there with other content."""

    table: str
    total: int
    new: int = 0
    same: int = 0
    conflicts: int = 0
    left_out: int = 0

    @property
    def handled_rows(self) -> int:
        return self.new + self.same + self.conflicts + self.left_out


@dataclass
class LedgerCopy:
    """Copies all rows and pictures that the target lacks; an interrupted copy resumes when run again.

    Existing rows stay: a source row whose key exists in the target with other content is counted, not copied. Rows
    are chained again in the target. If the target was empty, the content digests of both ledgers are equal afterwards.
    """

    source: Ledger
    target: Ledger
    without: Sequence[str] = ()
    """Studies, pictures or raters to leave out, with everything derived from them."""
    exact_copy_counts: Mapping[str, int] | None = None
    """Rows by table that `copy_exactly` copied before; then only pictures are left to copy."""
    pseudonyms: Pseudonyms | None = None
    """Replaces people's names by ids."""
    tables: list[CopyCounts] = field(default_factory=list)
    _excluded_rows: ExcludedRows | None = None

    def run(self) -> Iterator[CopyCounts]:
        """Copy, and yield the counts of the current table after every step."""
        if self.source.place == self.target.place:
            raise LedgerError(f"{self.source.place}: a ledger cannot be copied onto itself; choose another target")
        with self.source.reader() as reader:
            if self.without:
                self._excluded_rows = ExcludedRows.from_names(reader, self.source.place, self.without)
        yield from self._copy_pictures()
        if self.exact_copy_counts is not None:
            self.tables = [
                CopyCounts(table, rows, rows)
                for table, rows in self.exact_copy_counts.items()
                if table not in SKIPPED_TABLES
            ]
            return
        with self.source.reader() as reader:
            for table in schema.TABLES:
                if table not in SKIPPED_TABLES:
                    yield from self._copy_table(reader, table)

    def _copy_pictures(self) -> Iterator[CopyCounts]:
        with self.source.reader() as reader:
            digest_rows = reader.execute("SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid").fetchall()
            rows_to_copy = [
                row for row in digest_rows if self._excluded_rows is None or row[0] not in self._excluded_rows.pictures
            ]
        counts = CopyCounts("pictures", len(rows_to_copy))
        for (digest,) in rows_to_copy:
            if self.target.pictures.has(digest):
                counts.same += 1
            else:
                self.target.pictures.keep(self.source.media(digest))
                counts.new += 1
            yield counts

    def _copy_table(self, reader: Connection, table: str) -> Iterator[CopyCounts]:
        total = reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        counts = CopyCounts(table, total)
        self.tables.append(counts)
        rows = reader.stream(f"SELECT {', '.join(schema.table_columns(table))} FROM {table} ORDER BY rowid")
        for chunk in chunks(rows, CHUNK):
            kept_rows = chunk if self._excluded_rows is None else self._excluded_rows.filter_rows(table, chunk)
            if self.pseudonyms is not None:
                with self.source.reader() as second_reader:
                    kept_rows = self.pseudonyms.replace_names(second_reader, table, kept_rows)
            counts.left_out += len(chunk) - len(kept_rows)
            new = self._missing_rows(table, kept_rows, counts)
            if new:
                self.target.keep_rows(table, new)
            counts.new += len(new)
            yield counts

    def _missing_rows(self, table: str, chunk: list[Row], counts: CopyCounts) -> list[Row]:
        new = []
        with self.target.reader() as reader:
            if table not in schema.KEYS:
                similar_rows = set(_similar_rows(reader, table, chunk))
                new = [row for row in chunk if row not in similar_rows]
                counts.same += len(chunk) - len(new)
                return new
            target_rows = dict(existing_rows(reader, table, chunk))
        for row in chunk:
            target_row = target_rows.get(key_of(table, row))
            if target_row is None:
                new.append(row)
            elif target_row == row or table in {"pictures", "items", "cases", "aliases", "studies"}:
                counts.same += 1
            else:
                self._refuse_other_settings(table, row, target_row)
                counts.conflicts += 1
        return new

    def _refuse_other_settings(self, table: str, row: Row, target_row: Row) -> None:
        if table in {"judges", "contestants"} and row[1] != target_row[1]:
            raise LedgerError(
                f"{self.target.place}: the {table[:-1]} {row[0]!r} has other settings there ({target_row[1]}) than "
                f"in {self.source.place} ({row[1]}). Names must be unique: copy to another ledger"
            )


def _similar_rows(reader: Connection, table: str, rows: list[Row]) -> Iterator[Row]:
    """Yield rows of a table without a key (failures, adoptions) that may equal some of these."""
    names = schema.table_columns(table)
    column = LOOKUP_COLUMNS[table]
    place = names.index(column)
    sql = f"SELECT {', '.join(names)} FROM {table} WHERE {column} IN ({{}})"
    yield from map(tuple, lookup(reader, sql, (row[place] for row in rows)))


KINDS = ("study", "picture", "rater")
EMPTY_TEXT: tuple[str, list[str]] = ("", [])
"""Replacement of an excluded text: the positions of the other texts must not change."""


@dataclass
class ExcludedRows:
    """Studies, pictures and raters to leave out, and all rows that depend on them."""

    studies: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)
    raters: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    responses: set[str] = field(default_factory=set)
    cases: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)

    @classmethod
    def from_names(cls, reader: Connection, place: str, names: Sequence[str]) -> ExcludedRows:
        """Resolve names: `study:NAME`, `picture:DIGEST`, `rater:NAME`, or an unambiguous name alone."""
        excluded_rows = cls()
        voters = "SELECT DISTINCT judge, trial, rater FROM verdicts"
        existing_names = {
            "study": {name for (name,) in reader.execute("SELECT study FROM studies")},
            "picture": {name for (name,) in reader.stream("SELECT digest FROM pictures")},
            "rater": {normalize_voter(*row)[2] for row in reader.stream(voters)} - {""},
        }
        for name in names:
            kind, colon, bare_name = name.partition(":")
            kinds = [kind] if colon and kind in KINDS else [kind for kind in KINDS if name in existing_names[kind]]
            value = bare_name if colon and kind in KINDS else name
            if len(kinds) > 1:
                ways = " or ".join(f"{kind}:{name}" for kind in kinds)
                raise LedgerError(f"{place}: {name!r} is the name of several things; choose one: {ways}")
            if not kinds or value not in existing_names[kinds[0]]:
                raise LedgerError(
                    f"{place}: there is no study, picture or rater {value!r} to leave out; name one as study:NAME, "
                    "picture:DIGEST or rater:NAME"
                )
            {"study": excluded_rows.studies, "picture": excluded_rows.pictures, "rater": excluded_rows.raters}[
                kinds[0]
            ].add(value)
        excluded_rows._add_dependents(reader)
        return excluded_rows

    def _add_dependents(self, reader: Connection) -> None:
        self.cases |= self._exclusive_cases(reader)
        case_query = "SELECT key, item_key, responses FROM cases"
        needed_items = {item for key, item, _ in reader.stream(case_query) if key not in self.cases}
        marks = ", ".join("?" * len(self.studies))
        if self.studies:
            members = f"SELECT item_key FROM study_items WHERE study {{}} IN ({marks})"
            inside = {key for (key,) in reader.execute(members.format(""), sorted(self.studies))}
            outside = {key for (key,) in reader.execute(members.format("NOT"), sorted(self.studies))}
            self.items |= inside - outside - needed_items
        kept_pictures: set[str] = set()
        for key, body in reader.stream("SELECT key, body FROM items"):
            pictures = row_conversion.media_digests(
                part for _, parts in row_conversion.load_json(body)[1] for part in parts
            )
            self._exclude_or_keep(key, pictures, self.items, kept_pictures)
        for key, item_key, body in reader.stream("SELECT key, item_key, body FROM responses"):
            pictures = row_conversion.media_digests(row_conversion.load_json(body))
            if item_key in self.items:
                self.responses.add(key)
            self._exclude_or_keep(key, pictures, self.responses, kept_pictures)
        self._keep_frames(reader, kept_pictures)
        if self.items or self.responses:
            self.pictures |= {
                name for (name,) in reader.stream("SELECT digest FROM pictures") if name not in kept_pictures
            }
        for key, item, response_keys in reader.stream(case_query):
            if item in self.items or self.responses.intersection(orjson.loads(response_keys)):
                self.cases.add(key)
        self._exclude_texts(reader)
        if self.items or self.responses:
            self._exclude_contestant_calls(reader)

    def _exclusive_cases(self, reader: Connection) -> set[str]:
        if not self.studies:
            return set()
        names, marks = sorted(self.studies), ", ".join("?" * len(self.studies))
        sql = (
            f"SELECT case_key FROM study_cases WHERE study IN ({marks}) UNION "
            f"SELECT case_key FROM verdicts WHERE study IN ({marks}) EXCEPT "
            f"SELECT case_key FROM study_cases WHERE study NOT IN ({marks}) EXCEPT "
            f"SELECT case_key FROM verdicts WHERE study NOT IN ({marks})"
        )
        return {key for (key,) in reader.execute(sql, names * 4)}

    def _exclude_or_keep(self, key: str, pictures: set[str], excluded_keys: set[str], kept_pictures: set[str]) -> None:
        if pictures & self.pictures:
            excluded_keys.add(key)
        if key not in excluded_keys:
            kept_pictures |= pictures

    def _keep_frames(self, reader: Connection, kept_pictures: set[str]) -> None:
        """Keep the frames of videos that are kept, and leave out calls that sent frames of others."""
        frames: set[str] = set()
        for name, text in reader.stream("SELECT id, sent FROM calls WHERE sent LIKE ?", ('{"turns"%',)):
            parts = [part for turn in orjson.loads(text)["turns"] for part in turn["parts"] if isinstance(part, dict)]
            frame_parts = [part for part in parts if "of" in part]
            if all(part["of"] in kept_pictures for part in frame_parts):
                frames.update(part.get("picture") or part["audio"] for part in frame_parts)
            else:
                self.calls.add(name)
        kept_pictures |= frames

    def _exclude_texts(self, reader: Connection) -> None:
        kept_calls: set[str] = set()
        columns = schema.table_columns("verdicts")
        ids, words = columns.index("exchanges"), columns.index("words")
        for row in reader.stream(f"SELECT {row_conversion.VERDICT} FROM verdicts"):
            calls = orjson.loads(row[ids])
            if self._is_excluded_verdict(dict(zip(columns, row, strict=True))):
                self.words.add(row[words])
                self.calls.update(calls)
            else:
                kept_calls.update(calls)
        self.calls -= kept_calls

    def _exclude_contestant_calls(self, reader: Connection) -> None:
        """Leave out contestants' calls unless they belong to a response that is copied.

        A response names only the prompt of its last call. Earlier turns of a dialogue are found by their texts. Calls
        of failed answers belong to no response, so they are left out too: they may contain an excluded item.
        """
        kept: set[tuple[str, str]] = set()
        for key, contestant, prompt, body in reader.stream("SELECT key, contestant, prompt, body FROM responses"):
            if key not in self.responses:
                texts = (part for part in row_conversion.load_json(body) if isinstance(part, str))
                kept.update((contestant, text) for text in (prompt, *texts) if text)
        for call, name, prompt, text in reader.stream(
            "SELECT id, name, prompt, text FROM calls WHERE role = ?", ("contestant",)
        ):
            if kept.isdisjoint({(name, prompt), (name, text)}):
                self.calls.add(call)

    def _is_excluded_verdict(self, values: dict[str, object]) -> bool:
        rater = normalize_voter(str(values["judge"]), int(str(values["trial"])), str(values["rater"]))[2]
        return values["case_key"] in self.cases or rater in self.raters

    def filter_rows(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Return the rows of a table that are copied."""
        columns = schema.table_columns(table)
        rows_with_values = ((row, dict(zip(columns, row, strict=True))) for row in rows)
        if table == "texts":
            return [(row[0], self._blank_texts(row[0], row[1])) for row, _ in rows_with_values]
        return [row for row, values in rows_with_values if not self._is_excluded(table, values)]

    def _blank_texts(self, name: str, body: str) -> str:
        texts = orjson.loads(body)
        kept_texts = [EMPTY_TEXT if f"{name}.{place}" in self.words else text for place, text in enumerate(texts)]
        return orjson.dumps(kept_texts).decode()

    def _is_excluded(self, table: str, values: dict[str, object]) -> bool:
        if table == "verdicts":
            return self._is_excluded_verdict(values)
        if table in {"studies", "study_items", "study_cases"} and values["study"] in self.studies:
            return True
        if table == "adoptions" and values["role"] == "replacement":
            return values["name"] in self.studies
        keys = {
            "pictures": ("digest", self.pictures), "items": ("key", self.items), "responses": ("key", self.responses),
            "cases": ("key", self.cases), "calls": ("id", self.calls), "study_items": ("item_key", self.items),
            "study_cases": ("case_key", self.cases),
            "failures": ("key", self.items | self.cases),
        }  # fmt: skip
        if table not in keys:
            return False
        column, excluded_keys = keys[table]
        return values[column] in excluded_keys
