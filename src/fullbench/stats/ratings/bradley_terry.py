"""Ratings from duels: win matrices, win rates, Bradley-Terry.

Contestants are integer codes 0..m-1; an outcome is 1 when `first` won, 0 when it lost and 0.5 for a tie. Everything is
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
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, duels
from fullbench.stats.intervals.bootstrap import Labels
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile
from fullbench.stats.intervals.share_intervals import share, wilson
from fullbench.stats.ratings.bradley_terry_solver import newton
from fullbench.stats.ratings.match_counts import Battles, Moves
from fullbench.stats.ratings.match_graph import strong_components, weak_components
from fullbench.stats.ratings.tie_models import Fit, Ties, expected, fit

Interval = Literal["bootstrap", "sandwich"]


class Options(TypedDict, total=False):
    """What `rate` takes beside the battles."""

    ties: Ties
    interval: Interval
    resamples: int
    level: float
    seed: int
    scale: float
    base: float
    centre: float
    anchor: int | None


# an interval over fewer of the resamples would be that of the lucky ones
_MOST_LOST = 0.1
# counts that are held at once, so that memory does not grow with the number of resamples
_BLOCK = 1 << 21


@dataclass(frozen=True)
class Ratings:
    """A rating for each contestant on one scale, or the reason why it has none.

    `log_strengths` are the maximum-likelihood values that the ratings scale, their mean zero over the rated; `matches`
    counts those on which they rest. `components` are the groups within which ratings are finite, largest first: only
    the first of them is rated. `lost` is how many resamples fell apart and were left out of the intervals. `tie` is the
    parameter of the model of `ties`: log of Davidson's nu or of Rao and Kupper's threshold. `moves` says how the log
    strengths of the rated, in the order of the first component, move with each item.
    """

    estimates: tuple[Estimate | None, ...]
    log_strengths: tuple[float | None, ...]
    unrated: Mapping[int, str]
    components: tuple[tuple[int, ...], ...]
    matches: int
    lost: int
    ties: Ties = "half"
    tie: float | None = None
    moves: Moves | None = None

    def chance(self, first: int, second: int) -> float:
        """The probability that `first` beats `second`, a tie counted half."""
        a, b = self.log_strengths[first], self.log_strengths[second]
        if a is None or b is None:
            missing = first if a is None else second
            raise Undefined(
                Note(
                    "undefined.contestant-has-no-rating",
                    "contestant {missing} has no rating: {reason}",
                    missing=missing,
                    reason=self.unrated[missing],
                )
            )
        return expected(a - b, self.ties, self.tie or 0.0)


def win_matrix(first: npt.ArrayLike, second: npt.ArrayLike, outcome: Numbers, *, contestants: int = 0) -> Floats:
    """How often each contestant (row) beat each other (column); a tie is half a win for both.

    >>> win_matrix([0, 0, 1], [1, 1, 2], [1, 0.5, 0]).tolist()
    [[0.0, 1.5, 0.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    return Battles.of(first, second, outcome, contestants=contestants).matrix()


def win_rates(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    *,
    contestants: int = 0,
    cluster: Labels | None = None,
    level: float = 0.95,
) -> list[Estimate | None]:
    """Each contestant's share of wins, ties as halves; None for one that met nobody, or in one cluster only.

    The interval is Wilson's, or that of `intervals.share_intervals.share` where duels have a `cluster` (the item).

    >>> print(win_rates([0, 0, 1], [1, 1, 2], [1, 0.5, 0])[0])
    0.750 [0.198, 0.973] n=2
    """
    wins = win_matrix(first, second, outcome, contestants=contestants)
    if cluster is None:
        played = wins.sum(axis=1) + wins.sum(axis=0)
        return [
            wilson(float(up), round(float(all_)), level=level) if all_ else None
            for up, all_ in zip(wins.sum(axis=1), played, strict=True)
        ]
    firsts, seconds, result, size = duels(first, second, outcome, contestants)
    label = np.asarray(cluster)
    rates: list[Estimate | None] = []
    for who in range(size):
        own_duels = (firsts == who) | (seconds == who)
        won = np.where(firsts == who, result, 1 - result)[own_duels]
        clusters = len(np.unique(label[own_duels]))
        rates.append(share(won, cluster=label[own_duels], level=level) if clusters > 1 else None)
    return rates


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
    """Bradley-Terry ratings by maximum likelihood, ties as half wins (Bradley and Terry 1952, doi:10.2307/2334029).

    A difference of `scale` points is odds of `base` to 1. The mean of the rated, or the contestant `anchor`, is put at
    `centre`. Ratings are finite only among contestants linked by chains of wins both ways (Ford 1957,
    doi:10.2307/2308513): the largest such group is rated, all others get the reason instead. Intervals are percentiles
    over resampled duels, or the normal interval with the sandwich covariance; a `cluster` label (the item) keeps duels
    together that belong together. With `ties="davidson"` or `"rao-kupper"` a tie is an outcome of its own (see
    `stats.ratings.tie_models`). A duel of `weight` 3 counts as much as three like it, but is drawn as one.

    >>> ratings = bradley_terry([0] * 4 + [1] * 4, [1] * 4 + [2] * 4, [1, 1, 1, 0] * 2, interval="sandwich")
    >>> [round(estimate.value) for estimate in ratings.estimates]
    [1191, 1000, 809]
    """
    return rate(Battles.of(first, second, outcome, contestants=contestants, weight=weight, cluster=cluster), **options)


def bradley_terry_of_wins(wins: Numbers, drawn: Numbers | None = None, **options: Unpack[Options]) -> Ratings:
    """The same from a matrix of whole wins (row beat column), and one of the `drawn`, which stand on both sides.

    >>> [round(rating.value) for rating in bradley_terry_of_wins([[0, 30], [10, 0]]).estimates]
    [1095, 905]
    """
    return rate(Battles.of_wins(wins, drawn), **options)


def rate(
    battles: Battles,
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
    """The ratings of counted battles; see `bradley_terry`.

    >>> rate(Battles.of([0, 0, 0], [1, 1, 1], [1, 1, 0]), interval="sandwich").matches
    3
    """
    size, wins = battles.size, battles.matrix()
    components = strong_components(wins)
    if len(components[0]) < 2 or (len(components) > 1 and len(components[1]) == len(components[0])):
        raise Undefined(
            Note(
                "undefined.no-common-scale-wins-link",
                "no common scale: wins link the {size} contestants into {groups} groups, the largest of {largest}",
                size=size,
                groups=len(components),
                largest=len(components[0]),
            )
        )
    rated = np.array(components[0])
    if anchor is not None and anchor not in components[0]:
        raise Undefined(
            Note(
                "undefined.the-anchor-cannot-be-rated",
                "the anchor {anchor} cannot be rated: {reason}",
                anchor=anchor,
                reason=_reasons(wins, rated)[anchor],
            )
        )
    within = battles.among(rated)
    factor = scale / math.log(base)
    held = None if anchor is None else components[0].index(anchor)
    best_fit = _fitted(within, wins[np.ix_(rated, rated)], ties)
    strengths = best_fit.strengths
    lost = 0
    if interval == "bootstrap":
        low, high, lost = _percentiles(within, best_fit, ties, held, resamples=resamples, level=level, seed=seed)
        name = f"percentile bootstrap, {resamples} resamples"
    else:
        low, high = _student(best_fit, held, level)
        name = "sandwich over items" if within.sample.profile is not None else "sandwich"
    shown = strengths - (0.0 if held is None else strengths[held])
    played, units = within.played(), within.sample.clusters
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    for place, who in enumerate(components[0]):
        value, least, most = (centre + factor * float(part[place]) for part in (shown, low, high))
        estimates[who] = Estimate(value, least, most, int(played[place]), level, name, units=units)
        logs[who] = float(strengths[place])
    groups = tuple(tuple(group) for group in components)
    tie = None if ties == "half" else best_fit.tie
    return Ratings(
        tuple(estimates), tuple(logs), _reasons(wins, rated), groups, within.sample.n, lost, ties, tie, best_fit.moves
    )


def _fitted(within: Battles, wins: Floats, ties: Ties) -> Fit:
    if ties != "half":
        return fit(within, ties)
    strengths = newton(wins)
    return Fit(strengths, 0.0, within.sandwich(strengths))


def _percentiles(
    within: Battles, best_fit: Fit, ties: Ties, held: int | None, *, resamples: int, level: float, seed: int
) -> tuple[Floats, Floats, int]:
    rng = np.random.default_rng(seed)
    drawn = 1 if within.sample.profile is None else within.sample.clusters
    step = max(1, _BLOCK // max(len(within.sample.counts), drawn))
    solve = _resolver(within, best_fit, ties)
    figures = np.concatenate(
        [solve(within.draw(rng, min(step, resamples - start))) for start in range(0, resamples, step)]
    )
    figures -= 0.0 if held is None else figures[:, [held]]
    known = figures[~np.isnan(figures[:, 0])]
    lost = resamples - len(known)
    if lost > _MOST_LOST * resamples:
        raise Undefined(
            Note(
                "undefined.too-few-duels-for-bootstrap",
                "too few duels for bootstrap intervals: wins fall apart in {lost} of {resamples} resamples; "
                'interval="sandwich" can still be had',
                lost=lost,
                resamples=resamples,
            )
        )
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high, lost


def _resolver(within: Battles, best_fit: Fit, ties: Ties) -> Callable[[Floats], Floats]:
    """What gives the log strengths of each column of counts, NaN where they do not define them."""
    if ties == "half":
        pairs = within.pairs()
        return lambda drawn: pairs.solve(drawn, best_fit.strengths, within.sample.counts)

    def solve(drawn: Floats) -> Floats:
        figures = np.full((drawn.shape[1], within.size), np.nan)
        pairs = within.pairs()
        for place, counts in enumerate(drawn.T):
            if len(strong_components(pairs.matrix(counts))) == 1 and (counts[within.sample.cells[2] == 0.5] > 0).any():
                figures[place] = fit(within, ties, counts, best_fit).strengths
        return figures

    return solve


def _student(best_fit: Fit, held: int | None, level: float) -> tuple[Floats, Floats]:
    """Intervals from the sandwich of the log strengths, with Student's quantiles.

    A contestant that met others on few items has few degrees of freedom, however many items there are.
    """
    size = len(best_fit.strengths)
    contrast = np.eye(size) - (1 / size if held is None else np.eye(size)[held])
    moves = best_fit.moves.along(contrast)
    spreads = [moves.spread(place) for place in range(size)]
    middle = contrast @ best_fit.strengths
    half = np.array([
        student_quantile(spread.freedom, (1 + level) / 2) * math.sqrt(spread.variance) if spread.units > 1 else 0.0
        for spread in spreads
    ])  # fmt: skip
    return middle - half, middle + half


def _reasons(wins: Floats, rated: Ints) -> dict[int, str]:
    """Why each contestant outside the rated has no rating."""
    linked = {who for group in weak_components(wins) if set(group) & set(rated.tolist()) for who in group}
    reasons: dict[int, str] = {}
    for who in sorted(set(range(len(wins))) - set(rated.tolist())):
        beat, lost_to = wins[who, rated].sum() > 0, wins[rated, who].sum() > 0
        if wins[who].sum() + wins[:, who].sum() == 0:
            reasons[who] = Note("unrated.no-match", "no match")
        elif who not in linked:
            reasons[who] = Note("unrated.never-met", "never met the rated contestants, not even through others")
        elif beat and not lost_to:
            reasons[who] = Note("unrated.won-every-match", "won every match against the rated contestants")
        elif lost_to and not beat:
            reasons[who] = Note("unrated.lost-every-match", "lost every match against the rated contestants")
        else:
            reasons[who] = Note(
                "unrated.only-through-others",
                "met the rated contestants only through others who won or lost every match",
            )
    return reasons
