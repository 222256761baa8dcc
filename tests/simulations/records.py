"""Verdicts with known truth, drawn with numpy alone and written as the package's records.

Nothing here calls an estimator of the package: strengths, choices and marks come from `numpy.random`, and reference
values from the loops below or from scipy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fullbench import Record, Response, Verdict
from fullbench.core.verdict import USUAL, Circumstances

Array = npt.NDArray[np.float64]
POINTS = 400 / math.log(10)
CHOICE = "choice+tie"


def names_of(size: int) -> list[str]:
    """Names that sort in the order of their numbers."""
    return [f"m{number:03d}" for number in range(size)]


def pair_verdicts(
    judge: str, item: Sequence[int], first: Sequence[int], second: Sequence[int], outcome: Sequence[float], *,
    rater: str = "", chances: Sequence[float] | None = None, trial: Sequence[int] | None = None,
) -> list[Verdict]:  # fmt: skip
    """A verdict for each row; `outcome` is that of the first shown (1, 0, or 0.5 for a tie); NaN gives no verdict."""
    names = names_of(int(max(*first, *second)) + 1)
    verdicts = []
    for row, (place, one, two, won) in enumerate(zip(item, first, second, outcome, strict=True)):
        if not math.isnan(won):
            verdicts.append(
                Verdict(
                    f"{place}/{one}/{two}", judge, f"i{place:06d}", (names[one], names[two]), CHOICE,
                    marks=(float(won), 1 - float(won)), rater=rater, trial=0 if trial is None else int(trial[row]),
                    circumstances=USUAL if chances is None else Circumstances(probability=float(chances[row])),
                )
            )  # fmt: skip
    return verdicts


def record_of(verdicts: Sequence[Verdict], responses: Sequence[Response] = ()) -> Record:
    return Record(tuple(verdicts), {}, {(one.item, one.contestant, one.sample): one for one in responses})


def logistic(gap: Array) -> Array:
    return 1 / (1 + np.exp(-gap))


def fitted_strengths(first: Array, second: Array, outcome: Array, size: int) -> Array:
    """Bradley-Terry strengths with mean 0, by the iteration of Zermelo (1929): ties count half."""
    wins, met = np.zeros((size, size)), np.zeros((size, size))
    np.add.at(wins, (first, second), outcome)
    np.add.at(wins, (second, first), 1 - outcome)
    met = wins + wins.T
    worth = np.ones(size)
    for _ in range(20_000):
        new = wins.sum(axis=1) / (met / (worth[:, None] + worth[None, :])).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        change = np.abs(np.log(new / worth)).max()
        worth = new
        if change < 1e-10:
            break
    strengths: Array = np.log(worth)
    return strengths


def at_least(share: float, runs: int) -> float:
    """Smallest share of runs that agrees with a true share: two standard errors below it."""
    return share - 2 * (share * (1 - share) / runs) ** 0.5


def at_most(share: float, runs: int) -> float:
    """Largest share of runs that agrees with a true share: two standard errors above it."""
    return share + 2 * (share * (1 - share) / runs) ** 0.5


def show(result: str) -> None:
    """Write a measured result, which `pytest -s` shows; docs/explanation/truth.md has the table of all results."""
    sys.stdout.write(f"{result}\n")
