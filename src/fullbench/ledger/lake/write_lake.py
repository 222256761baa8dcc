"""Writing a lake: append the rows of a ledger that its lake does not have yet."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.database_from_path import pictures_at
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.integrity import row_chain
from fullbench.ledger.integrity.row_chain import LedgerDigest
from fullbench.ledger.integrity.signatures import sign_digest
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.calls_and_memberships_inside_host_rows import INLINED_TABLES, RowidSet, hosting_rows
from fullbench.ledger.lake.manifest import Entry, Segment
from fullbench.ledger.lake.storage import Store, pictures_place
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import pyarrow
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from fullbench.ledger.ledger import Ledger

_PART_ROWS, _MAX_GROUP_BYTES = 2_000, 32 << 20
"""Rows held as Python objects at one time, and maximum bytes of a row group."""
SALT = "salt"
"""Setting that must stay with the ledger: secrets that contestants must not guess are derived from it."""


@dataclass
class LakeWrite:
    """Result of a write: rows by table, pictures, and the manifest entry; None if nothing was new."""

    entry: Entry | None
    lake_digest: LedgerDigest | None
    rows: dict[str, int] = field(default_factory=dict)
    pictures: int = 0


def update_lake(
    ledger: Ledger,
    store: Store,
    *,
    key: Ed25519PrivateKey | None = None,
    rows: int = parquet_segments.ROWS,
    watch: Callable[[str, int], None] | None = None,
) -> LakeWrite:
    """Write all rows that the lake lacks; if interrupted, the lake stays as it was."""
    entries = manifest.read_entries(store)
    segments: list[Segment] = []
    with ledger.moment() as (reader, ledger_digest):
        _check_origin(ledger, reader, store, entries)
        after = {table: manifest.last_place(entries, table) for table in schema.TABLES}
        inside = {within.table: RowidSet(after[within.table]) for within in INLINED_TABLES.values()}
        for table in schema.TABLES:
            # `schema.TABLES` lists hosts before the tables inlined in them, which `inside` relies on.
            if within := INLINED_TABLES.get(table):
                stream = hosting_rows(reader, within, after[table], inside[within.table])
            else:
                stream = _new_rows(reader, table, after[table], inside.get(table))
            for segment in _write_segments(stream, table, store, rows):
                segments.append(segment)
                if watch is not None:
                    watch(
                        table,
                        sum(written_segment.rows for written_segment in segments if written_segment.table == table),
                    )
        pictures = _copy_pictures(ledger, reader, store)
    if not segments:
        return LakeWrite(None, entries[-1].lake_digest if entries else None, pictures=pictures)
    entry = manifest.next_entry(
        entries, ledger=ledger.identity, ledger_digest=ledger_digest, at=round(time.time(), 3), segments=segments
    )
    if key is not None:
        entry = replace(entry, signature=sign_digest(entry.lake, entry.lake_digest, key))
    manifest.append_entry(store, entry)
    counts: dict[str, int] = {}
    for segment in segments:
        for table, count in ((segment.table, segment.rows), *((name, n) for name, (n, *_) in segment.within.items())):
            counts[table] = counts.get(table, 0) + count
    return LakeWrite(entry, entry.lake_digest, counts, pictures)


def _check_origin(ledger: Ledger, reader: Connection, store: Store, entries: list[Entry]) -> None:
    """Refuse the lake of another ledger, and a ledger that changed since the lake was written."""
    if not entries:
        return
    last = entries[-1]
    if last.ledger != ledger.identity:
        raise LedgerError(
            f"{store.place}: this is the lake of another ledger ({last.ledger}, {ledger.place} is {ledger.identity}); "
            f"choose another place"
        )
    stored_digest = LedgerDigest.from_text(last.ledger_digest)
    if row_chain.ledger_digest(reader, stored_digest.commits) != stored_digest:
        raise LedgerError(
            f"{ledger.place}: the ledger does not begin with the rows that its lake {store.place} holds (digest "
            f"{stored_digest}): it was rewritten or cut off later; run `fullbench ledger verify`, or name another "
            f"place for a new lake"
        )


def _new_rows(reader: Connection, table: str, after: int, inside: RowidSet | None) -> Iterator[Row]:
    column_list = ", ".join(parquet_segments.segment_columns(table))
    for row in reader.stream(f"SELECT {column_list} FROM {table} WHERE rowid > ? ORDER BY rowid", (after,)):
        if inside is None or row[0] not in inside:
            yield _redact_salt(table, row)


def _write_segments(stream: Iterator[Row], table: str, store: Store, most: int) -> Iterator[Segment]:
    groups = _row_groups(stream, table, most)
    with tempfile.TemporaryDirectory(prefix="fullbench-lake-") as folder:
        for group in groups:
            path = Path(folder) / "segment.parquet"
            parquet_segments.write_segment(table, _segment_groups(group, groups, most), path)
            yield parquet_segments.store_segment(table, path, store)
            path.unlink()


def _row_groups(stream: Iterator[Row], table: str, most: int) -> Iterator[pyarrow.Table]:
    """Yield row groups that fit in memory, however long their texts are."""
    from pyarrow import concat_tables

    parts: list[pyarrow.Table] = []
    while rows := list(islice(stream, min(_PART_ROWS, most))):
        parts.append(parquet_segments.table_of(table, rows))
        if (
            sum(part.num_rows for part in parts) >= min(parquet_segments.GROUP, most)
            or sum(part.nbytes for part in parts) > _MAX_GROUP_BYTES
        ):
            yield concat_tables(parts)
            parts = []
    if parts:
        yield concat_tables(parts)


def _segment_groups(first: pyarrow.Table, later_groups: Iterator[pyarrow.Table], most: int) -> Iterator[pyarrow.Table]:
    group: pyarrow.Table | None = first
    count = size = 0
    while group is not None:
        count, size = count + group.num_rows, size + group.nbytes
        yield group
        full = count + group.num_rows > most or size > parquet_segments.TEXT_BYTES * 4
        group = None if full else next(later_groups, None)


def _redact_salt(table: str, row: Row) -> Row:
    if table != "settings" or row[1] != SALT:
        return row
    return (*row[:2], "", *row[3:])


def _copy_pictures(ledger: Ledger, reader: Connection, store: Store) -> int:
    digest_rows = reader.execute("SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid").fetchall()
    if not digest_rows:
        return 0
    lake_pictures = pictures_at(pictures_place(store.place))
    stored_digests = {picture.digest for picture in lake_pictures.all()}
    missing = [digest for (digest,) in digest_rows if digest not in stored_digests]
    for digest in missing:
        lake_pictures.keep(ledger.media(digest))
    return len(missing)
