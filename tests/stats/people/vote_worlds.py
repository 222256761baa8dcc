"""Worlds with known truth: items, contestants, judges of many kinds, and votes chosen in many ways. Only numpy.

A person prefers the better answer with some error, and calls near misses a tie. The truth is what people say of all
pairs of an endless supply of items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

WORTH = np.array([-0.8, 0.4, 0.8, -0.4, 0.0])
LENGTH = np.array([0.5, -1.0, 1.0, -0.5, 0.0])
SIZE = len(WORTH)
FIRST, SECOND = np.array(list(combinations(range(SIZE), 2))).T
PAIRS = len(FIRST)


@dataclass(frozen=True)
class World:
    """Pairs of all items, what a judge and what people say of each, and how sure the judge is."""

    item: np.ndarray
    first: np.ndarray
    second: np.ndarray
    judge: np.ndarray
    people: np.ndarray
    order_gap: np.ndarray
    longer: np.ndarray


def outcome(gap, tie=0.15):
    return np.where(np.abs(gap) < tie, 0.5, (gap > 0) * 1.0)


def make_world(rng, items, kind="follower", *, spread=1.0, bias=0.8):
    """Draw a world whose judge is of a kind; `bias` is the strength of its planted bias, if it has one."""
    item = np.repeat(np.arange(items), PAIRS)
    first, second = np.tile(FIRST, items), np.tile(SECOND, items)
    worth = spread * WORTH + rng.normal(0, 0.7, (items, SIZE))
    length = LENGTH + rng.normal(0, 0.4, (items, SIZE))
    gap = worth[item, first] - worth[item, second]
    longer = length[item, first] - length[item, second]
    people = outcome(gap + rng.normal(0, 1, len(gap)))

    def ruling(place):
        noise = rng.normal(0, 1, len(gap))
        own = (first == 4) * 1.0 - (second == 4) * 1.0  # the middle one
        return {
            "follower": lambda: outcome(gap + place + noise),
            "sharp": lambda: outcome(gap + place + 0.3 * noise),
            "noisy": lambda: outcome(gap + place + 3 * noise),
            "lapses": lambda: np.where(rng.random(len(gap)) < 0.5, rng.integers(0, 2, len(gap)), outcome(gap + noise)),
            "ties": lambda: outcome(gap + place + noise, 0.7),
            "useless": lambda: rng.integers(0, 2, len(gap)) * 1.0,
            "contrary": lambda: 1 - outcome(gap + place + noise),
            "length": lambda: outcome(gap + place + bias * longer + noise),
            "own": lambda: outcome(gap + place + bias * own + noise),
        }[kind]()

    shown, swapped = ruling(0.3), ruling(-0.3)
    return World(item, first, second, (shown + swapped) / 2, people, np.abs(shown - swapped), longer)


def choose(rng, world, votes, way="random"):
    """Return the votes, NaN on pairs that nobody voted on, and the chances if there are any."""
    count, decided = len(world.item), np.abs(2 * world.judge - 1)
    jitter = rng.normal(0, 1, count)
    chance = None
    if way == "designed":
        wish = 0.25 + (1 - decided)
        chance = np.clip(votes * wish / wish.sum(), 0.02, 1.0)
        chosen = np.flatnonzero(rng.random(count) < chance)
    elif way == "items":
        chosen = np.flatnonzero(np.isin(world.item, rng.permutation(world.item.max() + 1)[: max(1, votes // PAIRS)]))
    else:
        score = {
            "random": 0 * jitter,
            "easy": 4 * decided,
            "split": 3 * world.order_gap,
            "longer won": 2 * np.sign(world.longer) * (2 * world.judge - 1),
            "one contestant": 2.0 * ((world.first == 0) | (world.second == 0)),
            "contested": 4 * np.abs(world.judge - world.people),
        }[way]
        chosen = np.argsort(-(score + jitter))[:votes]
    vote = np.full(count, np.nan)
    vote[chosen] = world.people[chosen]
    return vote, chance


def bradley_terry(first, second, won, size=SIZE):
    """Ratings around 1000 by Newton's method on the log-likelihood; ties are half a win."""
    theta = np.zeros(size)
    for _ in range(8):
        chance = 1 / (1 + np.exp(theta[second] - theta[first]))
        pull = np.bincount(first, won - chance, size) - np.bincount(second, won - chance, size)
        weight = np.bincount(first * size + second, chance * (1 - chance), size**2).reshape(size, size)
        weight = weight + weight.T
        theta = theta + np.linalg.solve(np.diag(weight.sum(axis=1)) - weight + 1 / size, pull)
        theta -= theta.mean()
    return 1000 + theta * 400 / np.log(10)


@cache
def truth(spread=1.0):
    """People's ratings, and their shares of matches won, over 60,000 items."""
    world = make_world(np.random.default_rng(99), 60_000, spread=spread)
    won = [
        np.concatenate([world.people[world.first == who], 1 - world.people[world.second == who]]).mean()
        for who in range(SIZE)
    ]
    return bradley_terry(world.first, world.second, world.people), np.array(won)
