"""Tables in the reader's language: what we say is translated by its id, what the data name stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fullbench.core.estimate import Estimate
from fullbench.core.note import WORD, Note, say
from fullbench.core.table import Cell, Column, Table
from fullbench.reports.words import Language, labels, messages


def localised(table: Table, language: Language) -> Table:
    """The table with its title, columns, notes, words and chart in a language."""
    if language == "en":
        return table
    words = messages(language)
    columns = table.typed
    return replace(
        table,
        title=say(table.title, words),
        columns=tuple(column_in(column, language) for column in columns),
        rows=[[_cell(column, cell, words) for column, cell in zip(columns, row, strict=True)] for row in table.rows],
        notes=tuple(say(note, words) for note in table.notes),
        chart=None if table.chart is None else hint_in(table.chart, language),
    )


def column_in(column: Column, language: Language) -> Column:
    """A column under its label in a language; one that the data name, or that is unknown, under its own."""
    if column.named:
        return column
    if isinstance(column.label, Note):
        return column.labelled(column.label.said_in(messages(language)))
    return column.labelled(labels(language).get(column.key, column.label))


def hint_in(hint: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """A chart's hint: columns stay under their keys, what the hint itself calls something is translated."""
    words = messages(language)
    said = {name: say(value, words) for name, value in hint.items()}
    if "corners" in hint:
        said["corners"] = [words.get(f"{WORD}{corner}", corner) for corner in hint["corners"]]
    return said


def _cell(column: Column, cell: Cell, words: Mapping[str, str]) -> Cell:
    if isinstance(cell, Estimate):
        return replace(cell, why=say(cell.why, words)) if cell.why else cell
    if isinstance(cell, Note):
        return cell.said_in(words)
    return words.get(f"{WORD}{cell}", cell) if isinstance(cell, str) and column.kind == "word" else cell
