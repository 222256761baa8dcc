"""Exact copy of a ledger, or an update of one: rows keep their row digests, so signed ledger digests stay valid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.database_from_path import database_at
from fullbench.ledger.database_interface import Connection, Database, chunks
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.pictures.picture_folder import no_picture_place_error
from fullbench.ledger.row_conversion import Row

CHUNK = 2000


def copy_exactly(source: str, target: str, *, pictures: str | None = None) -> dict[str, int] | None:
    """Copy the rows that the target lacks in one transaction; return the number of rows by table. Return None and do
    nothing if row digests cannot be kept: the target has its own rows, or the source is a lake or lacks its last rows.
    """
    source_database, target_database = database_at(source), database_at(target)
    if source_database.place == target_database.place:
        raise LedgerError(f"{source_database.place}: a ledger cannot be copied onto itself; choose another target")
    source_database.prepare(read_only=True)
    if source_database.brings_pictures:
        return None
    if _lacks_its_end(source_database):  # an ordinary copy, chained again, repairs this
        return None
    new = not target_database.exists()
    if new and target_database.folder is None and not pictures and _has_homeless_pictures(source_database):
        raise no_picture_place_error(target_database.place)  # before anything is created there
    if new and isinstance(target_database.folder, Path):
        _make_folder(target_database)
        source_database.back_up(target_database.path)
    elif new:
        target_database.make()
    if target_database.stored_version() != schema.VERSION:
        return None
    with (
        source_database.translate_errors(),
        target_database.translate_errors(),
        closing(source_database.connect(read_only=True)) as reader,
        closing(target_database.connect(read_only=False)) as writer,
        source_database.hold_back_commits(reader),
        reader.snapshot(),
    ):
        if new and isinstance(target_database.folder, Path):
            return {
                table: int(writer.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in schema.TABLES
            }
        return _append_rows(reader, writer)


def _lacks_its_end(here: Database) -> bool:
    """True if the last rows of a writer are missing because its log was left behind."""
    with here.translate_errors(), closing(here.connect(read_only=True)) as reader:
        return bool(here.missing_logs(reader))


def _has_homeless_pictures(here: Database) -> bool:
    """True if there are pictures to copy but the ledger has no stored place for them."""
    sql = "SELECT (SELECT count(*) FROM pictures WHERE path IS NULL), "
    sql += "(SELECT count(*) FROM settings WHERE name = 'pictures')"
    with here.translate_errors(), closing(here.connect(read_only=True)) as reader:
        picture_count, place_count = reader.execute(sql).fetchone()
    return bool(picture_count and not place_count)


def _append_rows(reader: Connection, writer: Connection) -> dict[str, int] | None:
    target_digest = row_chain.ledger_digest(writer)
    if row_chain.ledger_digest(reader, target_digest.commits) != target_digest:
        return None
    last = dict(writer.execute("SELECT writer, max(number) FROM commits GROUP BY writer"))
    row_counts = dict.fromkeys(schema.TABLES, 0)
    with writer.transaction():
        for table in schema.TABLES:
            for chunk in chunks(_rows_after(reader, table, last), CHUNK):
                writer.insert(table, chunk)
                row_counts[table] += len(chunk)
    return row_counts


def _rows_after(reader: Connection, table: str, last: dict[str, int]) -> Iterator[Row]:
    column_list = ", ".join((*schema.table_columns(table), "writer", "number", "link"))
    for row in reader.stream(f"SELECT {column_list} FROM {table} ORDER BY rowid"):
        if row[-2] > last.get(row[-3], 0):
            yield row


def _make_folder(there: Database) -> None:
    try:
        there.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"{there.place}: no ledger can be created here ({error.strerror}); choose another path"
        ) from error
