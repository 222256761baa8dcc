"""What an audit found, on the judge's card: its verdict first, and every figure leading to its cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fullbench.audit.card import audit_card, findings
from fullbench.audit.conduct import study_of
from fullbench.figures.card import Card
from fullbench.ledger.store import Ledger
from fullbench.nouns.table import Cell, EstimateLike, Table
from fullbench.web.results.boards import Linked
from fullbench.web.results.filters import Filter

_TAGS: Mapping[str, tuple[str, str]] = {
    "look": ("what", "shown"),
    "sight": ("kind", "kind of question"),
    "sway": ("what", "changed thing"),
    "fooled": ("what", "carrier"),
}
"""For each table the tag of items that its rows are told apart by, and the column that has its value."""
_SLICES = {
    "kind of question": "kind", "difficulty": "difficulty", "language": "language", "look of the picture": "look",
}  # fmt: skip
_PARTS = {"grades": "", "steadiness": "pairs", "scale": "scores", "calibration": "pairs"}
"""Tables whose figures all come from one part of the audit; empty: named by the row."""
OWN = ("Sees", "Knows", "Steady", "Swayed", "Fooled")


def audited(ledger: Ledger, study: str, judge: str) -> Card | None:
    """The audit's card of a judge; None where the study is no audit."""
    if study_of(study) is None:
        return None
    record = ledger.record([judge], study=study).ordered()
    return audit_card(record, findings(record, judge))


def sections(card: Card, link: str) -> list[tuple[str, list[Linked]]]:
    """The sections of an audit's card, each figure with the filter that lists its cases."""
    return [
        (title, [_linked(table, card.judge, link) for table in card.sections[title]])
        for title in OWN
        if title in card.sections
    ]


def _linked(table: Table, judge: str, study: str) -> Linked:
    keys = [column.key for column in table.typed]
    links = []
    for cells in table.rows:
        behind = _filter(table, dict(zip(keys, cells, strict=True)))
        placed = None if behind is None else replace(behind, study=study, judge=judge)
        links.append([placed if isinstance(cell, EstimateLike | int | float) else None for cell in cells])
    return Linked(table, links, [] if table.chart is None else [table.chart])


def _filter(table: Table, row: Mapping[str, Cell]) -> Filter | None:
    """The cases of a row, as far as one tag names them."""
    if table.name in _TAGS:
        tag, column = _TAGS[table.name]
        value = str(row[column])
        whole = {"all": {"sight": "look", "fooled": "attack"}, "as drawn": {"look": "pairs"}, "place": {"sway": "sway"}}
        part = whole.get(value, {}).get(table.name)
        return Filter(tag="part", value=part) if part else Filter(tag=tag, value=value)
    if table.name == "knowledge":
        split = str(row["split by"])
        tag, value = (_SLICES[split], str(row["slice"])) if split in _SLICES else ("part", "pairs")
        return Filter(tag=tag, value=value)
    part = str(row["ruling"]) if table.name == "grades" else _PARTS.get(table.name, "")
    return Filter(tag="part", value=part) if part else None
