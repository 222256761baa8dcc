"""Bradley-Terry ratings that people would give, from their votes on some matches and judges' rulings on all.

The ratings solve the estimating equation of people's votes, from which is taken what the sample of matches differs from
all matches: in who met whom, and in how each judge ruled. See `stats.people.prediction_powered` for the idea.
Everything but the covariance is computed from matrices of who met whom; the covariance takes one pass over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, duels
from fullbench.stats.intervals.cluster_intervals import NO_SPREAD, ONE_ITEM
from fullbench.stats.people.prediction_powered import METHOD, Drawn, people_spread, reach
from fullbench.stats.ratings.match_graph import strong_components, weak_components

_STEPS = 100
_CLOSE = 1e-10
# log strengths are believed to lie within some ten of each other where wins alone do not bound them
_PRIOR = 1 / 25
# cells of clusters by contestants that are held at once
_BLOCK = 1 << 21
# clusters with a vote for each weight that is fitted
_FEW = 20
# the variance of what should be nothing, beside that of what is something
_ROUNDING = 1e-18


@dataclass(frozen=True)
class CorrectedRatings:
    """Ratings by people alone, by each judge alone and corrected, for the contestants that people linked.

    `rated` are their codes; the other lists follow them. `corrections` are judge less corrected, a line for each judge.
    `covariance` is that of the corrected log strengths, `people_covariance` that of people's own, `free` the degrees of
    freedom. `worth` is the weight that each
    judge's rulings got; `held` is True where a weak prior holds people's own ratings finite.
    """

    rated: tuple[int, ...]
    corrected: tuple[Estimate, ...]
    people: tuple[Estimate, ...]
    judges: tuple[tuple[Estimate, ...], ...]
    corrections: tuple[tuple[Estimate, ...], ...]
    strengths: Floats
    covariance: Floats
    people_covariance: Floats
    free: float
    worth: tuple[float, ...]
    voted: int
    rows: int
    held: bool


def corrected_ratings(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    voted: Numbers,
    predicted: Numbers,
    *,
    contestants: int = 0,
    probability: Numbers | None = None,
    cluster: npt.ArrayLike | None = None,
    level: float = 0.95,
    scale: float = 400.0,
    base: float = 10.0,
    centre: float = 1000.0,
) -> CorrectedRatings:
    """The ratings; `voted` and `predicted` are what `first` won, by people (NaN: no vote) and by each judge.

    >>> nan = float("nan")
    >>> found = corrected_ratings([0, 0, 0, 0, 0, 0], [1] * 6, [1, 0, 1, nan, nan, nan], [1, 0, 1, 1, 0, 0])
    >>> [round(estimate.value) for estimate in found.people]
    [1060, 940]
    """
    votes = np.asarray(voted, dtype=np.float64)
    one, two, _, size = duels(first, second, np.where(np.isnan(votes), 0.5, votes), contestants, shares=True)
    there = ~np.isnan(votes)
    if not there.any():
        raise Undefined(Note("corrected.nobody", "nobody voted on any of these"))
    met = np.bincount(one[there] * size + two[there], minlength=size * size).reshape(size, size).astype(np.float64)
    rated = np.array(weak_components(met)[0])
    place = np.full(size, -1)
    place[rated] = np.arange(len(rated))
    among = (place[one] >= 0) & (place[two] >= 0)
    lines = np.atleast_2d(np.asarray(predicted, dtype=np.float64))[:, among]
    chances = None if probability is None else np.asarray(probability, dtype=np.float64)[among]
    labels = np.flatnonzero(among) if cluster is None else np.asarray(cluster)[among]
    drawn = Drawn.of(votes[among], lines, chances, labels)
    matches = _Matches(drawn, place[one[among]], place[two[among]], len(rated))
    return matches.ratings(tuple(rated.tolist()), _Scale(level, scale / math.log(base), centre))


@dataclass(frozen=True)
class _Part:
    """What rows add to an estimate: an amount for the first and against the second of each match, less the means.

    `bend` turns sums of them into log strengths; `fixed` are the means that are taken off for each unit of a vote's
    weight, and for each row.
    """

    amounts: Floats
    fixed: tuple[Floats, Floats]
    bend: Floats


@dataclass(frozen=True)
class _Matches:
    """Matches of contestants 0..size-1, of which some were voted on."""

    drawn: Drawn
    one: Ints
    two: Ints
    size: int

    def cells(self, amounts: Floats | None = None) -> Floats:
        """Sums over the matches of each first (row) with each second (column)."""
        sums = np.bincount(self.one * self.size + self.two, amounts, self.size**2).reshape(self.size, self.size)
        cells: Floats = sums.astype(np.float64)
        return cells

    def pulls(self, amounts: Floats) -> Floats:
        """What amounts for the first of each match, and as much against the second, add up to for each contestant."""
        won, lost = (np.bincount(side, amounts, self.size).astype(np.float64) for side in (self.one, self.two))
        sums: Floats = won - lost
        return sums

    def chance(self, strengths: Floats) -> Floats:
        """The chance of the first in each match."""
        chances: Floats = _chances(strengths)[self.one, self.two]
        return chances

    def one_sided(self, outcome: Floats, weight: Floats) -> bool:
        """Whether wins leave somebody undefeated, or a group that nobody outside of it beat."""
        wins = self.cells(weight * outcome) + self.cells(weight * (1 - outcome)).T
        return len(strong_components(wins)) > 1

    def ratings(self, rated: tuple[int, ...], scale: _Scale) -> CorrectedRatings:
        drawn, rows, weight = self.drawn, len(self.one), self.drawn.weight
        seen, every = self.cells(weight), self.cells() / rows
        held = self.one_sided(drawn.vote, weight)
        prior = _PRIOR / drawn.voted if held else 0.0
        alone = _solve(seen, self.pulls(weight * (drawn.vote - 0.5)), prior)
        judges = [
            _solve(every, self.pulls(line - 0.5) / rows,
                   _PRIOR / rows if self.one_sided(line, np.ones(rows)) else 0.0)
            for line in drawn.predicted
        ]  # fmt: skip
        chance, none = self.chance(alone), np.zeros(rows)
        bend = _inverse(every, alone, prior)
        parts = [self._part(drawn.vote - chance, none, _inverse(seen, alone, prior))]
        # Who met whom in the sample beside all matches, then what each judge ruled there beside what it ruled on all.
        for ruled in (0.5 - chance, *(line - 0.5 for line in drawn.predicted)):
            parts.append(self._part(ruled, -ruled, bend))
        for line, strength in zip(drawn.predicted, judges, strict=True):
            parts.append(self._part(none, line - self.chance(strength), _inverse(every, strength, 0.0)))
        products = self._products(parts)
        controls = range(1, 2 + len(judges))
        gaps = np.array([parts[place].bend @ self.pulls(parts[place].amounts) for place in controls])
        worth, fits = _tuned(products, len(gaps), drawn.units)
        here = alone - (worth * gaps).sum(axis=0)
        # Each contestant's corrected strength as a sum of parts, so that all covariances follow from the products.
        mixed = np.zeros((len(parts), self.size))
        mixed[0] = 1.0
        mixed[1 : 1 + len(gaps)] = -worth
        # As many strengths as there are contestants, less one, were fitted to the votes too.
        fitted = drawn.voted / max(1, drawn.voted - self.size + 1)
        helped = (worth != 0).any(axis=0)
        wide, narrow = (_times(people_spread(drawn.units, used), fitted) for used in (fits, 0))
        rooms = [wide if aided else narrow for aided in helped.tolist()]
        cast = np.bincount(self.one, drawn.there, self.size) + np.bincount(self.two, drawn.there, self.size)
        played = np.bincount(self.one, minlength=self.size) + np.bincount(self.two, minlength=self.size)
        covariance = _mixed(products, mixed, mixed)
        shown = scale.shown(here, np.diag(covariance), rooms, cast)
        people = scale.shown(alone, np.diag(products[0, 0]), [narrow] * self.size, cast, method="sandwich")
        by_judges, corrections = [], []
        for place, strength in enumerate(judges, start=1 + len(gaps)):
            single = np.zeros_like(mixed)
            single[place] = 1.0
            own = np.diag(products[place, place])
            every_room = [people_spread(drawn.clusters, 0)] * self.size
            by_judges.append(scale.shown(strength, own, every_room, played, method="sandwich"))
            apart = np.diag(_mixed(products, single - mixed, single - mixed))
            corrections.append(replace(scale, centre=0.0).shown(strength - here, apart, rooms, cast))
        # With too few units the factor is infinite, and nothing times it is nothing known.
        with np.errstate(invalid="ignore"):
            wider, narrower = covariance * wide[0], products[0, 0] * narrow[0]
        return CorrectedRatings(
            rated, shown, people, tuple(by_judges), tuple(corrections), here, wider, narrower, wide[1],
            tuple(float(line.mean()) for line in worth[1:]), drawn.voted, rows, held,
        )  # fmt: skip

    def _part(self, sampled: Floats, ruled: Floats, bend: Floats) -> _Part:
        """Rows that count by the weight of their vote, and rows that count 1 / rows each."""
        rows, weighted = len(self.one), self.drawn.weight * sampled
        return _Part(weighted + ruled / rows, (self.pulls(weighted), self.pulls(ruled) / rows**2), bend)

    def _products(self, parts: list[_Part]) -> Floats:
        """Sums over clusters of the products of what they add: for each two parts a matrix of contestants."""
        drawn, size, count = self.drawn, self.size, len(parts)
        members = np.bincount(drawn.cluster, minlength=drawn.clusters)
        loose = (members[drawn.cluster] == 1) & ~drawn.there
        total = self._loose(parts, loose) if loose.any() else np.zeros((count, size, count, size))
        rest = np.flatnonzero(~loose)
        label = drawn.cluster[rest]
        if (np.diff(label) < 0).any():
            order = np.argsort(label, kind="stable")
            rest, label = rest[order], label[order]
        label = np.cumsum(np.diff(label, prepend=label[:1]) > 0)
        clusters = int(label[-1]) + 1 if len(label) else 0
        one, two, weight = self.one[rest], self.two[rest], drawn.weight[rest]
        amounts = [part.amounts[rest] for part in parts]
        step = max(1, _BLOCK // (size * count))
        for begin in range(0, clusters, step):
            end = min(begin + step, clusters)
            low, high = np.searchsorted(label, [begin, end])
            here = label[low:high] - begin
            heavy, number = np.bincount(here, weight[low:high], end - begin), np.bincount(here, minlength=end - begin)
            block = np.empty((end - begin, count, size))
            ends = here * size + one[low:high], here * size + two[low:high]
            for place, (part, amount) in enumerate(zip(parts, amounts, strict=True)):
                pulled = np.bincount(ends[0], amount[low:high], (end - begin) * size)
                pulled -= np.bincount(ends[1], amount[low:high], (end - begin) * size)
                by_weight, by_row = part.fixed
                block[:, place] = (
                    pulled.reshape(end - begin, size) - heavy[:, None] * by_weight - np.outer(number, by_row)
                )
            flat = block.reshape(end - begin, count * size)
            total += (flat.T @ flat).reshape(count, size, count, size)
        products: Floats = np.array(
            [[parts[i].bend @ total[i, :, j] @ parts[j].bend.T for j in range(count)] for i in range(count)]
        )
        return products

    def _loose(self, parts: list[_Part], loose: Bools) -> Floats:
        """The same sums over rows that are a cluster of their own and bear no vote, from cells of who met whom."""
        size, count = self.size, len(parts)
        total = np.zeros((count, size, count, size))
        only = _Matches(self.drawn, self.one[loose], self.two[loose], size)
        amounts = [part.amounts[loose] for part in parts]
        live = [place for place in range(count) if amounts[place].any()]
        pulled = {place: only.pulls(amounts[place]) for place in live}
        rows = int(loose.sum())
        for i in live:
            for j in live:
                if j < i:
                    total[i, :, j] = total[j, :, i].T
                    continue
                both = only.cells(amounts[i] * amounts[j])
                both = both + both.T
                ours, theirs = parts[i].fixed[1], parts[j].fixed[1]
                total[i, :, j] = (
                    np.diag(both.sum(axis=1)) - both - np.outer(pulled[i], theirs) - np.outer(ours, pulled[j])
                    + rows * np.outer(ours, theirs)
                )  # fmt: skip
        return total


def _times(room: tuple[float, float], factor: float) -> tuple[float, float]:
    return room[0] * factor, room[1]


def _mixed(products: Floats, left: Floats, right: Floats) -> Floats:
    """The covariance of two sums of parts that each contestant weighs in its own way."""
    covariance: Floats = np.einsum("ia,ijab,jb->ab", left, products, right)
    return covariance


def _tuned(products: Floats, controls: int, units: float) -> tuple[Floats, int]:
    """For each contestant the weights of the control parts that leave its rating the narrowest interval.

    Beside them how many were fitted for a contestant that has any.

    Few votes cannot bear many weights: then all controls share one, which is the plain correction.
    """
    size = products.shape[2]
    worth: Floats = np.zeros((controls, size))
    joined: Floats = np.eye(controls)
    if units < _FEW * (controls + 1):
        joined = np.concatenate([[1.0], np.full(controls - 1, 1 / (controls - 1))])[None]
    some, none = reach(units, len(joined)), reach(units, 0)
    if not np.isfinite(some):
        return worth, 0
    for who in range(size):
        square = products[: controls + 1, : controls + 1, who, who]
        cost, gain = joined @ square[1:, 1:] @ joined.T, joined @ square[1:, 0]
        # Where people voted on everything the controls are rounding, and weights fitted to it have no bounds.
        if np.trace(cost) <= _ROUNDING * products[:, :, who, who].diagonal().max():
            continue
        weights = np.linalg.lstsq(cost, gain, rcond=1e-9)[0]
        left = square[0, 0] - 2 * weights @ gain + weights @ cost @ weights
        if left * some < square[0, 0] * none:
            worth[:, who] = weights @ joined
    return worth, len(joined)


def _solve(met: Floats, won: Floats, prior: float) -> Floats:
    """Log strengths with mean zero at which expected wins (less a half each) are those won."""
    both = met + met.T
    here = np.zeros(len(met))
    ridge = prior
    for attempt in (prior, max(prior, 1e-3)):
        here, ridge = np.zeros(len(met)), attempt
        for _ in range(_STEPS):
            chance = _chances(here)
            pull = won - (both * (chance - 0.5)).sum(axis=1) - ridge * here
            step = np.linalg.solve(_bend(both, chance) + ridge * np.eye(len(here)) + 1 / len(here), pull)
            longest = float(np.abs(step).max())
            here += step * min(1.0, 1.0 / max(longest, 1.0))
            here -= here.mean()
            if longest < _CLOSE:
                return here
            if np.abs(here).max() > 50:
                break
    raise Undefined("the corrected ratings did not settle: votes are too few or too one-sided")


def _chances(strengths: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    return chances


def _bend(both: Floats, chance: Floats) -> Floats:
    curve = both * chance * (1 - chance)
    bend: Floats = np.diag(curve.sum(axis=1)) - curve
    return bend


def _inverse(met: Floats, strengths: Floats, prior: float) -> Floats:
    """How log strengths, their mean zero, move with the equation."""
    size = len(strengths)
    whole = np.linalg.inv(_bend(met + met.T, _chances(strengths)) + prior * np.eye(size) + 1 / size)
    middle = np.eye(size) - 1 / size
    inverse: Floats = middle @ whole
    return inverse


@dataclass(frozen=True)
class _Scale:
    """How log strengths are shown: the level of intervals, the points of a unit, and what the mean is put at."""

    level: float
    points: float
    centre: float

    def shown(
        self, strengths: Floats, variance: Floats, rooms: Sequence[tuple[float, float]], counts: Any, *,
        method: str = METHOD,
    ) -> tuple[Estimate, ...]:  # fmt: skip
        """Strengths as points, each with its interval."""
        from scipy.special import stdtrit

        values = self.centre + self.points * strengths
        shown = []
        for value, spread, (factor, free), n in zip(values, variance, rooms, counts, strict=True):
            if not np.isfinite(factor):
                shown.append(Estimate.bare(float(value), int(n), ONE_ITEM))
                continue
            far = float(stdtrit(free, (1 + self.level) / 2)) * self.points
            half = far * math.sqrt(max(0.0, float(spread)) * factor)
            middle, low, high = float(value), float(value) - half, float(value) + half
            known = Estimate(middle, low, high, int(n), self.level, method, corrected=method == METHOD)
            shown.append(known if half > 1e-9 else Estimate.bare(middle, int(n), NO_SPREAD))
        return tuple(shown)
