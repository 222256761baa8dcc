"""Rows of a notebook in and out: lists of dicts, frames of pandas or polars, data sets of Hugging Face, files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.notebook_display import frame_with
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import (
    ITEM,
    RESPONSE,
    item_of,
    read_items,
    read_responses,
    read_verdicts,
    response_of,
    verdicts_in,
)
from fullbench.files.missing_answers import Blanks
from fullbench.files.row_fields import Fields
from fullbench.files.similar_names import warn_of_twins
from fullbench.picture_decoding import encoded

LIBRARIES = ("polars", "pandas")
_OURS: set[str] = set()
"""Those that were imported here, for a frame: nobody else need be using them."""


def rows_of(data: Any, what: str = "rows") -> Iterator[dict[str, Any]]:
    """The rows of a list of dicts, of a mapping of columns, of a frame, or of a data set, as dicts."""
    if isinstance(data, Mapping):
        single = [name for name, held in data.items() if isinstance(held, str) or not isinstance(held, Iterable)]
        if single:
            raise InputError(
                f"{what} are a list of dicts, or a dict of columns; found a dict in which {str(single[0])!r} is one "
                "value: put it into a list"
            )
        columns = {str(name): list(values) for name, values in data.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise InputError(f"the columns of {what} differ in length")
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return
    if hasattr(data, "iter_rows"):
        rows: Iterable[Any] = data.iter_rows(named=True)
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):
        rows = data.to_dict("records")
    elif isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"{what} are a list of dicts, a frame, a data set, or a path; found {type(data).__name__}")
    else:
        rows = data
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} of {what} is no dict; found {type(row).__name__}")
        yield {str(name): _plain(value) for name, value in row.items()}


def items_of(data: Any, *, question: str | None = None) -> list[Item]:
    """Items from whatever a notebook holds: items themselves, rows, or the path of a file or a folder of pictures."""
    if isinstance(data, str | Path):
        return list(read_items(data, question=question))
    held = list(data) if isinstance(data, list | tuple) else data
    if isinstance(held, list) and all(isinstance(entry, Item) for entry in held):
        items = list(held)
    else:
        place = Path("items")
        items = [
            item_of(Fields(place, number, row, ITEM), question)
            for number, row in enumerate(rows_of(held, "items"), 1)
        ]  # fmt: skip
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise InputError(f"the id {twice[0]!r} occurs twice among the items; ids must differ")
    return items


def responses_of(data: Any, items: Iterable[Item]) -> list[Response]:
    """Responses from whatever a notebook holds; each belongs to an item that is there."""
    known = {item.id for item in items}
    if isinstance(data, str | Path):
        return list(read_responses(data, items=known))
    held = list(data) if isinstance(data, list | tuple) else data
    place, blanks = Path("responses"), Blanks()
    answers = (
        held
        if isinstance(held, list) and all(isinstance(entry, Response) for entry in held)
        else [
            response_of(Fields(place, number, row, RESPONSE), None, blanks)
            for number, row in enumerate(rows_of(held, "responses"), 1)
        ]
    )
    blanks.warn(place, len(answers))
    warn_of_twins(place, (answer.contestant for answer in answers))
    seen: set[tuple[str, str, int]] = set()
    for answer in answers:
        where = (answer.item, answer.contestant, answer.sample)
        if answer.item not in known:
            raise InputError(f"{answer.contestant!r} answers item {answer.item!r}, which is not among the items")
        if where in seen:
            raise InputError(f"{answer.contestant!r} answers item {answer.item!r} twice; number them by 'sample'")
        seen.add(where)
    return list(answers)


def labels_of(data: Any, ballot: str | None = None) -> list[Verdict]:
    """People's marks from whatever a notebook holds; `ballot` holds where a row has none."""
    if isinstance(data, str | Path):
        return list(read_verdicts(data, ballot=ballot))
    return list(verdicts_in(enumerate(rows_of(data, "labels"), 1), Path("labels"), ballot=ballot))


def _plain(value: Any) -> Any:
    """A value as files have it: numbers of numpy and dates become Python's own, a picture in memory its bytes."""
    if type(value).__name__ in {"NAType", "NaTType"}:  # how pandas writes that there is no text, number or time
        return None
    if isinstance(value, Path):
        return str(value)
    if callable(getattr(value, "save", None)) and hasattr(value, "tobytes"):  # a picture of Pillow
        return encoded(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():
        return value.item()
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def frame(noun: Any, library: str | None = None) -> Any:
    """A table, or a record with a row for each response that a verdict marks, as a frame."""
    rows = list(_table_rows(noun) if isinstance(noun, Table) else _record_rows(noun))
    return _library(library).DataFrame(rows)


def _library(wanted: str | None) -> Any:
    if wanted is not None and wanted not in LIBRARIES:
        raise InputError(f"frames are made by {' or '.join(LIBRARIES)}; found {wanted!r}")
    in_use = [name for name in LIBRARIES if name in sys.modules and name not in _OURS]
    installed = [name for name in LIBRARIES if find_spec(name) is not None]
    chosen = wanted or next(iter([*in_use, *installed]), "")
    if not chosen or find_spec(chosen) is None:
        raise InputError(f"frames need {chosen or 'polars or pandas'}, which is not installed: pip install polars")
    if chosen not in sys.modules:
        _OURS.add(chosen)
    return import_module(chosen)


def _record_rows(record: Record) -> Iterator[dict[str, Any]]:
    for verdict in record:
        for place, (contestant, sample) in enumerate(verdict.shown):
            yield {
                "item": verdict.item, "judge": verdict.judge, "criterion": verdict.criterion, "ballot": verdict.ballot,
                "contestant": contestant, "sample": sample, "place": place + 1,
                "mark": None if verdict.marks is None else verdict.marks[place], "fault": verdict.fault,
                "trial": verdict.trial, "rater": verdict.rater, "text": verdict.text, "case": verdict.case,
                "dollars": verdict.usage.dollars, "confidence": verdict.confidence,
                "reasoning": "\n\n".join(call.reasoning for call in verdict.exchanges if call.reasoning),
            }  # fmt: skip


def _table_rows(table: Table) -> Iterator[dict[str, Any]]:
    """Estimates spread over four columns, as in CSV."""
    wide = [any(isinstance(cell, Estimate) for cell in table.cells(n)) for n in range(len(table.columns))]
    for row in table.rows:
        cells: dict[str, Any] = {}
        for name, cell, spread in zip(table.columns, row, wide, strict=True):
            estimate = cell if isinstance(cell, Estimate) else None
            cells[str(name)] = cell if estimate is None else estimate.value
            if spread:
                low, high = (None, None) if estimate is None or estimate.why else (estimate.low, estimate.high)
                cells |= {f"{name}_low": low, f"{name}_high": high, f"{name}_n": estimate.n if estimate else None}
        yield cells


frame_with(frame)
