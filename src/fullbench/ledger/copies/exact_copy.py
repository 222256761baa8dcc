"""A ledger into a new place, or an earlier copy of itself, every row with its seal: its heads hold there too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.database_from_path import database
from fullbench.ledger.database_interface import Connection, Database
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.pictures.picture_folder import no_place
from fullbench.ledger.row_conversion import Row

CHUNK = 2000


def carry(source: str, target: str, *, pictures: str | None = None) -> dict[str, int] | None:
    """Bring over what the target lacks, in one transaction: how many rows of each table.

    None, and nothing done, where it cannot be done with the seals: the target holds rows of its own, or the source is
    a lake, which has no seals to give.
    """
    here, there = database(source), database(target)
    if here.place == there.place:
        raise LedgerError(f"{here.place}: a ledger is not copied onto itself")
    here.prepare(read_only=True)
    if here.brings_pictures:
        return None
    if _lacks_its_end(here):  # a copy chained anew is the way out of that
        return None
    new = not there.exists()
    if new and there.folder is None and not pictures and _homeless_pictures(here):
        raise no_place(there.place)  # before anything is made there
    if new and isinstance(there.folder, Path):
        _make_folder(there)
        here.back_up(there.path)
    elif new:
        there.make()
    if there.stored_version() != schema.VERSION:
        return None
    with here.plainly(), there.plainly():
        reader, writer = here.connect(read_only=True), there.connect(read_only=False)
        try:
            with here.settled(reader), reader.snapshot():
                if new and isinstance(there.folder, Path):
                    return {table: _count(writer, table) for table in schema.TABLES}
                return _append(reader, writer)
        finally:
            reader.close()
            writer.close()


def _lacks_its_end(here: Database) -> bool:
    """Whether last rows of a writer were left behind in a log."""
    with here.plainly():
        reader = here.connect(read_only=True)
        try:
            return bool(here.missing_logs(reader))
        finally:
            reader.close()


def _homeless_pictures(here: Database) -> bool:
    """Whether there are pictures to copy that no place is remembered for."""
    sql = "SELECT (SELECT count(*) FROM pictures WHERE path IS NULL), "
    sql += "(SELECT count(*) FROM settings WHERE name = 'pictures')"
    with here.plainly():
        reader = here.connect(read_only=True)
        try:
            kept, named = reader.execute(sql).fetchone()
        finally:
            reader.close()
    return bool(kept and not named)


def _append(reader: Connection, writer: Connection) -> dict[str, int] | None:
    """Add the rows that came after those that are there; None where what is there is not how the source began."""
    known = row_chain.head(writer)
    if row_chain.head(reader, known.commits) != known:
        return None
    last = dict(writer.execute("SELECT writer, max(number) FROM commits GROUP BY writer"))
    added = dict.fromkeys(schema.TABLES, 0)
    with writer.transaction():
        for table in schema.TABLES:
            for chunk in _chunks(_after(reader, table, last)):
                writer.insert(table, chunk)
                added[table] += len(chunk)
    return added


def _after(reader: Connection, table: str, last: dict[str, int]) -> Iterator[Row]:
    """The rows of a table that their writers numbered after these."""
    listed = ", ".join((*schema.columns(table), "writer", "number", "link"))
    for row in reader.stream(f"SELECT {listed} FROM {table} ORDER BY rowid"):
        if row[-2] > last.get(row[-3], 0):
            yield row


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _count(reader: Connection, table: str) -> int:
    return int(reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _make_folder(there: Database) -> None:
    try:
        there.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"{there.place}: no ledger can be made here ({error.strerror}); name another path") from error
