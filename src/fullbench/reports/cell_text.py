"""How one cell of a table is shown."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

from fullbench.analysis.estimate_cells import EMPTY
from fullbench.core.column_labels import HEADINGS
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed
from fullbench.core.table import Cell, Column, Table, sort_value
from fullbench.text_safety import neutral

OBSERVATIONS = HEADINGS["n"]
_COUNT = re.compile(r"\b(over|of) \d+ (clusters|groups)\b")


def plain(text: str) -> str:
    """Text on one line and without control characters, which could rewrite a terminal; marks that turn the direction
    of writing are spelt out.

    >>> plain("a\\x1b[31m\\nb")
    'a[31m b'
    """
    chars = (" " if char.isspace() else char for char in text if char.isspace() or unicodedata.category(char) != "Cc")
    return neutral(" ".join("".join(chars).split()))


def decimals(cells: Sequence[Cell]) -> int:
    """How many decimals the numbers of a column deserve: ratings none, percentages one, shares two, cents four.

    >>> decimals([0.0123]), decimals([0.5, 0.25]), decimals([12.5]), decimals([1034.2])
    (4, 2, 1, 0)
    """
    largest = max((abs(value) for cell in cells if (value := sort_value(cell)) is not None), default=0.0)
    return 0 if largest >= 200 else 1 if largest >= 10 else 4 if 0 < largest < 0.1 else 2


def show(cell: Cell, places: int = 2) -> str:
    """A cell as text. An interval with one end says which.

    >>> show(None), show(3), show(0.125, 2), show("gpt")
    ('-', '3', '0.12', 'gpt')
    >>> show(Estimate(1.0, 0.81, 1.0, 14, one_sided=True)), show(Estimate(0.0, 0.0, 0.19, 14, one_sided=True))
    ('1.00 [≥ 0.81]', '0.00 [≤ 0.19]')
    """
    if cell is None:
        return EMPTY
    if isinstance(cell, str):
        return plain(cell)
    if isinstance(cell, int | float):
        return number(cell, places)
    if cell.why:
        return f"{number(float(cell.value), places)} [{plain(cell.why)}]"
    value, low, high = (number(float(end), places) for end in (cell.value, cell.low, cell.high))
    if cell.one_sided:
        return f"{value} [≥ {low}]" if cell.high <= cell.value else f"{value} [≤ {high}]"
    return f"{value} [{low}, {high}]"


def number(value: float, places: int = 2) -> str:
    """A number as text; whole numbers keep no decimals, and what rounds to zero has no sign.

    >>> number(7), number(-0.001), number(0.3333, 3)
    ('7', '0.00', '0.333')
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ValueError(f"a table holds finite numbers or None; found {value}")
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def numeric(cells: Sequence[Cell]) -> bool:
    """Whether a column holds numbers only (and gaps)."""
    return any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)


def is_fault(column: Column, cell: Cell) -> bool:
    """Whether a cell counts faults, and there are some.

    >>> refused = Column("refused", kind="fault")
    >>> is_fault(refused, 3), is_fault(refused, 0), is_fault(Column("n", kind="n"), 3)
    (True, False, False)
    """
    value = sort_value(cell)
    return value is not None and value > 0 and column.kind == "fault"


def notes(table: Table) -> list[str]:
    """The notes of a table, and how its intervals were made where its cells know.

    >>> from fullbench.core.estimate import Estimate
    >>> cell = Estimate(0.5, 0.4, 0.6, 90, method="percentile bootstrap over 30 clusters, 1000 resamples")
    >>> notes(Table("t", "T", ("a",), ((cell,), (None,))))
    ['Intervals (95 %): percentile bootstrap over clusters, 1000 resamples.']
    """
    kinds: dict[float, dict[str, None]] = {}
    for cell in (cell for row in table.rows for cell in row):
        if isinstance(cell, Estimate) and cell.method and not cell.why:
            kinds.setdefault(cell.level, {})[_COUNT.sub(r"\1 \2", cell.method)] = None
    intervals = [
        Note("cells.intervals", "Intervals ({level:g} %): {methods}.", level=100 * level, methods=listed(list(methods)))
        for level, methods in kinds.items()
    ]
    return [*table.notes, *intervals]


def with_n(table: Table) -> tuple[list[Column], list[list[str]]]:
    """Columns and shown cells, with the number of observations beside the intervals.

    One column `n` where all estimates of each row share it and the table has no such column; else `n=` in each cell
    whose number is not the row's own `n`.
    """
    columns = table.typed
    places = [decimals(table.cells(place)) for place in range(len(columns))]
    rows = [[show(cell, place) for cell, place in zip(row, places, strict=True)] for row in table.rows]
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
        own = None if own_place is None else cells[own_place]
        for place, cell in enumerate(cells):
            if isinstance(cell, Estimate) and cell.n != own:
                row[place] += f" n={cell.n}"
    return columns, rows


def rounded(value: float) -> str:
    """A figure in a sentence: three digits, or all whole ones.

    >>> rounded(0.31234), rounded(1234.5)
    ('0.312', '1,234')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
