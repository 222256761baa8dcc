"""Biases that reviewers share, such as towards length or their own family, and biases of two for each other.

Reviews are votes of the joint model (`stats.ratings.joint_rating_model`): the log odds that reviewer r prefers a to b
are d_r (theta_a - theta_b). A bias is another correlate of the votes: a longer answer, or one of the reviewer's own
family. Its score test correlates it with the residuals of the model, after removing the part of the bias that
strengths and sharpness explain. Pictures are the clusters; Student's t has one degree of freedom less than there are
pictures. If the truth about each pair is known, the true quality gap is part of the model: a preference for what is
better is no bias.

The truth shows who is better, not by how much, and longer answers may be better by more. So the model uses the
expected gap given the true winner, the contestants and the lengths: a probit of the truth and the mean of a truncated
normal (Heckman 1979). A test that uses the winner alone flags unbiased reviewers in most synthetic benchmarks in which
length is correlated with quality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.joint_rating_model import Votes, fit_joint_model

_WEAK = 1 / 25
"""Prior precision: strengths within about ten of each other, as in `stats.ratings.joint_rating_model`."""
_STEPS = 50
_FEWEST = 5
"""With fewer pictures, the variance between pictures cannot be estimated."""
_MOST_SCREENED_PAIRS = 60
"""Only the most suspicious pairs of a quick screening get the full test."""


@dataclass(frozen=True)
class BiasEstimate:
    """Rise of the log odds per unit of the bias variable, its Student's t, and its two-sided p."""

    size: float
    t: float
    p: float
    units: int

    @property
    def share(self) -> float:
        """Return the chance that the preferred kind is chosen over an equal one: 0.5 without a bias."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.size))))


@dataclass(frozen=True)
class MutualBias:
    """Two reviewers who prefer each other beyond the opinion of all reviews; `p` has Bonferroni's correction."""

    first_reviewer: int
    second_reviewer: int
    excess: float
    p: float


@dataclass(frozen=True)
class VoteModel:
    """Votes with a fitted model: the chance of `first` in each, and the slopes of its parameters."""

    votes: Votes
    chance: Floats
    slopes: Floats

    @cached_property
    def _bread(self) -> Floats:
        weight = self.chance * (1 - self.chance)
        inverse = np.linalg.pinv(self.slopes.T @ (weight[:, None] * self.slopes))
        return np.asarray(inverse, dtype=np.float64)

    def estimate_bias(self, toward: Floats) -> BiasEstimate:
        """Estimate the bias towards a trait: 1 if only the first has it, -1 if only the second, or an amount."""
        weight = self.chance * (1 - self.chance)
        residual = toward - self.slopes @ (self._bread @ (self.slopes.T @ (weight * toward)))
        bulk = float(weight @ residual**2)
        if bulk < 1e-9 * max(1.0, float(weight @ toward**2)) or not toward.any():
            raise Undefined(Note("undefined.leaning-goes-with-who-answers"))
        totals = _by_picture(self.votes, (self.votes.outcome - self.chance) * residual)
        return _bias_from_totals(float(totals.sum()) / bulk, totals)


def fit_vote_model(votes: Votes, contestants: int, *, lengths: bool = False) -> VoteModel:
    """Fit the joint model of strengths and sharpness; with `lengths`, also each reviewer's preference for length."""
    _require_pictures(votes)
    lead = votes.lead if lengths else np.zeros(len(votes))
    fit = fit_joint_model(replace(votes, order=np.zeros(len(votes)), lead=lead), contestants, contestants)
    sharp = np.array(
        [0.0 if reviewer.discrimination is None else reviewer.discrimination.value for reviewer in fit.judges]
    )
    liking = np.array([0.0 if reviewer.length is None else reviewer.length.value for reviewer in fit.judges])
    return _vote_model_at(votes, fit.strengths, sharp, liking if lengths else None)


def fit_vote_model_with_truth(votes: Votes, contestants: int, truth: Floats) -> VoteModel:
    """Fit votes to the expected true gap per reviewer, and to the contestants; `truth` is 1, 0.5 or 0 for the first."""
    _require_pictures(votes)
    who = _contestant_columns(votes, contestants)
    truth_design = np.column_stack([who, votes.lead])
    gap = _expected_gap(truth_design @ _fit_coefficients(truth_design, truth, probit=True), truth)
    slopes = np.column_stack([who, _by_reviewer(votes, gap, contestants)])
    chance = _logistic_chance(slopes @ _fit_coefficients(slopes, votes.outcome, probit=False))
    return VoteModel(votes, chance, slopes)


def mutual_biases(votes: Votes, contestants: int, *, alpha: float) -> list[MutualBias]:
    """Return the pairs of reviewers who prefer each other, most certain first.

    The reviews of each about the other are left out, the model is fitted to the rest, and the omitted reviews are
    compared with its predictions. A biased pair (p below `alpha`) distorts the predictions for everybody else. So the
    reviews of the strongest such pair about each other are removed for good, and the others are tested again.
    """
    _require_pictures(votes)
    sure: list[MutualBias] = []
    while True:
        try:
            favouring = _screen_mutual_biases(votes, contestants)
        except Undefined:
            # After removing reviews, too few votes may be left. The pairs found so far remain valid.
            if not sure:
                raise
            favouring = []
        pair = max((pair for pair in favouring if pair.p < alpha), key=lambda pair: pair.excess, default=None)
        if pair is None:
            return [*sorted(sure, key=lambda pair: pair.p), *favouring]
        sure.append(pair)
        votes = votes.select_rows(_each_other(votes, pair.first_reviewer, pair.second_reviewer) == 0)


def _screen_mutual_biases(votes: Votes, contestants: int) -> list[MutualBias]:
    pairs = list(combinations(range(contestants), 2))
    quick = fit_vote_model(votes, contestants, lengths=True)
    screened_pairs: list[tuple[float, int, int]] = []
    for first, second in pairs:
        toward = _each_other(votes, first, second)
        if toward.any():
            screened_pairs.append((-float((votes.outcome - quick.chance) @ toward), first, second))
    favouring: list[MutualBias] = []
    for _, first, second in sorted(screened_pairs)[:_MOST_SCREENED_PAIRS]:
        toward = _each_other(votes, first, second)
        bias_estimate = _left_out_bias(votes, contestants, toward)
        if bias_estimate.t > 0:
            favouring.append(MutualBias(first, second, bias_estimate.size, min(1.0, bias_estimate.p * len(pairs))))
    return sorted(favouring, key=lambda pair: pair.p)


def _left_out_bias(votes: Votes, contestants: int, toward: Floats) -> BiasEstimate:
    """Mean residual of the votes marked by `toward`, predicted from the other votes, in shares of a vote."""
    inside = toward == 0
    remaining = votes.select_rows(inside)
    fit = fit_joint_model(replace(remaining, order=np.zeros(len(remaining))), contestants, contestants)
    sharp = np.array(
        [0.0 if reviewer.discrimination is None else reviewer.discrimination.value for reviewer in fit.judges]
    )
    liking = np.array([0.0 if reviewer.length is None else reviewer.length.value for reviewer in fit.judges])
    model = _vote_model_at(votes, fit.strengths, sharp, liking)
    weight = model.chance * (1 - model.chance)
    residual = votes.outcome - model.chance
    bread = np.linalg.pinv(model.slopes[inside].T @ (weight[inside, None] * model.slopes[inside]))
    # Include the uncertainty of the strengths, picture by picture: they may come from few votes.
    pull = model.slopes @ (bread @ (model.slopes.T @ (weight * toward)))
    totals = _by_picture(votes, np.where(inside, -residual * pull, residual * toward))
    value = float((residual * toward)[~inside].sum())
    return _bias_from_totals(value / float(np.abs(toward).sum()), totals - totals.mean() + value / len(totals))


def _bias_from_totals(size: float, totals: Floats) -> BiasEstimate:
    from scipy.stats import t as student

    units = len(totals)
    total = float(totals.sum())
    around = totals if units < 2 else totals - total / units
    spread = math.sqrt(float(around @ around) * units / (units - 1))
    if spread == 0:
        raise Undefined(Note("undefined.leaning-is-the-same-everywhere"))
    t = total / spread
    return BiasEstimate(size, t, float(2 * student.sf(abs(t), units - 1)), units)


def _vote_model_at(votes: Votes, strengths: Floats, sharp: Floats, liking: Floats | None) -> VoteModel:
    size = len(strengths)
    vote_sharpness = sharp[votes.judge]
    gap = strengths[votes.first] - strengths[votes.second]
    odds = vote_sharpness * gap
    slopes = [vote_sharpness[:, None] * _contestant_columns(votes, size), _by_reviewer(votes, gap, size)]
    if liking is not None:
        odds = odds + liking[votes.judge] * votes.lead
        slopes.append(_by_reviewer(votes, votes.lead, size))
    return VoteModel(votes, _logistic_chance(odds), np.column_stack(slopes))


def _require_pictures(votes: Votes) -> None:
    pictures = len(np.unique(votes.item))
    if pictures < _FEWEST:
        raise Undefined(Note("undefined.leanings-need-pictures", fewest=_FEWEST, n=pictures))


def _each_other(votes: Votes, first: int, second: int) -> Floats:
    """1 if one of the two judges the other as the first of a pair, -1 as the second."""
    toward: Floats = np.zeros(len(votes))
    for reviewer, target in ((first, second), (second, first)):
        rules = votes.judge == reviewer
        toward += rules * ((votes.first == target).astype(np.float64) - (votes.second == target))
    return toward


def _contestant_columns(votes: Votes, contestants: int) -> Floats:
    columns: Floats = np.zeros((len(votes), contestants))
    rows = np.arange(len(votes))
    columns[rows, votes.first] += 1
    columns[rows, votes.second] -= 1
    return columns


def _by_reviewer(votes: Votes, values: Floats, reviewers: int) -> Floats:
    columns: Floats = np.zeros((len(votes), reviewers))
    columns[np.arange(len(votes)), votes.judge] = values
    return columns


def _by_picture(votes: Votes, values: Floats) -> Floats:
    _, place = np.unique(votes.item, return_inverse=True)
    return np.bincount(place, values).astype(np.float64)


def _logistic_chance(odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return chance


def _fit_coefficients(slopes: Floats, outcome: Floats, *, probit: bool) -> Floats:
    from scipy.special import ndtr

    here: Floats = np.zeros(slopes.shape[1])
    belief = _WEAK * np.eye(len(here))
    for _ in range(_STEPS):
        odds = np.clip(slopes @ here, -6, 6) if probit else slopes @ here
        chance = np.clip(ndtr(odds) if probit else _logistic_chance(odds), 1e-7, 1 - 1e-7)
        spread = chance * (1 - chance)
        rise = _normal_density(odds) if probit else spread
        bend = slopes.T @ ((rise**2 / spread)[:, None] * slopes) + belief
        step = np.linalg.solve(bend, slopes.T @ (rise * (outcome - chance) / spread) - _WEAK * here)
        here = here + step
        if float(np.abs(step).max()) < 1e-8:
            break
    return here


def _normal_density(odds: Floats) -> Floats:
    height: Floats = np.exp(-(odds**2) / 2) / math.sqrt(2 * math.pi)
    return height


def _expected_gap(middle: Floats, truth: Floats) -> Floats:
    """Mean of a normal gap around `middle`, given its sign by `truth`; 0 if the truth ties."""
    from scipy.special import ndtr

    middle = np.clip(middle, -6, 6)
    above = np.clip(ndtr(middle), 1e-9, 1 - 1e-9)
    gap_if_won, gap_if_lost = middle + _normal_density(middle) / above, middle - _normal_density(middle) / (1 - above)
    return np.where(truth > 0.5, gap_if_won, np.where(truth < 0.5, gap_if_lost, 0.0))
