"""Elo ratings: duels taken one after another, so that their order matters; many orders are rated at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import exp
from typing import Literal

import numpy as np
import numpy.typing as npt

from fullbench.nouns.estimate import Estimate
from fullbench.stats.arrays import Floats, Ints, Numbers, duels

Draw = Literal["orders", "bootstrap"]
Middle = Literal["mean", "median"]

# row numbers that are held at once, whatever the number of orders
_BLOCK = 1 << 22
# duels turned into Python numbers at a time: the loop is faster over lists, and all of them would not fit
_CHUNK = 1 << 16


def elo_in_order(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    *,
    contestants: int = 0,
    k: float = 32.0,
    start: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> list[float | None]:
    """Ratings after the duels in the order given (Elo 1978); None for a contestant that met nobody.

    >>> elo_in_order([0, 0], [1, 1], [0.5, 1], contestants=3)
    [1016.0, 984.0, None]
    """
    firsts, seconds, result, size = duels(first, second, outcome, contestants)
    rate = math.log(base) / scale
    rated = [start] * size
    for begin in range(0, len(firsts), _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        for a, b, won in zip(firsts[rows].tolist(), seconds[rows].tolist(), result[rows].tolist(), strict=True):
            rating_a, rating_b = rated[a], rated[b]
            gain = k * (won - 1 / (1 + exp((rating_b - rating_a) * rate)))
            rated[a] = rating_a + gain
            rated[b] = rating_b - gain
    seen = np.bincount(firsts, minlength=size) + np.bincount(seconds, minlength=size)
    return [rating if played else None for rating, played in zip(rated, seen, strict=True)]


def elo_orders(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    orders: npt.ArrayLike,
    *,
    contestants: int = 0,
    k: float = 32.0,
    start: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
) -> Floats:
    """Ratings (a row) after the duels in each of the given orders (a column of row numbers), all orders at once.

    >>> elo_orders([0, 1], [1, 0], [0.5, 1], [[0, 1], [1, 0]]).round(2).tolist()
    [[984.0, 1016.0], [985.47, 1014.53]]
    """
    firsts, seconds, result, size = duels(first, second, outcome, contestants)
    rows = np.asarray(orders, dtype=np.int64)
    return _played(firsts[rows], seconds[rows], result[rows], size, (k, start, scale, base))


def elo(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    *,
    contestants: int = 0,
    k: float = 32.0,
    start: float = 1000.0,
    scale: float = 400.0,
    base: float = 10.0,
    draw: Draw = "orders",
    middle: Middle = "mean",
    draws: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Estimate | None]:
    """The middle of the ratings over random orders of the duels, and the range in which `level` of them lie.

    With `draw="orders"` every duel is played once in each order, and the range shows what the order does, not what
    other duels would; with `"bootstrap"` duels are drawn with replacement, and it shows both.

    >>> [round(rating.value) for rating in elo([0, 0, 1] * 9, [1, 2, 2] * 9, [1, 1, 1] * 9)]
    [1180, 1000, 820]
    """
    firsts, seconds, result, size = duels(first, second, outcome, contestants)
    settings = (k, start, scale, base)
    blocks = [
        _played(firsts[rows], seconds[rows], result[rows], size, settings)
        for rows in _orders(len(firsts), draw, draws, seed)
    ]
    ratings = np.concatenate(blocks)
    centre = ratings.mean(axis=0) if middle == "mean" else np.median(ratings, axis=0)
    low, high = np.quantile(ratings, [(1 - level) / 2, (1 + level) / 2], axis=0)
    played = np.bincount(np.concatenate([firsts, seconds]), minlength=size)
    name = f"Elo, K={k:g}, {middle} over {draws} " + ("random orders" if draw == "orders" else "bootstrap resamples")
    return [
        Estimate(float(centre[who]), float(low[who]), float(high[who]), int(played[who]), level, name)
        if played[who]
        else None
        for who in range(size)
    ]


def _orders(n: int, draw: Draw, draws: int, seed: int) -> Iterator[Ints]:
    """Row numbers, one column for each order, in blocks that bound memory."""
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for begin in range(0, draws, step):
        width = min(step, draws - begin)
        if draw == "bootstrap":
            yield rng.integers(0, n, size=(n, width))
        else:
            yield rng.permuted(np.tile(np.arange(n)[:, None], (1, width)), axis=0)


def _played(
    firsts: Ints, seconds: Ints, result: Floats, size: int, settings: tuple[float, float, float, float]
) -> Floats:
    """Ratings after each column of duels has been played from top to bottom: a row for each column."""
    k, start, scale, base = settings
    rate = np.log(base) / scale
    # One flat array of ratings, addressed by place: looking up rows and columns apart takes twice as long.
    ratings = np.full(firsts.shape[1] * size, start)
    begin = np.arange(firsts.shape[1]) * size
    for a, b, outcome in zip(firsts + begin, seconds + begin, result, strict=True):
        rating_a, rating_b = ratings[a], ratings[b]
        gain = k * (outcome - 1 / (1 + np.exp(rate * (rating_b - rating_a))))
        ratings[a] = rating_a + gain
        ratings[b] = rating_b - gain
    return ratings.reshape(-1, size)
