"""Type information in a table's JSON: keys and kinds of columns, ids of notes.

Texts stay at their usual place, so readers of the JSON can ignore the types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note, pack_note, unpack_note


def table_types(table: Table) -> dict[str, Any]:
    """Return the types of a table as JSON values; cells that are notes are keyed by row and column."""
    notes = {
        f"{row},{place}": pack_note(cell)
        for row, cells in enumerate(table.rows)
        for place, cell in enumerate(cells)
        if isinstance(cell, Note)
    }
    entries: dict[str, Any] = {"columns": [_column_types(column) for column in table.typed_columns]}
    entries |= {"title": pack_note(table.title)} if isinstance(table.title, Note) else {}
    entries |= {"notes": [pack_note(note) for note in table.notes]} if table.notes else {}
    return entries | ({"cells": notes} if notes else {})


def _column_types(column: Column) -> dict[str, Any]:
    entries: dict[str, Any] = {"key": column.key, "kind": column.kind, "better": column.better}
    entries |= {"named": True} if column.is_data_label else {}
    return {name: value for name, value in entries.items() if value} | (
        {"label": pack_note(column.label)} if isinstance(column.label, Note) else {}
    )


def typed_columns(labels: Sequence[str], entries: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """Return columns with their types, or plain labels if types are unknown."""
    if entries is None:
        return tuple(labels)
    return tuple(
        Column(
            entry["key"], unpack_note(label, entry.get("label")), entry.get("kind", ""), entry.get("better", ""),
            is_data_label=entry.get("named", False),
        )
        for label, entry in zip(labels, entries, strict=True)
    )  # fmt: skip


def restore_notes(
    rows: Sequence[Sequence[Cell]], notes: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[Cell, ...], ...]:
    """Return rows with notes restored in the cells that had them."""
    return tuple(
        tuple(
            unpack_note(cell, notes.get(f"{row},{place}")) if isinstance(cell, str) else cell
            for place, cell in enumerate(cells)
        )
        for row, cells in enumerate(rows)
    )


def packed_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chart hint as JSON values; ids and values of notes are under `said`."""
    notes = {name: pack_note(value) for name, value in hint.items() if isinstance(value, Note)}
    return dict(hint) | ({"said": notes} if notes else {})


def unpacked_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hint that `packed_hint` packed."""
    notes = hint.get("said", {})
    return {name: unpack_note(value, notes.get(name)) for name, value in hint.items() if name != "said"}
