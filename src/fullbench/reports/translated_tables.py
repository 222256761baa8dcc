"""Translation of tables: fullbench's own texts are translated by id, names from the data stay unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import WORD, Note, translate_if_note
from fullbench.reports.words import Language, column_translations, language_messages


def localise_table(table: Table, language: Language) -> Table:
    """Return the table with title, columns, notes, words and chart in a language."""
    if language == "en":
        return table
    words = language_messages(language)
    columns = table.typed_columns
    return replace(
        table,
        title=translate_if_note(table.title, words),
        columns=tuple(localise_column(column, language) for column in columns),
        rows=[
            [_translate_cell(column, cell, words) for column, cell in zip(columns, row, strict=True)]
            for row in table.rows
        ],
        notes=tuple(translate_if_note(note, words) for note in table.notes),
        chart=None if table.chart is None else localise_hint(table.chart, language),
    )


def localise_column(column: Column, language: Language) -> Column:
    """Return a column with its translated label; labels from the data and unknown ones stay unchanged."""
    if column.is_data_label:
        return column
    if isinstance(column.label, Note):
        return column.with_label(column.label.translate_with(language_messages(language)))
    return column.with_label(column_translations(language).get(column.key, column.label))


def localise_hint(hint: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """Translate the texts of a chart hint; columns keep their keys."""
    words = language_messages(language)
    translation = {name: translate_if_note(value, words) for name, value in hint.items()}
    if "corners" in hint:
        translation["corners"] = [words.get(f"{WORD}{corner}", corner) for corner in hint["corners"]]
    return translation


def _translate_cell(column: Column, cell: Cell, words: Mapping[str, str]) -> Cell:
    if isinstance(cell, Estimate):
        return replace(cell, why=translate_if_note(cell.why, words)) if cell.why else cell
    if isinstance(cell, Note):
        return cell.translate_with(words)
    return words.get(f"{WORD}{cell}", cell) if isinstance(cell, str) and column.kind == "word" else cell
