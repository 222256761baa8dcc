"""Output of judge cards as JSON, page or tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    name = {"name": card.names[card.judge]} if card.judge in card.names else {}
    card_entries = {"judge": card.judge, **name, "lead": card.lead, **measures, "tables": tables}
    return json.dumps(card_entries, ensure_ascii=False, indent=2) + "\n"


def write_card(card: Card, path: str | Path, exhibits: Mapping[str, Sequence[Exhibit]] | None = None) -> list[Path]:
    """Write a card: .html is a page with charts, .json the whole card, .md, .txt and .csv its tables.
    `exhibits` are example cases for each section of the page.
    """
    from importlib.metadata import version

    from fullbench.reports.atomic_write import write_file
    from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
    from fullbench.reports.html_page import Section, render_page
    from fullbench.reports.table_formats import write_tables

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return [write_file(path, card_json(card))]
    if suffix not in {".html", ".htm"}:
        return write_tables(card.tables, path)
    names = DisplayNames.from_names(card.names)
    cases = {
        section: [replace(exhibit, names=names) for exhibit in section_exhibits]
        for section, section_exhibits in (exhibits or {}).items()
    }
    sections = [
        Section(section, tables=[names.table(table) for table in tables], exhibits=cases.get(section, ()))
        for section, tables in card.sections.items()
    ]
    if legend := names.legend(card.tables):
        sections.append(Section("Names", tables=[legend]))
    title, lead = f"Judge card: {names.shown_name(card.judge)}", names.with_shown_names(card.lead)
    return [write_file(path, render_page(title, lead, sections, source={"fullbench": version("fullbench")}))]
