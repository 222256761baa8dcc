"""Effects of traits (length, own family) on a judge's marks, corrected for errors in people's votes.

A person's vote on a response is modelled as its worth plus error, and the judge's mark as

    mark = shift + scale * worth + sum of effect * trait + error

A trait is the length of the response, or whether it comes from the judge's own family. Using one noisy vote in place
of the worth moves part of the worth into the traits (attenuation). A judge without any bias then seems to prefer long
answers whenever long answers are better. There are two solutions, both by moments (W. A. Fuller, Measurement Error
Models, 1987, ch. 1-2):

- `known error`: if responses have two or more votes, votes on the same response give the variance of a vote's error.
  It is subtracted.
- `bounds`: with one vote per response, only the extremes of the error are known: none at all, or so large that the
  judge has none. The truth is between the two regressions at these extremes (S. Klepper and E. Leamer,
  Econometrica 52, 1984). An effect is claimed only if both regressions show it.

A scale other than 1 describes how a judge uses its marks and is not a bias. It is estimated as a separate effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import Scale, Spread, estimate_around, p_of_zero

KNOWN_ERROR = "known error"
BOUNDS = "bounds"
_STEPS = 50
# least share of the votes' variance (given the traits) that worth must have to be distinguished from noise
_LEAST = 0.05
# fewest items for a leave-one-out interval
_FEWEST = 4
# fewest responses with two votes for the error of votes to count as known
_FEW_REPEATED = 20
# assumed standard deviation of the worth, as a share of the votes', if the error of votes is unknown
_PART = 0.8


@dataclass(frozen=True)
class Votes:
    """People's votes by response: number, mean, sum of squared deviations; `rows` are (response index, vote)."""

    count: Floats
    mean: Floats
    squares: Floats
    rows: tuple[Ints, Floats] | None = None

    @classmethod
    def from_rows(cls, response: Ints, vote: Floats, rater: Ints | None = None, responses: int = 0) -> Votes:
        """Collect votes from rows, after subtracting each rater's leniency on responses shared with other raters.

        >>> votes = Votes.from_rows(np.array([0, 0, 1]), np.array([2.0, 4.0, 5.0]))
        >>> votes.mean.tolist(), votes.squares.tolist()
        ([3.0, 5.0], [2.0, 0.0])
        """
        size = max(responses, int(response.max()) + 1)
        count = np.bincount(response, minlength=size).astype(np.float64)
        values = vote.astype(np.float64)
        if rater is not None:
            values = values - _rater_leniency(response, values, rater, count)[rater]
        mean = np.bincount(response, values, size) / np.maximum(count, 1)
        squares = np.bincount(response, (values - mean[response]) ** 2, size)
        return cls(count, mean, squares.astype(np.float64), (response, vote.astype(np.float64)))


def _rater_leniency(response: Ints, vote: Floats, rater: Ints, count: Floats) -> Floats:
    """Mean difference from others on the same responses, centred at zero; iterated until stable."""
    raters = int(rater.max()) + 1
    lenient = np.zeros(raters)
    has_other_votes = count[response] > 1
    if not has_other_votes.any():
        return lenient
    response, vote, rater = response[has_other_votes], vote[has_other_votes], rater[has_other_votes]
    vote_counts = np.maximum(np.bincount(rater, minlength=raters), 1)
    size = len(count)
    for _ in range(_STEPS):
        worth = np.bincount(response, vote - lenient[rater], size) / np.maximum(count, 1)
        new_leniency = np.bincount(rater, vote - worth[response], raters) / vote_counts
        new_leniency -= np.average(new_leniency, weights=vote_counts)
        if float(np.abs(new_leniency - lenient).max()) < 1e-9:
            break
        lenient = new_leniency
    return lenient


@dataclass(frozen=True)
class Effect:
    """One effect: its estimate (from known errors, or the direct regression), its p-value, and the method used.

    With `bounds`, `other_bound` is the estimate of the reverse regression. The truth is between the two.
    """

    estimate: Estimate
    p: float
    way: str
    other_bound: Estimate | None = None


def estimate_effects(
    marks: Floats,
    votes: Votes,
    traits: Mapping[str, Floats],
    item: Ints,
    *,
    scale: Scale | None = None,
    level: float = 0.95,
) -> dict[str, Effect]:
    """Estimate each trait's effect on a judge's marks, the `constant`, the `scale` and the mean `shift` from people.

    A row is a response that the judge and people marked. `scale` is the scale of whole-number marks, or None if marks
    are not whole. The p-values test "there is no such effect"; for the scale, "it is 1". A shift counts only if it has
    the same sign for good and bad answers (one standard deviation above and below the middle). Otherwise a judge that
    uses less of the scale would look biased. The shift is tested on latent marks (`LatentScale`).

    >>> rng = np.random.default_rng(1)
    >>> worth, words = rng.normal(3, 1, (2, 900))
    >>> words = words + 0.5 * worth
    >>> vote = np.concatenate([worth, worth]) + rng.normal(0, 1, 1800)
    >>> people = Votes.from_rows(np.tile(np.arange(900), 2), vote)
    >>> found = estimate_effects(worth + rng.normal(0, 1, 900), people, {"words": words}, np.arange(900) // 3)
    >>> found["words"].way, found["words"].p > 0.05, 0.8 < found["scale"].estimate.value < 1.2
    ('known error', True, True)
    """
    names = [*traits, "constant", "scale", "shift"]
    items = len(np.unique(item))
    if items < _FEWEST:
        raise Undefined(Note("undefined.noisy-few-items", least=_FEWEST, n=items))
    sums = _leave_one_out_sums(marks, votes, traits, item)
    is_error_known = sums.several >= max(_FEW_REPEATED, len(marks) // 10)
    solutions = [_solve_known_error(sums)] if is_error_known else [_solve_direct(sums), _solve_reverse(sums)]
    ends = [
        {name: _estimate_with_p(values[name], test_values[name], len(marks), level) for name in names}
        for values, test_values in solutions
    ]
    effects_by_name = (
        {name: Effect(*ends[0][name], KNOWN_ERROR) for name in names}
        if is_error_known
        else {
            name: _effect_between_bounds(ends[0][name], ends[1][name], 1.0 if name == "scale" else 0.0)
            for name in names
        }
    )
    slope, reach = _judge_slope(sums, is_error_known=is_error_known)
    p = _shift_p_value(_centre_gaps(marks, votes, item, scale, sums), slope, reach)
    return effects_by_name | {"shift": replace(effects_by_name["shift"], p=p)}


def _judge_slope(sums: _Sums, *, is_error_known: bool) -> tuple[Floats, Floats]:
    """Judge's scale, over all items and leaving one out in turn, and a standard deviation of the worth.

    Without known errors, the scale is the ratio of the standard deviations of marks and votes, which is between both
    bounds. Part of the votes' standard deviation is error.
    """
    if is_error_known:
        values, _ = _solve_known_error(sums)
        return values["scale"], np.sqrt(np.clip(sums.covariance[:, 0, 0] - sums.error, 0, None))
    votes, marks = (np.sqrt(sums.covariance[:, place, place]) for place in (0, -1))
    return marks / votes, _PART * votes


def _centre_gaps(marks: Floats, votes: Votes, item: Ints, scale: Scale | None, sums: _Sums) -> Floats:
    if scale is not None and votes.rows is not None:
        _, owner = np.unique(item, return_inverse=True)
        items = int(owner.max()) + 1
        response, vote = votes.rows
        try:
            ours = fit_latent_scale(marks, owner, items, scale)
            theirs = fit_latent_scale(vote, owner[response], items, scale, 1 / votes.count[response])
        except (Undefined, np.linalg.LinAlgError):
            pass
        else:
            gap = ours.centre - theirs.centre
            return np.concatenate([[gap], gap + ours.moves[:, 0] - theirs.moves[:, 0]])
    plain: Floats = sums.mean[:, -1] - sums.mean[:, 0]
    return plain


def _shift_p_value(gap: Floats, slope: Floats, reach: Floats) -> float:
    """P-value of "the judge is neither above people for good and bad answers alike, nor below for both"."""
    ends = [gap + side * (slope - 1) * reach for side in (-1.0, 1.0)]
    if float(ends[0][0]) * float(ends[1][0]) <= 0:
        return 1.0
    return max(p_of_zero(float(end[0]), Spread.from_moves(end[1:] - end[0])) for end in ends)


def _effect_between_bounds(direct: tuple[Estimate, float], reverse: tuple[Estimate, float], null: float) -> Effect:
    """Claim an effect only if both regressions show it with the same sign."""
    (ours, first), (theirs, second) = direct, reverse
    has_same_sign = (ours.value > null) == (theirs.value > null)
    return Effect(ours, max(first, second) if has_same_sign else 1.0, BOUNDS, theirs)


Solution = tuple[Mapping[str, Floats], Mapping[str, Floats]]
"""Effects, and values to test for zero: over all items first, then with one item left out in turn."""


def _estimate_with_p(values: Floats, test_values: Floats, rows: int, level: float) -> tuple[Estimate, float]:
    value, zero = float(values[0]), float(test_values[0])
    estimate = estimate_around(value, rows, Spread.from_moves(values[1:] - value), level=level)
    return estimate, p_of_zero(zero, Spread.from_moves(test_values[1:] - zero))


@dataclass(frozen=True)
class _Sums:
    """Moments over all items (row 0), then with one item after another left out.

    `covariance` is of people's mean vote, the traits and the judge's mark, in this order; `mean` has their means.
    `error` is the variance that the error of votes adds to their means.
    """

    rows: Floats
    mean: Floats
    covariance: Floats
    error: Floats
    several: int
    names: tuple[str, ...]


def _leave_one_out_sums(marks: Floats, votes: Votes, traits: Mapping[str, Floats], item: Ints) -> _Sums:
    columns = [np.ones(len(marks)), votes.mean, *traits.values(), marks]
    # Centre the columns first, so that variances are not lost to rounding next to large means.
    centre = [0.0, *(float(column.mean()) for column in columns[1:])]
    table = np.column_stack([column - middle for column, middle in zip(columns, centre, strict=True)])
    _, owner = np.unique(item, return_inverse=True)
    groups, width = int(owner.max()) + 1, table.shape[1]
    products = np.zeros((groups, width, width))
    for a in range(width):
        for b in range(a, width):
            products[:, a, b] = products[:, b, a] = np.bincount(owner, table[:, a] * table[:, b], groups)
    repeat_counts = np.maximum(votes.count - 1, 0)
    parts = np.column_stack([
        np.bincount(owner, 1 / votes.count, groups), np.bincount(owner, votes.squares, groups),
        np.bincount(owner, repeat_counts, groups),
    ])  # fmt: skip
    total_products, total_parts = products.sum(axis=0), parts.sum(axis=0)
    every = np.concatenate([total_products[None], total_products[None] - products])
    share, squares, freedom = np.concatenate([total_parts[None], total_parts[None] - parts]).T
    rows = every[:, 0, 0]
    mean = every[:, 0, 1:] / rows[:, None]
    covariance = every[:, 1:, 1:] / rows[:, None, None] - mean[:, :, None] * mean[:, None, :]
    error = np.divide(squares, freedom, out=np.zeros_like(squares), where=freedom > 0) * share / rows
    return _Sums(rows, mean + np.array(centre[1:]), covariance, error, int((votes.count > 1).sum()), tuple(traits))


def _solve_known_error(sums: _Sums) -> Solution:
    covariance = sums.covariance.copy()
    covariance[:, 0, 0] -= sums.error
    partial = _unexplained_variance(covariance)
    if (partial < _LEAST * _unexplained_variance(sums.covariance)).any():
        raise Undefined(Note("undefined.noisy-disagree"))
    return _solve_regression(sums, covariance)


def _solve_direct(sums: _Sums) -> Solution:
    if (_unexplained_variance(sums.covariance) <= 1e-12).any():
        raise Undefined(Note("undefined.noisy-constant"))
    return _solve_regression(sums, sums.covariance)


def _unexplained_variance(covariance: Floats) -> Floats:
    traits = covariance[:, 1:-1, 1:-1]
    if traits.shape[1] == 0:
        return covariance[:, 0, 0]
    if float(np.linalg.matrix_rank(traits[0])) < traits.shape[1]:
        raise Undefined(Note("undefined.noisy-traits"))
    across = covariance[:, 1:-1, :1]
    explained_variance: Floats = (across.transpose(0, 2, 1) @ np.linalg.solve(traits, across))[:, 0, 0]
    left: Floats = covariance[:, 0, 0] - explained_variance
    return left


def _solve_regression(sums: _Sums, covariance: Floats) -> Solution:
    """Test the effect times the determinant (Fieller): the quotient has long tails if people agree little."""
    left, right = covariance[:, :-1, :-1], covariance[:, :-1, -1:]
    coefficients: Floats = np.linalg.solve(left, right)[:, :, 0].astype(np.float64)
    weight = np.linalg.det(left)
    scale = coefficients[:, 0]
    shift = sums.mean[:, -1] - sums.mean[:, 0]
    values: dict[str, Floats] = {name: coefficients[:, place] for place, name in enumerate(sums.names, 1)}
    values["constant"] = sums.mean[:, -1] - (coefficients * sums.mean[:, :-1]).sum(axis=1)
    test_values: dict[str, Floats] = {name: column * weight for name, column in values.items()}
    return values | {"scale": scale, "shift": shift}, test_values | {"scale": (scale - 1) * weight, "shift": shift}


def _solve_reverse(sums: _Sums) -> Solution:
    """Assume that the judge has no error: regress votes on marks and invert the equation."""
    order = [sums.covariance.shape[1] - 1, *range(1, sums.covariance.shape[1] - 1), 0]
    reordered_covariance = sums.covariance[:, order][:, :, order]
    coefficients: Floats = np.linalg.solve(reordered_covariance[:, :-1, :-1], reordered_covariance[:, :-1, -1:])[
        :, :, 0
    ].astype(np.float64)
    slope = coefficients[:, 0]
    if (slope <= 1e-9).any():
        raise Undefined(Note("undefined.noisy-unlike"))
    shift = sums.mean[:, -1] - sums.mean[:, 0]
    test_values: dict[str, Floats] = {name: -coefficients[:, place] for place, name in enumerate(sums.names, 1)}
    means = sums.mean[:, order[:-1]]
    test_values["constant"] = (coefficients * means).sum(axis=1) - sums.mean[:, 0]
    values: dict[str, Floats] = {name: column / slope for name, column in test_values.items()}
    return values | {"scale": 1 / slope, "shift": shift}, test_values | {"scale": 1 - slope, "shift": shift}


_SCALE_STEPS = 100
_SCALE_CLOSE = 1e-10


@dataclass(frozen=True)
class LatentScale:
    """Centre and spread of latent marks, and the change of both when each item in turn is left out.

    Latent marks are those before rounding to a short scale and before its ends cut them off. A noisy judge of good
    answers gives lower marks than a precise one, without any bias: there is no room for its errors above the best mark.
    The centre of the latent marks does not have this problem. Latent marks are modelled as normal and recorded as the
    nearest mark of the scale, so the best mark only means "at least that" (grouped data: M. B. Stewart, Review of
    Economic Studies 50, 1983).
    """

    centre: float
    spread: float
    moves: Floats


def fit_latent_scale(marks: Floats, item: Ints, items: int, scale: Scale, weight: Floats | None = None) -> LatentScale:
    """Fit the centre and spread of latent marks behind whole marks on items 0 to `items` - 1.

    >>> rng = np.random.default_rng(1)
    >>> marks = np.clip(np.rint(rng.normal(4.5, 1.0, 5000)), 1, 5)
    >>> found = fit_latent_scale(marks, np.arange(5000), 5000, (1, 5))
    >>> round(float(marks.mean()), 1), round(found.centre, 1), round(found.spread, 1)
    (4.3, 4.5, 1.0)
    """
    levels, level = np.unique(marks, return_inverse=True)
    if len(levels) < 3:
        raise Undefined(Note("undefined.felt", n=len(levels)))
    lower = np.where(levels <= scale[0], -np.inf, levels - 0.5)
    upper = np.where(levels >= scale[1], np.inf, levels + 0.5)
    counts = np.bincount(item * len(levels) + level, weight, items * len(levels)).reshape(items, len(levels))
    total_counts = counts.sum(axis=0)
    here = np.array([float(np.average(marks, weights=weight)), 1.0]) / max(0.3, float(np.std(marks)))
    # Newton's method with step halving: the scale must stay positive and the likelihood must not fall.
    for _ in range(_SCALE_STEPS):
        height, scores, bend = _local_likelihood(here, lower, upper, total_counts)
        step = np.linalg.solve(bend, total_counts @ scores)
        while True:
            there = here + step
            if there[1] > 0 and _local_likelihood(there, lower, upper, total_counts)[0] >= height - 1e-9:
                break
            step = step / 2
            if float(np.abs(step).max()) < 1e-14:
                there = here
                break
        here = there
        if float(np.abs(step).max()) < _SCALE_CLOSE:
            break
    _, scores, bend = _local_likelihood(here, lower, upper, total_counts)
    moves = -np.linalg.solve(bend, (counts @ scores).T).T
    centre, spread = here[0] / here[1], 1 / here[1]
    scale_moves = np.column_stack([(moves[:, 0] - centre * moves[:, 1]) * spread, -moves[:, 1] * spread**2])
    return LatentScale(float(centre), float(spread), scale_moves * items / max(1, items - 1))


def _local_likelihood(point: Floats, lower: Floats, upper: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
    """Value, gradient per mark, and minus the second derivatives, in (centre, 1) / spread."""
    from scipy.special import ndtr

    ends = [np.where(np.isfinite(mark_bound), mark_bound, 0.0) for mark_bound in (lower, upper)]
    low, high = (
        np.where(np.isfinite(mark_bound), point[1] * end - point[0], mark_bound)
        for mark_bound, end in zip((lower, upper), ends, strict=True)
    )
    mass = np.maximum(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)), 1e-300)
    density = [np.where(np.isfinite(z), np.exp(-0.5 * np.where(np.isfinite(z), z, 0.0) ** 2), 0.0) / np.sqrt(2 * np.pi)
               for z in (low, high)]  # fmt: skip
    columns = [np.column_stack([-np.ones(len(end)), end]) for end in ends]
    scores = (density[1][:, None] * columns[1] - density[0][:, None] * columns[0]) / mass[:, None]
    bend = scores.T @ (scores * counts[:, None])
    for sign, z, height, column in zip((-1.0, 1.0), (low, high), density, columns, strict=True):
        weight = sign * np.where(np.isfinite(z), z, 0.0) * height / mass * counts
        bend = bend + column.T @ (column * weight[:, None])
    return float(counts @ np.log(mass)), scores, bend
