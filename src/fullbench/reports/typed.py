"""What a table's JSON says of its types: keys and kinds of columns, ids of notes.

The texts stand where they always stood, so that whoever reads a table's JSON needs none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.nouns.note import Note, pack, unpack
from fullbench.nouns.table import Cell, Column, Table


def types(table: Table) -> dict[str, Any]:
    """The types of a table as JSON values; cells that are notes are named by row and column."""
    said = {
        f"{row},{place}": pack(cell)
        for row, cells in enumerate(table.rows)
        for place, cell in enumerate(cells)
        if isinstance(cell, Note)
    }
    told: dict[str, Any] = {"columns": [_column(column) for column in table.typed]}
    told |= {"title": pack(table.title)} if isinstance(table.title, Note) else {}
    told |= {"notes": [pack(note) for note in table.notes]} if table.notes else {}
    return told | ({"cells": said} if said else {})


def _column(column: Column) -> dict[str, Any]:
    told: dict[str, Any] = {"key": column.key, "kind": column.kind, "better": column.better}
    told |= {"named": True} if column.named else {}
    return {name: value for name, value in told.items() if value} | (
        {"label": pack(column.label)} if isinstance(column.label, Note) else {}
    )


def typed_columns(labels: Sequence[str], told: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """Columns with their types; plain labels where nothing is told."""
    if told is None:
        return tuple(labels)
    return tuple(
        Column(
            one["key"], unpack(label, one.get("label")), one.get("kind", ""), one.get("better", ""),
            named=one.get("named", False),
        )
        for label, one in zip(labels, told, strict=True)
    )  # fmt: skip


def with_said(rows: Sequence[Sequence[Cell]], said: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows whose cells are notes where they were."""
    return tuple(
        tuple(
            unpack(cell, said.get(f"{row},{place}")) if isinstance(cell, str) else cell
            for place, cell in enumerate(cells)
        )
        for row, cells in enumerate(rows)
    )


def packed_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """A chart's hint as JSON values; what notes know besides their words is under `said`."""
    said = {name: pack(value) for name, value in hint.items() if isinstance(value, Note)}
    return dict(hint) | ({"said": said} if said else {})


def unpacked_hint(hint: Mapping[str, Any]) -> dict[str, Any]:
    """The hint that `packed_hint` packed."""
    said = hint.get("said", {})
    return {
        name: unpack(value, said[name]) if name in said else value for name, value in hint.items() if name != "said"
    }
