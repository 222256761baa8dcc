"""Translation of linked tables into the reader's language."""

from __future__ import annotations

from dataclasses import replace

from fullbench.reports import translated_tables as tables
from fullbench.reports.words import Language
from fullbench.web.results.boards.board_store import LinkedTable


def translate_linked_table(linked_table: LinkedTable, language: Language) -> LinkedTable:
    """Translate a table and its charts. Links stay."""
    if language == "en":
        return linked_table
    charts = [tables.localise_hint(hint, language) for hint in linked_table.charts]
    return replace(linked_table, table=tables.localise_table(linked_table.table, language), charts=charts)
