"""Ratings from matches: Bradley-Terry.

Contestants are integer codes 0..m-1. An outcome is 1 if `first` won, 0 if it lost and 0.5 for a tie. Everything is
computed from counts of (first, second, outcome), never from rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile
from fullbench.stats.ratings.bradley_terry_solver import solve_strengths
from fullbench.stats.ratings.match_counts import MatchCounts, Moves
from fullbench.stats.ratings.match_graph import strong_components, weak_components
from fullbench.stats.ratings.tie_models import Fit, Ties, expected_outcome, fit_tie_model

Interval = Literal["bootstrap", "sandwich"]


class Options(TypedDict, total=False):
    """Options of `rate_contestants`."""

    ties: Ties
    interval: Interval
    resamples: int
    level: float
    seed: int
    scale: float
    base: float
    centre: float
    anchor: int | None


# largest share of undefined resamples: leaving out more would bias the interval
_MOST_LOST = 0.1
# counts held at once, so that memory does not grow with the number of resamples
_BLOCK = 1 << 21


@dataclass(frozen=True)
class Ratings:
    """Rating of each contestant on one scale, or the reason why it has none.

    `log_strengths` are the maximum-likelihood values behind the ratings, with mean zero over the rated contestants.
    `matches` counts the matches used. `components` are the groups within which ratings are finite, largest first; only
    the first is rated. `lost_resamples` counts resamples that were not connected and were left out of the intervals.
    `tie` is the parameter of the tie model: log of Davidson's nu or of Rao and Kupper's threshold. `moves` has the
    changes of the rated log strengths, in the order of the first component, with each item.
    """

    estimates: tuple[Estimate | None, ...]
    log_strengths: tuple[float | None, ...]
    unrated_reasons: Mapping[int, str]
    components: tuple[tuple[int, ...], ...]
    matches: int
    lost_resamples: int
    ties: Ties = "half"
    tie: float | None = None
    moves: Moves | None = None

    def chance(self, first: int, second: int) -> float:
        """Return the probability that `first` beats `second`, a tie counted half."""
        a, b = self.log_strengths[first], self.log_strengths[second]
        if a is None or b is None:
            missing = first if a is None else second
            raise Undefined(
                Note("undefined.contestant-has-no-rating", missing=missing, reason=self.unrated_reasons[missing])
            )
        return expected_outcome(a - b, self.ties, self.tie or 0.0)


def bradley_terry(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    *,
    contestants: int = 0,
    weight: Numbers | None = None,
    cluster: Labels | None = None,
    **options: Unpack[Options],
) -> Ratings:
    """Return maximum-likelihood ratings, ties as half wins (Bradley and Terry 1952, doi:10.2307/2334029).

    A difference of `scale` points is odds of `base` to 1. The mean of the rated contestants, or the contestant
    `anchor`, is placed at `centre`. Ratings are finite only among contestants linked by chains of wins both ways (Ford
    1957, doi:10.2307/2308513). The largest such group is rated; all others get a reason instead. Intervals are
    percentiles over resampled matches, or use the sandwich covariance. A `cluster` label (the item) keeps its matches
    together. With `ties="davidson"` or `"rao-kupper"` a tie is a separate outcome (see `stats.ratings.tie_models`). A
    match of `weight` 3 counts as three, but is drawn as one.

    >>> ratings = bradley_terry([0] * 4 + [1] * 4, [1] * 4 + [2] * 4, [1, 1, 1, 0] * 2, interval="sandwich")
    >>> [round(estimate.value) for estimate in ratings.estimates]
    [1191, 1000, 809]
    """
    return rate_contestants(
        MatchCounts.from_rows(first, second, outcome, contestants=contestants, weight=weight, cluster=cluster),
        **options,
    )


def bradley_terry_from_wins(wins: Numbers, tie_matrix: Numbers | None = None, **options: Unpack[Options]) -> Ratings:
    """Return the same from a matrix of whole wins (row beat column) and a symmetric `tie_matrix`.

    >>> [round(rating.value) for rating in bradley_terry_from_wins([[0, 30], [10, 0]]).estimates]
    [1095, 905]
    """
    return rate_contestants(MatchCounts.from_wins(wins, tie_matrix), **options)


def rate_contestants(
    match_counts: MatchCounts,
    *,
    ties: Ties = "half",
    interval: Interval = "bootstrap",
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    scale: float = 400.0,
    base: float = 10.0,
    centre: float = 1000.0,
    anchor: int | None = None,
) -> Ratings:
    """Return the ratings of counted matches; see `bradley_terry`.

    >>> rate_contestants(MatchCounts.from_rows([0, 0, 0], [1, 1, 1], [1, 1, 0]), interval="sandwich").matches
    3
    """
    size, wins = match_counts.size, match_counts.matrix()
    components = strong_components(wins)
    if len(components[0]) < 2 or (len(components) > 1 and len(components[1]) == len(components[0])):
        raise Undefined(
            Note("undefined.no-common-scale-wins-link", size=size, groups=len(components), largest=len(components[0]))
        )
    rated_codes = np.array(components[0])
    if anchor is not None and anchor not in components[0]:
        raise Undefined(
            Note(
                "undefined.the-anchor-cannot-be-rated",
                anchor=anchor,
                reason=_unrated_reasons(wins, rated_codes)[anchor],
            )
        )
    within = match_counts.restrict_to(rated_codes)
    factor = scale / math.log(base)
    anchor_index = None if anchor is None else components[0].index(anchor)
    best_fit = _fit_strengths(within, wins[np.ix_(rated_codes, rated_codes)], ties)
    strengths = best_fit.strengths
    lost_resamples = 0
    if interval == "bootstrap":
        low, high, lost_resamples = _percentile_bounds(
            within, best_fit, ties, anchor_index, resamples=resamples, level=level, seed=seed
        )
        name = f"percentile bootstrap, {resamples} resamples"
    else:
        low, high = _student_bounds(best_fit, anchor_index, level)
        name = "sandwich over items" if within.sample.profile is not None else "sandwich"
    centred_strengths = strengths - (0.0 if anchor_index is None else strengths[anchor_index])
    matches_played, units = within.matches_played(), within.sample.clusters
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    for place, who in enumerate(components[0]):
        value, least, most = (centre + factor * float(part[place]) for part in (centred_strengths, low, high))
        estimates[who] = Estimate(value, least, most, int(matches_played[place]), level, name, units=units)
        logs[who] = float(strengths[place])
    groups = tuple(tuple(group) for group in components)
    tie = None if ties == "half" else best_fit.tie
    return Ratings(
        tuple(estimates),
        tuple(logs),
        _unrated_reasons(wins, rated_codes),
        groups,
        within.sample.n,
        lost_resamples,
        ties,
        tie,
        best_fit.moves,
    )


def _fit_strengths(within: MatchCounts, wins: Floats, ties: Ties) -> Fit:
    if ties != "half":
        return fit_tie_model(within, ties)
    strengths = solve_strengths(wins)
    return Fit(strengths, 0.0, within.sandwich(strengths))


def _percentile_bounds(
    within: MatchCounts, best_fit: Fit, ties: Ties, anchor_index: int | None, *, resamples: int, level: float, seed: int
) -> tuple[Floats, Floats, int]:
    rng = np.random.default_rng(seed)
    draw_size = 1 if within.sample.profile is None else within.sample.clusters
    step = max(1, _BLOCK // max(len(within.sample.counts), draw_size))
    solve = _resample_solver(within, best_fit, ties)
    values = np.concatenate(
        [solve(within.draw(rng, min(step, resamples - start))) for start in range(0, resamples, step)]
    )
    values -= 0.0 if anchor_index is None else values[:, [anchor_index]]
    defined_figures = values[~np.isnan(values[:, 0])]
    lost_resamples = resamples - len(defined_figures)
    if lost_resamples > _MOST_LOST * resamples:
        raise Undefined(Note("undefined.too-few-matches-for-bootstrap", lost=lost_resamples, resamples=resamples))
    low, high = np.quantile(defined_figures, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high, lost_resamples


def _resample_solver(within: MatchCounts, best_fit: Fit, ties: Ties) -> Callable[[Floats], Floats]:
    if ties == "half":
        pairs = within.pairs()
        return lambda cell_counts: pairs.solve(cell_counts, best_fit.strengths, within.sample.counts)

    def solve(cell_counts: Floats) -> Floats:
        values = np.full((cell_counts.shape[1], within.size), np.nan)
        pairs = within.pairs()
        for place, counts in enumerate(cell_counts.T):
            if len(strong_components(pairs.matrix(counts))) == 1 and (counts[within.sample.cells[2] == 0.5] > 0).any():
                values[place] = fit_tie_model(within, ties, counts, best_fit).strengths
        return values

    return solve


def _student_bounds(best_fit: Fit, anchor_index: int | None, level: float) -> tuple[Floats, Floats]:
    """A contestant with matches on few items has few degrees of freedom, however many items there are."""
    size = len(best_fit.strengths)
    contrast = np.eye(size) - (1 / size if anchor_index is None else np.eye(size)[anchor_index])
    moves = best_fit.moves.along(contrast)
    spreads = [moves.spread(place) for place in range(size)]
    middle = contrast @ best_fit.strengths
    half = np.array([
        student_quantile(spread.freedom, (1 + level) / 2) * math.sqrt(spread.variance) if spread.units > 1 else 0.0
        for spread in spreads
    ])  # fmt: skip
    return middle - half, middle + half


def _unrated_reasons(wins: Floats, rated_codes: Ints) -> dict[int, str]:
    linked_contestants = {
        who for group in weak_components(wins) if set(group) & set(rated_codes.tolist()) for who in group
    }
    reasons: dict[int, str] = {}
    for who in sorted(set(range(len(wins))) - set(rated_codes.tolist())):
        beat, lost_to = wins[who, rated_codes].sum() > 0, wins[rated_codes, who].sum() > 0
        if wins[who].sum() + wins[:, who].sum() == 0:
            reasons[who] = Note("unrated.no-match")
        elif who not in linked_contestants:
            reasons[who] = Note("unrated.never-met")
        elif beat and not lost_to:
            reasons[who] = Note("unrated.won-every-match")
        elif lost_to and not beat:
            reasons[who] = Note("unrated.lost-every-match")
        else:
            reasons[who] = Note("unrated.only-through-others")
    return reasons
