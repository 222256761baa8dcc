"""Copies rows and pictures from one ledger into another, in a file or on a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.copies.excluded_rows import ExcludedRows
from fullbench.ledger.copies.pseudonyms import Pseudonyms
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.writing.duplicate_keys import existing_rows, key_of

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
            raise LedgerError(f"{self.source.place}: a ledger is not copied onto itself")
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
                self.target.pictures.keep(self.source.picture(digest))
                counts.new += 1
            yield counts

    def _copy_table(self, reader: Connection, table: str) -> Iterator[CopyCounts]:
        total = reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        counts = CopyCounts(table, total)
        self.tables.append(counts)
        rows = reader.stream(f"SELECT {', '.join(schema.table_columns(table))} FROM {table} ORDER BY rowid")
        while chunk := list(islice(rows, CHUNK)):
            if self._excluded_rows is not None:
                kept_rows = self._excluded_rows.filter_rows(table, chunk)
                counts.left_out += len(chunk) - len(kept_rows)
                chunk = kept_rows
            if self.pseudonyms is not None:
                with self.source.reader() as second_reader:
                    renamed_rows = self.pseudonyms.replace_names(second_reader, table, chunk)
                counts.left_out += len(chunk) - len(renamed_rows)
                chunk = renamed_rows
            new = self._missing_rows(table, chunk, counts)
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
                f"{self.target.place}: the {table[:-1]} {row[0]!r} has other settings there ({target_row[1]}) than in "
                f"{self.source.place} ({row[1]}); a name stands for one way of answering: copy to another ledger"
            )


def _similar_rows(reader: Connection, table: str, rows: list[Row]) -> Iterator[Row]:
    """Yield rows of a table without a key (failures, adoptions) that may equal some of these."""
    names = schema.table_columns(table)
    column = LOOKUP_COLUMNS[table]
    place = names.index(column)
    keys = iter(dict.fromkeys(row[place] for row in rows))
    while chunk := list(islice(keys, 500)):
        marks = ", ".join("?" * len(chunk))
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {column} IN ({marks})"
        yield from map(tuple, reader.execute(sql, chunk))
