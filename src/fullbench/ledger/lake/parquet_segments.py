"""Sealed segments: the rows of a table in a file of Parquet, with filters for their keys and a Merkle root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import MissingExtra
from fullbench.ledger import schema
from fullbench.ledger.lake.compact_rows import INLINED, columns
from fullbench.ledger.lake.manifest import Segment
from fullbench.ledger.lake.storage import PIECE, Store

if TYPE_CHECKING:
    import pyarrow

ROWS = 1_000_000
"""Rows of a segment at most."""
GROUP = 100_000
"""Rows that are compressed, and passed over, together."""
TEXT_BYTES = 64 << 20
"""Texts of a segment at most."""

FILTERED = {
    "verdicts": ("case_key", "calls_id"), "cases": ("key",), "calls": ("id",), "texts": ("id",), "responses": ("key",),
    "items": ("key",),
}  # fmt: skip
"""The keys by which rows are looked up one by one, each with a filter that says where they cannot be."""
_MISSED = 0.05
"""How often a filter may send somebody to rows in vain: some six bits a key."""
_LEVEL, _DIGESTS_LEVEL = 6, 1
"""How hard zstd tries. In digests it finds chance repetitions the sooner the harder it tries, and they cost more than
they save: 32 hexadecimal digits take 16.1 bytes at level 1 and 17.1 at level 6."""
_DIGESTS = frozenset({"sum", "prompt", "id", "key", "link", "exchanges", "digest", "head", "signature", "responses"})
"""Columns of which hardly two values are alike: a dictionary of them would only take room."""
_KEYS = frozenset({"case_key", "item_key", "nonce"})
"""Digests that rows near to one another share, mostly; a dictionary is for those that are far apart."""
_NEAR, _REPEATED, _PLACE, _NAMED = 10_000, 2.0, 2.0, 18.5
"""How many rows zstd looks back, and bytes: of a digest that it finds there, of a place in a dictionary, of a digest
in a dictionary."""
LINKED = frozenset({"commits", "settings"})
"""The tables whose links are stored. Those of all other rows follow from their content and are not."""


def sealed_columns(table: str) -> tuple[str, ...]:
    """The columns of a table's segments."""
    within = INLINED.get(table)
    inside = () if within is None else map(within.stored, within.own)
    return (*columns(table), *(("link",) if table in LINKED else ()), *inside)


def arrow_schema(table: str) -> pyarrow.Schema:
    """The columns of a table's segments with their types."""
    pa = _arrow()
    types = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}

    def kinds(table: str) -> dict[str, Any]:
        defined = dict(column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", "))
        return {"rowid": pa.int64()} | {name: types[kind] for name, kind in defined.items()}

    known = kinds(table)
    if within := INLINED.get(table):
        known |= {within.stored(name): kind for name, kind in kinds(within.table).items()}
    return pa.schema([(name, known[name]) for name in sealed_columns(table)])


def table_of(table: str, rows: Sequence[Sequence[Any]]) -> pyarrow.Table:
    """Rows as they stand in a ledger, by columns."""
    pa = _arrow()
    fields = arrow_schema(table)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, type=field.type) for field, values in zip(fields, columns, strict=True)]
    return pa.table(arrays, schema=fields)


def write(table: str, tables: Iterable[pyarrow.Table], target: Path) -> None:
    """Write the rows of a segment, each of the tables as a group of its own."""
    from pyarrow.parquet import ParquetWriter

    writer: Any = None
    try:
        for group in tables:
            if writer is None:
                keys = {name: {"ndv": max(group.num_rows, 1), "fpp": _MISSED} for name in FILTERED.get(table, ())}
                writer = ParquetWriter(
                    target, group.schema, compression="zstd", bloom_filter_options=keys or None,
                    **_encodings(table, group),
                )  # fmt: skip
            writer.write_table(group, row_group_size=max(group.num_rows, 1))
    finally:
        if writer is not None:
            writer.close()


def _encodings(table: str, group: pyarrow.Table) -> dict[str, Any]:
    """How each column is written, as its first rows suggest."""
    within = INLINED.get(table)
    plain = {} if within is None else {within.stored(name): name for name in within.own}
    chosen: dict[str, str] = {}
    for field in group.schema:
        name, kind = plain.get(field.name, field.name), str(field.type)
        if kind == "int64" and name in {"rowid", "number"}:  # they rise from row to row; other numbers repeat
            chosen[field.name] = "DELTA_BINARY_PACKED"
        elif kind == "double" and name in {"at", "seconds"}:
            chosen[field.name] = "BYTE_STREAM_SPLIT"
        elif kind == "string" and (name in _DIGESTS or (name in _KEYS and not _far_apart(group.column(field.name)))):
            # Lengths apart from the texts: all are alike, and take no room.
            chosen[field.name] = "DELTA_LENGTH_BYTE_ARRAY"
    repeated = [name for name in group.schema.names if name not in chosen]
    digests = {name for name, encoding in chosen.items() if encoding == "DELTA_LENGTH_BYTE_ARRAY"}
    levels = {name: _DIGESTS_LEVEL if name in digests else _LEVEL for name in group.schema.names}
    return {"use_dictionary": repeated, "column_encoding": chosen, "compression_level": levels}


def _far_apart(column: pyarrow.ChunkedArray) -> bool:
    """Whether equal values are so far apart that a dictionary of them takes less room."""
    import numpy as np

    codes = column.combine_chunks().dictionary_encode()
    values = codes.indices.fill_null(len(codes.dictionary)).to_numpy()
    order = np.argsort(values, kind="stable")
    again = (values[order][1:] == values[order][:-1]) & (np.diff(order) <= _NEAR)
    near = int(again.sum())
    return _NAMED * len(codes.dictionary) + _PLACE * len(values) < 16 * (len(values) - near) + _REPEATED * near


def seal(table: str, source: Path, store: Store) -> Segment:
    """Put a written file into the lake and say what is in it; no manifest names it yet."""
    from pyarrow.parquet import ParquetFile

    root = merkle_root(pieces_of(source))
    with ParquetFile(source) as file:
        facts = file.metadata
        _, first, last = _places(file, "rowid")
        statistics = _statistics(file) if table == "verdicts" else {}
        if (within := INLINED.get(table)) and (inside := _places(file, within.stored("rowid")))[0]:
            statistics["within"] = {within.table: inside}
    name = f"segments/{table}/{first:012d}-{last:012d}-{root}.parquet"
    # A file of that name has these very bytes: a writer that was killed had put it there.
    store.put(name, source)
    return Segment(table, name, facts.num_rows, first, last, source.stat().st_size, root, statistics)


def _places(file: Any, column: str) -> tuple[int, int, int]:
    """How many rows have a place, the first of these and the last."""
    number = file.schema_arrow.names.index(column)
    groups = [file.metadata.row_group(place).column(number).statistics for place in range(file.metadata.num_row_groups)]
    there = [group for group in groups if group.has_min_max]
    count = sum(group.num_values for group in there)
    return count, min((group.min for group in there), default=0), max((group.max for group in there), default=0)


def _statistics(file: Any) -> dict[str, Any]:
    """How many verdicts of which judges and studies, and from when to when."""
    counted: dict[str, dict[str, int]] = {"judge": {}, "study": {}}
    first, last = float("inf"), float("-inf")
    for batch in file.iter_batches(GROUP, columns=["judge", "study", "at"]):
        for name, counts in counted.items():
            for entry in batch.column(name).value_counts().to_pylist():
                counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
        times = batch.column("at").to_numpy()
        first, last = min(first, float(times.min())), max(last, float(times.max()))
    return {"judges": counted["judge"], "studies": counted["study"], "from": first, "to": last}


def pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def merkle_root(pieces: Iterable[bytes]) -> str:
    """The root of a binary tree of digests over pieces of a megabyte, the last of which may be shorter.

    Leaves and inner nodes begin with different bytes, so that no file has the digests of another's pieces for content;
    a node without a neighbour goes up as it is.

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


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra("writing a lake", "parquet") from error
    return pyarrow
