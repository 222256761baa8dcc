"""Which ranks a contestant may have: simultaneously for a whole board, or for one contestant looked at alone.

Mogstad, Romano, Shaikh and Wilhelm (Review of Economic Studies 91, 2024): two contestants are told apart when their
difference exceeds c standard errors, with c so large that the greatest standardised difference stays below it in 95 %
of draws from the covariance. For a whole board the greatest is taken over all pairs, so that the chance of any false
separation is 5 %; for one contestant over its own pairs, so that the chance is 5 % for each contestant, and larger for
the board. The best rank is then one more than the number surely above, the worst that of all less those surely below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.intervals.normal_and_t_quantiles import normal_quantile, student_quantile
from fullbench.stats.ratings.bradley_terry import Ratings
from fullbench.stats.ratings.match_counts import Moves
from fullbench.stats.ratings.penalised_ratings import Everyone

Rank = tuple[int, int]
_DRAWS = 1000
# differences that are held at once
_BLOCK = 1 << 17
# draws times pairs beyond which fewer draws are made: a board of a thousand takes a second or two
_MOST = 1 << 29
_FEWEST = 200
# with more items than this, the errors of differences are as good as known
_ENOUGH = 100


@dataclass(frozen=True)
class Ranks:
    """For each contestant the best and the worst rank it may have; None for one without a rating."""

    together: tuple[Rank | None, ...]
    alone: tuple[Rank | None, ...]


def ranks_of(rated: Everyone, *, level: float = 0.95, seed: int = 0) -> Ranks:
    """The ranks of a board. Contestants of groups that never met are never told apart.

    >>> from fullbench.stats.ratings.match_counts import Battles
    >>> from fullbench.stats.ratings.penalised_ratings import rate_everyone
    >>> battles = Battles.of([0] * 60 + [1] * 60, [1] * 60 + [2] * 60, ([1] * 45 + [0] * 15) * 2)
    >>> ranks_of(rate_everyone(battles, interval="sandwich")).together
    ((1, 1), (2, 2), (3, 3))
    """
    size = len(rated.estimates)
    together, alone = np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool)
    for group, core in zip(rated.groups, rated.cores, strict=True):
        if core is not None:
            members = core.components[0]
            within = np.ix_(members, members)
            together[within], alone[within] = _core(core, level, seed)
        _beside(rated, group, together, alone, level)
    known = [rating is not None for rating in rated.estimates]
    return Ranks(_sets(together, known), _sets(alone, known))


def ranks_of_estimates(estimates: Sequence[Estimate | None], *, level: float = 0.95) -> Ranks:
    """The ranks of independent estimates, such as means of contestants that share no item: by their own intervals.

    For all of them together the intervals are widened as Bonferroni's bound asks.

    >>> ranks_of_estimates([Estimate(3, 2.5, 3.5, 9), Estimate(2, 1.5, 2.6, 9), Estimate(0, -1, 1, 9), None]).alone
    ((1, 2), (1, 2), (3, 3), None)
    """
    size = len(estimates)
    known = [estimate is not None for estimate in estimates]
    wider = normal_quantile(1 - (1 - level) / (2 * max(1, sum(known)))) / normal_quantile((1 + level) / 2)
    sure = {}
    for name, times in (("together", wider), ("alone", 1.0)):
        above = np.zeros((size, size), dtype=bool)
        ends = [_ends(estimate, times) for estimate in estimates]
        for one, (low, _) in enumerate(ends):
            for other, (_, high) in enumerate(ends):
                above[one, other] = known[one] and known[other] and low > high
        sure[name] = _sets(above, known)
    return Ranks(sure["together"], sure["alone"])


def _ends(estimate: Estimate | None, times: float = 1.0) -> tuple[float, float]:
    """Both ends of an interval, widened; an end that bounds nothing is infinite."""
    if estimate is None or estimate.why:
        return -math.inf, math.inf
    low = estimate.value - times * (estimate.value - estimate.low)
    high = estimate.value + times * (estimate.high - estimate.value)
    if estimate.one_sided:
        return (low, math.inf) if estimate.high <= estimate.value else (-math.inf, high)
    return low, high


def _sets(above: Bools, known: Sequence[bool]) -> tuple[Rank | None, ...]:
    everybody = sum(known)
    return tuple(
        (1 + int(above[:, who].sum()), everybody - int(above[who].sum())) if rated else None
        for who, rated in enumerate(known)
    )


def _core(core: Ratings, level: float, seed: int) -> tuple[Bools, Bools]:
    """Who of the core is surely above whom: for the whole board, and for each contestant (row or column) alone."""
    if core.moves is None or core.moves.units < 2:
        nobody = np.zeros((len(core.components[0]),) * 2, dtype=bool)
        return nobody, nobody
    strengths = np.array([core.log_strengths[who] for who in core.components[0]], dtype=np.float64)
    covariance = core.moves.covariance()
    own = np.diag(covariance)
    errors = np.sqrt(np.clip(own[:, None] + own[None, :] - 2 * covariance, 0, None))
    # Where two contestants fare alike on every item, nothing tells what spread their difference has.
    errors[errors < 1e-9] = np.inf
    inflation = _inflation(core.moves, level)
    ratio = (strengths[:, None] - strengths[None, :]) / (errors * inflation)
    greatest = _greatest(covariance, errors, core.moves.units, seed)
    whole = float(np.quantile(greatest.max(axis=1), level))
    each = np.quantile(greatest, level, axis=0)
    # Alone, a contestant is told from others by its own c; each row of the sets looks at its own.
    apart = np.abs(ratio) > np.maximum(each[:, None], each[None, :])
    return ratio > whole, apart & (ratio > 0)


def _inflation(moves: Moves, level: float) -> Floats:
    """By how much a pair's quantile exceeds that of all items: more where one of the two met others on few items."""
    size = moves.rows.shape[1]
    centred = moves.along(np.eye(size) - 1 / size)
    tail = (1 + level) / 2
    reach = np.array([student_quantile(centred.spread(place).freedom, tail) for place in range(size)])
    usual = student_quantile(moves.units - 1, tail)
    inflation: Floats = np.maximum(reach[:, None], reach[None, :]) / usual
    return inflation


def _greatest(covariance: Floats, errors: Floats, units: int, seed: int) -> Floats:
    """For each draw (row) and contestant, the greatest of its standardised differences from others."""
    rng = np.random.default_rng(seed)
    size = len(covariance)
    draws = max(_FEWEST, min(_DRAWS, _MOST // (size * size)))
    # Fewer items than contestants say little of how contestants go together: what they say is shrunk toward nothing.
    shrunk = min(1.0, size / units)
    values, vectors = np.linalg.eigh((1 - shrunk) * covariance + shrunk * np.diag(np.diag(covariance)))
    root = vectors * np.sqrt(np.clip(values, 0, None))
    # Blocks of draws whose differences stay in a core's cache: others take up to three times as long.
    precisions = None if units <= _ENOUGH else 1 / errors
    step = max(1, _BLOCK // (size * (max(size, units) if precisions is None else 1)))
    greatest = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        if precisions is None:
            normal = rng.standard_normal((count * units, size))
            greatest.append(_of_items((normal @ root.T).reshape(count, units, size)))
        else:
            greatest.append(_of_means(rng.standard_normal((count, size)) @ root.T, precisions))
    return np.concatenate(greatest)


def _of_items(items: Floats) -> Floats:
    """From draws of all items (draw, item, contestant), each contestant's greatest difference, in that draw's errors.

    Each pair's error is itself an estimate from these few items, so it is drawn along.
    """
    units = items.shape[1]
    means = items.mean(axis=1)
    items = items - means[:, None, :]
    square = items.transpose(0, 2, 1) @ items
    own = np.einsum("dii->di", square).copy()
    square *= -2
    square += own[:, :, None]
    square += own[:, None, :]
    np.maximum(square, 1e-300 * units * (units - 1), out=square)
    np.einsum("dii->di", square)[:] = np.inf
    # Squares have the same order as what they are squares of, and one root for each contestant is enough.
    ratios = means[:, :, None] - means[:, None, :]
    np.square(ratios, out=ratios)
    ratios /= square
    greatest: Floats = np.sqrt(ratios.max(axis=2) * units * (units - 1))
    return greatest


def _of_means(means: Floats, precisions: Floats) -> Floats:
    """From draws (rows) of the contestants' means, each one's greatest difference; a pair is looked at once."""
    columns = np.ascontiguousarray(means.T)
    greatest = np.zeros_like(columns)
    for place in range(len(columns) - 1):
        ratios = columns[place + 1 :] - columns[place]
        np.abs(ratios, out=ratios)
        ratios *= precisions[place, place + 1 :, None]
        np.maximum(greatest[place], ratios.max(axis=0), out=greatest[place])
        np.maximum(greatest[place + 1 :], ratios, out=greatest[place + 1 :])
    return greatest.T


def _beside(rated: Everyone, group: tuple[int, ...], together: Bools, alone: Bools, level: float) -> None:
    """Marks who is surely above or below those that are not linked by wins both ways.

    By the ends of intervals, or by a sign test on the items on which one beat the other in every match.
    """
    outsiders = [who for who in group if who in rated.outside]
    wider = normal_quantile(1 - (1 - level) / (2 * len(group))) / normal_quantile((1 + level) / 2)
    ends = {who: _ends(rated.estimates[who]) for who in group}
    strict = {who: _ends(rated.strict[who]) if who in rated.strict else _ends(rated.estimates[who], wider)
              for who in group}  # fmt: skip
    for who in outsiders:
        for other in group:
            for sure, bounds in ((alone, ends), (together, strict)):
                sure[who, other] = bounds[who][0] > bounds[other][1]
                sure[other, who] = bounds[other][0] > bounds[who][1]
    pairs = len(group) * (len(group) - 1) / 2
    for (better, worse), items in rated.sweeps.items():
        if better in ends:
            p = 2.0 ** (1 - items)
            alone[better, worse] |= p < 1 - level
            together[better, worse] |= p < (1 - level) / pairs
