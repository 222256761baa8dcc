"""One ledger into another: from a file to a server, back, or between two of a kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.copies.excluded_rows import Leaving
from fullbench.ledger.copies.pseudonyms import Pseudonyms
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.writing.duplicate_keys import key_of, rows_there

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger

CHUNK = 2000
ALIKE = {"failures": "key", "adoptions": "name"}
"""Tables without a key, and a column of each by which rows are found that may be the same."""
SKIPPED = frozenset({"settings", "commits", "signatures"})
"""What belongs to one ledger alone: its identity and where its pictures lie, its commits, signatures of its heads."""


@dataclass
class Copied:
    """What came of copying a table: rows new there, rows that were there, rows that stand there with other content."""

    table: str
    total: int
    new: int = 0
    same: int = 0
    other: int = 0
    left_out: int = 0

    @property
    def done(self) -> int:
        return self.new + self.same + self.other + self.left_out


@dataclass
class Copying:
    """Copies all rows and pictures that the target lacks; stopped at any moment, it goes on from there when run again.

    What is there stays: a row of the source whose key is taken there with other content is counted, not copied. Rows
    are chained anew in the target. The digests of both ledgers are the same afterwards when nothing else was there.
    """

    source: Ledger
    target: Ledger
    without: Sequence[str] = ()
    """Studies, pictures or raters that are left out with all that was made of them."""
    carried: Mapping[str, int] | None = None
    """Rows of each table that were brought over with their seals before (see `carry`): pictures are left to copy."""
    pseudonyms: Pseudonyms | None = None
    """What puts ids in the place of people's names."""
    tables: list[Copied] = field(default_factory=list)
    _leaving: Leaving | None = None

    def run(self) -> Iterator[Copied]:
        """Copy; gives the table it is at after every step."""
        if self.source.place == self.target.place:
            raise LedgerError(f"{self.source.place}: a ledger is not copied onto itself")
        with self.source.reader() as reader:
            if self.without:
                self._leaving = Leaving.named(reader, self.source.place, self.without)
        yield from self._pictures()
        if self.carried is not None:
            self.tables = [Copied(table, rows, rows) for table, rows in self.carried.items() if table not in SKIPPED]
            return
        with self.source.reader() as reader:
            for table in schema.TABLES:
                if table not in SKIPPED:
                    yield from self._table(reader, table)

    def _pictures(self) -> Iterator[Copied]:
        with self.source.reader() as reader:
            kept = reader.execute("SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid").fetchall()
            found = [row for row in kept if self._leaving is None or row[0] not in self._leaving.pictures]
        copied = Copied("pictures", len(found))
        for (digest,) in found:
            if self.target.pictures.has(digest):
                copied.same += 1
            else:
                self.target.pictures.keep(self.source.picture(digest))
                copied.new += 1
            yield copied

    def _table(self, reader: Connection, table: str) -> Iterator[Copied]:
        total = reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        copied = Copied(table, total)
        self.tables.append(copied)
        rows = reader.stream(f"SELECT {', '.join(schema.columns(table))} FROM {table} ORDER BY rowid")
        while chunk := list(islice(rows, CHUNK)):
            if self._leaving is not None:
                staying = self._leaving.staying(table, chunk)
                copied.left_out += len(chunk) - len(staying)
                chunk = staying
            if self.pseudonyms is not None:
                with self.source.reader() as beside:
                    renamed = self.pseudonyms.rewritten(beside, table, chunk)
                copied.left_out += len(chunk) - len(renamed)
                chunk = renamed
            new = self._new(table, chunk, copied)
            if new:
                self.target.keep_rows(table, new)
            copied.new += len(new)
            yield copied

    def _new(self, table: str, chunk: list[Row], copied: Copied) -> list[Row]:
        """Those rows that the target lacks."""
        new = []
        with self.target.reader() as reader:
            if table not in schema.KEYS:
                there = set(_alike(reader, table, chunk))
                new = [row for row in chunk if row not in there]
                copied.same += len(chunk) - len(new)
                return new
            standing = dict(rows_there(reader, table, chunk))
        for row in chunk:
            found = standing.get(key_of(table, row))
            if found is None:
                new.append(row)
            elif found == row or table in {"pictures", "items", "cases", "aliases", "studies"}:
                copied.same += 1
            else:
                self._differs(table, row, found)
                copied.other += 1
        return new

    def _differs(self, table: str, row: Row, found: Row) -> None:
        if table in {"judges", "contestants"} and row[1] != found[1]:
            raise LedgerError(
                f"{self.target.place}: the {table[:-1]} {row[0]!r} has other settings there ({found[1]}) than in "
                f"{self.source.place} ({row[1]}); a name stands for one way of answering: copy to another ledger"
            )


def _alike(reader: Connection, table: str, rows: list[Row]) -> Iterator[Row]:
    """Rows of a table without a key, failures and adoptions, that may be the same as some of these."""
    names = schema.columns(table)
    column = ALIKE[table]
    place = names.index(column)
    keys = iter(dict.fromkeys(row[place] for row in rows))
    while chunk := list(islice(keys, 500)):
        marks = ", ".join("?" * len(chunk))
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE {column} IN ({marks})"
        yield from map(tuple, reader.execute(sql, chunk))
