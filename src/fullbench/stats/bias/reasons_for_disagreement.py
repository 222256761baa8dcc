"""Why two judges disagree, as far as the joint model knows: place, length, and how sharply each tells strengths apart.

The model gives the chance that two judges prefer different responses of a pair. Without a judge's place bias, or its
length bias, or with both judges equally sharp, that chance is another; how much each of the five adds, whatever the
order in which they are taken away, is its Shapley value (L. S. Shapley, 1953). The five add up to what the model
explains; what is left of the disagreement that was observed are responses near each other, items and chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.stats.array_checks import Bools, Floats, Ints
from fullbench.stats.intervals.cluster_intervals import cluster_mean
from fullbench.stats.ratings.joint_rating_model import Joint, JudgeFit, Votes

CAUSES = ("place of one", "place of two", "length of one", "length of two", "sharpness")


@dataclass(frozen=True)
class Disagreement:
    """Two judges on the pairs of responses that both ruled on: how often they differ, and what each cause adds."""

    one: int
    two: int
    observed: Estimate
    causes: dict[str, float]

    @property
    def rest(self) -> float:
        """What no cause of the model explains."""
        return self.observed.value - sum(self.causes.values())


@dataclass(frozen=True)
class _Ruled:
    """One judge's votes on the pairs of responses that two judges share."""

    fit: JudgeFit
    gap: Floats
    order: Floats
    lead: Floats
    pair: Ints
    counts: Floats

    def chance(self, sharpness: float, *, place: bool, length: bool) -> Floats:
        """The chance that it prefers the first of each pair, mean over its votes on it."""
        odds = sharpness * self.gap
        if place:
            odds = odds + _value(self.fit.place, 0.0) * self.order
        if length:
            odds = odds + _value(self.fit.length, 0.0) * self.lead
        chances: Floats = np.bincount(self.pair, 1 / (1 + np.exp(-odds)), len(self.counts)) / self.counts
        return chances


def disagreements(votes: Votes, fitted: Joint) -> Iterator[Disagreement]:
    """Every two judges that ruled on pairs of responses in common."""
    votes = _turned(votes)
    judges, size = len(fitted.judges), len(fitted.strengths)
    _, pair = np.unique((votes.item * size + votes.one) * size + votes.two, return_inverse=True)
    heard = np.zeros((judges, int(pair.max(initial=-1)) + 1), dtype=np.bool_)
    heard[votes.judge, pair] = True
    for one, two in combinations(range(judges), 2):
        shared = heard[one] & heard[two]
        if shared.any():
            yield _of_two(votes, fitted, pair, shared, (one, two))


def _turned(votes: Votes) -> Votes:
    """The same votes, in each the contestant with the smaller number first."""
    back = votes.one > votes.two
    sign = np.where(back, -1.0, 1.0)
    return Votes(
        np.where(back, votes.two, votes.one), np.where(back, votes.one, votes.two),
        np.where(back, 1 - votes.won, votes.won), votes.judge, votes.item, sign * votes.order, sign * votes.lead,
    )  # fmt: skip


def _of_two(votes: Votes, fitted: Joint, pair: Ints, shared: Bools, judges: tuple[int, int]) -> Disagreement:
    number = np.cumsum(shared) - 1
    size = int(shared.sum())
    ruled: list[_Ruled] = []
    outcomes: list[Floats] = []
    item = np.zeros(size, dtype=np.int64)
    for judge in judges:
        rows = np.flatnonzero((votes.judge == judge) & shared[pair])
        place = number[pair[rows]]
        counts = np.bincount(place, minlength=size).astype(np.float64)
        gap = fitted.strengths[votes.one[rows]] - fitted.strengths[votes.two[rows]]
        ruled.append(_Ruled(fitted.judges[judge], gap, votes.order[rows], votes.lead[rows], place, counts))
        won = votes.won[rows]
        shares = [np.bincount(place, chosen, size) / counts for chosen in (won > 0.5, won == 0.5, won < 0.5)]
        outcomes.append(np.stack(shares))
        item[place] = votes.item[rows]
    (win, tie, loss), (won, tied, lost) = outcomes
    differ = win * lost + loss * won + 0.5 * (tie * (won + lost) + tied * (win + loss))
    _, cluster = np.unique(item, return_inverse=True)
    totals, sizes = np.bincount(cluster, differ), np.bincount(cluster)
    observed = cluster_mean(totals.astype(np.float64), sizes.astype(np.float64), within=(0.0, 1.0))
    return Disagreement(*judges, observed, _causes(ruled))


def _causes(ruled: list[_Ruled]) -> dict[str, float]:
    """The Shapley value of each cause in the disagreement that the model expects."""
    own = [_value(part.fit.discrimination, 1.0) for part in ruled]
    common = sum(own) / 2
    chances = [
        {
            (place, length, sharp): part.chance(own[side] if sharp else common, place=place, length=length)
            for place in (False, True) for length in (False, True) for sharp in (False, True)
        }
        for side, part in enumerate(ruled)
    ]  # fmt: skip

    def expected(causes: frozenset[str]) -> float:
        sharp = "sharpness" in causes
        here = chances[0]["place of one" in causes, "length of one" in causes, sharp]
        there = chances[1]["place of two" in causes, "length of two" in causes, sharp]
        return float((here * (1 - there) + there * (1 - here)).mean())

    known = {
        frozenset(chosen): expected(frozenset(chosen))
        for size in range(len(CAUSES) + 1) for chosen in combinations(CAUSES, size)
    }  # fmt: skip
    return {
        cause: sum(
            factorial(len(others)) * factorial(len(CAUSES) - len(others) - 1) / factorial(len(CAUSES))
            * (known[others | {cause}] - known[others])
            for others in known if cause not in others
        )
        for cause in CAUSES
    }  # fmt: skip


def _value(estimate: Estimate | None, otherwise: float) -> float:
    return otherwise if estimate is None else estimate.value
