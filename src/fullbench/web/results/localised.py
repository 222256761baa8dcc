"""Tables in the reader's language: what we say is translated, names that come from the data stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fullbench.nouns.estimate import Estimate
from fullbench.nouns.table import Cell, Table
from fullbench.web.results.boards import Linked
from fullbench.web.words import Language, translate

WORDY = {"ruling", "figure", "bias", "told apart", "may replace people", "share of the commonest ruling"}
"""Columns whose texts are words of ours."""


def localised(linked: Linked, language: Language) -> Linked:
    """The table with its title, columns, notes and charts in a language."""
    if language == "en":
        return linked
    table, say = linked.table, partial(translate, language)
    names = set(table.columns) - _data(table)
    heads = {name: say(name) if name in names else name for name in table.columns}
    if len(set(heads.values())) < len(heads):
        heads = {name: name for name in table.columns}
    turned = replace(
        table,
        title=say(table.title),
        columns=tuple(heads.values()),
        rows=[
            [_cell(table, name, cell, language) for name, cell in zip(heads, row, strict=True)] for row in table.rows
        ],
        notes=tuple(say(note) for note in table.notes),
        chart=None if table.chart is None else _hint(table.chart, heads, language),
    )
    return Linked(turned, linked.links, [_hint(one, heads, language) for one in linked.charts])


def _data(table: Table) -> set[str]:
    """The columns that are named by the data: contestants, a tag, its values."""
    columns = list(table.columns)
    if table.name.split(", ")[0] == "wins":  # the family of ballots may follow
        return set(columns[1:])
    if " by " not in table.name:
        return set()
    return set(columns[1:-2] if columns[-1] == "worst" else columns[1:2])


def _cell(table: Table, column: str, cell: Cell, language: Language) -> Cell:
    if isinstance(cell, Estimate):
        return replace(cell, why=translate(language, cell.why)) if cell.why else cell
    group = " by " in table.name and column in _data(table)
    return translate(language, cell) if isinstance(cell, str) and (column in WORDY or group) else cell


def _hint(hint: Mapping[str, Any], heads: Mapping[str, str], language: Language) -> dict[str, Any]:
    """A hint that names the columns by their new heads, and what it names itself by our words."""

    def named(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [named(one) for one in value]
        known = isinstance(value, str) and (value in {"won", "against"} or value.startswith("mean "))
        return heads.get(value, translate(language, value) if known else value) if isinstance(value, str) else value

    return {name: value if name == "kind" else named(value) for name, value in hint.items()}
