"""Tables: the one format in which results leave the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fullbench.core.estimate import Estimate
from fullbench.core.registered_display_and_frame_functions import FrameConvertible, Printable
from fullbench.errors import InputError

Kind = Literal["", "name", "word", "text", "rank", "count", "n", "fault", "number", "metric"]
"""Kind of the cells of a column: names from the data, our own words, free text, ranks, counts (`n`: of observations,
`fault`: of unusable verdicts), numbers, or metrics that may have an interval (`figure`); empty if unknown.
"""
Better = Literal["", "more", "less"]


Cell = str | int | float | None | Estimate


class Column(str):
    """A column of a table: a string (its label) with a key, a kind and a direction.

    `key` names it in code, charts and translations. `kind` is the type of its cells, and `better` the good direction.
    The label of a column named by the data (`is_data_label`), such as one for each contestant, is never translated.

    >>> column = Column("won", "matches won", "metric", "more")
    >>> print(column, column.key, column.better)
    matches won won more
    """

    key: str
    kind: Kind
    better: Better
    is_data_label: bool
    label: str

    def __new__(
        cls, key: str, label: str | None = None, kind: Kind = "", better: Better = "", *, is_data_label: bool = False
    ) -> Column:
        if kind not in get_args(Kind) or better not in get_args(Better):
            raise ValueError(f"column {key!r}: unknown kind {kind!r} or side {better!r}")
        column = super().__new__(cls, key if label is None else label)
        column.key, column.kind, column.better, column.is_data_label = key, kind, better, is_data_label
        column.label = key if label is None else label
        return column

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_column, (self.key, self.label, self.kind, self.better, self.is_data_label)

    def with_label(self, label: str) -> Column:
        """Return the same column with another label."""
        return Column(self.key, label, self.kind, self.better, is_data_label=self.is_data_label)


def _rebuild_column(key: str, label: str, kind: Kind, better: Better, is_data_label: bool) -> Column:
    return Column(key, label, kind, better, is_data_label=is_data_label)


@dataclass(frozen=True, repr=False)
class Table(FrameConvertible, Printable):
    """Rows and columns, with the information that a reader needs to trust them.

    `notes` are sentences printed below. `source` describes the origin of the table (judges, ballot, order rule, seed,
    versions, ledger digest), so that it can be made again. `chart` describes the best chart, with columns by key.
    Columns, title and notes may be plain strings; a `Column` knows the type of its cells, and a `Note` can be
    translated. `names` are the display names of judges and contestants by full name: cells have full names, and text
    for people shows the display names. `print(table)` shows it, and `table.save("x.csv")` writes it (see
    `Printable.save`).
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    chart: Mapping[str, Any] | None = None
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name!r}: a row has {len(row)} cells for {len(self.columns)} columns")

    def __repr__(self) -> str:
        """One line, because a table of a thousand rows would fill a screen; `print` shows it."""
        return f"Table({self.name!r}, {len(self.rows):,} x {len(self.columns)})"

    @property
    def typed_columns(self) -> list[Column]:
        """The columns as `Column` objects; the key of a plain string is the string."""
        return [column if isinstance(column, Column) else Column(column) for column in self.columns]

    def place(self, name: str) -> int | None:
        """Return the index of a column, by its key or else by its label, or None if there is none."""
        for names in ([column.key for column in self.typed_columns], [str(column) for column in self.columns]):
            if name in names:
                return names.index(name)
        return None

    def column(self, name: str) -> list[Cell]:
        """Return the cells of one column, by its key or its label."""
        place = self.place(name)
        if place is None:
            raise ValueError(f"table {self.name!r} has no column {name!r}; it has {', '.join(self.columns)}")
        return self.cells(place)

    def cells(self, place: int) -> list[Cell]:
        """Return the cells of the column at an index."""
        return [row[place] for row in self.rows]


class Tables(list[Table], Printable):
    """Several tables. `print` and notebooks show them one below the other; `find` returns one by name."""

    def __repr__(self) -> str:
        return f"Tables({', '.join(map(repr, self))})"

    def find(self, name: str) -> Table:
        """Return the table with this name, or the only one whose name begins with it."""
        matches = [table for table in self if table.name == name] or [t for t in self if t.name.startswith(name)]
        if len(matches) != 1:
            names_text = ", ".join(repr(table.name) for table in matches or self)
            raise InputError(f"{len(matches)} tables are called {name!r}; there are {names_text}")
        return matches[0]


def sort_value(cell: Cell) -> float | None:
    """Return the number to sort a cell by, or None for text and empty cells."""
    if isinstance(cell, Estimate):
        return cell.value
    return cell if isinstance(cell, int | float) else None
