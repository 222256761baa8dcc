"""Ratings for everybody: also for those who won or lost every match, and for groups that never met.

Maximum likelihood has no finite rating for a contestant that won all its matches. Those who are linked by wins both
ways (the core) keep their maximum-likelihood ratings. Everybody else who met them is placed beside them by the
likelihood with Jeffreys' penalty (Firth 1993, doi:10.1093/biomet/80.1.27; Kosmidis and Firth 2009,
doi:10.1093/biomet/asp055), which is finite whatever the results, and has an interval with one end: an undefeated
contestant may be as strong as you like, but not much weaker than its wins say. The end is where the share of wins
against the same opponents would be the bound of Clopper and Pearson on the items. Groups that never met, not even
through others, have no common scale: each is rated on its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM, unseen
from fullbench.stats.ratings.bradley_terry import Options, Ratings, rate
from fullbench.stats.ratings.match_counts import Battles
from fullbench.stats.ratings.match_graph import reachable, strong_components, weak_components

METHOD = "one-sided, after Clopper and Pearson on items"
THROUGH_OTHERS = Note("no-interval.through-others", "met the rest only through others")
NO_MATCH = Note("unrated.no-match", "no match")
_STEPS = 500
_CLOSE = 1e-9
# a rating that wins against its opponents all but one time in a million million is as good as infinite
_FARTHEST = 28.0
# an interval narrower than this, in points, is what rounding leaves of none
_WIDTH = 1e-6


@dataclass(frozen=True)
class Everyone:
    """Ratings of all who met somebody.

    `estimates` has each contestant's rating, on the scale of its group; `groups` are the contestants that met each
    other, if only through others, the largest group first; `outside` says of those not linked by wins both ways how
    they stand to the core of their group: `above`, `below` or `beside` it. `cores` has the ratings of each group's
    core, under the contestants' numbers, None where nobody is linked by wins both ways. `strict` has the ratings of
    those outside with bounds that hold for all contestants of their group together. `sweeps` says of pairs with one
    of them on how many items the first beat the second in every match.
    """

    estimates: tuple[Estimate | None, ...]
    log_strengths: tuple[float | None, ...]
    groups: tuple[tuple[int, ...], ...]
    outside: Mapping[int, str]
    cores: tuple[Ratings | None, ...]
    unrated: Mapping[int, str] = field(default_factory=dict)
    strict: Mapping[int, Estimate] = field(default_factory=dict)
    sweeps: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def chance(self, first: int, second: int) -> float:
        """The probability that `first` beats `second`, a tie counted half."""
        core = next((core for core in self.cores if core is not None and core.estimates[first] is not None), None)
        if core is not None and core.estimates[second] is not None:
            return core.chance(first, second)
        a, b = self.log_strengths[first], self.log_strengths[second]
        if a is None or b is None or not any({first, second} <= set(group) for group in self.groups):
            raise Undefined(
                Note(
                    "undefined.no-common-scale-of-two", "contestants {first} and {second} have no common scale",
                    first=first, second=second,
                )
            )  # fmt: skip
        return 1 / (1 + math.exp(b - a))


def rate_everyone(battles: Battles, **options: Unpack[Options]) -> Everyone:
    """The ratings of all contestants that met another; options are those of `ratings.bradley_terry.rate`.

    >>> first, second = [0, 0, 1, 1, 2, 3], [1, 2, 2, 2, 1, 4]
    >>> found = rate_everyone(Battles.of(first, second, [1, 1, 1, 0, 1, 1]), interval="sandwich")
    >>> found.groups, found.outside
    (((0, 1, 2), (3, 4)), {0: 'above', 3: 'beside', 4: 'beside'})
    >>> found.estimates[0].value > found.estimates[1].value
    True
    """
    wins = battles.matrix()
    size = len(wins)
    met = wins.sum(axis=0) + wins.sum(axis=1) > 0
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    groups = tuple(tuple(group) for group in weak_components(wins) if met[group[0]])
    outside: dict[int, str] = {}
    strict: dict[int, Estimate] = {}
    sweeps: dict[tuple[int, int], int] = {}
    cores: list[Ratings | None] = []
    for group in groups:
        part = _Group(battles.among(np.array(group)), options)
        cores.append(None if part.ratings is None else _spread_out(part.ratings, group, size))
        for place, who in enumerate(group):
            estimates[who], logs[who] = part.estimate(place), float(part.strengths[place])
        outside |= {group[place]: side for place, side in part.outside.items()}
        level = 1 - (1 - options.get("level", 0.95)) / (2 * len(group))
        strict |= {group[place]: part.estimate(place, level) for place in part.outside}
        sweeps |= {(group[place], group[other]): units for (place, other), units in part.sweeps().items()}
    unrated: dict[int, str] = {who: NO_MATCH for who in range(size) if not met[who]}
    return Everyone(tuple(estimates), tuple(logs), groups, outside, tuple(cores), unrated, strict, sweeps)


def _spread_out(ratings: Ratings, group: tuple[int, ...], size: int) -> Ratings:
    """Ratings of a group under the numbers of all contestants."""
    estimates: list[Estimate | None] = [None] * size
    logs: list[float | None] = [None] * size
    for place, who in enumerate(group):
        estimates[who], logs[who] = ratings.estimates[place], ratings.log_strengths[place]
    components = tuple(tuple(group[place] for place in part) for part in ratings.components)
    return replace(ratings, estimates=tuple(estimates), log_strengths=tuple(logs), components=components)


class _Group:
    """Contestants that met each other, if only through others."""

    def __init__(self, battles: Battles, options: Options) -> None:
        self.battles, self.options = battles, options
        self.wins = battles.matrix()
        components = strong_components(self.wins)
        several = len(components) > 1 and len(components[1]) == len(components[0])
        self.core = [] if len(components[0]) < 2 or several else components[0]
        self.ratings = rate(battles, **options) if self.core else None
        start = np.zeros(len(self.wins))
        if self.ratings is not None:
            start[self.core] = [strength for strength in self.ratings.log_strengths if strength is not None]
        free = np.ones(len(start), dtype=bool)
        free[self.core] = False
        self.strengths = penalised(self.wins, start, free) if free.any() else start
        self.outside = {place: self._side(place) for place in np.flatnonzero(free).tolist()}

    def _side(self, place: int) -> str:
        if not self.core:
            return "beside"
        down, up = reachable(self.wins, place, self.core[0]), reachable(self.wins, self.core[0], place)
        return "above" if down else "below" if up else "beside"

    def estimate(self, place: int, level: float | None = None) -> Estimate:
        """The rating of one of the group; the mean of the core, or of the whole group, is at the centre."""
        level = level or self.options.get("level", 0.95)
        rated = None if self.ratings is None else self.ratings.estimates[place]
        if rated is not None:
            return self._honest(place, rated, level)
        matches, units = self.battles.between(place, self._opponents(place))
        n = int(self.battles.played()[place])
        value = self._points(float(self.strengths[place]))
        if units < 2 or not matches.any():
            why = ONE_ITEM if units == 1 else THROUGH_OTHERS
            return Estimate(value, value, value, n, level, why=why, units=max(units, 1))
        above = self.outside[place] == "above" if self.core else self._wins_all(place)
        bound = one_sided(self.strengths, matches, units, above=above, level=level)
        end = self._points(min(bound, self.strengths[place]) if above else max(bound, self.strengths[place]))
        low, high = (end, value) if above else (value, end)
        return Estimate(value, low, high, n, level, METHOD, units=units, one_sided=True)

    def _honest(self, place: int, rated: Estimate, level: float) -> Estimate:
        """The rating of one of the core; where its items do not differ, what unseen ones could do bounds it."""
        units = rated.units or 1
        if units > 1 and rated.high - rated.low > _WIDTH:
            return rated
        if units < 2:
            return replace(rated, low=rated.value, high=rated.value, why=ONE_ITEM)
        matches = self.wins[place] + self.wins[:, place]
        share = expected(self.strengths, matches, float(self.strengths[place]))
        rest = unseen(units, level)
        ends = (at_share(self.strengths, matches, end) for end in (share * (1 - rest), share + rest * (1 - share)))
        low, high = (self._points(end) for end in ends)
        return replace(rated, low=low, high=high, method="what unseen items could do, after Clopper and Pearson")

    def sweeps(self) -> dict[tuple[int, int], int]:
        """On how many items one beat another in every match, where one of the two is outside the core."""
        found = {}
        for place in self.outside:
            for other in np.flatnonzero(self.wins[place] + self.wins[:, place]).tolist():
                better, worse = (place, other) if self.wins[other, place] == 0 else (other, place)
                if self.wins[worse, better] == 0:
                    only = np.arange(len(self.wins)) == worse
                    found[better, worse] = self.battles.between(better, only)[1]
        return found

    def _wins_all(self, place: int) -> bool:
        return bool(self.wins[:, place].sum() == 0)

    def _opponents(self, place: int) -> Bools:
        """Those against whom every match went one way: who stands below one that is above the core, and so on."""
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
        held = 0.0 if anchor is None else float(self.strengths[anchor])
        return self.options.get("centre", 1000.0) + scale / math.log(base) * (strength - held)


def one_sided(strengths: Floats, matches: Floats, units: int, *, above: bool, level: float = 0.95) -> float:
    """The least log strength of one that won every match (or the greatest of one that lost every match).

    `matches` says how many it had against each opponent, `units` on how many items.

    >>> round(one_sided(np.array([0.0, 0.0]), np.array([0.0, 9.0]), 9, above=True), 2)
    0.93
    """
    rest = unseen(units, level)
    return at_share(strengths, matches, 1 - rest if above else rest)


def expected(strengths: Floats, matches: Floats, strength: float) -> float:
    """The share of its matches that one of this log strength would win.

    >>> expected(np.zeros(2), np.array([1.0, 3.0]), 0.0)
    0.5
    """
    chance = 1 / (1 + np.exp(np.clip(strengths - strength, -2 * _FARTHEST, 2 * _FARTHEST)))
    return float(matches @ chance) / float(matches.sum())


def at_share(strengths: Floats, matches: Floats, share: float) -> float:
    """The log strength that would win this share of its matches.

    >>> round(at_share(np.zeros(2), np.array([1.0, 3.0]), 0.75), 3)
    1.099
    """
    low, high = -_FARTHEST, _FARTHEST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if expected(strengths, matches, middle) > share else (middle, high)
    return (low + high) / 2


def penalised(wins: Floats, start: Floats, free: Bools) -> Floats:
    """Log strengths of the `free` under Jeffreys' penalty, the others held; where all are free, their mean is zero.

    >>> penalised(np.array([[0.0, 3.0], [0.0, 0.0]]), np.zeros(2), np.array([True, True])).round(3)
    array([ 0.973, -0.973])
    """
    matches, here = wins + wins.T, start.copy()
    held = 1 / len(here) if free.all() else 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
        bend = matches * chance * (1 - chance)
        information = np.diag(bend.sum(axis=1)) - bend + held
        inverse = np.zeros_like(wins)
        inverse[np.ix_(free, free)] = np.linalg.inv(information[np.ix_(free, free)])
        own = np.diag(inverse)
        # Jeffreys' penalty adds to each pair as many half-won matches as its leverage says.
        leverage = bend * (own[:, None] + own[None, :] - 2 * inverse)
        surprise = (wins + leverage / 2 - (matches + leverage) * chance).sum(axis=1)
        bent = (matches + leverage) * chance * (1 - chance)
        curve = np.diag(bent.sum(axis=1)) - bent + held
        step = np.zeros_like(here)
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], surprise[free])
        here += np.clip(step, -1, 1)
        if free.all():
            here -= here.mean()
        if float(np.abs(step).max()) < _CLOSE:
            return here
    raise Undefined(
        Note(
            "undefined.penalised-did-not-settle",
            "the ratings did not settle in {steps} steps of the penalised likelihood",
            steps=_STEPS,
        )
    )
