"""Columns from an export of verdicts in Parquet: a file, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from fullbench.columns.column_builder import KIND, REAL, WHOLE, Builder, Column, Encoded, Kind
from fullbench.columns.verdict_columns import STUDY, Array, Columns, grouped
from fullbench.errors import InputError, MissingExtra

ABSENT: dict[str, Any] = {
    "study": STUDY, "rater": "", "samples": "", "revision": 0, "text": "", "criterion": "overall",
    "trial": 0, "calls": 0, "retries": 0, "reader": 0, "tokens_in": 0, "tokens_out": 0, "dollars": None, "seconds": 0.0,
    "cached": None, "fault": None, "marks": None, "blind": None, "probability": None,
}  # fmt: skip
"""What a row has where the export has no such column."""

_BATCH = 100_000
_RECUSED = KIND.index("fault")


def columns_of_parquet(path: str | Path) -> Columns:
    """The columns of an export as `fullbench ledger export --to verdicts.parquet` writes it."""
    try:
        import pyarrow
        from pyarrow import dataset
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    if not Path(path).exists():
        raise InputError("there is no such file", path=str(path))
    builder = Builder(kind_of, orjson.loads)
    try:
        for file in dataset.dataset(str(path), format="parquet").files:
            for chunk in _chunks(file):
                builder.add(chunk)
                pyarrow.default_memory_pool().release_unused()
    except (pyarrow.ArrowException, OSError, KeyError, orjson.JSONDecodeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: the verdicts could not be read ({said})") from error
    return builder.finish()


def _chunks(file: str) -> Iterator[dict[str, Column]]:
    """The columns of each batch, labels once a batch and numbers as arrays: no row is an object of Python's."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as opened:
        present = set(opened.schema_arrow.names)
        missing = {"case", "judge", "item", "contestants", "ballot"} - present
        if missing:
            raise InputError(f"an export of verdicts has the columns case, judge, item, contestants and ballot; "
                             f"{', '.join(sorted(missing))} are not there")  # fmt: skip
        names = (*KIND, "item", "case", "marks", *WHOLE, *REAL, *(["text"] if _recused(opened) else []))
        # Not by a scan of the data set, which reads many batches ahead: they are what memory would go to.
        for batch in opened.iter_batches(_BATCH, columns=[name for name in names if name in present]):
            if batch.num_rows:
                yield chunk_of(
                    {name: _plain(batch, name) if name in present else None for name in names}, batch.num_rows
                )


def _recused(file: Any) -> bool:
    """Whether a judge recused itself here: only then a text is read, and texts are most of an export."""
    return "fault" in file.schema_arrow.names and any(
        "recused" in batch.column("fault").unique().to_pylist() for batch in file.iter_batches(columns=["fault"])
    )


def _plain(batch: Any, name: str) -> Any:
    """A column of a batch without an encoding of its own; None where it holds nothing."""
    from pyarrow import types

    values = batch.column(name)
    if types.is_null(values.type):
        return None
    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def chunk_of(stored: Mapping[str, Any], size: int) -> dict[str, Column]:
    """Columns of pyarrow's as a builder takes them; None stands for one that is not there."""
    kind = _kinds([_encoded(stored[name], name, size) for name in KIND])
    chunk: dict[str, Column] = {name: _encoded(stored[name], name, size) for name in ("item", "marks")}
    recused = np.array([label[_RECUSED] == "recused" for label in kind.labels])[kind.places]
    if recused.any() and "text" in stored:
        texts = _encoded(stored["text"], "text", size)
        chunk["reason"] = Encoded(("", *texts.labels), np.where(recused, texts.places + 1, 0))
    numbers: dict[str, Column] = {name: _numbers(stored[name], name, size) for name in (*WHOLE, *REAL)}
    return chunk | numbers | {"kind": kind, "case": stored["case"].to_pylist()}


def _kinds(columns: list[Encoded]) -> Encoded:
    """All that many rows share, as one column."""
    code, rows = grouped(*(column.places for column in columns))
    labels = [tuple(column.labels[column.places[row]] for column in columns) for row in rows]
    return Encoded(labels, code)


def kind_of(kind: tuple[Any, ...]) -> Kind:
    study, judge, criterion, ballot, rater, fault, contestants, samples, *small, blind = kind
    trial, revision, calls, retries, reader = map(int, small)
    numbers = orjson.loads(samples) if samples else ()
    return (
        study, judge, criterion, ballot, rater, fault, orjson.loads(contestants), numbers,
        trial, revision, calls, retries, reader, None if blind is None else int(blind),
    )  # fmt: skip


def _encoded(values: Any, name: str, size: int) -> Encoded:
    """A column as its labels and the place of each row's."""
    if values is None:
        return Encoded([ABSENT[name]], np.zeros(size, dtype=np.int32))
    coded = values.dictionary_encode(null_encoding="encode")
    empty = ABSENT.get(name)
    labels = [empty if label is None else label for label in coded.dictionary.to_pylist()]
    return Encoded(labels, coded.indices.to_numpy(zero_copy_only=False))


def _numbers(values: Any, name: str, size: int) -> Array:
    """A column of numbers; what is not there is as `ABSENT` says."""
    kind = np.float64 if name in REAL else np.int64
    empty = np.nan if ABSENT[name] is None else ABSENT[name]
    if values is None:
        return np.full(size, empty, dtype=kind)
    if values.null_count:
        values = values.cast("float64" if kind is np.float64 else "int64").fill_null(empty)
    array: Array = values.to_numpy(zero_copy_only=False).astype(kind)
    return array
