"""What a table's JSON says of its types: keys and kinds of columns, ids of notes.

The texts stand where they always stood, so that whoever reads a table's JSON needs none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.note import Note, pack, unpack
from fullbench.core.table import Cell, Column, Table


def types(table: Table) -> dict[str, Any]:
    """The types of a table as JSON values; cells that are notes are named by row and column."""
    notes = {
        f"{row},{place}": pack(cell)
        for row, cells in enumerate(table.rows)
        for place, cell in enumerate(cells)
        if isinstance(cell, Note)
    }
    entries: dict[str, Any] = {"columns": [_column(column) for column in table.typed]}
    entries |= {"title": pack(table.title)} if isinstance(table.title, Note) else {}
    entries |= {"notes": [pack(note) for note in table.notes]} if table.notes else {}
    return entries | ({"cells": notes} if notes else {})


def _column(column: Column) -> dict[str, Any]:
    entries: dict[str, Any] = {"key": column.key, "kind": column.kind, "better": column.better}
    entries |= {"named": True} if column.named else {}
    return {name: value for name, value in entries.items() if value} | (
        {"label": pack(column.label)} if isinstance(column.label, Note) else {}
    )


def typed_columns(labels: Sequence[str], entries: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """Columns with their types; plain labels where nothing is known."""
    if entries is None:
        return tuple(labels)
    return tuple(
        Column(
            entry["key"], unpack(label, entry.get("label")), entry.get("kind", ""), entry.get("better", ""),
            named=entry.get("named", False),
        )
        for label, entry in zip(labels, entries, strict=True)
    )  # fmt: skip


def with_said(rows: Sequence[Sequence[Cell]], notes: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows whose cells are notes where they were."""
    return tuple(
        tuple(
            unpack(cell, notes.get(f"{row},{place}")) if isinstance(cell, str) else cell
            for place, cell in enumerate(cells)
        )
        for row, cells in enumerate(rows)
    )


def packed_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """A chart's hint as JSON values; what notes know besides their words is under `said`."""
    notes = {name: pack(value) for name, value in hint.items() if isinstance(value, Note)}
    return dict(hint) | ({"said": notes} if notes else {})


def unpacked_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """The hint that `packed_hint` packed."""
    notes = hint.get("said", {})
    return {name: unpack(value, notes.get(name)) for name, value in hint.items() if name != "said"}
