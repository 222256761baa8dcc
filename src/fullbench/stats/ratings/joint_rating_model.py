"""Joint model of contestants' strengths and judges' sharpness, place bias and length bias.

The log odds that judge k prefers a to b are d_k (theta_a - theta_b) + place_k * order + length_k * lead. Order is 1 if
a was shown first and -1 if second; lead is how much longer a is (in logs). A judge's discrimination d is the worth of
its votes: 1 like people's, 0 nothing, negative the contrary. So votes of sharp judges count more, and the effects of
place and length are removed. A tie is half a vote for each. The fit uses Fisher scoring on all parameters at once,
from sums over rows; the covariance is the sandwich over items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints

_STEPS = 200
_CLOSE = 1e-7
_LONGEST = 1.0
# weak priors (precisions): strengths within ten of each other on every judge's own scale, discriminations near one,
# biases within two. On one judge's scale only, shrunk strengths would make the other judges look sharper.
_STRENGTH, _SHARP, _BIAS = 1 / 25, 1 / 4, 1 / 4
# fixes a parameter by a very narrow prior
_HOLDING_PRECISION = 1e6
_BLOCK = 1 << 21
_MANY = 50_000
_LEAD_STEPS = 16
_MOST_HALVINGS = 12
POINTS = 400 / math.log(10)


@dataclass(frozen=True)
class Votes:
    """Rows of votes: contestants, outcome for `first` (0 to 1), judge and item.

    `order` is 1 if `first` was shown first, -1 if second, 0 if neither. `lead` is how much longer `first` is.
    """

    first: Ints
    second: Ints
    outcome: Floats
    judge: Ints
    item: Ints
    order: Floats
    lead: Floats

    def __len__(self) -> int:
        return len(self.first)

    def select_rows(self, rows: Bools) -> Votes:
        """Return some of the rows."""
        return Votes(
            self.first[rows],
            self.second[rows],
            self.outcome[rows],
            self.judge[rows],
            self.item[rows],
            self.order[rows],
            self.lead[rows],
        )


@dataclass(frozen=True)
class JudgeFit:
    """Parameters of one judge; None if a parameter is fixed or the data do not determine it."""

    discrimination: Estimate | None
    place: Estimate | None
    length: Estimate | None
    ties: float
    votes: int
    worth: float
    """Value of a vote for the ratings, relative to one of the sharpest judge."""
    is_separated: bool = False
    """True if no verdict contradicts the fit. Then the votes do not bound the strengths on this judge's scale, and
    discrimination follows from the priors alone."""


@dataclass(frozen=True)
class JointRatings:
    """Ratings by all judges together, and the fit of each judge."""

    ratings: tuple[Estimate, ...]
    judges: tuple[JudgeFit, ...]
    strengths: Floats
    covariance: Floats


def fit_joint_model(
    votes: Votes, contestants: int, judges: int, *, anchor: int | None = None, level: float = 0.95
) -> JointRatings:
    """Fit the model. The judge `anchor` (people) has discrimination 1 and no length bias; without it the mean is 1."""
    if not len(votes):
        raise Undefined(Note("joint.none"))
    fit = _Fit(votes, contestants, judges, anchor)
    start = fit.start()
    if len(votes) > _MANY:
        # Merge rows with nearly equal lengths for the first, long part of the fit. The last steps use every row.
        start = fit.merge_equal_rows().solve(start, with_equal_judges=True)
        return fit.to_joint_ratings(fit.solve(start), level)
    return fit.to_joint_ratings(fit.solve(start, with_equal_judges=True), level)


@dataclass(frozen=True)
class _Fit:
    votes: Votes
    size: int
    judges: int
    anchor: int | None
    times: Floats | float = 1.0
    """Number of equal votes that each row represents."""

    @property
    def width(self) -> int:
        return self.size + 3 * self.judges

    def start(self) -> Floats:
        here = np.zeros(self.width)
        here[self.size : self.size + self.judges] = 1.0
        return here

    def parts(self, here: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        m, k = self.size, self.judges
        return here[:m], here[m : m + k], here[m + k : m + 2 * k], here[m + 2 * k :]

    def chance(self, here: Floats) -> tuple[Floats, Floats, Floats]:
        v = self.votes
        strength, sharp, place, length = self.parts(here)
        gap, discrimination = strength[v.first] - strength[v.second], sharp[v.judge]
        z = discrimination * gap + place[v.judge] * v.order + length[v.judge] * v.lead
        return 1 / (1 + np.exp(-z)), gap, discrimination

    def prior(self, here: Floats) -> tuple[Floats, Floats]:
        """Gradient of the weak priors and their precision; a large precision fixes a parameter."""
        m, k = self.size, self.judges
        strength, sharp, *_ = self.parts(here)
        precision = np.concatenate([
            np.full(m, _STRENGTH * float(np.mean(sharp**2))), np.full(k, _SHARP), np.full(2 * k, _BIAS),
        ])  # fmt: skip
        middle = self.start()
        matrix = np.diag(precision)
        if self.anchor is not None:
            matrix[m + self.anchor, m + self.anchor] = _HOLDING_PRECISION
            matrix[m + 2 * k + self.anchor, m + 2 * k + self.anchor] = _HOLDING_PRECISION
        else:
            matrix[m : m + k, m : m + k] += _HOLDING_PRECISION / k**2
        matrix[:m, :m] += 1 / m
        pull = matrix @ (middle - here)
        own_scale = _STRENGTH * float(strength @ strength) / k
        pull[m : m + k] -= own_scale * sharp
        matrix[m : m + k, m : m + k] += own_scale * np.eye(k)
        return pull, matrix

    def merge_equal_rows(self) -> _Fit:
        v = self.votes
        lead = np.round(v.lead * _LEAD_STEPS).astype(np.int64)
        # Twelfths represent halves, thirds and quarters of a vote exactly.
        outcome_codes = np.round(v.outcome * 12).astype(np.int64)
        low = int(lead.min())
        wide = int(lead.max()) - low + 1
        code = ((v.judge * self.size + v.first) * self.size + v.second) * 3 + v.order.astype(np.int64) + 1
        code = (code * 13 + outcome_codes) * wide + lead - low
        _, first, count = np.unique(code, return_index=True, return_counts=True)
        cells = Votes(
            v.first[first], v.second[first], v.outcome[first], v.judge[first], v.item[first], v.order[first],
            lead[first] / _LEAD_STEPS,
        )  # fmt: skip
        return replace(self, votes=cells, times=count.astype(np.float64))

    def solve(self, here: Floats, *, with_equal_judges: bool = False) -> Floats:
        """Iterate until the score vanishes; `with_equal_judges` first fits strengths with all judges equal."""
        for step_number in range(_STEPS):
            chance, gap, discrimination = self.chance(here)
            pull, precision = self.prior(here)
            score = self.sums(self.votes.outcome - chance, gap, discrimination) + pull
            bend = self.information(chance * (1 - chance), gap, discrimination) + precision
            exact = bend - self.cross_curvature(self.votes.outcome - chance) + self.prior_cross_curvature(here)
            # Newton if the likelihood is concave here, else Fisher: strengths and sharpness multiply.
            bend = exact if np.linalg.eigvalsh(exact)[0] > 0 else bend
            if with_equal_judges and step_number < 3:
                bend[self.size :, : self.size] = bend[: self.size, self.size :] = 0.0
                step = np.linalg.solve(bend, score)
                step[self.size :] = 0.0
            else:
                step = np.linalg.solve(bend, score)
            longest = float(np.abs(step).max())
            bounded_step: Floats = np.asarray(step * min(1.0, _LONGEST / max(longest, 1e-12)), dtype=np.float64)
            here = self.take_step(here, bounded_step)
            if longest < _CLOSE and not (with_equal_judges and step_number < 4):
                return here
        raise Undefined(Note("joint.unsettled"))

    def take_step(self, here: Floats, step: Floats) -> Floats:
        """Halve the step until the votes become likelier; judges and strengths multiply, so a full step may fail."""
        start_likelihood = self.log_likelihood(here)
        for _ in range(_MOST_HALVINGS):
            if self.log_likelihood(here + step) >= start_likelihood - 1e-9 * abs(start_likelihood):
                break
            step = step / 2
        return here + step

    def log_likelihood(self, here: Floats) -> float:
        v = self.votes
        strength, sharp, place, length = self.parts(here)
        z = sharp[v.judge] * (strength[v.first] - strength[v.second])
        z += place[v.judge] * v.order + length[v.judge] * v.lead
        vote_likelihood = float(((v.outcome * z - np.logaddexp(0, z)) * self.times).sum())
        away = here - self.start()
        own_scale = _STRENGTH * float(strength @ strength) / self.judges
        sharp_away = away[self.size : self.size + self.judges]
        # The matrix has the strengths' prior on every judge's scale twice: with the strengths and with sharpness.
        penalty = float(away @ self.prior(here)[1] @ away) - own_scale * float(sharp_away @ sharp_away)
        return vote_likelihood - 0.5 * penalty

    def sums(self, residual: Floats, gap: Floats, discrimination: Floats) -> Floats:
        """Score: the residuals of all rows, along each parameter."""
        v, m, k = self.votes, self.size, self.judges
        residual = residual * self.times
        strength = np.bincount(v.first, residual * discrimination, m) - np.bincount(
            v.second, residual * discrimination, m
        )
        rows = [np.bincount(v.judge, residual * part, k) for part in (gap, v.order, v.lead)]
        score: Floats = np.concatenate([strength, *rows])
        return score

    def information(self, weight: Floats, gap: Floats, discrimination: Floats) -> Floats:
        v, m, k = self.votes, self.size, self.judges
        matrix = np.zeros((self.width, self.width))
        weight = weight * self.times
        cell = np.bincount(v.first * m + v.second, weight * discrimination**2, m * m).reshape(m, m)
        cell = cell + cell.T
        matrix[:m, :m] = np.diag(cell.sum(axis=1)) - cell
        parts = (gap, v.order, v.lead)
        spots = np.arange(k)
        for first, part in enumerate(parts):
            across = np.bincount(v.judge * m + v.first, weight * discrimination * part, k * m)
            across = (across - np.bincount(v.judge * m + v.second, weight * discrimination * part, k * m)).reshape(k, m)
            begin = m + first * k
            matrix[begin : begin + k, :m] = across
            matrix[:m, begin : begin + k] = across.T
            for second in range(first, 3):
                same = np.bincount(v.judge, weight * part * parts[second], k)
                matrix[begin + spots, m + second * k + spots] = same
                matrix[m + second * k + spots, begin + spots] = same
        return matrix

    def cross_curvature(self, residual: Floats) -> Floats:
        """Residual part of the curvature, present because strengths are multiplied by discriminations."""
        v, m, k = self.votes, self.size, self.judges
        residual = residual * self.times
        across = np.bincount(v.judge * m + v.first, residual, k * m) - np.bincount(
            v.judge * m + v.second, residual, k * m
        )
        matrix = np.zeros((self.width, self.width))
        matrix[m : m + k, :m] = across.reshape(k, m)
        matrix[:m, m : m + k] = across.reshape(k, m).T
        return matrix

    def prior_cross_curvature(self, here: Floats) -> Floats:
        """Curvature of the strengths' prior on every judge's scale, between strengths and discriminations."""
        m, k = self.size, self.judges
        strength, sharp, *_ = self.parts(here)
        matrix = np.zeros((self.width, self.width))
        matrix[m : m + k, :m] = 2 * _STRENGTH / k * np.outer(sharp, strength)
        matrix[:m, m : m + k] = matrix[m : m + k, :m].T
        return matrix

    def to_joint_ratings(self, here: Floats, level: float) -> JointRatings:
        from scipy.special import ndtri

        v, m, k = self.votes, self.size, self.judges
        chance, gap, discrimination = self.chance(here)
        bread = np.linalg.inv(self.information(chance * (1 - chance), gap, discrimination) + self.prior(here)[1])
        meat, clusters = self.meat(v.outcome - chance, gap, discrimination)
        covariance = bread @ meat @ bread * clusters / max(1, clusters - 1)
        far = float(ndtri((1 + level) / 2))
        strength, sharp, place, length = self.parts(here)
        middle = np.eye(m) - 1 / m
        spread = middle @ covariance[:m, :m] @ middle
        matches_played = np.bincount(v.first, minlength=m) + np.bincount(v.second, minlength=m)

        def make_estimate(value: float, variance: float, n: int) -> Estimate:
            half = far * math.sqrt(max(0.0, variance))
            return Estimate(value, value - half, value + half, n, level, "sandwich", units=clusters)

        rating_estimates = tuple(
            make_estimate(
                1000 + POINTS * float(strength[who] - strength.mean()),
                POINTS**2 * float(spread[who, who]),
                int(matches_played[who]),
            )
            for who in range(m)
        )
        counts = np.bincount(v.judge, minlength=k)
        ties = np.bincount(v.judge, v.outcome == 0.5, k) / np.maximum(counts, 1)
        vote_information = np.bincount(v.judge, chance * (1 - chance), k) / np.maximum(counts, 1) * sharp**2
        side = (v.outcome - 0.5) * (chance - 0.5)
        contradictions = np.bincount(v.judge, side <= 0, k)
        has_order, has_lead = (np.bincount(v.judge, part != 0, k) > 0 for part in (v.order, v.lead))
        variance = np.diag(covariance)
        fits = tuple(
            JudgeFit(
                None
                if judge == self.anchor
                else make_estimate(float(sharp[judge]), float(variance[m + judge]), int(counts[judge])),
                make_estimate(float(place[judge]), float(variance[m + k + judge]), int(counts[judge]))
                if has_order[judge]
                else None,
                make_estimate(float(length[judge]), float(variance[m + 2 * k + judge]), int(counts[judge]))
                if has_lead[judge] and judge != self.anchor
                else None,
                float(ties[judge]),
                int(counts[judge]),
                float(vote_information[judge] / vote_information.max()),
                is_separated=bool(contradictions[judge] == 0),
            )
            for judge in range(k)
        )
        return JointRatings(rating_estimates, fits, strength - strength.mean(), spread)

    def meat(self, residual: Floats, gap: Floats, discrimination: Floats) -> tuple[Floats, int]:
        v, m, k, width = self.votes, self.size, self.judges, self.width
        order = np.argsort(v.item, kind="stable")
        label = np.cumsum(np.diff(v.item[order], prepend=v.item[order][:1]) > 0)
        clusters = int(label[-1]) + 1
        total = np.zeros((width, width))
        step = max(1, _BLOCK // width)
        for begin in range(0, clusters, step):
            end = min(begin + step, clusters)
            low, high = np.searchsorted(label, [begin, end])
            rows, here = order[low:high], label[low:high] - begin
            block = np.zeros((end - begin, width))
            strength_scores, judge = residual[rows] * discrimination[rows], v.judge[rows]
            shape = ((end - begin), m)
            block[:, :m] = (
                np.bincount(here * m + v.first[rows], strength_scores, shape[0] * m)
                - np.bincount(here * m + v.second[rows], strength_scores, shape[0] * m)
            ).reshape(shape)  # fmt: skip
            for place, part in enumerate((gap, v.order, v.lead)):
                cells = np.bincount(here * k + judge, residual[rows] * part[rows], (end - begin) * k)
                block[:, m + place * k : m + (place + 1) * k] = cells.reshape(end - begin, k)
            total += block.T @ block
        return total, clusters
