"""Elo ratings: matches are processed in order, so the order matters; many orders are rated at once."""

from __future__ import annotations

from collections.abc import Iterator
from math import tanh
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.stats.array_checks import Floats, Ints, Numbers, match_arrays

Middle = Literal["mean", "median"]

# Up to this number of orders, plain floats are faster than arrays: a step costs seven array calls, however short.
_FEW_ORDERS = 16
# row numbers held at once
_BLOCK = 1 << 24
# matches of all orders that are looked up at a time
_AT_ONCE = 1 << 19
# Above this number of matches only the last ones of an order are played, since Elo forgets earlier ones...
_MANY = 100_000
# ...starting with this many, and four times more while two different starts differ by a hundredth of a point
_LAST = 1 << 14
_FORGOTTEN = 0.01


def elo_orders(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    orders: npt.ArrayLike,
    *,
    contestants: int = 0,
    k: float = 32.0,
) -> Floats:
    """Return ratings (a row) after the matches in each order (a column of row numbers), all orders at once.

    >>> elo_orders([0, 1], [1, 0], [0.5, 1], [[0, 1], [1, 0]]).round(2).tolist()
    [[984.0, 1016.0], [985.47, 1014.53]]
    """
    firsts, seconds, result, size = match_arrays(first, second, outcome, contestants)
    rows = np.asarray(orders, dtype=np.int64)
    return _play_orders((firsts, seconds, result), rows, size, k)


def elo_ratings(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    *,
    contestants: int = 0,
    k: float = 32.0,
    middle: Middle = "mean",
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Estimate | None]:
    """Return the mean or median rating over random orders of the matches, and the range of `level` of them.

    An outcome may be any share from 0 to 1, such as the mean of two orders of a pair.

    Every match is played once in each order, and the range shows the effect of the order only. Elo forgets: of very
    many matches only the last of each order are played, enough that ratings from any start agree to 0.01 points.

    >>> [round(rating.value) for rating in elo_ratings([0, 0, 1] * 9, [1, 2, 2] * 9, [1, 1, 1] * 9)]
    [1180, 1000, 820]
    """
    firsts, seconds, result, size = match_arrays(first, second, outcome, contestants, shares=True)
    matches = (firsts, seconds, result)
    ratings = _ratings_by_last_matches(matches, size, k, draws, seed) if len(firsts) > _MANY else None
    if ratings is None:
        ratings = np.concatenate(
            [_play_orders(matches, rows, size, k) for rows in _draw_orders(len(firsts), draws, seed)]
        )
    centre = ratings.mean(axis=0) if middle == "mean" else np.median(ratings, axis=0)
    low, high = np.quantile(ratings, [(1 - level) / 2, (1 + level) / 2], axis=0)
    matches_played = np.bincount(np.concatenate([firsts, seconds]), minlength=size)
    name = f"Elo, K={k:g}, {middle} over {draws} random orders"
    return [
        Estimate(float(centre[who]), float(low[who]), float(high[who]), int(matches_played[who]), level, name)
        if matches_played[who]
        else None
        for who in range(size)
    ]


def _ratings_by_last_matches(
    matches: tuple[Ints, Ints, Floats], size: int, k: float, draws: int, seed: int
) -> Floats | None:
    n = len(matches[0])
    # A contestant without late matches keeps this offset, and so does the mean of an isolated group: both are detected.
    start_offsets = np.where(np.arange(size) % 2, 400.0, -400.0)
    start_offsets -= start_offsets.mean()
    last = _LAST
    while 2 * last < n:
        rng = np.random.default_rng(seed)
        step = max(1, _BLOCK // last)
        blocks = []
        for begin in range(0, draws, step):
            width = min(step, draws - begin)
            rows = np.stack([rng.choice(n, last, replace=False).astype(np.int32) for _ in range(width)], axis=1)
            block = _play_orders(matches, rows, size, k)
            if np.abs(block - _play_orders(matches, rows, size, k, start_offsets)).max() > _FORGOTTEN:
                break
            blocks.append(block)
        else:
            return np.concatenate(blocks)
        last *= 4
    return None


def _draw_orders(n: int, draws: int, seed: int) -> Iterator[npt.NDArray[np.integer[Any]]]:
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for begin in range(0, draws, step):
        width = min(step, draws - begin)
        # Shuffle rows, which are contiguous in memory: columns give the same draws but take three times as long.
        yield rng.permuted(np.tile(np.arange(n, dtype=np.int32), (width, 1)), axis=1).T


def _play_orders(
    matches: tuple[Ints, Ints, Floats],
    orders: npt.NDArray[np.integer[Any]],
    size: int,
    k: float,
    start_offsets: Floats | None = None,
) -> Floats:
    """`start_offsets` is how far from the common start each contestant begins."""
    rate = np.log(10.0) / 400.0
    if orders.shape[1] <= _FEW_ORDERS and start_offsets is None:
        return np.array([_play_one_order(matches, rows, size, k, rate) for rows in orders.T]).reshape(-1, size)
    # One flat array of ratings: indexing by row and column takes twice as long.
    width = orders.shape[1]
    ratings = np.tile(np.zeros(size) if start_offsets is None else start_offsets, width) + 1000.0
    begin = np.arange(width) * size
    # Reuse the same three arrays: allocating new ones takes as long as the arithmetic.
    rating_a, rating_b, gain = np.empty(width), np.empty(width), np.empty(width)
    for a, b, outcome in _match_steps(matches, orders, begin):
        # mode="clip" avoids bounds checks and copies; all indices are valid.
        ratings.take(a, out=rating_a, mode="clip")
        ratings.take(b, out=rating_b, mode="clip")
        np.subtract(rating_b, rating_a, out=gain)
        np.multiply(rate, gain, out=gain)
        np.exp(gain, out=gain)
        np.add(1, gain, out=gain)
        np.divide(1, gain, out=gain)
        np.subtract(outcome, gain, out=gain)
        np.multiply(k, gain, out=gain)
        np.add(rating_a, gain, out=rating_a)
        np.subtract(rating_b, gain, out=rating_b)
        ratings[a] = rating_a
        ratings[b] = rating_b
    return ratings.reshape(-1, size)


def _play_one_order(
    matches: tuple[Ints, Ints, Floats], rows: npt.NDArray[np.integer[Any]], size: int, k: float, rate: float
) -> list[float]:
    ratings, half_rate = [1000.0] * size, float(rate) / 2
    for start in range(0, len(rows), _AT_ONCE):
        block = rows[start : start + _AT_ONCE]
        for a, b, outcome in zip(*(column[block].tolist() for column in matches), strict=True):
            rating_a, rating_b = ratings[a], ratings[b]
            # 1 / (1 + exp(x)) is (1 - tanh(x / 2)) / 2, which cannot overflow.
            gain = k * (outcome - 0.5 + 0.5 * tanh(half_rate * (rating_b - rating_a)))
            ratings[a] = rating_a + gain
            ratings[b] = rating_b - gain
    return ratings


def _match_steps(
    matches: tuple[Ints, Ints, Floats], orders: npt.NDArray[np.integer[Any]], begin: Ints
) -> Iterator[tuple[Ints, Ints, Floats]]:
    firsts, seconds, result = matches
    step = max(1, _AT_ONCE // orders.shape[1])
    for start in range(0, len(orders), step):
        rows = np.ascontiguousarray(orders[start : start + step])
        yield from zip(firsts[rows] + begin, seconds[rows] + begin, result[rows], strict=True)
