"""Tables with their links in the reader's language."""

from __future__ import annotations

from dataclasses import replace

from fullbench.reports import translated_tables as tables
from fullbench.reports.words import Language
from fullbench.web.results.boards.board_store import Linked


def localised(linked: Linked, language: Language) -> Linked:
    """The table and its charts in a language; links stay."""
    if language == "en":
        return linked
    charts = [tables.hint_in(hint, language) for hint in linked.charts]
    return replace(linked, table=tables.localised(linked.table, language), charts=charts)
