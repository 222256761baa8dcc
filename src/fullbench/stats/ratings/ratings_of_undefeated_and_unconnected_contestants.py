"""Ratings for all contestants, including those who won or lost every match and groups that never met.

Maximum likelihood has no finite rating for a contestant that won all its matches. Contestants linked by wins both ways
(the core) keep their maximum-likelihood ratings. All others who met them are placed by the likelihood with Jeffreys'
penalty (Firth 1993, doi:10.1093/biomet/80.1.27; Kosmidis and Firth 2009, doi:10.1093/biomet/asp055), which is finite
for any results. Their interval has one end: an undefeated contestant may be arbitrarily strong, but not much weaker
than its wins show. At that end, the expected share of wins against the same opponents equals the bound of Clopper and
Pearson on the items. Groups that never met, even through others, have no common scale: each is rated separately.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM, unseen_share
from fullbench.stats.ratings.bradley_terry import Options, Ratings, rate_contestants
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.match_graph import is_reachable, strong_components, weak_components

METHOD = "one-sided, after Clopper and Pearson on items"
THROUGH_OTHERS = Note("no-interval.through-others")
NO_MATCH = Note("unrated.no-match")
_STEPS = 500
_CLOSE = 1e-9
# largest log strength: losing one match in 10^12 is as good as infinite
_FARTHEST = 28.0
# an interval narrower than this, in points, is rounding error
_WIDTH = 1e-6


@dataclass(frozen=True)
class CompleteRatings:
    """Ratings of all contestants with a match.

    `estimates` has each rating, on the scale of its group. `groups` are the contestants linked by matches, largest
    group first. `outside` has the position of contestants outside the core of their group: `above`, `below` or
    `beside` it. `cores` has the ratings of each group's core, under the contestants' numbers, or None if there is no
    core. `strict` has the ratings of those outside, with bounds that hold for all contestants of their group together.
    `sweeps` has, for pairs with one of them, the number of items if the first beat the second in every match.
    """

    estimates: tuple[Estimate | None, ...]
    log_strengths: tuple[float | None, ...]
    groups: tuple[tuple[int, ...], ...]
    outside: Mapping[int, str]
    cores: tuple[Ratings | None, ...]
    unrated_reasons: Mapping[int, str] = field(default_factory=dict)
    strict: Mapping[int, Estimate] = field(default_factory=dict)
    sweeps: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def chance(self, first: int, second: int) -> float:
        """Return the probability that `first` beats `second`, a tie counted half."""
        core = next((core for core in self.cores if core is not None and core.estimates[first] is not None), None)
        if core is not None and core.estimates[second] is not None:
            return core.chance(first, second)
        a, b = self.log_strengths[first], self.log_strengths[second]
        if a is None or b is None or not any({first, second} <= set(group) for group in self.groups):
            raise Undefined(Note("undefined.no-common-scale-of-two", first=first, second=second))
        return 1 / (1 + math.exp(b - a))


def rate_everyone(match_counts: MatchCounts, **options: Unpack[Options]) -> CompleteRatings:
    """Return the ratings of all contestants with a match; options are those of `rate_contestants`.

    >>> first, second = [0, 0, 1, 1, 2, 3], [1, 2, 2, 2, 1, 4]
    >>> found = rate_everyone(MatchCounts.from_rows(first, second, [1, 1, 1, 0, 1, 1]), interval="sandwich")
    >>> found.groups, found.outside
    (((0, 1, 2), (3, 4)), {0: 'above', 3: 'beside', 4: 'beside'})
    >>> found.estimates[0].value > found.estimates[1].value
    True
    """
    wins = match_counts.matrix()
    size = len(wins)
    has_matches = wins.sum(axis=0) + wins.sum(axis=1) > 0
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    groups = tuple(tuple(group) for group in weak_components(wins) if has_matches[group[0]])
    outside: dict[int, str] = {}
    strict: dict[int, Estimate] = {}
    sweeps: dict[tuple[int, int], int] = {}
    cores: list[Ratings | None] = []
    for group in groups:
        part = _Group(match_counts.restrict_to(np.array(group)), options)
        cores.append(None if part.ratings is None else _renumber_ratings(part.ratings, group, size))
        for place, who in enumerate(group):
            estimates[who], logs[who] = part.estimate(place), float(part.strengths[place])
        outside |= {group[place]: side for place, side in part.outside.items()}
        level = 1 - (1 - options.get("level", 0.95)) / (2 * len(group))
        strict |= {group[place]: part.estimate(place, level) for place in part.outside}
        sweeps |= {(group[place], group[opponent]): units for (place, opponent), units in part.sweeps().items()}
    unrated_reasons: dict[int, str] = {who: NO_MATCH for who in range(size) if not has_matches[who]}
    return CompleteRatings(
        tuple(estimates), tuple(logs), groups, outside, tuple(cores), unrated_reasons, strict, sweeps
    )


def _renumber_ratings(ratings: Ratings, group: tuple[int, ...], size: int) -> Ratings:
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    for place, who in enumerate(group):
        estimates[who], logs[who] = ratings.estimates[place], ratings.log_strengths[place]
    components = tuple(tuple(group[place] for place in part) for part in ratings.components)
    return replace(ratings, estimates=tuple(estimates), log_strengths=tuple(logs), components=components)


class _Group:
    def __init__(self, match_counts: MatchCounts, options: Options) -> None:
        self.match_counts, self.options = match_counts, options
        self.wins = match_counts.matrix()
        components = strong_components(self.wins)
        several = len(components) > 1 and len(components[1]) == len(components[0])
        self.core = [] if len(components[0]) < 2 or several else components[0]
        self.ratings = rate_contestants(match_counts, **options) if self.core else None
        start = np.zeros(len(self.wins))
        if self.ratings is not None:
            start[self.core] = [strength for strength in self.ratings.log_strengths if strength is not None]
        free = np.ones(len(start), dtype=bool)
        free[self.core] = False
        self.strengths = penalised_strengths(self.wins, start, free) if free.any() else start
        self.outside = {place: self._side(place) for place in np.flatnonzero(free).tolist()}

    def _side(self, place: int) -> str:
        if not self.core:
            return "beside"
        down, up = is_reachable(self.wins, place, self.core[0]), is_reachable(self.wins, self.core[0], place)
        return "above" if down else "below" if up else "beside"

    def estimate(self, place: int, level: float | None = None) -> Estimate:
        """Place the mean of the core, or of the whole group, at the centre."""
        level = level or self.options.get("level", 0.95)
        core_rating = None if self.ratings is None else self.ratings.estimates[place]
        if core_rating is not None:
            return self._core_estimate(place, core_rating, level)
        matches, units = self.match_counts.matches_against(place, self._opponents(place))
        n = int(self.match_counts.matches_played()[place])
        value = self._points(float(self.strengths[place]))
        if units < 2 or not matches.any():
            why = ONE_ITEM if units == 1 else THROUGH_OTHERS
            return Estimate(value, value, value, n, level, why=why, units=max(units, 1))
        above = self.outside[place] == "above" if self.core else bool(self.wins[:, place].sum() == 0)
        strength_bound = one_sided_bound(self.strengths, matches, units, above=above, level=level)
        end = self._points(
            min(strength_bound, self.strengths[place]) if above else max(strength_bound, self.strengths[place])
        )
        low, high = (end, value) if above else (value, end)
        return Estimate(value, low, high, n, level, METHOD, units=units, one_sided=True)

    def _core_estimate(self, place: int, rating: Estimate, level: float) -> Estimate:
        """If the contestant's items do not differ, bound its rating by the effect of unseen ones."""
        units = rating.units or 1
        if units > 1 and rating.high - rating.low > _WIDTH:
            return rating
        if units < 2:
            return replace(rating, low=rating.value, high=rating.value, why=ONE_ITEM)
        matches = self.wins[place] + self.wins[:, place]
        share = expected_share(self.strengths, matches, float(self.strengths[place]))
        unseen_part = unseen_share(units, level)
        ends = (
            strength_at_share(self.strengths, matches, end)
            for end in (share * (1 - unseen_part), share + unseen_part * (1 - share))
        )
        low, high = (self._points(end) for end in ends)
        return replace(rating, low=low, high=high, method="what unseen items could do, after Clopper and Pearson")

    def sweeps(self) -> dict[tuple[int, int], int]:
        """Number of items of pairs in which one beat the other in every match, with one outside the core."""
        items_by_pair = {}
        for place in self.outside:
            for opponent in np.flatnonzero(self.wins[place] + self.wins[:, place]).tolist():
                better, worse = (place, opponent) if self.wins[opponent, place] == 0 else (opponent, place)
                if self.wins[worse, better] == 0:
                    only = np.arange(len(self.wins)) == worse
                    items_by_pair[better, worse] = self.match_counts.matches_against(better, only)[1]
        return items_by_pair

    def _opponents(self, place: int) -> Bools:
        """Opponents against whom every match went one way, in the direction of the contestant's side."""
        beaten, beaten_by = self.wins[place] > 0, self.wins[:, place] > 0
        nobody: Bools = np.zeros(len(beaten), dtype=bool)
        side = self.outside[place]
        if not self.core and not (beaten.any() and beaten_by.any()):
            side = "above" if beaten.any() else "below"
        one_way: dict[str, Bools] = {"above": beaten & ~beaten_by, "below": beaten_by & ~beaten, "beside": nobody}
        return one_way[side]

    def _points(self, strength: float) -> float:
        scale, base = self.options.get("scale", 400.0), self.options.get("base", 10.0)
        anchor = self.options.get("anchor")
        anchor_strength = 0.0 if anchor is None else float(self.strengths[anchor])
        return self.options.get("centre", 1000.0) + scale / math.log(base) * (strength - anchor_strength)


def one_sided_bound(strengths: Floats, matches: Floats, units: int, *, above: bool, level: float = 0.95) -> float:
    """Return the least log strength of a contestant that won every match (or the greatest if it lost every match).

    `matches` has its number of matches against each opponent, `units` the number of items.

    >>> round(one_sided_bound(np.array([0.0, 0.0]), np.array([0.0, 9.0]), 9, above=True), 2)
    0.93
    """
    unseen_part = unseen_share(units, level)
    return strength_at_share(strengths, matches, 1 - unseen_part if above else unseen_part)


def expected_share(strengths: Floats, matches: Floats, strength: float) -> float:
    """Return the share of its matches that a contestant of this log strength would win.

    >>> expected_share(np.zeros(2), np.array([1.0, 3.0]), 0.0)
    0.5
    """
    chance = 1 / (1 + np.exp(np.clip(strengths - strength, -2 * _FARTHEST, 2 * _FARTHEST)))
    return float(matches @ chance) / float(matches.sum())


def strength_at_share(strengths: Floats, matches: Floats, share: float) -> float:
    """Return the log strength that would win this share of its matches.

    >>> round(strength_at_share(np.zeros(2), np.array([1.0, 3.0]), 0.75), 3)
    1.099
    """
    low, high = -_FARTHEST, _FARTHEST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if expected_share(strengths, matches, middle) > share else (middle, high)
    return (low + high) / 2


def penalised_strengths(wins: Floats, start: Floats, free: Bools) -> Floats:
    """Return log strengths of the `free` under Jeffreys' penalty, others fixed; mean zero if all are free.

    >>> penalised_strengths(np.array([[0.0, 3.0], [0.0, 0.0]]), np.zeros(2), np.array([True, True])).round(3)
    array([ 0.973, -0.973])
    """
    matches, here = wins + wins.T, start.copy()
    shift_precision = 1 / len(here) if free.all() else 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
        bend = matches * chance * (1 - chance)
        information = np.diag(bend.sum(axis=1)) - bend + shift_precision
        inverse = np.zeros_like(wins)
        inverse[np.ix_(free, free)] = np.linalg.inv(information[np.ix_(free, free)])
        variances = np.diag(inverse)
        # Jeffreys' penalty adds half-won matches to each pair, in proportion to its leverage.
        leverage = bend * (variances[:, None] + variances[None, :] - 2 * inverse)
        surprise = (wins + leverage / 2 - (matches + leverage) * chance).sum(axis=1)
        bent = (matches + leverage) * chance * (1 - chance)
        curve = np.diag(bent.sum(axis=1)) - bent + shift_precision
        step = np.zeros_like(here)
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], surprise[free])
        here += np.clip(step, -1, 1)
        if free.all():
            here -= here.mean()
        if float(np.abs(step).max()) < _CLOSE:
            return here
    raise Undefined(Note("undefined.penalised-did-not-settle", steps=_STEPS))
