"""From a ledger to its lake: what is new since the last time, sealed."""

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
from fullbench.ledger.integrity.row_chain import Head
from fullbench.ledger.integrity.signatures import sign
from fullbench.ledger.lake import manifest, parquet_segments
from fullbench.ledger.lake.compact_rows import INLINED, Places, hosting_rows
from fullbench.ledger.lake.manifest import Entry, Segment
from fullbench.ledger.lake.storage import Store, pictures_place
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import pyarrow
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from fullbench.ledger.ledger import Ledger

_PART, _HELD = 2_000, 32 << 20
"""Rows that are Python's objects at one time, and bytes that are compressed together at most."""
SALT = "salt"
"""The setting that must stay with the ledger: from it follow the words that no contestant may guess."""


@dataclass
class Written:
    """What a write added: rows by table, pictures, and the entry that names them; None where nothing was new."""

    entry: Entry | None
    head: Head | None
    rows: dict[str, int] = field(default_factory=dict)
    pictures: int = 0


def write(
    ledger: Ledger,
    store: Store,
    *,
    key: Ed25519PrivateKey | None = None,
    rows: int = parquet_segments.ROWS,
    watch: Callable[[str, int], None] | None = None,
) -> Written:
    """Seal all that a ledger has and its lake has not; stopped at any moment, the lake is as it was before."""
    entries = manifest.read(store)
    made: list[Segment] = []
    with ledger.moment() as (reader, head):
        _check(ledger, reader, store, entries)
        after = {table: manifest.last_place(entries, table) for table in schema.TABLES}
        inside = {within.table: Places(after[within.table]) for within in INLINED.values()}
        for table in schema.TABLES:
            # Hosts come before the tables whose rows stand within theirs.
            if within := INLINED.get(table):
                stream = hosting_rows(reader, within, after[table], inside[within.table])
            else:
                stream = _rows(reader, table, after[table], inside.get(table))
            for segment in _sealed(stream, table, store, rows):
                made.append(segment)
                if watch is not None:
                    watch(table, sum(one.rows for one in made if one.table == table))
        pictures = _pictures(ledger, reader, store)
    if not made:
        return Written(None, entries[-1].lake_head if entries else None, pictures=pictures)
    entry = manifest.following(entries, ledger=ledger.identity, head=head, at=round(time.time(), 3), segments=made)
    if key is not None:
        entry = replace(entry, signature=sign(entry.lake, entry.lake_head, key))
    manifest.append(store, entry)
    counts: dict[str, int] = {}
    for segment in made:
        for table, count in ((segment.table, segment.rows), *((name, n) for name, (n, *_) in segment.within.items())):
            counts[table] = counts.get(table, 0) + count
    return Written(entry, entry.lake_head, counts, pictures)


def _check(ledger: Ledger, reader: Connection, store: Store, entries: list[Entry]) -> None:
    """Refuse a lake that is another ledger's, and a ledger that is no longer what the lake was written from."""
    if not entries:
        return
    last = entries[-1]
    if last.ledger != ledger.identity:
        raise LedgerError(
            f"{store.place}: this is the lake of another ledger ({last.ledger}, {ledger.place} is {ledger.identity}); "
            "name another place"
        )
    sealed = Head.read(last.head)
    if row_chain.head(reader, sealed.commits) != sealed:
        raise LedgerError(
            f"{ledger.place}: the ledger does not begin with what its lake {store.place} holds (head {sealed}): it was "
            "rewritten or cut off since; run `fullbench ledger verify`, or name another place for a new lake"
        )


def _rows(reader: Connection, table: str, after: int, inside: Places | None) -> Iterator[Row]:
    """The rows of a table after a place, but for those that stand within others."""
    listed = ", ".join(parquet_segments.sealed_columns(table))
    for row in reader.stream(f"SELECT {listed} FROM {table} WHERE rowid > ? ORDER BY rowid", (after,)):
        if inside is None or row[0] not in inside:
            yield _public(table, row)


def _sealed(stream: Iterator[Row], table: str, store: Store, most: int) -> Iterator[Segment]:
    """Rows of a table, a segment at a time."""
    groups = _groups(stream, table, most)
    with tempfile.TemporaryDirectory(prefix="fullbench-lake-") as folder:
        for group in groups:
            path = Path(folder) / "segment.parquet"
            parquet_segments.write(table, _filled(group, groups, most), path)
            yield parquet_segments.seal(table, path, store)
            path.unlink()


def _groups(stream: Iterator[Row], table: str, most: int) -> Iterator[pyarrow.Table]:
    """Rows that are compressed together: few enough to be held at one time, however long their texts are."""
    from pyarrow import concat_tables

    parts: list[pyarrow.Table] = []
    while rows := list(islice(stream, min(_PART, most))):
        parts.append(parquet_segments.table_of(table, rows))
        if (
            sum(part.num_rows for part in parts) >= min(parquet_segments.GROUP, most)
            or sum(part.nbytes for part in parts) > _HELD
        ):
            yield concat_tables(parts)
            parts = []
    if parts:
        yield concat_tables(parts)


def _filled(first: pyarrow.Table, rest: Iterator[pyarrow.Table], most: int) -> Iterator[pyarrow.Table]:
    """A segment's groups, until it has enough rows or texts."""
    group: pyarrow.Table | None = first
    count = size = 0
    while group is not None:
        count, size = count + group.num_rows, size + group.nbytes
        yield group
        full = count + group.num_rows > most or size > parquet_segments.TEXT_BYTES * 4
        group = None if full else next(rest, None)


def _public(table: str, row: Row) -> Row:
    """A row as it may leave the ledger."""
    if table != "settings" or row[1] != SALT:
        return row
    return (*row[:2], "", *row[3:])


def _pictures(ledger: Ledger, reader: Connection, store: Store) -> int:
    """Copy the pictures that the lake lacks; how many."""
    kept = reader.execute("SELECT digest FROM pictures WHERE path IS NULL ORDER BY rowid").fetchall()
    if not kept:
        return 0
    there = pictures_at(pictures_place(store.place))
    known = {picture.digest for picture in there.all()}
    missing = [digest for (digest,) in kept if digest not in known]
    for digest in missing:
        there.keep(ledger.picture(digest))
    return len(missing)
