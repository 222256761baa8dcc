"""Columns from an export of verdicts in Parquet: a file, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from fullbench.columns.builder import KIND, ROW, WHOLE, Builder, Kind
from fullbench.columns.table import STUDY, Columns
from fullbench.errors import InputError, MissingExtra

ABSENT: dict[str, Any] = {
    "study": STUDY, "rater": "", "samples": "", "revision": 0, "text": "", "criterion": "overall",
    "trial": 0, "calls": 0, "retries": 0, "tokens_in": 0, "tokens_out": 0, "dollars": None, "seconds": 0.0,
    "fault": None, "marks": None, "probability": None,
}  # fmt: skip
"""What a row has where the export has no such column."""

_BATCH = 200_000


def columns_of_parquet(path: str | Path) -> Columns:
    """The columns of an export as `fullbench ledger export --to verdicts.parquet` writes it."""
    try:
        import pyarrow
        from pyarrow import dataset
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    if not Path(path).exists():
        raise InputError("there is no such file", path=str(path))
    builder = Builder(_kind, orjson.loads)
    try:
        source = dataset.dataset(str(path), format="parquet")
        for batch in _batches(source):
            builder.add(batch)
    except (pyarrow.ArrowException, OSError, KeyError, orjson.JSONDecodeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: the verdicts could not be read ({said})") from error
    return builder.finish()


def _batches(source: Any) -> Iterator[dict[str, Sequence[Any]]]:
    """The columns of each batch as lists; texts are read as a dictionary, so that each is made once a batch."""
    present = set(source.schema.names)
    missing = {"case", "judge", "item", "contestants", "ballot"} - present
    if missing:
        raise InputError(f"an export of verdicts has the columns case, judge, item, contestants and ballot; "
                         f"{', '.join(sorted(missing))} are not there")  # fmt: skip
    names = tuple(name for name in (*KIND, *ROW, "text") if name not in {"kind", "reason"})
    for batch in source.to_batches(columns=[name for name in names if name in present], batch_size=_BATCH):
        size = batch.num_rows
        lists: dict[str, Sequence[Any]] = {
            name: _listed(batch.column(name), name) if name in present else [ABSENT[name]] * size for name in names
        }
        lists["reason"] = [
            text if fault == "recused" else "" for text, fault in zip(lists.pop("text"), lists["fault"], strict=True)
        ]
        lists["kind"] = list(zip(*(lists.pop(name) for name in KIND), strict=True))
        if size:
            yield lists


def _kind(kind: tuple[Any, ...]) -> Kind:
    *texts, contestants, samples = kind
    study, judge, criterion, ballot, rater, fault = texts
    numbers = orjson.loads(samples) if samples else ()
    return study, judge, criterion, ballot, rater, fault, orjson.loads(contestants), numbers


def _listed(values: Any, name: str) -> Sequence[Any]:
    from pyarrow import types

    if types.is_string(values.type) or types.is_large_string(values.type):
        encoded = values.dictionary_encode()
        labels = encoded.dictionary.to_pylist()
        empty = ABSENT.get(name)
        return [empty if place is None else labels[place] for place in encoded.indices.to_pylist()]
    found: list[Any] = values.to_pylist()
    if name in WHOLE:
        return [0 if value is None else int(value) for value in found]
    return found
