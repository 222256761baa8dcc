"""Leanings that reviewers have in common, and those that two of them have for each other.

Reviews are votes of the joint model (`stats.ratings.joint_rating_model`): the log odds that reviewer r prefers a to b
are d_r (theta_a - theta_b). A leaning is something else that goes with the votes: a longer answer, one of the
reviewer's own family. Its score test asks whether what the model leaves unexplained goes with it, once what
contestants' strengths and reviewers' sharpness can explain of the leaning itself is taken away; pictures are the
clusters, and Student's t has one degree of freedom less than there are pictures. Where the truth about each pair is
known, how much better the truth finds one is part of the model: a leaning toward what is in fact better is none.

The truth says who is better, not by how much, while longer answers may be better by more. So the gap behind a ruling is
what is to be expected of it, given the ruling, who answered and how long: a probit of the truth, and the mean of a
normal that is cut off (Heckman 1979). A test that goes by the ruling alone flags unbiased reviewers in most courts in
which length goes with quality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.joint_rating_model import Votes, joint

_WEAK = 1 / 25
"""A weak belief that strengths lie within ten of each other, as in `stats.ratings.joint_rating_model`."""
_STEPS = 50
_FEWEST = 5
"""Fewer pictures than this say nothing about how pictures differ."""
_SCREENED = 60
"""So many pairs of reviewers are looked at closely at most: those that a quick look finds to favour each other most."""


@dataclass(frozen=True)
class Leaning:
    """How much the log odds rise with one unit of what is leaned to, Student's t of it, and its p (two-sided)."""

    size: float
    t: float
    p: float
    units: int

    @property
    def share(self) -> float:
        """The chance that the kind is chosen over an equal: 0.5 without a leaning."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.size))))


@dataclass(frozen=True)
class Mutual:
    """Two reviewers, and how far each favours the other beyond what everybody's reviews make of them.

    `p` counts all pairs that there are (Bonferroni).
    """

    one: int
    other: int
    excess: float
    p: float


@dataclass(frozen=True)
class Explained:
    """Votes with what a model makes of them: the chance of `one` in each, and the slopes of its parameters."""

    votes: Votes
    chance: Floats
    slopes: Floats

    @cached_property
    def _bread(self) -> Floats:
        weight = self.chance * (1 - self.chance)
        inverse = np.linalg.pinv(self.slopes.T @ (weight[:, None] * self.slopes))
        return np.asarray(inverse, dtype=np.float64)

    def leaning(self, toward: Floats) -> Leaning:
        """Whether votes lean toward something: 1 where `one` has it and `two` not, -1 the other way, or an amount."""
        weight = self.chance * (1 - self.chance)
        rest = toward - self.slopes @ (self._bread @ (self.slopes.T @ (weight * toward)))
        bulk = float(weight @ rest**2)
        if bulk < 1e-9 * max(1.0, float(weight @ toward**2)) or not toward.any():
            raise Undefined(
                Note("undefined.leaning-goes-with-who-answers", "it goes with who answers, and cannot be told apart")
            )
        totals = _by_picture(self.votes, (self.votes.won - self.chance) * rest)
        return _told(float(totals.sum()) / bulk, totals)


def explained(votes: Votes, contestants: int, *, lengths: bool = False) -> Explained:
    """Votes by the joint model of strengths and sharpness; with `lengths`, each reviewer's liking of length as well."""
    _check(votes)
    lead = votes.lead if lengths else np.zeros(len(votes))
    fit = joint(replace(votes, order=np.zeros(len(votes)), lead=lead), contestants, contestants)
    sharp = np.array(
        [0.0 if reviewer.discrimination is None else reviewer.discrimination.value for reviewer in fit.judges]
    )
    liking = np.array([0.0 if reviewer.length is None else reviewer.length.value for reviewer in fit.judges])
    return _at(votes, fit.strengths, sharp, liking if lengths else None)


def beside_truth(votes: Votes, contestants: int, truth: Floats) -> Explained:
    """Votes by how much better the truth finds one (1, 0.5 or 0 for `one`), as each reviewer sees it, and by who
    answers."""
    _check(votes)
    who = _who(votes, contestants)
    known = np.column_stack([who, votes.lead])
    gap = _expected_gap(known @ _fitted(known, truth, probit=True), truth)
    slopes = np.column_stack([who, _by_reviewer(votes, gap, contestants)])
    chance = _logistic(slopes @ _fitted(slopes, votes.won, probit=False))
    return Explained(votes, chance, slopes)


def mutual(votes: Votes, contestants: int, *, alpha: float) -> list[Mutual]:
    """Every two reviewers who favour each other, the surest first.

    What each says of the other is left out, the model is fitted to the rest, and what was left out is compared with
    what the model expects of it. Two who do (p below `alpha`) distort what is expected of everybody else: what those
    say of each other who favour each other most is left out for good, and the others are looked at anew.
    """
    _check(votes)
    sure: list[Mutual] = []
    while True:
        try:
            favouring = _favouring(votes, contestants)
        except Undefined:
            # Without what the sure ones say of each other too few votes may be left: these are sure all the same.
            if not sure:
                raise
            favouring = []
        pair = max((pair for pair in favouring if pair.p < alpha), key=lambda pair: pair.excess, default=None)
        if pair is None:
            return [*sorted(sure, key=lambda pair: pair.p), *favouring]
        sure.append(pair)
        votes = votes.only(_each_other(votes, pair.one, pair.other) == 0)


def _favouring(votes: Votes, contestants: int) -> list[Mutual]:
    """Two reviewers each with what they make of each other, the surest first; those that look least so are left out."""
    pairs = list(combinations(range(contestants), 2))
    quick = explained(votes, contestants, lengths=True)
    screened: list[tuple[float, int, int]] = []
    for first, second in pairs:
        toward = _each_other(votes, first, second)
        if toward.any():
            screened.append((-float((votes.won - quick.chance) @ toward), first, second))
    favouring: list[Mutual] = []
    for _, first, second in sorted(screened)[:_SCREENED]:
        toward = _each_other(votes, first, second)
        leaning = _left_out(votes, contestants, toward)
        if leaning.t > 0:
            favouring.append(Mutual(first, second, leaning.size, min(1.0, leaning.p * len(pairs))))
    return sorted(favouring, key=lambda pair: pair.p)


def _left_out(votes: Votes, contestants: int, toward: Floats) -> Leaning:
    """What the rest of the votes does not explain of those that `toward` marks: its mean, in shares of a vote."""
    inside = toward == 0
    remaining = votes.only(inside)
    fit = joint(replace(remaining, order=np.zeros(len(remaining))), contestants, contestants)
    sharp = np.array(
        [0.0 if reviewer.discrimination is None else reviewer.discrimination.value for reviewer in fit.judges]
    )
    liking = np.array([0.0 if reviewer.length is None else reviewer.length.value for reviewer in fit.judges])
    model = _at(votes, fit.strengths, sharp, liking)
    weight = model.chance * (1 - model.chance)
    rest = votes.won - model.chance
    bread = np.linalg.pinv(model.slopes[inside].T @ (weight[inside, None] * model.slopes[inside]))
    # Strengths that were learned from few votes are uncertain: their errors count, picture by picture.
    pull = model.slopes @ (bread @ (model.slopes.T @ (weight * toward)))
    totals = _by_picture(votes, np.where(inside, -rest * pull, rest * toward))
    value = float((rest * toward)[~inside].sum())
    return _told(value / float(np.abs(toward).sum()), totals - totals.mean() + value / len(totals))


def _told(size: float, totals: Floats) -> Leaning:
    from scipy.stats import t as student

    units = len(totals)
    total = float(totals.sum())
    around = totals if units < 2 else totals - total / units
    spread = math.sqrt(float(around @ around) * units / (units - 1))
    if spread == 0:
        raise Undefined(
            Note("undefined.leaning-is-the-same-everywhere", "all pictures say the same, to the last digit")
        )
    t = total / spread
    return Leaning(size, t, float(2 * student.sf(abs(t), units - 1)), units)


def _at(votes: Votes, strengths: Floats, sharp: Floats, liking: Floats | None) -> Explained:
    size = len(strengths)
    own = sharp[votes.judge]
    gap = strengths[votes.one] - strengths[votes.two]
    odds = own * gap
    slopes = [own[:, None] * _who(votes, size), _by_reviewer(votes, gap, size)]
    if liking is not None:
        odds = odds + liking[votes.judge] * votes.lead
        slopes.append(_by_reviewer(votes, votes.lead, size))
    return Explained(votes, _logistic(odds), np.column_stack(slopes))


def _check(votes: Votes) -> None:
    pictures = len(np.unique(votes.item))
    if pictures < _FEWEST:
        raise Undefined(
            Note("undefined.leanings-need-pictures", "leanings need {fewest} pictures at least; there are {n}",
                 fewest=_FEWEST, n=pictures)
        )  # fmt: skip


def _each_other(votes: Votes, first: int, second: int) -> Floats:
    """1 where one of the two rules on the other as the first of a pair, -1 as the second."""
    toward: Floats = np.zeros(len(votes))
    for reviewer, liked in ((first, second), (second, first)):
        rules = votes.judge == reviewer
        toward += rules * ((votes.one == liked).astype(np.float64) - (votes.two == liked))
    return toward


def _who(votes: Votes, contestants: int) -> Floats:
    """A column for each contestant: 1 where it is `one`, -1 where it is `two`."""
    columns: Floats = np.zeros((len(votes), contestants))
    rows = np.arange(len(votes))
    columns[rows, votes.one] += 1
    columns[rows, votes.two] -= 1
    return columns


def _by_reviewer(votes: Votes, values: Floats, reviewers: int) -> Floats:
    columns: Floats = np.zeros((len(votes), reviewers))
    columns[np.arange(len(votes)), votes.judge] = values
    return columns


def _by_picture(votes: Votes, values: Floats) -> Floats:
    _, place = np.unique(votes.item, return_inverse=True)
    return np.bincount(place, values).astype(np.float64)


def _logistic(odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return chance


def _fitted(slopes: Floats, outcome: Floats, *, probit: bool) -> Floats:
    """Fisher scoring of a probit or a logistic regression with a weak belief in small coefficients."""
    from scipy.special import ndtr

    here: Floats = np.zeros(slopes.shape[1])
    belief = _WEAK * np.eye(len(here))
    for _ in range(_STEPS):
        odds = np.clip(slopes @ here, -6, 6) if probit else slopes @ here
        chance = np.clip(ndtr(odds) if probit else _logistic(odds), 1e-7, 1 - 1e-7)
        spread = chance * (1 - chance)
        rise = _density(odds) if probit else spread
        bend = slopes.T @ ((rise**2 / spread)[:, None] * slopes) + belief
        step = np.linalg.solve(bend, slopes.T @ (rise * (outcome - chance) / spread) - _WEAK * here)
        here = here + step
        if float(np.abs(step).max()) < 1e-8:
            break
    return here


def _density(odds: Floats) -> Floats:
    height: Floats = np.exp(-(odds**2) / 2) / math.sqrt(2 * math.pi)
    return height


def _expected_gap(middle: Floats, truth: Floats) -> Floats:
    """The mean of a normal gap around `middle`, given on which side of 0 it lies; 0 where the truth ties."""
    from scipy.special import ndtr

    middle = np.clip(middle, -6, 6)
    above = np.clip(ndtr(middle), 1e-9, 1 - 1e-9)
    won, lost = middle + _density(middle) / above, middle - _density(middle) / (1 - above)
    return np.where(truth > 0.5, won, np.where(truth < 0.5, lost, 0.0))
