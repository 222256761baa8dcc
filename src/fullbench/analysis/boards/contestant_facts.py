"""What is known of contestants besides their answers, on their leaderboards: sizes, backbones, ranks elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fullbench.core.column_labels import HEADINGS, headings, named
from fullbench.core.note import Note
from fullbench.core.table import Cell, Column, Kind, Table, sort_value
from fullbench.stats.intervals import weighted_statistics

RANK = "rank"
"""The column that is a ranking from elsewhere, 1 for the best: the order here is put beside it."""
_BOARDS = frozenset({"intervals", "radar"})
_FEWEST = 3
"""Contestants that a correlation of two orders takes at least."""

About = Mapping[str, Mapping[str, Cell]]
"""What is known, by the contestant's name or its beginning and then by column."""


def with_about(tables: Iterable[Table], about: About) -> list[Table]:
    """The tables, those that are boards of contestants with a column for each thing that is known of them.

    A board is drawn as one (dots with intervals, or a radar) and has each contestant once. Where a `rank` from
    elsewhere is known, the place among those that have one stands beside it, and a note says how far both orders agree.
    """
    every = list(tables)
    boards = [_is_board(table) for table in every]
    names = {str(name) for table, is_board in zip(every, boards, strict=True) if is_board for name in _names(table)}
    unmatched = [key for key in about if len(_matches(key, names)) != 1]
    noted = [
        Note(
            "about.unmatched", "{n} names of whom something is known are of no single contestant here: {names}.",
            n=len(unmatched), names=", ".join(unmatched),
        )
    ] if unmatched else []  # fmt: skip
    return [
        _joined(table, about, names, noted) if is_board else table
        for table, is_board in zip(every, boards, strict=True)
    ]


def _is_board(table: Table) -> bool:
    hint = table.chart or {}
    if hint.get("kind") not in _BOARDS or hint.get("label") != "contestant" or "group" in hint:
        return False
    return len(set(_names(table))) == len(table.rows)


def _names(table: Table) -> list[Cell]:
    return table.column("contestant")


def _matches(key: str, names: Iterable[str]) -> list[str]:
    """The contestant of that name, else those whose names begin so."""
    known = list(names)
    return [key] if key in known else [name for name in known if name.startswith(key)]


def _joined(table: Table, about: About, names: Iterable[str], noted: Sequence[Note]) -> Table:
    known: dict[str, Mapping[str, Cell]] = {}
    for key, facts in about.items():
        matching = _matches(key, names)
        known |= {matching[0]: facts} if len(matching) == 1 else {}
    fields = list(dict.fromkeys(field for facts in about.values() for field in facts))
    columns = [_heading(table, field, about) for field in fields]
    cells = [[known.get(str(name), {}).get(field) for field in fields] for name in _names(table)]
    notes = list(noted)
    places = _places(table, known) if RANK in fields else None
    if places is not None:
        after = fields.index(RANK) + 1
        columns[after:after] = headings("place on the board")
        for row, name in zip(cells, _names(table), strict=True):
            row.insert(after, places.get(str(name)))
        notes += _agreement(places, known)
    at = (table.place("contestant") or 0) + 1
    rows = [[*row[:at], *more, *row[at:]] for row, more in zip(table.rows, cells, strict=True)]
    return replace(
        table, columns=(*table.columns[:at], *columns, *table.columns[at:]), rows=rows, notes=(*table.notes, *notes)
    )


def _heading(table: Table, field: str, about: About) -> Column:
    """The column of one thing that is known; where the board has one of that name, it says that it was given."""
    if field == RANK:
        return HEADINGS["rank elsewhere"]
    return named(field if table.place(field) is None else f"{field} (given)", _kind(field, about))


def _kind(field: str, about: About) -> Kind:
    values = [facts[field] for facts in about.values() if facts.get(field) is not None]
    return "number" if all(isinstance(value, int | float) for value in values) else "text"


def _places(table: Table, known: Mapping[str, Mapping[str, Cell]]) -> dict[str, int] | None:
    """The places of contestants that have a rank elsewhere, by what the board is drawn by; None where no order is."""
    hint = table.chart or {}
    at = table.place(str(hint.get("value")))
    if at is None or not (better := table.typed[at].better):
        return None
    sign = -1.0 if better == "more" else 1.0
    values = {
        str(name): sign * value
        for name, cell in zip(_names(table), table.cells(at), strict=True)
        if known.get(str(name), {}).get(RANK) is not None and (value := sort_value(cell)) is not None
    }
    return {name: 1 + sum(other < value for other in values.values()) for name, value in values.items()}


def _agreement(places: Mapping[str, int], known: Mapping[str, Mapping[str, Cell]]) -> list[Note]:
    ranks = np.array([sort_value(known[name][RANK]) for name in places], dtype=float)
    # Contestants that all share one place, here or elsewhere, have no order to compare.
    if len(places) < _FEWEST or len(set(places.values())) == 1 or len(set(ranks)) == 1:
        return []
    rho = float(
        weighted_statistics.spearman(np.ones((1, len(places))), np.array([*places.values()], dtype=float), ranks)[0]
    )
    return [
        Note(
            "about.rank",
            "The order here and the ranks from elsewhere have a Spearman correlation of {rho:.3f} ({n} contestants).",
            rho=rho, n=len(places),
        )
    ]  # fmt: skip
