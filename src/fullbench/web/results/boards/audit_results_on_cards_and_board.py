"""Audit results on a judge's card and on the board of audited judges; numbers link to their cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fullbench.analysis.judge_card import Card
from fullbench.audit.audit_card_and_board import (
    SECTIONS,
    audit_board,
    audit_card,
    build_findings,
    render_badge,
    side_by_side_table,
)
from fullbench.audit.audit_run import parse_study_name
from fullbench.audit.audited_judge_loader import view_members
from fullbench.audit.cases.media_use_cases import MEDIA
from fullbench.audit.cases.media_use_cases import PLAIN as MEDIA_PAIRS
from fullbench.audit.cases.media_use_cases import VARIED as MEDIA_VARIED
from fullbench.core.estimate import Estimate
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import NOUNS
from fullbench.core.table import Cell, Table
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.lists.verdict_filters import Filter

_TAGS: Mapping[str, tuple[str, str]] = {
    "picture variants": ("what", "shown"),
    "picture use": ("kind", "kind of question"),
    **{f"{NOUNS[medium]} variants": ("what", "shown") for medium in MEDIA},
    **{f"{NOUNS[medium]} use": ("kind", "kind of question") for medium in MEDIA},
    **{f"{NOUNS[medium]} order use": ("kind", "kind of question") for medium in MEDIA},
    "bias": ("what", "changed thing"),
    "fooled": ("what", "carrier"),
}
"""Item tag that distinguishes the rows of each table, and the column with its value."""
_SLICES = {
    "kind of question": "kind", "difficulty": "difficulty", "language": "language", "picture style": "picture_style",
}  # fmt: skip
_PARTS = {"grades": "", "steadiness": "pairs", "scale": "scores", "calibration": "pairs"}
"""Part of the audit that all numbers of a table come from; empty: named by the row."""
AUDIT_TITLES = SECTIONS[:-1]
"""Sections of an audit card on the page: all but the last, which the judge's own page has, too."""


def audit_card_and_badge(ledger: Ledger, study: str, judge: str) -> tuple[Card, str] | None:
    """Return the audit card of a judge and its SVG badge, or None if the study is no audit."""
    if parse_study_name(study) is None:
        return None
    members = view_members(ledger, judge)
    record = ledger_verdicts_with_panels.load_record(ledger, [judge, *members], study=study).in_canonical_order()
    result = build_findings(record, judge, members=members)
    return audit_card(record, result), render_badge(result)


_METRIC_FILTERS: Mapping[str, Filter] = {
    "uses picture": Filter(tag="part", value="picture use"),
    "picture use index": Filter(tag="part", value="picture use"),
    "place use index": Filter(tag="part", value="places"),
    **{f"{NOUNS[medium]} use index": Filter(tag="medium", value=medium) for medium in MEDIA},
    **{f"{NOUNS[medium]} judged correctly": Filter(tag="part", value=MEDIA_PAIRS) for medium in MEDIA},
    **{
        f"{NOUNS[medium]} order use index": Filter(tag="what", value=change)
        for medium, tests in MEDIA.items()
        for change in tests.reordered
    },
    "judged correctly": Filter(tag="part", value="pairs"),
    "same verdict in both orders": Filter(tag="part", value="pairs", both=True),
    "in the other order": Filter(tag="part", value="pairs", both=True),
    "again": Filter(tag="part", value="pairs"),
    "question reworded": Filter(tag="part", value="reworded"),
    "rubric reworded": Filter(tag="part", value="pairs"),
    "overconfident by": Filter(tag="part", value="pairs"),
    "biases found": Filter(tag="part", value="bias"),
    "place": Filter(tag="part", value="bias"),
    "order of pictures": Filter(tag="part", value="bias"),
    "beyond the honest rate": Filter(tag="part", value="attack"),
    "reading misled": Filter(tag="part", value="attack"),
    "unusable": Filter(fault="any"),
    "verdicts": Filter(),
}
"""Filter of the verdicts behind each metric of the board."""


def board_name(study: str) -> str:
    """Return the name of the board of a study's audited judges in the table of boards."""
    return f"audited-{digest([study])[:16]}"


def audited_judge_tables(ledger: Ledger, study: str, link: str) -> list[LinkedTable]:
    """Return the board of audited judges and the comparison of their cards. Empty if the study is no audit."""
    if parse_study_name(study) is None:
        return []
    record = ledger_verdicts_with_panels.load_record(ledger, study=study).in_canonical_order()
    results = [build_findings(record, judge, members=view_members(ledger, judge)) for judge in record.judges]
    if not results:
        return []
    table = audit_board(results)
    keys = [column.key for column in table.typed_columns]
    links = [[_filter_for_judge(_METRIC_FILTERS.get(key), str(row[0]), link) for key in keys] for row in table.rows]
    linked_tables = [LinkedTable(replace(table, chart=None), links)]
    if len(results) > 1:
        comparison = side_by_side_table(results)
        names = [column.key for column in comparison.typed_columns][1:]
        rows = [
            [
                None,
                *(
                    _filter_for_judge(_METRIC_FILTERS.get(metric, Filter(tag="what", value=metric)), name, link)
                    for name in names
                ),
            ]
            for metric in (str(row[0]) for row in comparison.rows)
        ]
        linked_tables.append(LinkedTable(comparison, rows))
    return linked_tables


def _filter_for_judge(base_filter: Filter | None, judge: str, study: str) -> Filter | None:
    return None if base_filter is None else replace(base_filter, judge=judge, study=study)


def card_sections(card: Card, link: str) -> list[tuple[str, list[LinkedTable]]]:
    """Return the sections of an audit card, with the filter behind each number."""
    return [
        (title, [_link_table(table, card.judge, link) for table in card.sections[title]])
        for title in AUDIT_TITLES
        if title in card.sections
    ]


def _link_table(table: Table, judge: str, study: str) -> LinkedTable:
    keys = [column.key for column in table.typed_columns]
    links = []
    for cells in table.rows:
        row_filter = _filter_for_row(table, dict(zip(keys, cells, strict=True)))
        judge_filter = None if row_filter is None else replace(row_filter, study=study, judge=judge)
        links.append([judge_filter if isinstance(cell, Estimate | int | float) else None for cell in cells])
    return LinkedTable(table, links, [] if table.chart is None else [table.chart])


def _filter_for_row(table: Table, row: Mapping[str, Cell]) -> Filter | None:
    """Filter of a row's cases, as far as one tag can select them."""
    if table.name in _TAGS:
        tag, column = _TAGS[table.name]
        value = str(row[column])
        parts_by_value = {
            "all": {
                "picture use": "picture use", "fooled": "attack",
                **{f"{NOUNS[medium]} use": MEDIA_VARIED for medium in MEDIA},
                **{f"{NOUNS[medium]} order use": MEDIA_VARIED for medium in MEDIA},
            },
            "as drawn": {"picture variants": "pairs", **{f"{NOUNS[medium]} variants": MEDIA_PAIRS for medium in MEDIA}},
            "place": {"bias": "bias"},
            "order of pictures": {"bias": "bias"},
        }  # fmt: skip
        part = parts_by_value.get(value, {}).get(table.name)
        return Filter(tag="part", value=part) if part else Filter(tag=tag, value=value)
    if table.name == "knowledge":
        split = str(row["split by"])
        unsplit = "drawn" if split == "answers" else "pairs"
        tag, value = (_SLICES[split], str(row["slice"])) if split in _SLICES else ("part", unsplit)
        return Filter(tag=tag, value=value)
    part = str(row["verdict"]) if table.name == "grades" else _PARTS.get(table.name, "")
    return Filter(tag="part", value=part) if part else None
