"""Elo ratings: duels taken one after another, so that their order matters; many orders are rated at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import exp
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.stats.array_checks import Floats, Ints, Numbers, duels

Draw = Literal["orders", "bootstrap"]
Middle = Literal["mean", "median"]

# row numbers held at once, whatever the number of orders: of shuffled rows, and of rows drawn with replacement,
# whose draws depend on how many are made at a time
_BLOCK = 1 << 24
_DRAWN = 1 << 22
# duels of all orders that are looked up at a time
_AT_ONCE = 1 << 19
# With so many duels the last ones of an order decide its ratings: those before are forgotten, and are not played...
_MANY = 100_000
# ...where so many fewer from quite another start end within a hundredth of a point, else four times as many
_LAST = 1 << 14
_FORGOTTEN = 0.01
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
    return _played((firsts, seconds, result), rows, size, (k, start, scale, base))


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

    Elo forgets: of very many duels only the last of each order are played, as many as make ratings from any start the
    same to a hundredth of a point.

    With `draw="orders"` every duel is played once in each order, and the range shows what the order does, not what
    other duels would; with `"bootstrap"` duels are drawn with replacement, and it shows both.

    >>> [round(rating.value) for rating in elo([0, 0, 1] * 9, [1, 2, 2] * 9, [1, 1, 1] * 9)]
    [1180, 1000, 820]
    """
    firsts, seconds, result, size = duels(first, second, outcome, contestants)
    fought, settings = (firsts, seconds, result), (k, start, scale, base)
    ratings = _by_the_last(fought, size, settings, draws, seed) if draw == "orders" and len(firsts) > _MANY else None
    if ratings is None:
        ratings = np.concatenate(
            [_played(fought, rows, size, settings) for rows in _orders(len(firsts), draw, draws, seed)]
        )
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


def _by_the_last(
    fought: tuple[Ints, Ints, Floats], size: int, settings: tuple[float, float, float, float], draws: int, seed: int
) -> Floats | None:
    """Ratings after the last duels of random orders, all that matters of them; None where earlier ones still do."""
    n = len(fought[0])
    # Somebody who is not among the last keeps this start, and a group that never meets the others its mean of it.
    apart = np.where(np.arange(size) % 2, 400.0, -400.0)
    apart -= apart.mean()
    last = _LAST
    while 2 * last < n:
        rng = np.random.default_rng(seed)
        step = max(1, _BLOCK // last)
        blocks = []
        for begin in range(0, draws, step):
            width = min(step, draws - begin)
            rows = np.stack([rng.choice(n, last, replace=False).astype(np.int32) for _ in range(width)], axis=1)
            block = _played(fought, rows, size, settings)
            if np.abs(block - _played(fought, rows, size, settings, apart)).max() > _FORGOTTEN:
                break
            blocks.append(block)
        else:
            return np.concatenate(blocks)
        last *= 4
    return None


def _orders(n: int, draw: Draw, draws: int, seed: int) -> Iterator[npt.NDArray[np.integer[Any]]]:
    """Row numbers, one column for each order, in blocks that bound memory."""
    rng = np.random.default_rng(seed)
    step = max(1, (_DRAWN if draw == "bootstrap" else _BLOCK) // n)
    for begin in range(0, draws, step):
        width = min(step, draws - begin)
        if draw == "bootstrap":
            yield rng.integers(0, n, size=(n, width))
        else:
            # Shuffled row by row, which lie together in memory: columns draw the same and take three times as long.
            yield rng.permuted(np.tile(np.arange(n, dtype=np.int32), (width, 1)), axis=1).T


def _played(
    fought: tuple[Ints, Ints, Floats],
    orders: npt.NDArray[np.integer[Any]],
    size: int,
    settings: tuple[float, float, float, float],
    apart: Floats | None = None,
) -> Floats:
    """Ratings after the duels in each order (a column of row numbers) from top to bottom: a row for each order.

    `apart` is how far from the common start each one begins.
    """
    k, start, scale, base = settings
    rate = np.log(base) / scale
    # One flat array of ratings, addressed by place: looking up rows and columns apart takes twice as long.
    width = orders.shape[1]
    ratings = np.tile(np.zeros(size) if apart is None else apart, width) + start
    begin = np.arange(width) * size
    # Every step writes into the same three arrays: making new ones takes as long as the arithmetic.
    rating_a, rating_b, gain = np.empty(width), np.empty(width), np.empty(width)
    for a, b, outcome in _steps(fought, orders, begin):
        # With "clip" nothing is checked or copied; all places are within the array.
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


def _steps(
    fought: tuple[Ints, Ints, Floats], orders: npt.NDArray[np.integer[Any]], begin: Ints
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """For each step the places of both contestants in every order, and what the first won: some steps at a time."""
    firsts, seconds, result = fought
    step = max(1, _AT_ONCE // orders.shape[1])
    for start in range(0, len(orders), step):
        rows = np.ascontiguousarray(orders[start : start + step])
        yield from zip(firsts[rows] + begin, seconds[rows] + begin, result[rows], strict=True)
