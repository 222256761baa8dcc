"""Columns from verdicts exported to Parquet: a file, or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from fullbench.columns.column_builder import KIND, REAL, WHOLE, Builder, Column, EncodedColumn, Kind
from fullbench.columns.verdict_columns import STUDY, Array, Columns, group_rows
from fullbench.errors import InputError, require_extra

ABSENT: dict[str, Any] = {
    "study": STUDY, "rater": "", "samples": "", "revision": 0, "text": "", "criterion": "overall",
    "trial": 0, "calls": 0, "retries": 0, "reader": 0, "tokens_in": 0, "tokens_out": 0, "dollars": None, "seconds": 0.0,
    "cached": None, "fault": None, "marks": None, "blind": None, "probability": None,
}  # fmt: skip
"""Value of a column that the export lacks."""

_BATCH = 100_000
_FAULT_INDEX = KIND.index("fault")


def read_parquet_columns(path: str | Path) -> Columns:
    """Read an export as written by `fullbench ledger export --to verdicts.parquet`."""
    with require_extra("reading Parquet", "parquet"):
        import pyarrow
        from pyarrow import dataset
    if not Path(path).exists():
        raise InputError("there is no such file", path=str(path))
    builder = Builder(parse_kind, orjson.loads)
    try:
        for file in dataset.dataset(str(path), format="parquet").files:
            for chunk in _read_chunks(file):
                builder.add(chunk)
                pyarrow.default_memory_pool().release_unused()
    except (pyarrow.ArrowException, OSError, KeyError, orjson.JSONDecodeError) as error:
        message = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: the verdicts could not be read ({message})") from error
    return builder.finish()


def _read_chunks(file: str) -> Iterator[dict[str, Column]]:
    """Yield the columns of each batch as encoded labels and number arrays, without Python objects per row."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as parquet_file:
        present = set(parquet_file.schema_arrow.names)
        missing = {"case", "judge", "item", "contestants", "ballot"} - present
        if missing:
            raise InputError(f"an export of verdicts has the columns case, judge, item, contestants and ballot; "
                             f"{', '.join(sorted(missing))} are missing")  # fmt: skip
        names = (*KIND, "item", "case", "marks", *WHOLE, *REAL, *(["text"] if _has_abstentions(parquet_file) else []))
        # No dataset scan: it reads many batches ahead, which would take most of the memory.
        for batch in parquet_file.iter_batches(_BATCH, columns=[name for name in names if name in present]):
            if batch.num_rows:
                yield chunk_from_arrow(
                    {name: _decode_column(batch, name) if name in present else None for name in names}, batch.num_rows
                )


def _has_abstentions(file: Any) -> bool:
    """Return True if a judge abstained. Only then are texts read, because they are most of an export."""
    return "fault" in file.schema_arrow.names and any(
        "abstained" in batch.column("fault").unique().to_pylist() for batch in file.iter_batches(columns=["fault"])
    )


def _decode_column(batch: Any, name: str) -> Any:
    from pyarrow import types

    values = batch.column(name)
    if types.is_null(values.type):
        return None
    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def chunk_from_arrow(arrow_columns: Mapping[str, Any], size: int) -> dict[str, Column]:
    """Convert pyarrow columns to a chunk for a builder; None means a missing column."""
    kind = _join_kind_columns([_encode_column(arrow_columns[name], name, size) for name in KIND])
    chunk: dict[str, Column] = {name: _encode_column(arrow_columns[name], name, size) for name in ("item", "marks")}
    is_abstained = np.array([label[_FAULT_INDEX] == "abstained" for label in kind.labels])[kind.places]
    if is_abstained.any() and "text" in arrow_columns:
        texts = _encode_column(arrow_columns["text"], "text", size)
        chunk["reason"] = EncodedColumn(("", *texts.labels), np.where(is_abstained, texts.places + 1, 0))
    numbers: dict[str, Column] = {name: _number_column(arrow_columns[name], name, size) for name in (*WHOLE, *REAL)}
    return chunk | numbers | {"kind": kind, "case": arrow_columns["case"].to_pylist()}


def _join_kind_columns(columns: list[EncodedColumn]) -> EncodedColumn:
    code, rows = group_rows(*(column.places for column in columns))
    labels = [tuple(column.labels[column.places[row]] for column in columns) for row in rows]
    return EncodedColumn(labels, code)


def parse_kind(kind: tuple[Any, ...]) -> Kind:
    """Return the parts of a kind with numbers and JSON lists parsed."""
    study, judge, criterion, ballot, rater, fault, contestants, samples, *small, blind = kind
    trial, revision, calls, retries, reader = map(int, small)
    numbers = orjson.loads(samples) if samples else ()
    return (
        study, judge, criterion, ballot, rater, fault, orjson.loads(contestants), numbers,
        trial, revision, calls, retries, reader, None if blind is None else int(blind),
    )  # fmt: skip


def _encode_column(values: Any, name: str, size: int) -> EncodedColumn:
    if values is None:
        return EncodedColumn([ABSENT[name]], np.zeros(size, dtype=np.int32))
    dictionary_array = values.dictionary_encode(null_encoding="encode")
    empty = ABSENT.get(name)
    labels = [empty if label is None else label for label in dictionary_array.dictionary.to_pylist()]
    return EncodedColumn(labels, dictionary_array.indices.to_numpy(zero_copy_only=False))


def _number_column(values: Any, name: str, size: int) -> Array:
    kind = np.float64 if name in REAL else np.int64
    empty = np.nan if ABSENT[name] is None else ABSENT[name]
    if values is None:
        return np.full(size, empty, dtype=kind)
    if values.null_count:
        values = values.cast("float64" if kind is np.float64 else "int64").fill_null(empty)
    array: Array = values.to_numpy(zero_copy_only=False).astype(kind)
    return array
