"""Arithmetic checks of UPME's printed tables: means and deviations that four runs can give, and the bias tests.

The authors released no reviews, so nothing else can be recomputed. The checks settle what the paper leaves open: the
definitions of the metrics, the number of models per row, the kind of deviation, the number of rows per test.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import TYPE_CHECKING

from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.files.release_rows import released_rows

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

RUNS = 4
METRICS = ("spearman", "perm_entropy")
BIAS_TEST_REVIEWS = 600
"""Reviews per bias test: the number for which the printed phi and chi-square are consistent."""
_METHODS = {"peer review": "peer", "UPME": "upme"}
_UNIT_OF_MEAN, _UNIT_OF_DEVIATION = 1e-3, 1e-4
_ROUNDING = 1e-9


def reproduce(data: Path) -> Reproduction:
    """Check if four runs can give each printed pair, and recompute p and phi of each printed chi-square."""
    cells = [*_mean_deviation_cells(data), *_bias_test_cells(data)]
    impossible = [cell.id.removeprefix("table1/") for cell in cells if cell.value is False]
    table = Table(
        "impossible",
        Note("upme.table1.title.printed-pairs-of-mean-and"),
        table_columns("row", "data set", "metric"),
        [name.split("/") for name in impossible],
        [
            Note(
                "upme.table1.of-pairs-a-pair-counts",
                n=len(impossible),
                cell=sum(cell.id.startswith("table1/") for cell in cells),
            )
        ],
    )
    return Reproduction(cells, [table])


@cache
def attainable_values(models: int, metric: str) -> tuple[float, ...]:
    """Return every value that a metric can take when `models` are ranked without ties."""
    from fullbench.stats.peer_review.list_disorder import permutation_entropy

    orders = permutations(range(models))
    if metric == "perm_entropy":
        return tuple(sorted({round(permutation_entropy(order), 12) for order in orders}))
    full = models * (models**2 - 1)
    squares = {sum((place - rank) ** 2 for place, rank in enumerate(order)) for order in orders}
    return tuple(sorted(1 - 6 * square / full for square in squares))


@cache
def attainable_moments(models: int, metric: str) -> tuple[Floats, Floats]:
    """Return mean and sample standard deviation of every four values that the metric can take."""
    import numpy as np

    fours = np.array(list(combinations_with_replacement(attainable_values(models, metric), RUNS)))
    return fours.mean(axis=1), fours.std(axis=1, ddof=1)


def is_possible(models: int, metric: str, mean: float, deviation: float) -> bool:
    """Return True if four runs can have this mean and sample standard deviation, to the printed digits.

    >>> is_possible(6, "perm_entropy", 0.141, 0.2812), is_possible(6, "spearman", 0.886, 0.0286)
    (True, False)
    """
    means, deviations = attainable_moments(models, metric)
    near_mask = (abs(means - mean) <= _UNIT_OF_MEAN + _ROUNDING) & (
        abs(deviations - deviation) <= _UNIT_OF_DEVIATION + _ROUNDING
    )
    return bool(near_mask.any())


def _mean_deviation_cells(data: Path) -> Iterator[Reproduced]:
    for row in released_rows(data, "table1_mean_std.jsonl"):
        metric, models = row.one_of("metric", METRICS), row.integer("models_ranked")
        if not 3 <= models <= 7:
            raise row.error(f"'models_ranked' must be 3 to 7; found {models}")
        is_attainable = is_possible(models, metric, row.number("mean"), row.number("std"))
        yield Reproduced(
            f"table1/{row.text('row')}/{row.text('dataset')}/{metric}", is_attainable, RUNS, source="Table 1"
        )


def _bias_test_cells(data: Path) -> Iterator[Reproduced]:
    from fullbench.stats.bias.two_by_two_chi_square import chi_square_p, phi_of

    for row in released_rows(data, "bias_tests.jsonl"):
        chi_square = row.number("chi_square")
        name = f"chi2/{row.text('bias')}/{_METHODS[row.one_of('method', _METHODS)]}"
        metrics = {
            "p": (chi_square_p(chi_square), "p_value"),
            f"phi_n{BIAS_TEST_REVIEWS}": (phi_of(chi_square, BIAS_TEST_REVIEWS), "phi"),
        }
        for metric, (computed_number, column) in metrics.items():
            paper = row.number(column)
            yield Reproduced(
                f"{name}/{metric}",
                computed_number,
                BIAS_TEST_REVIEWS,
                paper=paper,
                source="Figure 6",
                decimals=_decimal_places(paper),
            )


def _decimal_places(number: float) -> int:
    """Count the printed decimals: the paper prints p with two significant digits in places and five in others.

    >>> _decimal_places(0.0618), _decimal_places(3.142e-10)
    (4, 13)
    """
    return max(0, -int(Decimal(repr(number)).as_tuple().exponent))
