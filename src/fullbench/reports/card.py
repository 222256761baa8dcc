"""How a judge card is shown and written."""

from __future__ import annotations

import json
from pathlib import Path

from fullbench.figures.card import Card


def as_json(card: Card) -> str:
    """A card as JSON: judge, lead, tables."""
    from fullbench.reports.tables import render

    tables = [json.loads(render(table, "json")) for table in card.tables]
    return json.dumps({"judge": card.judge, "lead": card.lead, "tables": tables}, ensure_ascii=False, indent=2) + "\n"


def write(card: Card, path: str | Path) -> list[Path]:
    """Write a card: .html is a page with charts, .json the whole card, .md, .txt and .csv its tables."""
    from importlib.metadata import version

    from fullbench.reports.files import write_file
    from fullbench.reports.page import Section, page
    from fullbench.reports.tables import write as write_tables

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return [write_file(path, as_json(card))]
    if suffix not in {".html", ".htm"}:
        return write_tables(card.tables, path)
    sections = [Section(name, tables=tables) for name, tables in card.sections.items()]
    return [
        write_file(
            path, page(f"Judge card: {card.judge}", card.lead, sections, source={"fullbench": version("fullbench")})
        )
    ]
