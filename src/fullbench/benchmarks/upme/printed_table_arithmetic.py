"""The arithmetic behind the printed tables: which pairs of mean and deviation four runs can give, and the bias tests.

No review of the paper was released, so that this is all that can be computed again. It settles what the paper leaves
open: the metrics' definitions, how many models a row ranks, which deviation is meant, how many rows a test has.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Table
from fullbench.files.release_rows import released_rows

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

RUNS = 4
METRICS = ("spearman", "perm_entropy")
TESTED = 600
"""How many reviews each bias test counts: the number for which phi and chi-square fit together."""
_METHODS = {"peer review": "peer", "UPME": "upme"}
_UNIT_OF_MEAN, _UNIT_OF_DEVIATION = 1e-3, 1e-4
_ROUNDING = 1e-9


def reproduce(data: Path) -> Reproduction:
    """Whether each printed pair can come from four runs, and p and phi of each printed chi-square."""
    cells = [*_pairs(data), *_tests(data)]
    impossible = [cell.id.removeprefix("table1/") for cell in cells if cell.value is False]
    table = Table(
        "impossible",
        Note(
            "upme.table1.title.printed-pairs-of-mean-and",
            "Printed pairs of mean and deviation that no four runs can give",
        ),
        headings("row", "data set", "metric"),
        [name.split("/") for name in impossible],
        [
            Note(
                "upme.table1.of-pairs-a-pair-counts",
                "{n} of {cell} pairs. A pair counts as possible when both figures lie within one unit of the last "
                "printed digit.",
                n=len(impossible),
                cell=sum(cell.id.startswith("table1/") for cell in cells),
            )
        ],
    )
    return Reproduction(cells, [table])


@cache
def attainable(models: int, metric: str) -> tuple[float, ...]:
    """Every value that a metric can take when `models` are ranked without ties."""
    from fullbench.stats.peer_review.list_disorder import permutation_entropy

    orders = permutations(range(models))
    if metric == "perm_entropy":
        return tuple(sorted({round(permutation_entropy(order), 12) for order in orders}))
    full = models * (models**2 - 1)
    squares = {sum((place - rank) ** 2 for place, rank in enumerate(order)) for order in orders}
    return tuple(sorted(1 - 6 * square / full for square in squares))


@cache
def moments(models: int, metric: str) -> tuple[Floats, Floats]:
    """Mean and sample standard deviation of every four values that the metric can take."""
    import numpy as np

    fours = np.array(list(combinations_with_replacement(attainable(models, metric), RUNS)))
    return fours.mean(axis=1), fours.std(axis=1, ddof=1)


def possible(models: int, metric: str, mean: float, deviation: float) -> bool:
    """Whether four runs can have this mean and this sample standard deviation, to the digits printed.

    >>> possible(6, "perm_entropy", 0.141, 0.2812), possible(6, "spearman", 0.886, 0.0286)
    (True, False)
    """
    means, deviations = moments(models, metric)
    near = (abs(means - mean) <= _UNIT_OF_MEAN + _ROUNDING) & (
        abs(deviations - deviation) <= _UNIT_OF_DEVIATION + _ROUNDING
    )
    return bool(near.any())


def _pairs(data: Path) -> Iterator[Reproduced]:
    for row in released_rows(data, "table1_mean_std.jsonl"):
        metric, models = row.one_of("metric", METRICS), row.whole("models_ranked")
        if not 3 <= models <= 7:
            raise row.error(f"'models_ranked' must be 3 to 7; found {models}")
        held = possible(models, metric, row.number("mean"), row.number("std"))
        yield Reproduced(f"table1/{row.text('row')}/{row.text('dataset')}/{metric}", held, RUNS, source="Table 1")


def _tests(data: Path) -> Iterator[Reproduced]:
    from fullbench.stats.bias.two_by_two_tables import chi_square_p, phi_of

    for row in released_rows(data, "bias_tests.jsonl"):
        chi_square = row.number("chi_square")
        name = f"chi2/{row.text('bias')}/{_METHODS[row.one_of('method', _METHODS)]}"
        figures = {"p": (chi_square_p(chi_square), "p_value"), f"phi_n{TESTED}": (phi_of(chi_square, TESTED), "phi")}
        for figure, (ours, column) in figures.items():
            paper = row.number(column)
            yield Reproduced(f"{name}/{figure}", ours, TESTED, paper=paper, source="Figure 6", decimals=_places(paper))


def _places(figure: float) -> int:
    """How many decimals a figure was printed with; the paper prints p now with two digits that count, now with five.

    >>> _places(0.0618), _places(3.142e-10)
    (4, 13)
    """
    return max(0, -int(Decimal(repr(figure)).as_tuple().exponent))
