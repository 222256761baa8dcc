"""Conversion of notebook data: lists of dicts, pandas or polars frames, Hugging Face data sets, files."""

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
from fullbench.core.registered_display_and_frame_functions import register_framer
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.annotation_tools.read_labels import label_rows
from fullbench.files.existing_scores import ExistingVerdicts, existing_verdicts
from fullbench.files.item_response_verdict_files import (
    RESPONSE,
    RESPONSE_FALLBACKS,
    item_fields,
    item_of,
    read_items,
    read_responses,
    read_verdicts,
    response_of,
    verdicts_in,
)
from fullbench.files.missing_answer_texts import Blanks
from fullbench.files.name_suggestions_and_lookalikes import warn_of_twins
from fullbench.files.row_fields import Fields
from fullbench.picture_flattening_and_orientation import encode_image

LIBRARIES = ("polars", "pandas")
_IMPORTED_HERE: set[str] = set()
"""Libraries that were imported only to make a frame; the user may not use them."""


def rows_of(data: Any, what: str = "rows") -> Iterator[dict[str, Any]]:
    """Yield the rows of a list of dicts, a mapping of columns, a frame or a data set, as dicts."""
    if isinstance(data, Mapping):
        single = [name for name, column in data.items() if isinstance(column, str) or not isinstance(column, Iterable)]
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
            raise InputError(f"row {number} of {what} is not a dict; found {type(row).__name__}")
        yield {str(name): _plain_value(value) for name, value in row.items()}


def items_of(data: Any, *, question: str | None = None) -> list[Item]:
    """Return items from `Item` objects, rows, or the path of a file or a folder of pictures."""
    if isinstance(data, str | Path):
        return list(read_items(data, question=question))
    entries = list(data) if isinstance(data, list | tuple) else data
    if isinstance(entries, list) and all(isinstance(entry, Item) for entry in entries):
        items = list(entries)
    else:
        place = Path("items")
        items = [
            item_of(item_fields(place, number, row), question)
            for number, row in enumerate(rows_of(entries, "items"), 1)
        ]  # fmt: skip
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise InputError(f"the id {twice[0]!r} occurs twice among the items; ids must differ")
    return items


def responses_of(data: Any, items: Iterable[Item]) -> list[Response]:
    """Return responses from `Response` objects, rows or a path; each must belong to one of the items."""
    item_ids = {item.id for item in items}
    if isinstance(data, str | Path):
        return list(read_responses(data, items=item_ids))
    entries = list(data) if isinstance(data, list | tuple) else data
    place, blanks = Path("responses"), Blanks()
    answers = (
        entries
        if isinstance(entries, list) and all(isinstance(entry, Response) for entry in entries)
        else [
            response_of(Fields(place, number, row, RESPONSE, RESPONSE_FALLBACKS), None, blanks)
            for number, row in enumerate(rows_of(entries, "responses"), 1)
        ]
    )
    blanks.warn(place, len(answers))
    warn_of_twins(place, (answer.contestant for answer in answers))
    seen_keys: set[tuple[str, str, int]] = set()
    for answer in answers:
        where = (answer.item, answer.contestant, answer.sample)
        if answer.item not in item_ids:
            raise InputError(f"{answer.contestant!r} answers item {answer.item!r}, which is not among the items")
        if where in seen_keys:
            raise InputError(f"{answer.contestant!r} answers item {answer.item!r} twice; number them in 'sample'")
        seen_keys.add(where)
    return list(answers)


def labels_of(data: Any, ballot: str | None = None) -> list[Verdict]:
    """Return people's marks from rows or a path; `ballot` is the default for rows without one."""
    if isinstance(data, str | Path):
        return list(read_verdicts(data, ballot=ballot))
    return list(verdicts_in(enumerate(rows_of(data, "labels"), 1), Path("labels"), ballot=ballot))


def existing_of(verdicts: Any, labels: Any = None, ballot: str | None = None) -> ExistingVerdicts:
    """Return verdicts that exist already, and people's labels: each a record, rows, or the path of a file.

    Args:
        verdicts: Verdicts of judges; a list of paths is possible too.
        labels: People's verdicts.
        ballot: Ballot of rows without one.
    """
    if isinstance(verdicts, Record):
        label_verdicts = [] if labels is None else labels_of(labels, ballot)
        return ExistingVerdicts(list(verdicts.verdicts), label_verdicts)
    are_paths = isinstance(verdicts, list | tuple) and all(isinstance(entry, str | Path) for entry in verdicts)
    sources = [_rows_with_place(entry, "verdicts") for entry in (verdicts if are_paths and verdicts else [verdicts])]
    return existing_verdicts(sources, None if labels is None else _rows_with_place(labels, "labels"), ballot)


def _rows_with_place(data: Any, what: str) -> tuple[Path, Iterable[tuple[int, Mapping[str, Any]]]]:
    if isinstance(data, str | Path):
        return Path(data), label_rows(Path(data))
    return Path(what), enumerate(rows_of(data, what), 1)


def _plain_value(value: Any) -> Any:
    if type(value).__name__ in {"NAType", "NaTType"}:  # missing values of pandas
        return None
    if isinstance(value, Path):
        return str(value)
    if callable(getattr(value, "save", None)) and hasattr(value, "tobytes"):  # a Pillow image
        return encode_image(value)
    if isinstance(value, list | tuple):
        return [_plain_value(entry) for entry in value]
    if callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():
        return value.item()
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def make_frame(noun: Any, library: str | None = None) -> Any:
    """Return a table as a frame, or a record with one row for each response that a verdict marks."""
    rows = list(_table_rows(noun) if isinstance(noun, Table) else _record_rows(noun))
    return _frame_library(library).DataFrame(rows)


def _frame_library(requested_name: str | None) -> Any:
    if requested_name is not None and requested_name not in LIBRARIES:
        raise InputError(f"frames can be made with {' or '.join(LIBRARIES)}; found {requested_name!r}")
    # Prefer the library that the user has already imported.
    in_use = [name for name in LIBRARIES if name in sys.modules and name not in _IMPORTED_HERE]
    installed_names = [name for name in LIBRARIES if find_spec(name) is not None]
    library_name = requested_name or next(iter([*in_use, *installed_names]), "")
    if not library_name or find_spec(library_name) is None:
        raise InputError(
            f"frames need {library_name or 'polars or pandas'}, which is not installed: pip install polars"
        )
    if library_name not in sys.modules:
        _IMPORTED_HERE.add(library_name)
    return import_module(library_name)


def _record_rows(record: Record) -> Iterator[dict[str, Any]]:
    for verdict in record:
        for place, (contestant, sample) in enumerate(verdict.shown_responses):
            yield {
                "item": verdict.item, "judge": verdict.judge, "criterion": verdict.criterion, "ballot": verdict.ballot,
                "contestant": contestant, "sample": sample, "place": place + 1,
                "mark": None if verdict.marks is None else verdict.marks[place], "fault": verdict.fault,
                "trial": verdict.trial, "rater": verdict.rater, "text": verdict.text, "case": verdict.case,
                "dollars": verdict.usage.dollars, "confidence": verdict.confidence,
                "reasoning": "\n\n".join(call.reasoning for call in verdict.exchanges if call.reasoning),
            }  # fmt: skip


def _table_rows(table: Table) -> Iterator[dict[str, Any]]:
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


register_framer(make_frame)
