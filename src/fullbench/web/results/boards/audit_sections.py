"""What an audit found, on the judge's card: its verdict first, and every figure leading to its cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fullbench.analysis.judge_card import Card
from fullbench.audit.audit_card import audit_card, badge, beside, board, findings
from fullbench.audit.audit_run import study_of
from fullbench.audit.audited_judges import members_of
from fullbench.core.digests import digest
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.lists.verdict_filters import Filter

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


def audited(ledger: Ledger, study: str, judge: str) -> tuple[Card, str] | None:
    """The audit's card of a judge, and its badge; None where the study is no audit."""
    if study_of(study) is None:
        return None
    members = members_of(ledger, judge)
    record = ledger_columns.record(ledger, [judge, *members], study=study).ordered()
    result = findings(record, judge, members=members)
    return audit_card(record, result), badge(result)


_BEHIND: Mapping[str, Filter] = {
    "looks": Filter(tag="part", value="look"),
    "sight index": Filter(tag="part", value="look"),
    "ruled rightly": Filter(tag="part", value="pairs"),
    "same ruling in both orders": Filter(tag="part", value="pairs", both=True),
    "in the other order": Filter(tag="part", value="pairs", both=True),
    "again": Filter(tag="part", value="pairs"),
    "question reworded": Filter(tag="part", value="reworded"),
    "rubric reworded": Filter(tag="part", value="pairs"),
    "overconfident by": Filter(tag="part", value="pairs"),
    "sways found": Filter(tag="part", value="sway"),
    "place": Filter(tag="part", value="sway"),
    "order of pictures": Filter(tag="part", value="sway"),
    "beyond the honest rate": Filter(tag="part", value="attack"),
    "reading misled": Filter(tag="part", value="attack"),
    "faults": Filter(fault="any"),
    "verdicts": Filter(),
}
"""For each figure of the board, which of a judge's verdicts stand behind it."""


def board_name(study: str) -> str:
    """The name of the board of audited judges of a study among what was computed."""
    return f"audited-{digest([study])[:16]}"


def audited_judges(ledger: Ledger, study: str, link: str) -> list[Linked]:
    """The board of an audit's judges, and their cards side by side; nothing where the study is no audit."""
    if study_of(study) is None:
        return []
    record = ledger_columns.record(ledger, study=study).ordered()
    results = [findings(record, judge, members=members_of(ledger, judge)) for judge in record.judges]
    if not results:
        return []
    table = board(results)
    keys = [column.key for column in table.typed]
    links = [[_whose(_BEHIND.get(key), str(row[0]), link) for key in keys] for row in table.rows]
    both = [Linked(replace(table, chart=None), links)]
    if len(results) > 1:
        side = beside(results)
        names = [column.key for column in side.typed][1:]
        rows = [
            [None, *(_whose(_BEHIND.get(figure, Filter(tag="what", value=figure)), name, link) for name in names)]
            for figure in (str(row[0]) for row in side.rows)
        ]
        both.append(Linked(side, rows))
    return both


def _whose(behind: Filter | None, judge: str, study: str) -> Filter | None:
    return None if behind is None else replace(behind, judge=judge, study=study)


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
        links.append([placed if isinstance(cell, Estimate | int | float) else None for cell in cells])
    return Linked(table, links, [] if table.chart is None else [table.chart])


def _filter(table: Table, row: Mapping[str, Cell]) -> Filter | None:
    """The cases of a row, as far as one tag names them."""
    if table.name in _TAGS:
        tag, column = _TAGS[table.name]
        value = str(row[column])
        whole = {
            "all": {"sight": "look", "fooled": "attack"}, "as drawn": {"look": "pairs"}, "place": {"sway": "sway"},
            "order of pictures": {"sway": "sway"},
        }  # fmt: skip
        part = whole.get(value, {}).get(table.name)
        return Filter(tag="part", value=part) if part else Filter(tag=tag, value=value)
    if table.name == "knowledge":
        split = str(row["split by"])
        unsplit = "drawn" if split == "answers" else "pairs"
        tag, value = (_SLICES[split], str(row["slice"])) if split in _SLICES else ("part", unsplit)
        return Filter(tag=tag, value=value)
    part = str(row["ruling"]) if table.name == "grades" else _PARTS.get(table.name, "")
    return Filter(tag="part", value=part) if part else None
