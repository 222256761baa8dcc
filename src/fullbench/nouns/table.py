"""Tables: the one shape in which results leave the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class EstimateLike(Protocol):
    """A figure with its interval and the number of observations behind it."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def n(self) -> int: ...


Cell = str | int | float | None | EstimateLike


@dataclass(frozen=True)
class Table:
    """Rows under named columns, with what a reader must know to trust them.

    `notes` are sentences printed below; `source` says what made the table (judges, ballot, order rule, seed,
    versions, ledger digest), so that it can be made again. `chart` names how the table is best looked at.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    chart: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name!r}: a row has {len(row)} cells for {len(self.columns)} columns")

    def column(self, name: str) -> list[Cell]:
        """The cells of one column."""
        index = list(self.columns).index(name)
        return [row[index] for row in self.rows]


def sort_value(cell: Cell) -> float | None:
    """What a numeric cell is sorted by; None for text and for nothing."""
    if isinstance(cell, EstimateLike):
        return cell.value
    return cell if isinstance(cell, int | float) else None
