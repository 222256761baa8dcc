"""Sealed segments: the rows of a table in a file of Parquet, with filters for their keys and a Merkle root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import MissingExtra
from fullbench.ledger import schema
from fullbench.ledger.lake.manifest import Segment
from fullbench.ledger.lake.stores import PIECE, Store

if TYPE_CHECKING:
    import pyarrow

ROWS = 1_000_000
"""Rows of a segment at most."""
GROUP = 100_000
"""Rows that are compressed, and passed over, together."""
TEXT_BYTES = 64 << 20
"""Texts of a segment at most."""

FILTERED = {
    "verdicts": ("case_key",), "cases": ("key",), "calls": ("id",), "texts": ("id",), "responses": ("key",),
    "items": ("key",),
}  # fmt: skip
"""The keys by which rows are looked up one by one, each with a filter that says where they cannot be."""
_MISSED = 0.05
"""How often a filter may send somebody to rows in vain: some six bits a key."""
_DIGESTS = frozenset({"sum", "prompt", "id", "key", "link", "exchanges", "digest", "head", "signature"})
"""Columns of which hardly two values are alike: a dictionary of them would only take room."""
LINKED = frozenset({"commits", "settings"})
"""The tables whose links are stored. Those of all other rows follow from their content and are not."""


def sealed_columns(table: str) -> tuple[str, ...]:
    """The columns of a table's segments."""
    return ("rowid", *schema.columns(table), "writer", "number", *(("link",) if table in LINKED else ()))


def arrow_schema(table: str) -> pyarrow.Schema:
    """The columns of a table's segments with their types."""
    pa = _arrow()
    defined = dict(column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", "))
    types = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    kinds = {name: types[kind] for name, kind in defined.items()} | {"rowid": pa.int64()}
    return pa.schema([(name, kinds[name]) for name in sealed_columns(table)])


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

    fields = arrow_schema(table)
    numbers = {field.name for field in fields if str(field.type) == "int64"}
    reals = {field.name for field in fields if str(field.type) == "double"} & {"at", "seconds"}
    # Places and times rise from row to row, other numbers repeat.
    rising = {"rowid", "number"} & numbers
    repeated = [name for name in fields.names if name not in _DIGESTS | rising | reals]
    encoding = dict.fromkeys(rising, "DELTA_BINARY_PACKED") | dict.fromkeys(reals, "BYTE_STREAM_SPLIT")
    writer: Any = None
    try:
        for group in tables:
            if writer is None:
                keys = {name: {"ndv": max(group.num_rows, 1), "fpp": _MISSED} for name in FILTERED.get(table, ())}
                writer = ParquetWriter(
                    target, fields, compression="zstd", compression_level=6, use_dictionary=repeated,
                    column_encoding=encoding, bloom_filter_options=keys or None,
                )  # fmt: skip
            writer.write_table(group, row_group_size=max(group.num_rows, 1))
    finally:
        if writer is not None:
            writer.close()


def seal(table: str, source: Path, store: Store) -> Segment:
    """Put a written file into the lake and say what is in it; no manifest names it yet."""
    from pyarrow.parquet import ParquetFile

    root = merkle_root(pieces_of(source))
    with ParquetFile(source) as file:
        facts = file.metadata
        place = file.schema_arrow.names.index("rowid")
        groups = [facts.row_group(number).column(place).statistics for number in range(facts.num_row_groups)]
        first, last = min(group.min for group in groups), max(group.max for group in groups)
        statistics = _statistics(file) if table == "verdicts" else {}
    name = f"segments/{table}/{first:012d}-{last:012d}-{root}.parquet"
    # A file of that name has these very bytes: a writer that was killed had put it there.
    store.put(name, source)
    return Segment(table, name, facts.num_rows, first, last, source.stat().st_size, root, statistics)


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
