"""Bradley-Terry ratings as people would give them, from their votes on some matches and judges' verdicts on all.

The ratings solve the estimating equation of people's votes. From it, the difference between the sample of matches and
all matches is subtracted: in the pairs played, and in the verdicts of each judge. See
`stats.people.prediction_powered` for the method. All but the covariance is computed from matrices of pairs; the
covariance takes one pass over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, match_arrays
from fullbench.stats.intervals.cluster_intervals import NO_SPREAD, ONE_ITEM
from fullbench.stats.people.prediction_powered import METHOD, VoteSample, people_spread, squared_half_width
from fullbench.stats.ratings.judge_scale_and_bias_against_people import ScaleComparison, compare_scales
from fullbench.stats.ratings.match_graph import strong_components, weak_components

_STEPS = 100
_CLOSE = 1e-10
# prior precision if wins alone do not bound the ratings: log strengths within about ten of each other
_PRIOR = 1 / 25
# cells of clusters by contestants held at once
_BLOCK = 1 << 21
# clusters with a vote needed per fitted weight
_FEW = 20
# relative variance below which a control is rounding error
_ROUNDING = 1e-18


@dataclass(frozen=True)
class CorrectedRatings:
    """Ratings by people alone, by each judge alone and corrected, for the contestants that people's votes link.

    `rated_codes` are their codes; the other lists have the same order. `corrections` are judge minus corrected, a row
    per judge. `covariance` is of the corrected log strengths, `people_covariance` of people's own, `free` the degrees
    of freedom. `worth` is the weight of each judge's verdicts. `has_prior` is True if a weak prior keeps people's own
    ratings finite. `scales` compares each judge's ratings with the corrected ones, None with too few items.
    """

    rated_codes: tuple[int, ...]
    corrected_estimates: tuple[Estimate, ...]
    people: tuple[Estimate, ...]
    judges: tuple[tuple[Estimate, ...], ...]
    corrections: tuple[tuple[Estimate, ...], ...]
    strengths: Floats
    covariance: Floats
    people_covariance: Floats
    free: float
    worth: tuple[float, ...]
    vote_count: int
    rows: int
    has_prior: bool
    scales: tuple[ScaleComparison | None, ...]


def corrected_ratings(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    people_votes: Numbers,
    predictions: Numbers,
    *,
    contestants: int = 0,
    probability: Numbers | None = None,
    cluster: npt.ArrayLike | None = None,
) -> CorrectedRatings:
    """Return the ratings; `people_votes` (NaN: no vote) and `predictions` (a row per judge) are outcomes for `first`.

    >>> nan = float("nan")
    >>> found = corrected_ratings([0, 0, 0, 0, 0, 0], [1] * 6, [1, 0, 1, nan, nan, nan], [1, 0, 1, 1, 0, 0])
    >>> [round(estimate.value) for estimate in found.people]
    [1060, 940]
    """
    votes = np.asarray(people_votes, dtype=np.float64)
    firsts, seconds, _, size = match_arrays(
        first, second, np.where(np.isnan(votes), 0.5, votes), contestants, shares=True
    )
    there = ~np.isnan(votes)
    if not there.any():
        raise Undefined(Note("corrected.nobody"))
    match_matrix = (
        np.bincount(firsts[there] * size + seconds[there], minlength=size * size).reshape(size, size).astype(np.float64)
    )
    rated_codes = np.array(weak_components(match_matrix)[0])
    place = np.full(size, -1)
    place[rated_codes] = np.arange(len(rated_codes))
    is_rated_match = (place[firsts] >= 0) & (place[seconds] >= 0)
    lines = np.atleast_2d(np.asarray(predictions, dtype=np.float64))[:, is_rated_match]
    chances = None if probability is None else np.asarray(probability, dtype=np.float64)[is_rated_match]
    labels = np.flatnonzero(is_rated_match) if cluster is None else np.asarray(cluster)[is_rated_match]
    vote_sample = VoteSample.from_votes(votes[is_rated_match], lines, chances, labels)
    matches = _VotedMatches(
        vote_sample, place[firsts[is_rated_match]], place[seconds[is_rated_match]], len(rated_codes)
    )
    return matches.ratings(tuple(rated_codes.tolist()), _Scale(0.95, 400.0 / math.log(10.0), 1000.0))


@dataclass(frozen=True)
class _Part:
    """Contribution of rows to an estimate: an amount for the first and against the second of each match, minus means.

    `bend` turns sums into log strengths. `fixed_means` are the means to subtract per unit of a vote's weight, and per
    row.
    """

    amounts: Floats
    fixed_means: tuple[Floats, Floats]
    bend: Floats


@dataclass(frozen=True)
class _VotedMatches:
    vote_sample: VoteSample
    first: Ints
    second: Ints
    size: int

    def cells(self, amounts: Floats | None = None) -> Floats:
        sums = np.bincount(self.first * self.size + self.second, amounts, self.size**2).reshape(self.size, self.size)
        cells: Floats = sums.astype(np.float64)
        return cells

    def pulls(self, amounts: Floats) -> Floats:
        first_sums, second_sums = (
            np.bincount(side, amounts, self.size).astype(np.float64) for side in (self.first, self.second)
        )
        sums: Floats = first_sums - second_sums
        return sums

    def chance(self, strengths: Floats) -> Floats:
        chances: Floats = _win_chances(strengths)[self.first, self.second]
        return chances

    def is_one_sided(self, outcome: Floats, weight: Floats) -> bool:
        """True if somebody is undefeated, or a group that nobody outside of it beat."""
        wins = self.cells(weight * outcome) + self.cells(weight * (1 - outcome)).T
        return len(strong_components(wins)) > 1

    def ratings(self, rated_codes: tuple[int, ...], scale: _Scale) -> CorrectedRatings:
        vote_sample, rows, weight = self.vote_sample, len(self.first), self.vote_sample.weight
        sample_cells, all_cells = self.cells(weight), self.cells() / rows
        has_prior = self.is_one_sided(vote_sample.vote, weight)
        prior = _PRIOR / vote_sample.vote_count if has_prior else 0.0
        alone = _solve_strengths(sample_cells, self.pulls(weight * (vote_sample.vote - 0.5)), prior)
        judges = [
            _solve_strengths(all_cells, self.pulls(line - 0.5) / rows,
                   _PRIOR / rows if self.is_one_sided(line, np.ones(rows)) else 0.0)
            for line in vote_sample.predictions
        ]  # fmt: skip
        chance, none = self.chance(alone), np.zeros(rows)
        bend = _inverse_curvature(all_cells, alone, prior)
        parts = [self._part(vote_sample.vote - chance, none, _inverse_curvature(sample_cells, alone, prior))]
        # Controls compare the sample with all matches: first the pairs played, then each judge's verdicts.
        for control_amounts in (0.5 - chance, *(line - 0.5 for line in vote_sample.predictions)):
            parts.append(self._part(control_amounts, -control_amounts, bend))
        for line, strength in zip(vote_sample.predictions, judges, strict=True):
            parts.append(self._part(none, line - self.chance(strength), _inverse_curvature(all_cells, strength, 0.0)))
        products = self._products(parts)
        controls = range(1, 2 + len(judges))
        gaps = np.array([parts[place].bend @ self.pulls(parts[place].amounts) for place in controls])
        worth, fits = _tune_control_weights(products, len(gaps), vote_sample.units)
        here = alone - (worth * gaps).sum(axis=0)
        # Each corrected strength is a sum of parts, so all covariances follow from the products.
        mix_weights = np.zeros((len(parts), self.size))
        mix_weights[0] = 1.0
        mix_weights[1 : 1 + len(gaps)] = -worth
        # Degrees of freedom: contestants - 1 strengths were fitted to the votes too.
        fit_factor = vote_sample.vote_count / max(1, vote_sample.vote_count - self.size + 1)
        is_corrected = (worth != 0).any(axis=0)
        wide, narrow = (_widen_factor(people_spread(vote_sample.units, used), fit_factor) for used in (fits, 0))
        rooms = _limit_freedom(
            [wide if has_correction else narrow for has_correction in is_corrected.tolist()],
            self._freedom(parts, mix_weights),
        )
        people_rooms = _limit_freedom([narrow] * self.size, self._freedom(parts[:1], np.ones((1, self.size))))
        cast = np.bincount(self.first, vote_sample.has_vote, self.size) + np.bincount(
            self.second, vote_sample.has_vote, self.size
        )
        matches_played = np.bincount(self.first, minlength=self.size) + np.bincount(self.second, minlength=self.size)
        covariance = _mixed_covariance(products, mix_weights, mix_weights)
        corrected_estimates = scale.to_estimates(here, np.diag(covariance), rooms, cast)
        people = scale.to_estimates(alone, np.diag(products[0, 0]), people_rooms, cast, method="sandwich")
        by_judges, corrections, scales = [], [], []
        for place, strength in enumerate(judges, start=1 + len(gaps)):
            single = np.zeros_like(mix_weights)
            single[place] = 1.0
            judge_variance = np.diag(products[place, place])
            every_room = [people_spread(vote_sample.clusters, 0)] * self.size
            by_judges.append(
                scale.to_estimates(strength, judge_variance, every_room, matches_played, method="sandwich")
            )
            difference_variance = np.diag(_mixed_covariance(products, single - mix_weights, single - mix_weights))
            corrections.append(
                replace(scale, centre=0.0).to_estimates(strength - here, difference_variance, rooms, cast)
            )
            between = _mixed_covariance(products, single, mix_weights)
            covariances = (products[place, place] * wide[0], between * wide[0], covariance * wide[0])
            scales.append(compare_scales(strength, here, covariances, wide[1]) if np.isfinite(wide[0]) else None)
        # With too few units the factor is infinite, and zero times it is NaN.
        with np.errstate(invalid="ignore"):
            wider, narrower = covariance * wide[0], products[0, 0] * narrow[0]
        return CorrectedRatings(
            rated_codes,
            corrected_estimates,
            people,
            tuple(by_judges),
            tuple(corrections),
            here,
            wider,
            narrower,
            wide[1],
            tuple(float(line.mean()) for line in worth[1:]),
            vote_sample.vote_count,
            rows,
            has_prior,
            tuple(scales),
        )

    def _part(self, sampled_amounts: Floats, row_amounts: Floats, bend: Floats) -> _Part:
        """Combine rows that count by the weight of their vote with rows that count 1 / rows each."""
        rows, weighted = len(self.first), self.vote_sample.weight * sampled_amounts
        return _Part(weighted + row_amounts / rows, (self.pulls(weighted), self.pulls(row_amounts) / rows**2), bend)

    def _products(self, parts: list[_Part]) -> Floats:
        """For every two parts, a matrix of contestants: sums over clusters of the products of contributions."""
        size, count = self.size, len(parts)
        loose = self._loose_rows()
        total = self._loose(parts, loose) if loose.any() else np.zeros((count, size, count, size))
        for block in self._cluster_sums(parts, loose):
            flat = block.reshape(len(block), count * size)
            total += (flat.T @ flat).reshape(count, size, count, size)
        products: Floats = np.array(
            [[parts[i].bend @ total[i, :, j] @ parts[j].bend.T for j in range(count)] for i in range(count)]
        )
        return products

    def _loose_rows(self) -> Bools:
        """Return a mask of the rows without a vote that are their own cluster."""
        cluster = self.vote_sample.cluster
        members = np.bincount(cluster, minlength=self.vote_sample.clusters)
        is_loose: Bools = (members[cluster] == 1) & ~self.vote_sample.has_vote
        return is_loose

    def _cluster_sums(self, parts: list[_Part], loose: Bools) -> Iterator[Floats]:
        """Yield blocks of clusters by parts by contestants: the sums of each part's amounts, minus their means."""
        vote_sample, size, count = self.vote_sample, self.size, len(parts)
        clustered_rows = np.flatnonzero(~loose)
        label = vote_sample.cluster[clustered_rows]
        if (np.diff(label) < 0).any():
            order = np.argsort(label, kind="stable")
            clustered_rows, label = clustered_rows[order], label[order]
        label = np.cumsum(np.diff(label, prepend=label[:1]) > 0)
        clusters = int(label[-1]) + 1 if len(label) else 0
        first, second, weight = (
            self.first[clustered_rows],
            self.second[clustered_rows],
            vote_sample.weight[clustered_rows],
        )
        amounts = [part.amounts[clustered_rows] for part in parts]
        factors = vote_sample.leverage_factors()[vote_sample.cluster[clustered_rows]]
        step = max(1, _BLOCK // (size * count))
        for begin in range(0, clusters, step):
            end = min(begin + step, clusters)
            low, high = np.searchsorted(label, [begin, end])
            here = label[low:high] - begin
            heavy, number = np.bincount(here, weight[low:high], end - begin), np.bincount(here, minlength=end - begin)
            block = np.empty((end - begin, count, size))
            ends = here * size + first[low:high], here * size + second[low:high]
            for place, (part, amount) in enumerate(zip(parts, amounts, strict=True)):
                pull_sums = np.bincount(ends[0], amount[low:high], (end - begin) * size)
                pull_sums -= np.bincount(ends[1], amount[low:high], (end - begin) * size)
                by_weight, by_row = part.fixed_means
                block[:, place] = (
                    pull_sums.reshape(end - begin, size) - heavy[:, None] * by_weight - np.outer(number, by_row)
                )
            by_cluster = np.ones(end - begin)
            by_cluster[here] = factors[low:high]
            yield block * by_cluster[:, None, None]

    def _freedom(self, parts: list[_Part], mix_weights: Floats) -> Floats:
        """Return the degrees of freedom of each contestant's variance if few items make up most of it.

        A strong contestant's rating depends on the few matches that it lost. The fourth moment of the changes with
        each item tells how many equal items they are worth (Satterthwaite 1946), as for means.
        """
        second, fourth = np.zeros(self.size), np.zeros(self.size)
        bends = np.stack([part.bend for part in parts])
        for block in self._cluster_sums(parts, self._loose_rows()):
            moves = np.einsum("ia,iab,cib->ca", mix_weights, bends, block, optimize=True)
            second += (moves**2).sum(axis=0)
            fourth += (moves**4).sum(axis=0)
        freedom: Floats = np.maximum(1.0, 3 * second**2 / np.maximum(fourth, 1e-300) - 1)
        return freedom

    def _loose(self, parts: list[_Part], loose: Bools) -> Floats:
        """The same sums over rows without a vote that are their own cluster, from cells of pairs."""
        size, count = self.size, len(parts)
        total = np.zeros((count, size, count, size))
        only = _VotedMatches(self.vote_sample, self.first[loose], self.second[loose], size)
        amounts = [part.amounts[loose] for part in parts]
        live = [place for place in range(count) if amounts[place].any()]
        pulls_by_part = {place: only.pulls(amounts[place]) for place in live}
        rows = int(loose.sum())
        for i in live:
            for j in live:
                if j < i:
                    total[i, :, j] = total[j, :, i].T
                    continue
                both = only.cells(amounts[i] * amounts[j])
                both = both + both.T
                ours, theirs = parts[i].fixed_means[1], parts[j].fixed_means[1]
                total[i, :, j] = (
                    np.diag(both.sum(axis=1))
                    - both
                    - np.outer(pulls_by_part[i], theirs)
                    - np.outer(ours, pulls_by_part[j])
                    + rows * np.outer(ours, theirs)
                )
        return total


def _widen_factor(room: tuple[float, float], factor: float) -> tuple[float, float]:
    return room[0] * factor, room[1]


def _limit_freedom(rooms: list[tuple[float, float]], freedom: Floats) -> list[tuple[float, float]]:
    return [(factor, min(free, float(limit))) for (factor, free), limit in zip(rooms, freedom, strict=True)]


def _mixed_covariance(products: Floats, left: Floats, right: Floats) -> Floats:
    covariance: Floats = np.einsum("ia,ijab,jb->ab", left, products, right)
    return covariance


def _tune_control_weights(products: Floats, controls: int, units: float) -> tuple[Floats, int]:
    """Weights per contestant for the narrowest interval. With few votes all controls share one weight."""
    size = products.shape[2]
    worth: Floats = np.zeros((controls, size))
    control_groups: Floats = np.eye(controls)
    if units < _FEW * (controls + 1):
        control_groups = np.concatenate([[1.0], np.full(controls - 1, 1 / (controls - 1))])[None]
    some, none = squared_half_width(units, len(control_groups)), squared_half_width(units, 0)
    if not np.isfinite(some):
        return worth, 0
    for who in range(size):
        square = products[: controls + 1, : controls + 1, who, who]
        cost, gain = control_groups @ square[1:, 1:] @ control_groups.T, control_groups @ square[1:, 0]
        # If people voted on everything, the controls are rounding error, and weights fitted to it are unbounded.
        if np.trace(cost) <= _ROUNDING * products[:, :, who, who].diagonal().max():
            continue
        weights = np.linalg.lstsq(cost, gain, rcond=1e-9)[0]
        left = square[0, 0] - 2 * weights @ gain + weights @ cost @ weights
        if left * some < square[0, 0] * none:
            worth[:, who] = weights @ control_groups
    return worth, len(control_groups)


def _solve_strengths(match_matrix: Floats, net_wins: Floats, prior: float) -> Floats:
    """Log strengths with mean zero at which expected wins (minus a half each) equal the observed ones."""
    both = match_matrix + match_matrix.T
    here = np.zeros(len(match_matrix))
    ridge = prior
    # Diverging strengths get a second attempt with a stronger ridge.
    for attempt in (prior, max(prior, 1e-3)):
        here, ridge = np.zeros(len(match_matrix)), attempt
        for _ in range(_STEPS):
            chance = _win_chances(here)
            pull = net_wins - (both * (chance - 0.5)).sum(axis=1) - ridge * here
            step = np.linalg.solve(_curvature_matrix(both, chance) + ridge * np.eye(len(here)) + 1 / len(here), pull)
            longest = float(np.abs(step).max())
            here += step * min(1.0, 1.0 / max(longest, 1.0))
            here -= here.mean()
            if longest < _CLOSE:
                return here
            if np.abs(here).max() > 50:
                break
    raise Undefined("the corrected ratings did not settle: votes are too few or too one-sided")


def _win_chances(strengths: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    return chances


def _curvature_matrix(both: Floats, chance: Floats) -> Floats:
    curve = both * chance * (1 - chance)
    bend: Floats = np.diag(curve.sum(axis=1)) - curve
    return bend


def _inverse_curvature(match_matrix: Floats, strengths: Floats, prior: float) -> Floats:
    size = len(strengths)
    full_inverse = np.linalg.inv(
        _curvature_matrix(match_matrix + match_matrix.T, _win_chances(strengths)) + prior * np.eye(size) + 1 / size
    )
    middle = np.eye(size) - 1 / size
    inverse: Floats = middle @ full_inverse
    return inverse


@dataclass(frozen=True)
class _Scale:
    level: float
    points: float
    centre: float

    def to_estimates(
        self, strengths: Floats, variance: Floats, rooms: Sequence[tuple[float, float]], counts: Any, *,
        method: str = METHOD,
    ) -> tuple[Estimate, ...]:  # fmt: skip
        from scipy.special import stdtrit

        values = self.centre + self.points * strengths
        estimates = []
        for value, spread, (factor, free), n in zip(values, variance, rooms, counts, strict=True):
            if not np.isfinite(factor):
                estimates.append(Estimate.bare(float(value), int(n), ONE_ITEM))
                continue
            far = float(stdtrit(free, (1 + self.level) / 2)) * self.points
            half = far * math.sqrt(max(0.0, float(spread)) * factor)
            middle, low, high = float(value), float(value) - half, float(value) + half
            estimate = Estimate(middle, low, high, int(n), self.level, method, corrected=method == METHOD)
            estimates.append(estimate if half > 1e-9 else Estimate.bare(middle, int(n), NO_SPREAD))
        return tuple(estimates)
