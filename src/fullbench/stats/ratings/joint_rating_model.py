"""Contestants and judges in one model: how strong each contestant is, and what each judge's votes are worth.

The log odds that judge k prefers a to b are d_k (theta_a - theta_b) + place_k * order + length_k * lead, where order is
1 when a was shown first and -1 when second, and lead is how much longer a is (in logs). A judge's discrimination d is
what its votes are worth: 1 like people's, 0 nothing, below 0 the contrary. Votes of sharp judges thereby count more,
and what place and length do is taken out. A tie is half a vote for each. Fisher scoring on all parameters at once, from
sums over rows; the covariance is the sandwich over items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints

_STEPS = 200
_CLOSE = 1e-7
_LONGEST = 1.0
# weak beliefs: strengths within ten of each other, discriminations near one, biases within two
_STRENGTH, _SHARP, _BIAS = 1 / 25, 1 / 4, 1 / 4
_HELD = 1e6
_BLOCK = 1 << 21
_MANY = 50_000
_ROUNDED = 16
_HALVED = 12
POINTS = 400 / math.log(10)


@dataclass(frozen=True)
class Votes:
    """Rows of votes: who met whom, what `one` took (0 to 1), by which judge, on which item.

    `order` is 1 where `one` was shown first, -1 where second, 0 where neither; `lead` is how much longer `one` is.
    """

    one: Ints
    two: Ints
    won: Floats
    judge: Ints
    item: Ints
    order: Floats
    lead: Floats

    def __len__(self) -> int:
        return len(self.one)

    def only(self, rows: Bools) -> Votes:
        """Some of the rows."""
        return Votes(
            self.one[rows], self.two[rows], self.won[rows], self.judge[rows], self.item[rows], self.order[rows],
            self.lead[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class JudgeFit:
    """What the model says of one judge; None where it is held or the data say nothing of it."""

    discrimination: Estimate | None
    place: Estimate | None
    length: Estimate | None
    ties: float
    votes: int
    worth: float
    """What a vote is worth for the ratings, beside one of the sharpest judge's."""


@dataclass(frozen=True)
class Joint:
    """The ratings by all judges together, and each judge from the same fit."""

    ratings: tuple[Estimate, ...]
    judges: tuple[JudgeFit, ...]
    strengths: Floats
    covariance: Floats


def joint(votes: Votes, contestants: int, judges: int, *, anchor: int | None = None, level: float = 0.95) -> Joint:
    """Fit the model. The judge `anchor` (people) has a discrimination of 1 and no length bias, so that strengths are
    those in its eyes; without one the mean discrimination is 1.
    """
    if not len(votes):
        raise Undefined(Note("joint.none", "there is no vote"))
    fit = _Fit(votes, contestants, judges, anchor)
    start = fit.start()
    if len(votes) > _MANY:
        # Rows that are alike but for a little length are one while the way is long; the last steps take every row.
        start = fit.gathered().solve(start, alike=True)
        return fit.told(fit.solve(start), level)
    return fit.told(fit.solve(start, alike=True), level)


@dataclass(frozen=True)
class _Fit:
    votes: Votes
    size: int
    judges: int
    anchor: int | None
    times: Floats | float = 1.0
    """How often each row stands for itself."""

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
        """The chance of `one` in each row, the gap of strengths, and the judge's discrimination."""
        v = self.votes
        strength, sharp, place, length = self.parts(here)
        gap, own = strength[v.one] - strength[v.two], sharp[v.judge]
        z = own * gap + place[v.judge] * v.order + length[v.judge] * v.lead
        return 1 / (1 + np.exp(-z)), gap, own

    def prior(self, here: Floats) -> tuple[Floats, Floats]:
        """The pull of the weak beliefs, and their precision; what is held is held by a large one."""
        m, k = self.size, self.judges
        precision = np.concatenate([
            np.full(m, _STRENGTH), np.full(k, _SHARP), np.full(2 * k, _BIAS),
        ])  # fmt: skip
        middle = self.start()
        matrix = np.diag(precision)
        if self.anchor is not None:
            matrix[m + self.anchor, m + self.anchor] = _HELD
            matrix[m + 2 * k + self.anchor, m + 2 * k + self.anchor] = _HELD
        else:
            matrix[m : m + k, m : m + k] += _HELD / k**2
        matrix[:m, :m] += 1 / m
        return matrix @ (middle - here), matrix

    def gathered(self) -> _Fit:
        """The same votes with equal rows counted, lengths rounded."""
        v = self.votes
        lead = np.round(v.lead * _ROUNDED).astype(np.int64)
        won = np.round(v.won * 12).astype(np.int64)
        low = int(lead.min())
        wide = int(lead.max()) - low + 1
        code = ((v.judge * self.size + v.one) * self.size + v.two) * 3 + v.order.astype(np.int64) + 1
        code = (code * 13 + won) * wide + lead - low
        _, first, count = np.unique(code, return_index=True, return_counts=True)
        cells = Votes(
            v.one[first], v.two[first], v.won[first], v.judge[first], v.item[first], v.order[first],
            lead[first] / _ROUNDED,
        )  # fmt: skip
        return replace(self, votes=cells, times=count.astype(np.float64))

    def solve(self, here: Floats, *, alike: bool = False) -> Floats:
        """From somewhere to where the score vanishes; `alike`: strengths first, with all judges alike."""
        for step_number in range(_STEPS):
            chance, gap, own = self.chance(here)
            pull, precision = self.prior(here)
            score = self.sums(self.votes.won - chance, gap, own) + pull
            bend = self.information(chance * (1 - chance), gap, own) + precision
            exact = bend - self.crossed(self.votes.won - chance)
            # Newton where the likelihood is a hill, Fisher where it is not: strengths and sharpness multiply.
            bend = exact if np.linalg.eigvalsh(exact)[0] > 0 else bend
            if alike and step_number < 3:
                bend[self.size :, : self.size] = bend[: self.size, self.size :] = 0.0
                step = np.linalg.solve(bend, score)
                step[self.size :] = 0.0
            else:
                step = np.linalg.solve(bend, score)
            longest = float(np.abs(step).max())
            bounded: Floats = np.asarray(step * min(1.0, _LONGEST / max(longest, 1e-12)), dtype=np.float64)
            here = self.further(here, bounded)
            if longest < _CLOSE and not (alike and step_number < 4):
                return here
        raise Undefined(Note("joint.unsettled", "the joint model did not settle: votes are too few or too one-sided"))

    def further(self, here: Floats, step: Floats) -> Floats:
        """As much of a step as makes the votes likelier; judges and strengths multiply, so a whole one may not."""
        begun = self.likely(here)
        for _ in range(_HALVED):
            if self.likely(here + step) >= begun - 1e-9 * abs(begun):
                break
            step = step / 2
        return here + step

    def likely(self, here: Floats) -> float:
        """The log likelihood with the weak beliefs."""
        v = self.votes
        strength, sharp, place, length = self.parts(here)
        z = sharp[v.judge] * (strength[v.one] - strength[v.two])
        z += place[v.judge] * v.order + length[v.judge] * v.lead
        told = float(((v.won * z - np.logaddexp(0, z)) * self.times).sum())
        away = here - self.start()
        return told - 0.5 * float(away @ self.prior(here)[1] @ away)

    def sums(self, rest: Floats, gap: Floats, own: Floats) -> Floats:
        """The score: what rows leave unexplained, along each parameter."""
        v, m, k = self.votes, self.size, self.judges
        rest = rest * self.times
        strength = np.bincount(v.one, rest * own, m) - np.bincount(v.two, rest * own, m)
        rows = [np.bincount(v.judge, rest * part, k) for part in (gap, v.order, v.lead)]
        score: Floats = np.concatenate([strength, *rows])
        return score

    def information(self, weight: Floats, gap: Floats, own: Floats) -> Floats:
        v, m, k = self.votes, self.size, self.judges
        matrix = np.zeros((self.width, self.width))
        weight = weight * self.times
        cell = np.bincount(v.one * m + v.two, weight * own**2, m * m).reshape(m, m)
        cell = cell + cell.T
        matrix[:m, :m] = np.diag(cell.sum(axis=1)) - cell
        parts = (gap, v.order, v.lead)
        spots = np.arange(k)
        for first, part in enumerate(parts):
            across = np.bincount(v.judge * m + v.one, weight * own * part, k * m)
            across = (across - np.bincount(v.judge * m + v.two, weight * own * part, k * m)).reshape(k, m)
            begin = m + first * k
            matrix[begin : begin + k, :m] = across
            matrix[:m, begin : begin + k] = across.T
            for second in range(first, 3):
                same = np.bincount(v.judge, weight * part * parts[second], k)
                matrix[begin + spots, m + second * k + spots] = same
                matrix[m + second * k + spots, begin + spots] = same
        return matrix

    def crossed(self, rest: Floats) -> Floats:
        """What the rest adds to the curvature, since a strength is multiplied by the judge's discrimination."""
        v, m, k = self.votes, self.size, self.judges
        rest = rest * self.times
        across = np.bincount(v.judge * m + v.one, rest, k * m) - np.bincount(v.judge * m + v.two, rest, k * m)
        matrix = np.zeros((self.width, self.width))
        matrix[m : m + k, :m] = across.reshape(k, m)
        matrix[:m, m : m + k] = across.reshape(k, m).T
        return matrix

    def told(self, here: Floats, level: float) -> Joint:
        from scipy.special import ndtri

        v, m, k = self.votes, self.size, self.judges
        chance, gap, own = self.chance(here)
        bread = np.linalg.inv(self.information(chance * (1 - chance), gap, own) + self.prior(here)[1])
        meat, clusters = self.meat(v.won - chance, gap, own)
        covariance = bread @ meat @ bread * clusters / max(1, clusters - 1)
        far = float(ndtri((1 + level) / 2))
        strength, sharp, place, length = self.parts(here)
        middle = np.eye(m) - 1 / m
        spread = middle @ covariance[:m, :m] @ middle
        played = np.bincount(v.one, minlength=m) + np.bincount(v.two, minlength=m)

        def shown(value: float, variance: float, n: int) -> Estimate:
            half = far * math.sqrt(max(0.0, variance))
            return Estimate(value, value - half, value + half, n, level, "sandwich", units=clusters)

        rated = tuple(
            shown(1000 + POINTS * float(strength[who] - strength.mean()), POINTS**2 * float(spread[who, who]),
                  int(played[who]))
            for who in range(m)
        )  # fmt: skip
        counts = np.bincount(v.judge, minlength=k)
        ties = np.bincount(v.judge, v.won == 0.5, k) / np.maximum(counts, 1)
        told_of = np.bincount(v.judge, chance * (1 - chance), k) / np.maximum(counts, 1) * sharp**2
        ordered, led = (np.bincount(v.judge, part != 0, k) > 0 for part in (v.order, v.lead))
        variance = np.diag(covariance)
        fits = tuple(
            JudgeFit(
                None if one == self.anchor else shown(float(sharp[one]), float(variance[m + one]), int(counts[one])),
                shown(float(place[one]), float(variance[m + k + one]), int(counts[one])) if ordered[one] else None,
                shown(float(length[one]), float(variance[m + 2 * k + one]), int(counts[one]))
                if led[one] and one != self.anchor else None,
                float(ties[one]), int(counts[one]), float(told_of[one] / told_of.max()),
            )
            for one in range(k)
        )  # fmt: skip
        return Joint(rated, fits, strength - strength.mean(), spread)

    def meat(self, rest: Floats, gap: Floats, own: Floats) -> tuple[Floats, int]:
        """Sums over items of the products of their scores, and how many items there are."""
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
            moved, judge = rest[rows] * own[rows], v.judge[rows]
            shape = ((end - begin), m)
            block[:, :m] = (
                np.bincount(here * m + v.one[rows], moved, shape[0] * m)
                - np.bincount(here * m + v.two[rows], moved, shape[0] * m)
            ).reshape(shape)  # fmt: skip
            for place, part in enumerate((gap, v.order, v.lead)):
                cells = np.bincount(here * k + judge, rest[rows] * part[rows], (end - begin) * k)
                block[:, m + place * k : m + (place + 1) * k] = cells.reshape(end - begin, k)
            total += block.T @ block
        return total, clusters
