"""How a judge card is shown and written."""

from __future__ import annotations

import json
from pathlib import Path

from fullbench.figures.card import Card


def as_json(made: Card) -> str:
    """A card as JSON: judge, lead, tables."""
    from fullbench.reports.tables import render

    tables = [json.loads(render(table, "json")) for table in made.tables]
    return json.dumps({"judge": made.judge, "lead": made.lead, "tables": tables}, ensure_ascii=False, indent=2) + "\n"


def write(made: Card, path: str | Path) -> list[Path]:
    """Write a card: .html is a page with charts, .json the whole card, .md, .txt and .csv its tables."""
    from importlib.metadata import version

    from fullbench.reports.files import write_file
    from fullbench.reports.page import Section, page
    from fullbench.reports.tables import write as write_tables

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return [write_file(path, as_json(made))]
    if suffix not in {".html", ".htm"}:
        return write_tables(made.tables, path)
    sections = [Section(name, tables=tables) for name, tables in made.sections.items()]
    return [
        write_file(
            path, page(f"Judge card: {made.judge}", made.lead, sections, source={"fullbench": version("fullbench")})
        )
    ]
