"""Text of table cells: numbers, intervals, notes and safe plain text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from fullbench.analysis.item_clustered_means_and_shares import EMPTY
from fullbench.core.built_in_table_columns import HEADINGS
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table, sort_value
from fullbench.core.translatable_note import Note, join_notes
from fullbench.secret_masking_and_text_escapes import neutralise_text

OBSERVATIONS = HEADINGS["n"]
# Counts differ from cell to cell; without them, cells of one method share one note.
_COUNT = re.compile(r"\b(over|of) \d+ (clusters|groups)\b")


def plain_line(text: str) -> str:
    r"""Return text on one line without control characters, which could manipulate a terminal.

    Marks that change the direction of writing are spelled out.

    >>> plain_line("a\x1b[31m\nb")
    'a[31m b'
    """
    chars = (" " if char.isspace() else char for char in text if char.isspace() or unicodedata.category(char) != "Cc")
    return neutralise_text(" ".join("".join(chars).split()))


def column_decimals(cells: Sequence[Cell]) -> int:
    """Return the number of decimals for a column: ratings 0, percentages 1, shares 2, cents 4.

    >>> column_decimals([0.0123]), column_decimals([0.5, 0.25]), column_decimals([12.5]), column_decimals([1034.2])
    (4, 2, 1, 0)
    """
    largest = max((abs(value) for cell in cells if (value := sort_value(cell)) is not None), default=0.0)
    return 0 if largest >= 200 else 1 if largest >= 10 else 4 if 0 < largest < 0.1 else 2


def row_decimals(table: Table, place: int) -> list[int]:
    """Return the number of decimals for each cell of a column.

    Criteria and studies may have different units. Next to ratings of one criterion, shares of another keep theirs.

    >>> table = Table("t", "T", ("criterion", "ann"), (("a", 1034.2), ("b", 0.4), ("a", 5.0)))
    >>> row_decimals(table, 1)
    [0, 2, 0]
    """
    cells = table.cells(place)
    decimals = column_decimals(cells)
    scopes = [where for key in ("study", "criterion") if (where := table.place(key)) is not None]
    if decimals or not scopes:
        return [decimals] * len(cells)
    by_scope: dict[tuple[Cell, ...], list[Cell]] = {}
    for row in table.rows:
        by_scope.setdefault(tuple(row[where] for where in scopes), []).append(row[place])
    decimals_by_scope = {scope: min(2, column_decimals(group)) for scope, group in by_scope.items()}
    return [decimals_by_scope[tuple(row[where] for where in scopes)] for row in table.rows]


def format_cell(cell: Cell, places: int = 2) -> str:
    """Return a cell as text. A one-sided interval shows which end it has.

    >>> format_cell(None), format_cell(3), format_cell(0.125, 2), format_cell("gpt")
    ('-', '3', '0.12', 'gpt')
    >>> format_cell(Estimate(1.0, 0.81, 1.0, 14, one_sided=True))
    '1.00 [≥ 0.81]'
    """
    if cell is None:
        return EMPTY
    if isinstance(cell, str):
        return plain_line(cell)
    if isinstance(cell, int | float):
        return format_number(cell, places)
    if cell.why:
        return f"{format_number(float(cell.value), places)} [{plain_line(cell.why)}]"
    value, low, high = (format_number(float(end), places) for end in (cell.value, cell.low, cell.high))
    if cell.one_sided:
        return f"{value} [≥ {low}]" if cell.high <= cell.value else f"{value} [≤ {high}]"
    return f"{value} [{low}, {high}]"


def format_number(value: float, places: int = 2) -> str:
    """Return a number as text. Integers have no decimals, and numbers that round to zero have no sign.

    >>> format_number(7), format_number(-0.001), format_number(0.3333, 3)
    ('7', '0.00', '0.333')
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ValueError(f"a table holds finite numbers or None; found {value}")
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def is_numeric_column(cells: Sequence[Cell]) -> bool:
    """Return True if a column has only numbers and empty cells."""
    return any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)


def is_fault(column: Column, cell: Cell) -> bool:
    """Return True if a cell counts unusable verdicts and is above zero.

    >>> refused = Column("refused", kind="fault")
    >>> is_fault(refused, 3), is_fault(refused, 0), is_fault(Column("n", kind="n"), 3)
    (True, False, False)
    """
    value = sort_value(cell)
    return value is not None and value > 0 and column.kind == "fault"


def table_notes(table: Table) -> list[str]:
    """Return the notes of a table, plus how its intervals were computed if its cells record that.

    >>> from fullbench.core.estimate import Estimate
    >>> cell = Estimate(0.5, 0.4, 0.6, 90, method="percentile bootstrap over 30 clusters, 1000 resamples")
    >>> table_notes(Table("t", "T", ("a",), ((cell,), (None,))))
    ['Intervals (95 %): percentile bootstrap over clusters, 1000 resamples.']
    """
    kinds: dict[float, dict[str, None]] = {}
    for cell in (cell for row in table.rows for cell in row):
        if isinstance(cell, Estimate) and cell.method and not cell.why:
            kinds.setdefault(cell.level, {})[_COUNT.sub(r"\1 \2", cell.method)] = None
    intervals = [
        Note("cells.intervals", level=100 * level, methods=join_notes(list(methods)))
        for level, methods in kinds.items()
    ]
    return [*table.notes, *intervals]


def with_n(table: Table) -> tuple[list[Column], list[list[str]]]:
    """Return columns and cell texts with the number of observations added.

    It is one column `n` if all estimates of each row share it and the table has no such column. Otherwise cells whose
    number differs from the row's `n` get `n=`.
    """
    columns = table.typed_columns
    decimals = zip(*(row_decimals(table, place) for place in range(len(columns))), strict=True)
    rows = [[*map(format_cell, row, places)] for row, places in zip(table.rows, decimals, strict=True)]
    counts = [{cell.n for cell in row if isinstance(cell, Estimate)} for row in table.rows]
    own_place = next((place for place, column in enumerate(columns) if column.key == OBSERVATIONS.key), None)
    if not any(counts):
        return columns, rows
    if all(len(numbers) <= 1 for numbers in counts):
        if own_place is not None:
            return columns, rows
        tails = [str(next(iter(numbers))) if numbers else EMPTY for numbers in counts]
        return [*columns, OBSERVATIONS], [[*row, tail] for row, tail in zip(rows, tails, strict=True)]
    for row, cells in zip(rows, table.rows, strict=True):
        row_n = None if own_place is None else cells[own_place]
        for place, cell in enumerate(cells):
            if isinstance(cell, Estimate) and cell.n != row_n:
                row[place] += f" n={cell.n}"
    return columns, rows


def format_rounded(value: float) -> str:
    """Return a number for a sentence: three significant digits, or all digits before the decimal point.

    >>> format_rounded(0.31234), format_rounded(1234.5)
    ('0.312', '1,234')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
