"""Extra columns of leaderboards with user-supplied facts about contestants: sizes, backbones, ranks elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fullbench.core.built_in_table_columns import HEADINGS, data_column, table_columns
from fullbench.core.table import Cell, Column, Kind, Table, sort_value
from fullbench.core.translatable_note import Note
from fullbench.stats.intervals import statistics_for_bootstrap

RANK = "rank"
"""Column with a ranking from elsewhere (1 is best). The order on this leaderboard is added next to it."""
_BOARDS = frozenset({"intervals", "radar"})
_FEWEST = 3
"""Smallest number of contestants for a correlation of two orders."""

ContestantFacts = Mapping[str, Mapping[str, Cell]]
"""Facts by contestant name (or its beginning) and column."""


def add_contestant_facts(tables: Iterable[Table], about: ContestantFacts) -> list[Table]:
    """Return the tables; leaderboards among them get a column for each known fact.

    A leaderboard is a table drawn as dots with intervals or as a radar that lists each contestant once. If a `rank`
    from elsewhere is known, the place among the contestants with a rank is added. A note states how far both orders
    agree.
    """
    every = list(tables)
    boards = [_is_board(table) for table in every]
    names = {
        str(name)
        for table, is_board in zip(every, boards, strict=True)
        if is_board
        for name in _contestant_names(table)
    }
    unmatched_names = [key for key in about if len(_matching_names(key, names)) != 1]
    unmatched_notes = (
        [Note("about.unmatched", n=len(unmatched_names), names=", ".join(unmatched_names))] if unmatched_names else []
    )
    return [
        _add_fact_columns(table, about, names, unmatched_notes) if is_board else table
        for table, is_board in zip(every, boards, strict=True)
    ]


def _is_board(table: Table) -> bool:
    hint = table.chart or {}
    if hint.get("kind") not in _BOARDS or hint.get("label") != "contestant" or "group" in hint:
        return False
    return len(set(_contestant_names(table))) == len(table.rows)


def _contestant_names(table: Table) -> list[Cell]:
    return table.column("contestant")


def _matching_names(key: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with a key; only the plain one of a contestant and its variants.

    >>> _matching_names("m", ["m@host", "m@host without image"])
    ['m@host']
    >>> _matching_names("m", ["m-big@host", "m-small@host"])
    ['m-big@host', 'm-small@host']
    """
    matching = sorted((name for name in names if name.startswith(key)), key=len)
    has_plain_name = matching and all(name.startswith(matching[0]) for name in matching)
    return matching[:1] if has_plain_name else matching


def _add_fact_columns(table: Table, about: ContestantFacts, names: Iterable[str], extra_notes: Sequence[Note]) -> Table:
    facts_by_name: dict[str, Mapping[str, Cell]] = {}
    for key, facts in about.items():
        matching = _matching_names(key, names)
        facts_by_name |= {matching[0]: facts} if len(matching) == 1 else {}
    fields = list(dict.fromkeys(field for facts in about.values() for field in facts))
    columns = [_fact_heading(table, field, about) for field in fields]
    cells = [[facts_by_name.get(str(name), {}).get(field) for field in fields] for name in _contestant_names(table)]
    notes = list(extra_notes)
    places = _places_on_board(table, facts_by_name) if RANK in fields else None
    if places is not None:
        after = fields.index(RANK) + 1
        columns[after:after] = table_columns("place on the board")
        for row, name in zip(cells, _contestant_names(table), strict=True):
            row.insert(after, places.get(str(name)))
        notes += _rank_agreement_notes(places, facts_by_name)
    at = (table.place("contestant") or 0) + 1
    rows = [[*row[:at], *more, *row[at:]] for row, more in zip(table.rows, cells, strict=True)]
    return replace(
        table, columns=(*table.columns[:at], *columns, *table.columns[at:]), rows=rows, notes=(*table.notes, *notes)
    )


def _fact_heading(table: Table, field: str, about: ContestantFacts) -> Column:
    if field == RANK:
        return HEADINGS["rank elsewhere"]
    return data_column(field if table.place(field) is None else f"{field} (given)", _column_kind(field, about))


def _column_kind(field: str, about: ContestantFacts) -> Kind:
    values = [facts[field] for facts in about.values() if facts.get(field) is not None]
    return "number" if all(isinstance(value, int | float) for value in values) else "text"


def _places_on_board(table: Table, facts_by_name: Mapping[str, Mapping[str, Cell]]) -> dict[str, int] | None:
    """Return the places of contestants that have a rank elsewhere, or None if the drawn value has no order."""
    hint = table.chart or {}
    at = table.place(str(hint.get("value")))
    if at is None or not (better := table.typed_columns[at].better):
        return None
    sign = -1.0 if better == "more" else 1.0
    values = {
        str(name): sign * value
        for name, cell in zip(_contestant_names(table), table.cells(at), strict=True)
        if facts_by_name.get(str(name), {}).get(RANK) is not None and (value := sort_value(cell)) is not None
    }
    return {name: 1 + sum(other_value < value for other_value in values.values()) for name, value in values.items()}


def _rank_agreement_notes(places: Mapping[str, int], facts_by_name: Mapping[str, Mapping[str, Cell]]) -> list[Note]:
    ranks = np.array([sort_value(facts_by_name[name][RANK]) for name in places], dtype=float)
    # If all contestants share one place, here or elsewhere, there is no order to compare.
    if len(places) < _FEWEST or len(set(places.values())) == 1 or len(set(ranks)) == 1:
        return []
    rho = float(
        statistics_for_bootstrap.weighted_spearman(
            np.ones((1, len(places))), np.array([*places.values()], dtype=float), ranks
        )[0]
    )
    return [Note("about.rank", rho=rho, n=len(places))]
