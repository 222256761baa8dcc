"""Decomposition of the disagreement of two judges into place bias, length bias and sharpness (Shapley values).

The joint model gives the chance that two judges prefer different responses of a pair. That chance changes without a
judge's place bias, without its length bias, or with both judges equally sharp. The contribution of each of these five
causes, averaged over all orders of removal, is its Shapley value (L. S. Shapley, 1953). The five add up to the
disagreement that the model explains. The rest of the observed disagreement comes from similar responses, items and
chance.
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
from fullbench.stats.ratings.joint_rating_model import JointRatings, JudgeFit, Votes

CAUSES = ("place of one", "place of two", "length of one", "length of two", "sharpness")


@dataclass(frozen=True)
class Disagreement:
    """Two judges on their shared pairs of responses: the observed rate of disagreement and the part of each cause."""

    first_judge: int
    second_judge: int
    observed_rate: Estimate
    causes: dict[str, float]

    @property
    def unexplained_rate(self) -> float:
        """Return the part of the disagreement that no cause of the model explains."""
        return self.observed_rate.value - sum(self.causes.values())


@dataclass(frozen=True)
class _JudgeVotes:
    fit: JudgeFit
    gap: Floats
    order: Floats
    lead: Floats
    pair: Ints
    counts: Floats

    def chance(self, sharpness: float, *, place: bool, length: bool) -> Floats:
        odds = sharpness * self.gap
        if place:
            odds = odds + _value_or_default(self.fit.place, 0.0) * self.order
        if length:
            odds = odds + _value_or_default(self.fit.length, 0.0) * self.lead
        chances: Floats = np.bincount(self.pair, 1 / (1 + np.exp(-odds)), len(self.counts)) / self.counts
        return chances


def judge_disagreements(votes: Votes, joint_fit: JointRatings) -> Iterator[Disagreement]:
    """Yield the disagreement of every two judges with pairs of responses in common."""
    votes = _in_code_order(votes)
    judges, size = len(joint_fit.judges), len(joint_fit.strengths)
    _, pair = np.unique((votes.item * size + votes.first) * size + votes.second, return_inverse=True)
    judged_pairs = np.zeros((judges, int(pair.max(initial=-1)) + 1), dtype=np.bool_)
    judged_pairs[votes.judge, pair] = True
    for first, second in combinations(range(judges), 2):
        shared_pairs = judged_pairs[first] & judged_pairs[second]
        if shared_pairs.any():
            yield _pair_disagreement(votes, joint_fit, pair, shared_pairs, (first, second))


def _in_code_order(votes: Votes) -> Votes:
    back = votes.first > votes.second
    sign = np.where(back, -1.0, 1.0)
    return Votes(
        np.where(back, votes.second, votes.first),
        np.where(back, votes.first, votes.second),
        np.where(back, 1 - votes.outcome, votes.outcome),
        votes.judge,
        votes.item,
        sign * votes.order,
        sign * votes.lead,
    )


def _pair_disagreement(
    votes: Votes, joint_fit: JointRatings, pair: Ints, shared_pairs: Bools, judges: tuple[int, int]
) -> Disagreement:
    number = np.cumsum(shared_pairs) - 1
    size = int(shared_pairs.sum())
    judge_votes: list[_JudgeVotes] = []
    outcomes: list[Floats] = []
    item = np.zeros(size, dtype=np.int64)
    for judge in judges:
        rows = np.flatnonzero((votes.judge == judge) & shared_pairs[pair])
        place = number[pair[rows]]
        counts = np.bincount(place, minlength=size).astype(np.float64)
        gap = joint_fit.strengths[votes.first[rows]] - joint_fit.strengths[votes.second[rows]]
        judge_votes.append(
            _JudgeVotes(joint_fit.judges[judge], gap, votes.order[rows], votes.lead[rows], place, counts)
        )
        wins = votes.outcome[rows]
        shares = [
            np.bincount(place, outcome_mask, size) / counts for outcome_mask in (wins > 0.5, wins == 0.5, wins < 0.5)
        ]
        outcomes.append(np.stack(shares))
        item[place] = votes.item[rows]
    (win, tie, loss), (wins, ties, losses) = outcomes
    # A tie against a win or a loss counts as half a disagreement.
    differ = win * losses + loss * wins + 0.5 * (tie * (wins + losses) + ties * (win + loss))
    _, cluster = np.unique(item, return_inverse=True)
    totals, sizes = np.bincount(cluster, differ), np.bincount(cluster)
    observed_rate = cluster_mean(totals.astype(np.float64), sizes.astype(np.float64), within=(0.0, 1.0))
    return Disagreement(*judges, observed_rate, _shapley_causes(judge_votes))


def _shapley_causes(judge_votes: list[_JudgeVotes]) -> dict[str, float]:
    discriminations = [_value_or_default(part.fit.discrimination, 1.0) for part in judge_votes]
    common = sum(discriminations) / 2
    chances = [
        {
            (place, length, sharp): part.chance(discriminations[side] if sharp else common, place=place, length=length)
            for place in (False, True) for length in (False, True) for sharp in (False, True)
        }
        for side, part in enumerate(judge_votes)
    ]  # fmt: skip

    def expected_disagreement(causes: frozenset[str]) -> float:
        sharp = "sharpness" in causes
        here = chances[0]["place of one" in causes, "length of one" in causes, sharp]
        there = chances[1]["place of two" in causes, "length of two" in causes, sharp]
        return float((here * (1 - there) + there * (1 - here)).mean())

    expectations = {
        frozenset(cause_subset): expected_disagreement(frozenset(cause_subset))
        for size in range(len(CAUSES) + 1) for cause_subset in combinations(CAUSES, size)
    }  # fmt: skip
    return {
        cause: sum(
            factorial(len(subset)) * factorial(len(CAUSES) - len(subset) - 1) / factorial(len(CAUSES))
            * (expectations[subset | {cause}] - expectations[subset])
            for subset in expectations if cause not in subset
        )
        for cause in CAUSES
    }  # fmt: skip


def _value_or_default(estimate: Estimate | None, default: float) -> float:
    return default if estimate is None else estimate.value
