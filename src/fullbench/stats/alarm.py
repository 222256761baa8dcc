"""A sequential alarm: has a judge changed since its baseline?

Canary cases are heard again and again; each call agrees with the ruling of the baseline or not. The alarm is Page's
cumulative sum (Biometrika 41, 1954, doi:10.1093/biomet/41.1-2.100): a disagreement adds what it speaks for a share that
is higher by `shift`, an agreement takes off what it speaks against it, never below zero. Steps are rounded to whole
numbers, so that the chance of a false alarm within a horizon can be added up exactly; that chance is averaged over what
the baseline leaves open of the true share (Jeffreys' posterior). Two sums watch side by side, for a large and for a
small change. A third watches cases: a judge that was replaced rules otherwise on the same cases each time, while one
that is merely unsteady seldom differs twice in a row on one case. So hearings of each case are taken two by two, and
what is counted is that both differ. And a single case on which the judge never differed in the baseline rings alone
once it differs `IN_A_ROW` times in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log

import numpy as np

from fullbench.errors import InputError
from fullbench.stats.arrays import Floats

SHIFTS = (0.10, 0.05)
"""The changes that are watched for: points of agreement lost."""
HORIZON = 2_000
"""Over so many calls false alarms are rare."""
FALSE_ALARMS = 0.01
CAUTIOUS = 0.2 * FALSE_ALARMS
"""What each sum is allowed: less than its half, since a baseline that was lucky makes false alarms more frequent."""
TWICE_SHIFT = 0.05
TWICE_CAUTIOUS = 0.1 * FALSE_ALARMS
"""What the sum of pairs of hearings is allowed."""
IN_A_ROW = 5
"""At a noise of 5 % a case differs so often in a row by chance in one of 3,000 runs of 2,000 calls; the longest is
chosen that still fits into the eight hearings that each of 60 cases has in 500 calls."""
_DRAWS = 24
_HIGHEST = 4_000


@dataclass(frozen=True)
class Limit:
    """One sum: what a disagreement adds (an agreement takes 1 off), and where the alarm rings."""

    step: int
    ring: int


@lru_cache(maxsize=512)
def limit(differed: int, calls: int, shift: float, chance: float = CAUTIOUS, horizon: int = HORIZON) -> Limit:
    """The sum that watches for a shift, after a baseline in which so many of so many calls differed.

    >>> limit(9, 300, 0.10).step
    13
    """
    from scipy.special import betaincinv

    if not 0 <= differed <= calls or calls < 1:
        raise InputError(f"a baseline has some calls, of which none or more differed; found {differed} of {calls}")
    share = (differed + 0.5) / (calls + 1)
    raised = min(0.95, share + shift)
    step = max(1, round(log(raised / share) / -log((1 - raised) / (1 - share))))
    levels = (np.arange(_DRAWS) + 0.5) / _DRAWS
    shares = np.asarray(betaincinv(differed + 0.5, calls - differed + 0.5, levels))
    return Limit(step, _lowest_ring(shares, step, chance, horizon))


def _lowest_ring(shares: Floats, step: int, chance: float, horizon: int) -> int:
    """The lowest place to ring at with false alarms no more frequent than `chance`.

    False alarms fall about exponentially with the place: the next place to try lies on the line through the last two
    that were tried, on a logarithmic scale.
    """
    low, high = step, 4 * step
    before, last = (step, 1.0), (high, _false_alarms(shares, step, high, horizon))
    while last[1] > chance and high < _HIGHEST:
        low, high = high + 1, 2 * high
        before, last = last, (high, _false_alarms(shares, step, high, horizon))
    while low < high:
        place = (low + high) // 2
        if 0 < last[1] != before[1] > 0:
            slope = log(last[1] / before[1]) / (last[0] - before[0])
            place = min(high - 1, max(low, last[0] + ceil(log(chance / last[1]) / slope)))
        before, last = last, (place, _false_alarms(shares, step, place, horizon))
        if last[1] <= chance:
            high = place
        else:
            low = place + 1
    return low


def _false_alarms(shares: Floats, step: int, ring: int, horizon: int = HORIZON) -> float:
    """The chance that the sum reaches `ring` within the horizon, averaged over shares."""
    states, moved = np.zeros((len(shares), ring)), np.zeros((len(shares), ring))
    states[:, 0] = 1.0
    differ, agree = shares[:, None], 1 - shares[:, None]
    raised = np.empty((len(shares), max(0, ring - step)))
    for _ in range(horizon):
        np.multiply(agree, states[:, 1:], out=moved[:, :-1])
        moved[:, -1] = 0.0
        moved[:, 0] += (agree * states[:, :1])[:, 0]
        if step < ring:
            np.multiply(differ, states[:, :-step], out=raised)
            moved[:, step:] += raised
        states, moved = moved, states
    return float(1 - states.sum(axis=1).mean())


def rings(differs: Sequence[bool] | Floats, limits: Sequence[Limit]) -> int:
    """At which call the alarm rings, counted from 1; 0 where it does not.

    >>> rings([True] * 9, [Limit(13, 60)]), rings([False] * 99, [Limit(13, 60)])
    (5, 0)
    """
    sums = [0] * len(limits)
    for call, differed in enumerate(differs, start=1):
        for place, watch in enumerate(limits):
            sums[place] = max(0, sums[place] + (watch.step if differed else -1))
            if sums[place] >= watch.ring:
                return call
    return 0


def limits(differed: int, calls: int) -> tuple[Limit, ...]:
    """The sums for all changes that are watched for."""
    return tuple(limit(differed, calls, shift) for shift in SHIFTS)


def alarm_call(baseline: Mapping[str, Sequence[bool]], later: Sequence[tuple[str, bool]]) -> int:
    """At which later call the alarm rings, counted from 1; 0 where it does not.

    `baseline` says for each case which of its hearings differed from the first ruling, in their order; `later` has the
    case of every call since, and whether it differed.

    >>> alarm_call({"a": [False] * 9, "b": [False] * 9}, [("a", True), ("b", False)] * 20)
    9
    """
    hearings = [differed for heard in baseline.values() for differed in heard]
    if not hearings or not later:
        return 0
    rung = [rings([differed for _, differed in later], limits(sum(hearings), len(hearings)))]
    rung.append(_in_a_row({case for case, heard in baseline.items() if not any(heard)}, later))
    twice_before = [both for heard in baseline.values() for both in _twice(heard)]
    if twice_before:
        heard_once: dict[str, bool] = {}
        twice, calls = [], []
        for call, (case, differed) in enumerate(later, start=1):
            if case in heard_once:
                twice.append(heard_once.pop(case) and differed)
                calls.append(call)
            else:
                heard_once[case] = differed
        watch = limit(sum(twice_before), len(twice_before), TWICE_SHIFT, TWICE_CAUTIOUS, HORIZON // 2)
        rung.append(calls[place - 1] if (place := rings(twice, [watch])) else 0)
    return min((call for call in rung if call), default=0)


def _in_a_row(steady: Set[str], later: Sequence[tuple[str, bool]]) -> int:
    """The call at which one of these cases has differed so often in a row; 0 where none does."""
    rows: dict[str, int] = {}
    for call, (case, differed) in enumerate(later, start=1):
        rows[case] = rows.get(case, 0) + 1 if differed else 0
        if rows[case] >= IN_A_ROW and case in steady:
            return call
    return 0


def _twice(heard: Sequence[bool]) -> list[bool]:
    """Of hearings taken two by two, whether both differed."""
    return [first and second for first, second in zip(heard[::2], heard[1::2], strict=False)]
