"""Ranges of possible ranks: simultaneous for a whole leaderboard, or marginal for one contestant.

Mogstad, Romano, Shaikh and Wilhelm (Review of Economic Studies 91, 2024): two contestants are separated if their
difference exceeds c standard errors. c is chosen so that the greatest standardised difference stays below it in 95 %
of draws from the covariance. For a whole leaderboard the greatest is over all pairs, so the chance of any false
separation is 5 %. For one contestant it is over its own pairs, so the chance is 5 % per contestant, and larger for the
leaderboard. The best rank is one more than the number surely above; the worst is the total minus those surely below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.intervals.normal_and_t_quantiles import normal_quantile, student_quantile
from fullbench.stats.ratings.bradley_terry import Ratings
from fullbench.stats.ratings.match_counts import Moves
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings

Rank = tuple[int, int]
_DRAWS = 1000
# differences held at once
_BLOCK = 1 << 17
# draws times pairs beyond which fewer draws are made: a board of 1,000 takes a second or two
_MOST = 1 << 29
_FEWEST = 200
# with more items than this, the errors of differences count as known
_ENOUGH = 100
_KNOWN = 1_000_000


@dataclass(frozen=True)
class Ranks:
    """Best and worst possible rank of each contestant, or None without a rating.

    `surely_above[i, j]` is True if i is above j, for the whole leaderboard together. `quantile` is the number of
    standard errors that separate two contestants of the largest group, or None if it is unknown.
    """

    together: tuple[Rank | None, ...]
    alone: tuple[Rank | None, ...]
    surely_above: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_), compare=False, repr=False)
    quantile: float | None = field(default=None, compare=False, repr=False)


def rank_ranges(ratings: CompleteRatings, *, level: float = 0.95, seed: int = 0) -> Ranks:
    """Return the rank ranges of a leaderboard; contestants of groups that never met are never separated.

    >>> from fullbench.stats.ratings.match_counts import MatchCounts
    >>> from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import rate_everyone
    >>> battles = MatchCounts.from_rows([0] * 60 + [1] * 60, [1] * 60 + [2] * 60, ([1] * 45 + [0] * 15) * 2)
    >>> rank_ranges(rate_everyone(battles, interval="sandwich")).together
    ((1, 1), (2, 2), (3, 3))
    """
    size = len(ratings.estimates)
    together, alone = np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool)
    quantiles: list[float | None] = []
    for group, core in zip(ratings.groups, ratings.cores, strict=True):
        if core is not None:
            members = core.components[0]
            within = np.ix_(members, members)
            together[within], alone[within], quantile = _core_separations(core, level, seed)
            quantiles.append(quantile)
        _mark_outsiders(ratings, group, together, alone, level)
    is_rated = [rating is not None for rating in ratings.estimates]
    return Ranks(
        _ranges_from_separations(together, is_rated),
        _ranges_from_separations(alone, is_rated),
        together,
        quantiles[0] if quantiles else None,
    )


def rank_ranges_of_covariance(
    strengths: Floats, covariance: Floats, *, freedom: float = math.inf, level: float = 0.95, seed: int = 0
) -> Ranks:
    """Return the rank ranges of ratings whose covariance is known; `freedom` is that of Student's quantile.

    >>> rank_ranges_of_covariance(np.array([3.0, 1.0, 0.0]), np.eye(3) / 8).together
    ((1, 1), (2, 3), (2, 3))
    """
    inflation = student_quantile(freedom, (1 + level) / 2) / normal_quantile((1 + level) / 2)
    # So many units that the covariance counts as known: the quantile is widened by `inflation` instead.
    together, alone, quantile = _separations(strengths, covariance, _KNOWN, inflation, level=level, seed=seed)
    everybody = [True] * len(strengths)
    return Ranks(
        _ranges_from_separations(together, everybody),
        _ranges_from_separations(alone, everybody),
        together,
        quantile * inflation,
    )


def rank_ranges_of_estimates(estimates: Sequence[Estimate | None], *, level: float = 0.95) -> Ranks:
    """Return the rank ranges of independent estimates, such as means of contestants without shared items.

    Intervals decide. For all contestants together they are widened by Bonferroni's bound.

    >>> rank_ranges_of_estimates([Estimate(3, 2.5, 3.5, 9), Estimate(2, 1.5, 2.6, 9), Estimate(0, -1, 1, 9),
    ...     None]).alone
    ((1, 2), (1, 2), (3, 3), None)
    """
    size = len(estimates)
    is_rated = [estimate is not None for estimate in estimates]
    wider = normal_quantile(1 - (1 - level) / (2 * max(1, sum(is_rated)))) / normal_quantile((1 + level) / 2)
    sure = {}
    for name, times in (("together", wider), ("alone", 1.0)):
        above = np.zeros((size, size), dtype=bool)
        ends = [_interval_ends(estimate, times) for estimate in estimates]
        for first, (low, _) in enumerate(ends):
            for second, (_, high) in enumerate(ends):
                above[first, second] = is_rated[first] and is_rated[second] and low > high
        sure[name] = _ranges_from_separations(above, is_rated)
    return Ranks(sure["together"], sure["alone"])


def _interval_ends(estimate: Estimate | None, times: float = 1.0) -> tuple[float, float]:
    if estimate is None or estimate.why:
        return -math.inf, math.inf
    low = estimate.value - times * (estimate.value - estimate.low)
    high = estimate.value + times * (estimate.high - estimate.value)
    if estimate.one_sided:
        return (low, math.inf) if estimate.high <= estimate.value else (-math.inf, high)
    return low, high


def _ranges_from_separations(above: Bools, is_rated: Sequence[bool]) -> tuple[Rank | None, ...]:
    everybody = sum(is_rated)
    return tuple(
        (1 + int(above[:, who].sum()), everybody - int(above[who].sum())) if has_rating else None
        for who, has_rating in enumerate(is_rated)
    )


def _core_separations(core: Ratings, level: float, seed: int) -> tuple[Bools, Bools, float | None]:
    """Matrices of who is surely above whom, for the whole leaderboard and for each contestant alone; the quantile."""
    if core.moves is None or core.moves.units < 2:
        nobody = np.zeros((len(core.components[0]),) * 2, dtype=bool)
        return nobody, nobody, None
    strengths = np.array([core.log_strengths[who] for who in core.components[0]], dtype=np.float64)
    inflation = _quantile_inflation(core.moves, level)
    return _separations(strengths, core.moves.covariance(), core.moves.units, inflation, level=level, seed=seed)


def _separations(
    strengths: Floats, covariance: Floats, units: int, inflation: Floats | float, *, level: float, seed: int
) -> tuple[Bools, Bools, float]:
    variances = np.diag(covariance)
    errors = np.sqrt(np.clip(variances[:, None] + variances[None, :] - 2 * covariance, 0, None))
    # If two contestants have equal results on every item, the spread of their difference is unknown.
    errors[errors < 1e-9] = np.inf
    ratio = (strengths[:, None] - strengths[None, :]) / (errors * inflation)
    greatest = _greatest_differences(covariance, errors, units, seed)
    board_quantile = float(np.quantile(greatest.max(axis=1), level))
    each = np.quantile(greatest, level, axis=0)
    # Marginal ranges use each contestant's own c; a pair needs the larger of the two.
    is_separated = np.abs(ratio) > np.maximum(each[:, None], each[None, :])
    return ratio > board_quantile, is_separated & (ratio > 0), board_quantile


def _quantile_inflation(moves: Moves, level: float) -> Floats:
    """Factor on a pair's quantile: larger if one of the two has matches on few items."""
    size = moves.rows.shape[1]
    centred_moves = moves.along(np.eye(size) - 1 / size)
    tail = (1 + level) / 2
    reach = np.array([student_quantile(centred_moves.spread(place).freedom, tail) for place in range(size)])
    usual = student_quantile(moves.units - 1, tail)
    inflation: Floats = np.maximum(reach[:, None], reach[None, :]) / usual
    return inflation


def _greatest_differences(covariance: Floats, errors: Floats, units: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    size = len(covariance)
    draws = max(_FEWEST, min(_DRAWS, _MOST // (size * size)))
    # With few items per contestant, correlations are unreliable: shrink them towards zero.
    shrunk = min(1.0, size / units)
    values, vectors = np.linalg.eigh((1 - shrunk) * covariance + shrunk * np.diag(np.diag(covariance)))
    root = vectors * np.sqrt(np.clip(values, 0, None))
    # Blocks whose differences fit in a CPU cache; larger ones take up to three times as long.
    precisions = None if units <= _ENOUGH else 1 / errors
    step = max(1, _BLOCK // (size * (max(size, units) if precisions is None else 1)))
    greatest = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        if precisions is None:
            normal = rng.standard_normal((count * units, size))
            greatest.append(_differences_from_items((normal @ root.T).reshape(count, units, size)))
        else:
            greatest.append(_differences_from_means(rng.standard_normal((count, size)) @ root.T, precisions))
    return np.concatenate(greatest)


def _differences_from_items(items: Floats) -> Floats:
    """Draws are (draw, item, contestant). Each pair's error is estimated from these few items, so it is drawn too."""
    units = items.shape[1]
    means = items.mean(axis=1)
    items = items - means[:, None, :]
    square = items.transpose(0, 2, 1) @ items
    squared_norms = np.einsum("dii->di", square).copy()
    square *= -2
    square += squared_norms[:, :, None]
    square += squared_norms[:, None, :]
    np.maximum(square, 1e-300 * units * (units - 1), out=square)
    np.einsum("dii->di", square)[:] = np.inf
    # Compare squares, which have the same order, and take one root per contestant.
    ratios = means[:, :, None] - means[:, None, :]
    np.square(ratios, out=ratios)
    ratios /= square
    greatest: Floats = np.sqrt(ratios.max(axis=2) * units * (units - 1))
    return greatest


def _differences_from_means(means: Floats, precisions: Floats) -> Floats:
    columns = np.ascontiguousarray(means.T)
    greatest = np.zeros_like(columns)
    for place in range(len(columns) - 1):
        ratios = columns[place + 1 :] - columns[place]
        np.abs(ratios, out=ratios)
        ratios *= precisions[place, place + 1 :, None]
        np.maximum(greatest[place], ratios.max(axis=0), out=greatest[place])
        np.maximum(greatest[place + 1 :], ratios, out=greatest[place + 1 :])
    return greatest.T


def _mark_outsiders(
    ratings: CompleteRatings, group: tuple[int, ...], together: Bools, alone: Bools, level: float
) -> None:
    """Use the ends of intervals, or a sign test on the items on which one beat the other in every match."""
    outsiders = [who for who in group if who in ratings.outside]
    wider = normal_quantile(1 - (1 - level) / (2 * len(group))) / normal_quantile((1 + level) / 2)
    ends = {who: _interval_ends(ratings.estimates[who]) for who in group}
    strict = {
        who: _interval_ends(ratings.strict[who])
        if who in ratings.strict
        else _interval_ends(ratings.estimates[who], wider)
        for who in group
    }
    for who in outsiders:
        for member in group:
            for sure, bounds in ((alone, ends), (together, strict)):
                sure[who, member] = bounds[who][0] > bounds[member][1]
                sure[member, who] = bounds[member][0] > bounds[who][1]
    pairs = len(group) * (len(group) - 1) / 2
    for (better, worse), items in ratings.sweeps.items():
        if better in ends:
            p = 2.0 ** (1 - items)
            alone[better, worse] |= p < 1 - level
            together[better, worse] |= p < (1 - level) / pairs
