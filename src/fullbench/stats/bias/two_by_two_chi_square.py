"""Association of two yes/no questions about the same objects: chi-square and phi of a two-by-two table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined


@dataclass(frozen=True)
class Association:
    """Pearson's chi-square, its p-value, and phi from -1 to 1: positive if both answers tend to be equal."""

    chi_square: float
    p: float
    phi: float
    n: int


def chi_square_p(chi_square: float) -> float:
    """Return the chance of a chi-square this large, with one degree of freedom.

    >>> round(chi_square_p(3.841), 3)
    0.05
    """
    from scipy.special import chdtrc

    return float(chdtrc(1, chi_square))


def phi_of(chi_square: float, n: int) -> float:
    """Return the size of the association (phi) behind a chi-square over `n` rows.

    >>> phi_of(6.0, 600)
    0.1
    """
    return float((chi_square / n) ** 0.5)


def chi_square_association(table: npt.ArrayLike) -> Association:
    """Compute Pearson's chi-square without continuity correction (Pearson 1900, doi:10.1080/14786440009463897).

    >>> found = chi_square_association([[30, 10], [10, 30]])
    >>> round(found.chi_square, 1), round(found.phi, 2), found.n
    (20.0, 0.5, 80)
    """
    cells = np.asarray(table, dtype=np.float64)
    if cells.shape != (2, 2) or (cells < 0).any():
        raise ValueError(f"an association needs two by two counts; found the shape {cells.shape}")
    total = cells.sum()
    margins = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    if (margins == 0).any():
        raise Undefined(Note("undefined.an-association-needs-both-answers"))
    cross = cells[0, 0] * cells[1, 1] - cells[0, 1] * cells[1, 0]
    phi = float(cross / np.sqrt(margins[0, 0] * margins[1, 1]))
    chi_square = float(total * phi**2)
    return Association(chi_square, chi_square_p(chi_square), phi, int(total))
