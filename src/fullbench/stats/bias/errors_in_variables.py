"""What moves a judge besides what people see in a response, when people's marks are themselves measured with error.

People's votes on a response are taken as its worth plus error, the judge's mark as

    mark = shift + scale * worth + sum of effect * trait + error

where a trait is the length of the response, or whether it comes from the judge's own family. To put one noisy vote in
the place of the worth hides part of the worth in the traits (attenuation), so that a judge without any bias seems to
love long answers wherever long answers are better. Two ways out, both by moments (W. A. Fuller, Measurement Error
Models, 1987, ch. 1-2):

- Where responses have two votes or more, the variance of a vote's error is known from how votes on one response differ,
  and is taken out: `known error`.
- Where they have one vote each, the error is not known, only its ends: no error at all, or so much that the judge has
  none. The truth lies between the two regressions that these ends give (S. Klepper and E. Leamer, Econometrica 52,
  1984): `bounds`. An effect is claimed only where both ends say so.

A scale other than 1 is how a judge uses its marks, no bias; it is an effect of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.bias.latent_scale import felt
from fullbench.stats.intervals.cluster_intervals import Scale, Spread, around, p_of_zero

KNOWN = "known error"
BOUNDS = "bounds"
_STEPS = 50
# a worth whose variance, given the traits, is a smaller part than this of that of the votes cannot be told from noise
_LEAST = 0.05
# with fewer items than this, leaving one out leaves nothing to go by
_FEWEST = 4
# so many responses with two votes at least, for their error to be known
_FEW_REPEATED = 20
# where the error of votes is not known, this part of their standard deviation stands for that of the worth
_PART = 0.8


@dataclass(frozen=True)
class Votes:
    """People's votes by response: how many each has, their mean, and the squares of their differences from it.

    `rows` are the votes one by one: on which response, and what.
    """

    count: Floats
    mean: Floats
    squares: Floats
    rows: tuple[Ints, Floats] | None = None

    @classmethod
    def of(cls, response: Ints, vote: Floats, rater: Ints | None = None, responses: int = 0) -> Votes:
        """Votes from rows. How lenient each rater is, as far as raters meet on responses, is taken out first.

        >>> votes = Votes.of(np.array([0, 0, 1]), np.array([2.0, 4.0, 5.0]))
        >>> votes.mean.tolist(), votes.squares.tolist()
        ([3.0, 5.0], [2.0, 0.0])
        """
        size = max(responses, int(response.max()) + 1)
        count = np.bincount(response, minlength=size).astype(np.float64)
        values = vote.astype(np.float64)
        if rater is not None:
            values = values - _leniency(response, values, rater, count)[rater]
        mean = np.bincount(response, values, size) / np.maximum(count, 1)
        squares = np.bincount(response, (values - mean[response]) ** 2, size)
        return cls(count, mean, squares.astype(np.float64), (response, vote.astype(np.float64)))


def _leniency(response: Ints, vote: Floats, rater: Ints, count: Floats) -> Floats:
    """Each rater's mean difference from others on the same responses, their mean zero; by turns, till it settles."""
    raters = int(rater.max()) + 1
    lenient = np.zeros(raters)
    shared = count[response] > 1
    if not shared.any():
        return lenient
    response, vote, rater = response[shared], vote[shared], rater[shared]
    given = np.maximum(np.bincount(rater, minlength=raters), 1)
    size = len(count)
    for _ in range(_STEPS):
        worth = np.bincount(response, vote - lenient[rater], size) / np.maximum(count, 1)
        moved = np.bincount(rater, vote - worth[response], raters) / given
        moved -= np.average(moved, weights=given)
        if float(np.abs(moved - lenient).max()) < 1e-9:
            break
        lenient = moved
    return lenient


@dataclass(frozen=True)
class Effect:
    """One effect: its estimate (from known errors, or the direct regression), its p-value, and how it was had.

    With `bounds`, `other` is the estimate of the regression at the other end; the truth lies between the two.
    """

    estimate: Estimate
    p: float
    way: str
    other: Estimate | None = None


def effects(
    marks: Floats,
    votes: Votes,
    traits: Mapping[str, Floats],
    item: Ints,
    *,
    scale: Scale | None = None,
    level: float = 0.95,
) -> dict[str, Effect]:
    """The effects of each trait on a judge's marks, the `constant`, the `scale` and the mean `shift` from people.

    A row is a response that the judge and people marked; `scale` is that of whole marks, None where they are not whole.
    The p-values are of "there is no such effect", for the scale of "it is 1". A shift counts only where it goes the
    same way for good and for bad answers (one standard deviation above and below the middle): what a judge that uses
    less of the scale takes from the good it gives to the bad. It is tested on marks as felt
    (`stats.bias.latent_scale`).

    >>> rng = np.random.default_rng(1)
    >>> worth, words = rng.normal(3, 1, (2, 900))
    >>> words = words + 0.5 * worth
    >>> vote = np.concatenate([worth, worth]) + rng.normal(0, 1, 1800)
    >>> people = Votes.of(np.tile(np.arange(900), 2), vote)
    >>> found = effects(worth + rng.normal(0, 1, 900), people, {"words": words}, np.arange(900) // 3)
    >>> found["words"].way, found["words"].p > 0.05, 0.8 < found["scale"].estimate.value < 1.2
    ('known error', True, True)
    """
    names = [*traits, "constant", "scale", "shift"]
    items = len(np.unique(item))
    if items < _FEWEST:
        raise Undefined(
            Note("undefined.noisy-few-items", "effects need at least {least} items; found {n}", least=_FEWEST, n=items)
        )
    sums = _sums(marks, votes, traits, item)
    known = sums.several >= max(_FEW_REPEATED, len(marks) // 10)
    solved = [_known(sums)] if known else [_direct(sums), _reverse(sums)]
    ends = [
        {name: _effect(values[name], tested[name], len(marks), level) for name in names} for values, tested in solved
    ]
    found = (
        {name: Effect(*ends[0][name], KNOWN) for name in names}
        if known
        else {name: _between(ends[0][name], ends[1][name], 1.0 if name == "scale" else 0.0) for name in names}
    )
    slope, reach = _slope(sums, known=known)
    p = _shifted(_centres(marks, votes, item, scale, sums), slope, reach)
    return found | {"shift": replace(found["shift"], p=p)}


def _slope(sums: _Sums, *, known: bool) -> tuple[Floats, Floats]:
    """The judge's scale, of all items and with one after another left out, and a standard deviation of the worth.

    Without known errors it is that of the standard deviations of marks and votes, which lies between both ends; a part
    of the votes' is error.
    """
    if known:
        values, _ = _known(sums)
        return values["scale"], np.sqrt(np.clip(sums.covariance[:, 0, 0] - sums.error, 0, None))
    votes, marks = (np.sqrt(sums.covariance[:, place, place]) for place in (0, -1))
    return marks / votes, _PART * votes


def _centres(marks: Floats, votes: Votes, item: Ints, scale: Scale | None, sums: _Sums) -> Floats:
    """The judge's middle less people's, of all items and with one left out in turn; as felt where that is known."""
    if scale is not None and votes.rows is not None:
        _, owner = np.unique(item, return_inverse=True)
        items = int(owner.max()) + 1
        response, vote = votes.rows
        try:
            ours = felt(marks, owner, items, scale)
            theirs = felt(vote, owner[response], items, scale, 1 / votes.count[response])
        except (Undefined, np.linalg.LinAlgError):
            pass
        else:
            gap = ours.centre - theirs.centre
            return np.concatenate([[gap], gap + ours.moves[:, 0] - theirs.moves[:, 0]])
    plain: Floats = sums.mean[:, -1] - sums.mean[:, 0]
    return plain


def _shifted(gap: Floats, slope: Floats, reach: Floats) -> float:
    """The p-value of "the judge is not above people for good and bad answers alike, nor below for both"."""
    ends = [gap + side * (slope - 1) * reach for side in (-1.0, 1.0)]
    if float(ends[0][0]) * float(ends[1][0]) <= 0:
        return 1.0
    return max(p_of_zero(float(end[0]), Spread.of(end[1:] - end[0])) for end in ends)


def _between(direct: tuple[Estimate, float], reverse: tuple[Estimate, float], null: float) -> Effect:
    """One effect from both ends: claimed only where both claim it, and in the same direction."""
    (ours, first), (theirs, second) = direct, reverse
    alike = (ours.value > null) == (theirs.value > null)
    return Effect(ours, max(first, second) if alike else 1.0, BOUNDS, theirs)


Solved = tuple[Mapping[str, Floats], Mapping[str, Floats]]
"""Effects, and what is tested for zero: of all items first, then with one item after another left out."""


def _effect(values: Floats, tested: Floats, rows: int, level: float) -> tuple[Estimate, float]:
    value, zero = float(values[0]), float(tested[0])
    estimate = around(value, rows, Spread.of(values[1:] - value), level=level)
    return estimate, p_of_zero(zero, Spread.of(tested[1:] - zero))


@dataclass(frozen=True)
class _Sums:
    """Sums over all items, then with one item after another left out: a row each.

    `covariance` is of people's mean vote, the traits and the judge's mark, in this order, `mean` their means; `error`
    is the variance that the error of votes adds to that of their means.
    """

    rows: Floats
    mean: Floats
    covariance: Floats
    error: Floats
    several: int
    names: tuple[str, ...]


def _sums(marks: Floats, votes: Votes, traits: Mapping[str, Floats], item: Ints) -> _Sums:
    columns = [np.ones(len(marks)), votes.mean, *traits.values(), marks]
    # Centred, so that variances of long columns do not drown in their means.
    centre = [0.0, *(float(column.mean()) for column in columns[1:])]
    table = np.column_stack([column - middle for column, middle in zip(columns, centre, strict=True)])
    _, owner = np.unique(item, return_inverse=True)
    groups, width = int(owner.max()) + 1, table.shape[1]
    products = np.zeros((groups, width, width))
    for a in range(width):
        for b in range(a, width):
            products[:, a, b] = products[:, b, a] = np.bincount(owner, table[:, a] * table[:, b], groups)
    repeated = np.maximum(votes.count - 1, 0)
    parts = np.column_stack([
        np.bincount(owner, 1 / votes.count, groups), np.bincount(owner, votes.squares, groups),
        np.bincount(owner, repeated, groups),
    ])  # fmt: skip
    whole, rest = products.sum(axis=0), parts.sum(axis=0)
    every = np.concatenate([whole[None], whole[None] - products])
    share, squares, freedom = np.concatenate([rest[None], rest[None] - parts]).T
    rows = every[:, 0, 0]
    mean = every[:, 0, 1:] / rows[:, None]
    covariance = every[:, 1:, 1:] / rows[:, None, None] - mean[:, :, None] * mean[:, None, :]
    error = np.divide(squares, freedom, out=np.zeros_like(squares), where=freedom > 0) * share / rows
    return _Sums(rows, mean + np.array(centre[1:]), covariance, error, int((votes.count > 1).sum()), tuple(traits))


def _known(sums: _Sums) -> Solved:
    """The effects once the error of votes is taken out of their variance."""
    covariance = sums.covariance.copy()
    covariance[:, 0, 0] -= sums.error
    partial = _partial(covariance)
    if (partial < _LEAST * _partial(sums.covariance)).any():
        raise Undefined(
            Note(
                "undefined.noisy-disagree",
                "people agree too little on these responses to tell their worth from their errors",
            )
        )
    return _solved(sums, covariance)


def _direct(sums: _Sums) -> Solved:
    """The effects if people's votes had no error."""
    if (_partial(sums.covariance) <= 1e-12).any():
        raise Undefined(Note("undefined.noisy-constant", "people's votes do not vary, or follow from the traits"))
    return _solved(sums, sums.covariance)


def _partial(covariance: Floats) -> Floats:
    """The variance of the votes that traits leave unexplained."""
    traits = covariance[:, 1:-1, 1:-1]
    if traits.shape[1] == 0:
        return covariance[:, 0, 0]
    if float(np.linalg.matrix_rank(traits[0])) < traits.shape[1]:
        raise Undefined(
            Note("undefined.noisy-traits", "the traits cannot be told apart: one is constant or a sum of others")
        )
    across = covariance[:, 1:-1, :1]
    explained: Floats = (across.transpose(0, 2, 1) @ np.linalg.solve(traits, across))[:, 0, 0]
    left: Floats = covariance[:, 0, 0] - explained
    return left


def _solved(sums: _Sums, covariance: Floats) -> Solved:
    """Regression on votes and traits. What is tested is an effect times the determinant: the quotient has no part in
    whether it is zero, and its tails are long where people agree little (E. C. Fieller's way).
    """
    left, right = covariance[:, :-1, :-1], covariance[:, :-1, -1:]
    coefficients: Floats = np.linalg.solve(left, right)[:, :, 0].astype(np.float64)
    weight = np.linalg.det(left)
    scale = coefficients[:, 0]
    shift = sums.mean[:, -1] - sums.mean[:, 0]
    values: dict[str, Floats] = {name: coefficients[:, place] for place, name in enumerate(sums.names, 1)}
    values["constant"] = sums.mean[:, -1] - (coefficients * sums.mean[:, :-1]).sum(axis=1)
    tested: dict[str, Floats] = {name: column * weight for name, column in values.items()}
    return values | {"scale": scale, "shift": shift}, tested | {"scale": (scale - 1) * weight, "shift": shift}


def _reverse(sums: _Sums) -> Solved:
    """The effects if the judge had no error: votes are regressed on its marks, and the equation is turned round."""
    order = [sums.covariance.shape[1] - 1, *range(1, sums.covariance.shape[1] - 1), 0]
    turned = sums.covariance[:, order][:, :, order]
    coefficients: Floats = np.linalg.solve(turned[:, :-1, :-1], turned[:, :-1, -1:])[:, :, 0].astype(np.float64)
    slope = coefficients[:, 0]
    if (slope <= 1e-9).any():
        raise Undefined(Note("undefined.noisy-unlike", "the judge does not follow people on these responses"))
    shift = sums.mean[:, -1] - sums.mean[:, 0]
    tested: dict[str, Floats] = {name: -coefficients[:, place] for place, name in enumerate(sums.names, 1)}
    means = sums.mean[:, order[:-1]]
    tested["constant"] = (coefficients * means).sum(axis=1) - sums.mean[:, 0]
    values: dict[str, Floats] = {name: column / slope for name, column in tested.items()}
    return values | {"scale": 1 / slope, "shift": shift}, tested | {"scale": 1 - slope, "shift": shift}
