"""Tables: the one shape in which results leave the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fullbench.core.estimate import Estimate
from fullbench.core.notebook_display import Framed, Shown

Kind = Literal["", "name", "word", "text", "rank", "count", "n", "fault", "number", "figure"]
"""What the cells of a column are: names of the data, words of ours, free text, ranks, counts (`n`: of observations,
`fault`: of what was not ruled), numbers, figures that may have an interval; nothing where it is not said."""
Better = Literal["", "more", "less"]


Cell = str | int | float | None | Estimate


class Column(str):
    """A column of a table. It reads as its label, and knows what it is whatever it is called.

    `key` names it in code, charts and translations; `kind` says what its cells are and `better` which way is good.
    The label of a column that the data name (`named`), such as one for each contestant, is never translated.

    >>> column = Column("won", "duels won", "figure", "more")
    >>> print(column, column.key, column.better)
    duels won won more
    """

    key: str
    kind: Kind
    better: Better
    named: bool
    label: str

    def __new__(
        cls, key: str, label: str | None = None, kind: Kind = "", better: Better = "", *, named: bool = False
    ) -> Column:
        if kind not in get_args(Kind) or better not in get_args(Better):
            raise ValueError(f"column {key!r}: unknown kind {kind!r} or side {better!r}")
        column = super().__new__(cls, key if label is None else label)
        column.key, column.kind, column.better, column.named = key, kind, better, named
        column.label = key if label is None else label
        return column

    def __reduce__(self) -> tuple[Any, ...]:
        return _column, (self.key, self.label, self.kind, self.better, self.named)

    def labelled(self, label: str) -> Column:
        """The same column under another label."""
        return Column(self.key, label, self.kind, self.better, named=self.named)


def _column(key: str, label: str, kind: Kind, better: Better, named: bool) -> Column:
    return Column(key, label, kind, better, named=named)


@dataclass(frozen=True)
class Table(Framed):
    """Rows under columns, with what a reader must know to trust them.

    `notes` are sentences printed below; `source` says what made the table (judges, ballot, order rule, seed,
    versions, ledger digest), so that it can be made again. `chart` names how the table is best looked at, columns by
    their keys. Plain texts for columns, title and notes will do; typed columns (`Column`) say what their cells are,
    and notes (`Note`) can be said in another language.
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

    @property
    def typed(self) -> list[Column]:
        """The columns, each of which knows its key; of one that was given as plain text the text is the key."""
        return [column if isinstance(column, Column) else Column(column) for column in self.columns]

    def place(self, name: str) -> int | None:
        """Where a column stands, by its key or else by its label; None where there is none."""
        for names in ([column.key for column in self.typed], [str(column) for column in self.columns]):
            if name in names:
                return names.index(name)
        return None

    def column(self, name: str) -> list[Cell]:
        """The cells of one column, by its key or its label."""
        place = self.place(name)
        if place is None:
            raise ValueError(f"table {self.name!r} has no column {name!r}; it has {', '.join(self.columns)}")
        return self.cells(place)

    def cells(self, place: int) -> list[Cell]:
        """The cells of the column that stands at a place."""
        return [row[place] for row in self.rows]


class Tables(list[Table], Shown):
    """Tables one below the other, as a notebook shows them."""


def sort_value(cell: Cell) -> float | None:
    """What a numeric cell is sorted by; None for text and for nothing."""
    if isinstance(cell, Estimate):
        return cell.value
    return cell if isinstance(cell, int | float) else None
