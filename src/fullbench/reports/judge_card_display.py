"""Output of judge cards as JSON, page or tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.analysis.judge_card import Card
from fullbench.core.translatable_note import Note

if TYPE_CHECKING:
    from fullbench.reports.html_page import Exhibit


def lead_sentences(lead: str) -> list[str]:
    """Return the sentences of a card's introduction."""
    if isinstance(lead, Note) and lead.id == "list.sentences":
        return [part for value in lead.values.values() if isinstance(value, str) for part in lead_sentences(value)]
    return [lead]


def card_json(card: Card) -> str:
    """Return a card as JSON: judge, introduction, tables and any measures."""
    from fullbench.reports.table_formats import render_table

    tables = [json.loads(render_table(table, "json")) for table in card.tables]
    measures = {"measures": dict(card.measures)} if card.measures else {}
    card_entries = {"judge": card.judge, "lead": card.lead, **measures, "tables": tables}
    return json.dumps(card_entries, ensure_ascii=False, indent=2) + "\n"


def write_card(card: Card, path: str | Path, exhibits: Mapping[str, Sequence[Exhibit]] | None = None) -> list[Path]:
    """Write a card: .html is a page with charts, .json the whole card, .md, .txt and .csv its tables.
    `exhibits` are example cases for each section of the page.
    """
    from importlib.metadata import version

    from fullbench.reports.atomic_write import write_file
    from fullbench.reports.html_page import Section, render_page
    from fullbench.reports.table_formats import write_tables

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return [write_file(path, card_json(card))]
    if suffix not in {".html", ".htm"}:
        return write_tables(card.tables, path)
    cases = exhibits or {}
    sections = [Section(name, tables=tables, exhibits=cases.get(name, ())) for name, tables in card.sections.items()]
    return [
        write_file(
            path,
            render_page(f"Judge card: {card.judge}", card.lead, sections, source={"fullbench": version("fullbench")}),
        )
    ]
