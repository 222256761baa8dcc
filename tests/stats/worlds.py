"""Worlds whose truth is known, for trials of statistics: contestants, items, people, judges who love length."""

from __future__ import annotations

import math

import numpy as np

from fullbench.stats.ratings.bradley_terry_solver import solve_strengths

POINTS = 400 / math.log(10)


class World:
    """Pairs on items: what people would vote on each, and what a judge rules on all of them.

    Contestants differ in strength and, in another order, in length; items move both. People go by strength, with a tie
    in ten. A judge follows the person's vote in a share `follows` of its two hearings and else goes by strength and by
    `love` of length.
    """

    def __init__(
        self, rng: np.random.Generator, *, items: int, contestants: int, per: int, love: float = 1.0,
        follows: float = 0.5, spread: float = 0.5, strengths: np.ndarray | None = None, ties: float = 0.1,
    ) -> None:  # fmt: skip
        self.contestants = contestants
        own = np.linspace(-1, 1, contestants) if strengths is None else np.asarray(strengths)
        effect = rng.normal(0, spread, (items, contestants))
        length = np.cos(2.1 * np.arange(contestants)) + rng.normal(0, 0.5, (items, contestants))
        self.item = np.repeat(np.arange(items), per)
        rows = len(self.item)
        first = rng.integers(0, contestants, rows)
        second = (first + rng.integers(1, contestants, rows)) % contestants
        self.one, self.two = np.minimum(first, second), np.maximum(first, second)
        quality = own[None] + effect
        self.gap = quality[self.item, self.one] - quality[self.item, self.two]
        self.longer = length[self.item, self.one] - length[self.item, self.two]
        decided = (rng.random(rows) < 1 / (1 + np.exp(-self.gap))) * 1.0
        self.vote = np.where(rng.random(rows) < ties, 0.5, decided)
        self.ruled = np.zeros(rows)
        for _ in range(2):
            own_mind = (rng.random(rows) < 1 / (1 + np.exp(-(self.gap + 2 * love * self.longer)))) * 1.0
            self.ruled += np.where(rng.random(rows) < follows, self.vote, own_mind) / 2

    def strengths_of_people(self) -> np.ndarray:
        """The strengths that people's votes on all rows give."""
        wins = np.zeros((self.contestants, self.contestants))
        np.add.at(wins, (self.one, self.two), self.vote)
        np.add.at(wins, (self.two, self.one), 1 - self.vote)
        return solve_strengths(wins)


def sampled(world: World, votes: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """People's votes on some rows drawn evenly; NaN on the others."""
    draw = rng or np.random.default_rng(0)
    vote = np.full(len(world.vote), np.nan)
    chosen = draw.choice(len(vote), votes, replace=False)
    vote[chosen] = world.vote[chosen]
    return vote
