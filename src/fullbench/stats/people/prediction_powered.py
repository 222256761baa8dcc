"""What people would say of everything, from their votes on a part of it and judges' rulings on all of it.

Prediction-powered inference (Angelopoulos et al. 2023, arXiv:2301.09633; tuned as in 2311.01453): the figure of the
votes alone, less what the judges' rulings on the rows voted on differ from their rulings on all rows. How much of that
is taken off is chosen so that the interval is narrowest, so a bad judge is left aside and a contrary one is turned
round. Whatever the judges are worth, the figure is that of people; only the width depends on them. Several judges are
several predictors. Rows of one cluster (the item) stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, codes, column
from fullbench.stats.intervals.cluster_intervals import NO_SPREAD, ONE_ITEM

METHOD = "prediction-powered"
_TIED = 1e-12


@dataclass(frozen=True)
class Corrected:
    """One figure by people's votes alone, by judges alone, and by both; `corrections` are judge less corrected.

    `worth` is the weight that each predictor got, `voted` of `rows` rows bear a vote.
    """

    corrected: Estimate
    people: Estimate
    judges: tuple[Estimate, ...]
    corrections: tuple[Estimate, ...]
    worth: tuple[float, ...]
    voted: int
    rows: int


@dataclass(frozen=True)
class Drawn:
    """Rows, the votes on some of them, and what each vote stands for.

    `vote` is NaN where nobody voted; `weight` is zero there, and adds up to one elsewhere: a row that was less likely
    to be chosen stands for more. `predicted` has a line for each judge.
    """

    vote: Floats
    predicted: Floats
    weight: Floats
    cluster: Ints
    clusters: int

    @classmethod
    def of(
        cls, voted: Numbers, predicted: Numbers, probability: Numbers | None, cluster: npt.ArrayLike | None
    ) -> Drawn:
        vote, lines = np.asarray(voted, dtype=np.float64), np.atleast_2d(np.asarray(predicted, dtype=np.float64))
        if lines.shape[1] != len(vote):
            raise ValueError(f"the columns must have one length; found {len(vote)} votes, {lines.shape[1]} predictions")
        there = ~np.isnan(vote)
        if not there.any():
            raise Undefined(Note("corrected.nobody", "nobody voted on any of these"))
        if np.isinf(lines).any() or np.isnan(lines).any():
            raise ValueError("a prediction must be a finite number")
        weight = np.where(there, 1.0, 0.0)
        if probability is not None:
            chance = column(np.where(there, probability, 1.0), "probabilities")
            if ((chance <= 0) | (chance > 1)).any():
                raise ValueError("the probability of being chosen lies above 0 and at most at 1")
            weight = weight / chance
        labels, place = codes(np.arange(len(vote)) if cluster is None else cluster)
        return cls(np.where(there, vote, 0.0), lines, weight / weight.sum(), place, len(labels))

    @property
    def there(self) -> Bools:
        """Which rows bear a vote."""
        return self.weight > 0

    @property
    def voted(self) -> int:
        """How many rows bear a vote."""
        return int(self.there.sum())

    @property
    def units(self) -> float:
        """How many equal clusters the voted ones are worth: fewer where weights differ (Kish 1965)."""
        shares = np.bincount(self.cluster, self.weight, self.clusters)
        return float(1 / (shares**2).sum())

    def sums(self, rows: Floats) -> Floats:
        """The sum of each cluster."""
        sums: Floats = np.bincount(self.cluster, rows, self.clusters).astype(np.float64)
        return sums


def corrected_mean(
    voted: Numbers,
    predicted: Numbers,
    *,
    probability: Numbers | None = None,
    cluster: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Corrected:
    """The mean of what people would say of all rows.

    `voted` is NaN where nobody voted; `predicted` is what a judge, or a line of each of several judges, says of every
    row; `probability` is the chance that a row had of being voted on, where it was not the same for all.

    >>> nan = float("nan")
    >>> found = corrected_mean([1, 0, 1, 1] * 4 + [nan] * 16, [1, 0, 1, 1] * 4 + [0, 1] * 8)
    >>> round(found.people.value, 2), round(found.corrected.value, 2), round(found.judges[0].value, 2)
    (0.75, 0.65, 0.62)
    """
    drawn = Drawn.of(voted, predicted, probability, cluster)
    rows, weight = len(drawn.vote), drawn.weight
    share = 1 / rows
    alone = float(weight @ drawn.vote)
    people = drawn.sums(weight * (drawn.vote - alone))
    means, sampled = drawn.predicted.mean(axis=1), drawn.predicted @ weight
    ruled = np.array([drawn.sums(share * (line - mean)) for line, mean in zip(drawn.predicted, means, strict=True)])
    seen = np.array([drawn.sums(weight * (line - mean)) for line, mean in zip(drawn.predicted, sampled, strict=True)])
    spread = people_spread(drawn.units, 0)
    control = beyond_rounding(seen, ruled)
    worth = tuned(people, control, drawn.units)
    used = int(np.count_nonzero(worth))
    both = people - worth @ control
    value = alone - float(worth @ (sampled - means))
    wide = people_spread(drawn.units, used)

    cast = len(np.unique(drawn.cluster[drawn.there]))

    def said(middle: float, parts: Floats, room: tuple[float, float], n: int, *, helped: bool = False) -> Estimate:
        from scipy.special import stdtrit

        factor, free = room
        if not np.isfinite(factor):
            return Estimate.bare(middle, n, ONE_ITEM)
        half = float(stdtrit(free, (1 + level) / 2)) * (float(parts @ parts) * factor) ** 0.5
        if half <= _TIED:
            return Estimate.bare(middle, n, NO_SPREAD)
        units = drawn.clusters if n == rows else cast
        return Estimate(middle, middle - half, middle + half, n, level, METHOD, units=units, corrected=helped)

    every = people_spread(drawn.clusters, 0)
    return Corrected(
        said(value, both, wide, drawn.voted, helped=True),
        said(alone, people, spread, drawn.voted),
        tuple(said(float(mean), line, every, rows) for mean, line in zip(means, ruled, strict=True)),
        tuple(
            said(float(mean) - value, line - both, wide, drawn.voted) for mean, line in zip(means, ruled, strict=True)
        ),
        tuple(map(float, worth)),
        drawn.voted,
        rows,
    )


def people_spread(units: float, used: int) -> tuple[float, float]:
    """The factor on a variance over so many clusters, and the degrees of freedom, with so many weights fitted."""
    free = units - 1 - used
    if free < 1:
        return float("inf"), 1.0
    return units / free, free


def reach(units: float, used: int, level: float = 0.95) -> float:
    """Half of an interval over so many clusters, squared, for a variance of one; without end where there is none."""
    from scipy.special import stdtrit

    factor, free = people_spread(units, used)
    return factor * float(stdtrit(free, (1 + level) / 2)) ** 2


def beyond_rounding(sample: Floats, every: Floats) -> Floats:
    """What a sample says more than all rows do; nothing where only rounding is left, as when everything was voted on.

    A weight fitted to rounding is a number without bounds.
    """
    gap = sample - every
    kept: Floats = np.where(np.abs(gap) > 1e-10 * (np.abs(sample) + np.abs(every)).max(initial=0.0), gap, 0.0)
    return kept


def tuned(people: Floats, control: Floats, units: float) -> Floats:
    """The weights of control variates that make the variance of `people` less weights times them smallest.

    Lines of `control` are the parts of each in every cluster. All weights are zero where too few clusters were voted
    on for the gain to be real. A control that another one repeats gets the least weight that does the same.
    """
    count = len(control)
    none: Floats = np.zeros(count)
    square = control @ control.T
    if not np.isfinite(reach(units, count)) or not square.any():
        return none
    worth: Floats = np.linalg.lstsq(square, control @ people, rcond=1e-9)[0].astype(np.float64)
    left = people - worth @ control
    better = float(left @ left) * reach(units, count) < float(people @ people) * reach(units, 0)
    return worth if better else none


def within(estimate: Estimate, low: float, high: float) -> Estimate:
    """The estimate of what cannot lie outside of two values, kept between them."""
    value, least, most = (min(high, max(low, end)) for end in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=least, high=most)


def several(lines: Sequence[Numbers]) -> Floats:
    """Predictions of several judges as lines; what a judge did not rule on is taken for undecided (one half).

    >>> several([[1, float("nan")], [0, 1]]).tolist()
    [[1.0, 0.5], [0.0, 1.0]]
    """
    stacked = np.array([np.asarray(line, dtype=np.float64) for line in lines])
    return np.where(np.isnan(stacked), 0.5, stacked)
