"""Rows of the judges' page: one per judge and criterion, with its trust word and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.analysis.summary.judge_trust import TRUST_WORDS, is_baseline
from fullbench.analysis.summary.study_summary import JUDGES
from fullbench.core.table import Table
from fullbench.reports.table_cell_bars_and_sort_values import Axis, LaidCell, column_axes, laid_column

LEFT_OUT = {"judge", "criterion", "trust", "why", "study"}


@dataclass(frozen=True)
class TrustRow:
    """One judge under one criterion; `word` is the English trust word, `shown` the displayed one."""

    judge: str
    word: str
    shown: str
    why: str
    cells: Sequence[LaidCell]
    is_baseline: bool


@dataclass(frozen=True)
class TrustGroup:
    """All judges of one criterion, the heads of their numbers, and the axes of bars."""

    criterion: str
    heads: Sequence[str]
    axes: Sequence[Axis | None]
    rows: Sequence[TrustRow]


def trust_groups(summary: Sequence[Table], shown_summary: Sequence[Table]) -> list[TrustGroup]:
    """Return the judges of the summary by criterion. Columns that no judge of a criterion fills are left out.

    Args:
        summary: The stored summary.
        shown_summary: The same with display names in the language of the page.
    """
    pair = next(((one, shown) for one, shown in zip(summary, shown_summary, strict=True) if one.name == JUDGES), None)
    if pair is None:
        return []
    table, shown_table = pair
    keys = [column.key for column in table.typed_columns]
    by_key = {key: table.cells(place) for place, key in enumerate(keys)}
    shown_by_key = {key: shown_table.cells(place) for place, key in enumerate(keys)}
    criteria = [str(cell) for cell in by_key.get("criterion", [OVERALL] * len(table.rows))]
    places = [place for place, key in enumerate(keys) if key not in LEFT_OUT]
    all_axes, columns = column_axes(shown_table), {place: laid_column(shown_table, place) for place in places}
    groups: list[TrustGroup] = []
    for criterion in dict.fromkeys(criteria):
        numbers = [number for number, name in enumerate(criteria) if name == criterion]
        filled = [place for place in places if any(table.rows[number][place] is not None for number in numbers)]
        rows = [
            TrustRow(
                judge=str(by_key["judge"][number]),
                word=next((word for word in TRUST_WORDS if word in str(by_key["trust"][number])), "").replace(" ", "-"),
                shown=str(shown_by_key["trust"][number]),
                why=str(shown_by_key["why"][number] or ""),
                cells=[columns[place][number] for place in filled],
                is_baseline=is_baseline(str(by_key["judge"][number])),
            )
            for number in numbers
        ]
        heads = [str(shown_table.columns[place]) for place in filled]
        groups.append(TrustGroup(criterion, heads, [all_axes[place] for place in filled], rows))
    return groups
