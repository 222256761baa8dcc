"""Segments of a lake: rows of a table in a Parquet file, with Bloom filters for keys and a Merkle root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import require_extra
from fullbench.ledger import schema
from fullbench.ledger.lake.calls_and_memberships_inside_host_rows import INLINED_TABLES, lake_columns
from fullbench.ledger.lake.manifest import Segment
from fullbench.ledger.lake.storage import PIECE, Store

if TYPE_CHECKING:
    import pyarrow

ROWS = 1_000_000
"""Maximum rows of a segment."""
GROUP = 100_000
"""Rows that are compressed, and skipped, together."""
TEXT_BYTES = 64 << 20
"""Maximum bytes of texts of a segment."""

FILTER_COLUMNS = {
    "verdicts": ("case_key", "calls_id"), "cases": ("key",), "calls": ("id",), "texts": ("id",), "responses": ("key",),
    "items": ("key",),
}  # fmt: skip
"""Keys by which single rows are looked up; a Bloom filter for each shows where they cannot be."""
_FALSE_POSITIVE_RATE = 0.05
"""Share of lookups for which a filter gives a false positive: about six bits per key."""
_LEVEL, _DIGESTS_LEVEL = 6, 1
"""zstd levels. In digests, higher levels find chance repetitions that cost more than they save: 32 hexadecimal digits
take 16.1 bytes at level 1 and 17.1 at level 6."""
_DIGESTS = frozenset({"sum", "prompt", "id", "key", "link", "exchanges", "digest", "signature", "responses"})
"""Columns with almost only distinct values, for which a dictionary would only take space."""
_KEYS = frozenset({"case_key", "item_key", "nonce"})
"""Digests that are mostly equal in nearby rows; a dictionary is used if equal values are far apart."""
_NEAR_ROWS, _REPEATED_BYTES, _INDEX_BYTES, _DICTIONARY_BYTES = 10_000, 2.0, 2.0, 18.5
"""Rows that zstd looks back, and bytes: of a digest repeated there, of a dictionary index, of a dictionary entry."""
LINKED_TABLES = frozenset({"commits", "settings"})
"""Tables whose row digests are stored. Those of all other rows follow from their content."""


def segment_columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table's segments."""
    within = INLINED_TABLES.get(table)
    inside = () if within is None else map(within.name_in_host, within.stored_columns)
    return (*lake_columns(table), *(("link",) if table in LINKED_TABLES else ()), *inside)


def arrow_schema(table: str) -> pyarrow.Schema:
    """Return the columns of a table's segments with their types."""
    pa = _import_pyarrow()
    types = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}

    def kinds(table: str) -> dict[str, Any]:
        column_definitions = dict(column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", "))
        return {"rowid": pa.int64()} | {name: types[kind] for name, kind in column_definitions.items()}

    column_types = kinds(table)
    if within := INLINED_TABLES.get(table):
        column_types |= {within.name_in_host(name): kind for name, kind in kinds(within.table).items()}
    return pa.schema([(name, column_types[name]) for name in segment_columns(table)])


def table_of(table: str, rows: Sequence[Sequence[Any]]) -> pyarrow.Table:
    """Convert rows of a ledger to an Arrow table."""
    pa = _import_pyarrow()
    fields = arrow_schema(table)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, type=field.type) for field, values in zip(fields, columns, strict=True)]
    return pa.table(arrays, schema=fields)


def write_segment(table: str, tables: Iterable[pyarrow.Table], target: Path) -> None:
    """Write a segment file; each Arrow table becomes a row group."""
    from pyarrow.parquet import ParquetWriter

    writer: Any = None
    try:
        for group in tables:
            if writer is None:
                keys = {
                    name: {"ndv": max(group.num_rows, 1), "fpp": _FALSE_POSITIVE_RATE}
                    for name in FILTER_COLUMNS.get(table, ())
                }
                writer = ParquetWriter(
                    target, group.schema, compression="zstd", bloom_filter_options=keys or None,
                    **_column_encodings(table, group),
                )  # fmt: skip
            writer.write_table(group, row_group_size=max(group.num_rows, 1))
    finally:
        if writer is not None:
            writer.close()


def _column_encodings(table: str, group: pyarrow.Table) -> dict[str, Any]:
    within = INLINED_TABLES.get(table)
    plain = {} if within is None else {within.name_in_host(name): name for name in within.stored_columns}
    encodings: dict[str, str] = {}
    for field in group.schema:
        name, kind = plain.get(field.name, field.name), str(field.type)
        if kind == "int64" and name in {"rowid", "number"}:  # these rise from row to row; others repeat
            encodings[field.name] = "DELTA_BINARY_PACKED"
        elif kind == "double" and name in {"at", "seconds"}:
            encodings[field.name] = "BYTE_STREAM_SPLIT"
        elif kind == "string" and (name in _DIGESTS or (name in _KEYS and not _far_apart(group.column(field.name)))):
            # Lengths are stored apart from the texts; they are all equal and take no space.
            encodings[field.name] = "DELTA_LENGTH_BYTE_ARRAY"
    dictionary_columns = [name for name in group.schema.names if name not in encodings]
    digests = {name for name, encoding in encodings.items() if encoding == "DELTA_LENGTH_BYTE_ARRAY"}
    levels = {name: _DIGESTS_LEVEL if name in digests else _LEVEL for name in group.schema.names}
    return {"use_dictionary": dictionary_columns, "column_encoding": encodings, "compression_level": levels}


def _far_apart(column: pyarrow.ChunkedArray) -> bool:
    """True if equal values are so far apart that a dictionary takes less space."""
    import numpy as np

    codes = column.combine_chunks().dictionary_encode()
    values = codes.indices.fill_null(len(codes.dictionary)).to_numpy()
    order = np.argsort(values, kind="stable")
    again = (values[order][1:] == values[order][:-1]) & (np.diff(order) <= _NEAR_ROWS)
    near = int(again.sum())
    return (
        _DICTIONARY_BYTES * len(codes.dictionary) + _INDEX_BYTES * len(values)
        < 16 * (len(values) - near) + _REPEATED_BYTES * near
    )


def store_segment(table: str, source: Path, store: Store) -> Segment:
    """Put a written file into the lake and describe it; no manifest lists it yet."""
    from pyarrow.parquet import ParquetFile

    root = merkle_root(pieces_of(source))
    with ParquetFile(source) as file:
        facts = file.metadata
        _, first, last = _rowid_range(file, "rowid")
        statistics = _verdict_statistics(file) if table == "verdicts" else {}
        if (within := INLINED_TABLES.get(table)) and (inside := _rowid_range(file, within.name_in_host("rowid")))[0]:
            statistics["within"] = {within.table: inside}
    name = f"segments/{table}/{first:012d}-{last:012d}-{root}.parquet"
    # If the name exists, the bytes are the same (it contains the Merkle root): a killed writer left it.
    store.put(name, source)
    return Segment(table, name, facts.num_rows, first, last, source.stat().st_size, root, statistics)


def _rowid_range(file: Any, column: str) -> tuple[int, int, int]:
    number = file.schema_arrow.names.index(column)
    groups = [file.metadata.row_group(place).column(number).statistics for place in range(file.metadata.num_row_groups)]
    there = [group for group in groups if group.has_min_max]
    count = sum(group.num_values for group in there)
    return count, min((group.min for group in there), default=0), max((group.max for group in there), default=0)


def _verdict_statistics(file: Any) -> dict[str, Any]:
    counts_by_column: dict[str, dict[str, int]] = {"judge": {}, "study": {}}
    first, last = float("inf"), float("-inf")
    for batch in file.iter_batches(GROUP, columns=["judge", "study", "at"]):
        for name, counts in counts_by_column.items():
            for entry in batch.column(name).value_counts().to_pylist():
                counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
        times = batch.column("at").to_numpy()
        first, last = min(first, float(times.min())), max(last, float(times.max()))
    return {"judges": counts_by_column["judge"], "studies": counts_by_column["study"], "from": first, "to": last}


def pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def merkle_root(pieces: Iterable[bytes]) -> str:
    """Return the root of a binary hash tree over pieces of a megabyte; the last piece may be shorter.

    Leaves and inner nodes have different first bytes, so that no file can consist of the digests of another's pieces.
    A node without a neighbour moves up unchanged.

    >>> merkle_root([b"a", b"b"]) == merkle_root([b"a" + b"b"])
    False
    """
    level = [blake2b(b"\0" + piece, digest_size=16).digest() for piece in pieces]
    while len(level) > 1:
        pairs = [
            blake2b(b"\1" + level[place] + level[place + 1], digest_size=16).digest()
            for place in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(pairs) * 2 :]
    return (level[0] if level else blake2b(b"", digest_size=16).digest()).hex()


def _import_pyarrow() -> Any:
    with require_extra("writing a lake", "parquet"):
        import pyarrow
    return pyarrow
