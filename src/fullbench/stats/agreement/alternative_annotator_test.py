"""Alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025, arXiv:2501.10970).

Each annotator is left out in turn. On every row, the judge and that annotator are compared with the other votes: who
agrees better with them? Agreement is the paper's: the share of the other votes with the same class (win, loss or tie),
or minus the root mean square distance to them for scores. The judge may lose by `epsilon` and still be preferred,
because it is cheaper and faster. Several verdicts of the judge on a row, such as both orders of a pair, are compared
one by one.

The winning rate is the share of annotators that the judge replaces. There are three outcomes:

- `yes`: the judge replaces at least half of the annotators, and agrees with people better than its own verdicts would
  if they were dealt to the rows at random. Without this condition, a judge that always says the same, or that answers
  at random, passes wherever people agree little.
- `no`: surely fewer than half. The judge is worse than more than half of the annotators by more than `epsilon`, or it
  agrees with people less than by chance, or it always gives the same verdict although people do not.
- `not enough data`: neither, with the number of items that would settle it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import SIGNED_SCALE
from fullbench.stats.array_checks import Bools, Floats, Ints
from fullbench.stats.intervals.cluster_intervals import Spread, cluster_mean, estimate_around
from fullbench.stats.intervals.normal_and_t_quantiles import normal_quantile

EPSILONS: Mapping[str, float] = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""Allowed loss against each kind of annotator: larger for more expensive people."""
ANNOTATORS = 3
ROWS = 30
"""Fewest votes of an annotator for a test."""
POWER = 0.8
"""Chance that the number of items needed settles the question, if the estimates are right."""
ALL_DECIDED = Note("no-interval.all-decided")
_NEAR = 1e-9

Outcome = Literal["yes", "no", "not enough data"]
Measure = Literal["same class", "distance"]


@dataclass(frozen=True)
class Verdicts:
    """Verdicts as columns: the row judged (0, 1, ...), the value, and who gave it.

    `swapped` is set where the second response of a pair was shown first. It is needed for the judge only.
    """

    row: Ints
    value: Floats
    rater: Ints
    swapped: Bools | None = None


@dataclass(frozen=True)
class Advantage:
    """One annotator left out: how much more often the judge agrees at least as well with the others.

    `p` tests "the judge is worse by epsilon", `p_worse` tests "it is worse by less than epsilon".
    """

    annotator: str
    gap: Estimate
    p: float
    p_worse: float
    is_replaced: bool
    is_better: bool
    """True if the judge is surely worse than this annotator by more than epsilon."""


@dataclass(frozen=True)
class Replacement:
    """Result over all annotators.

    `rate` is the winning rate: the share of annotators surely replaced; its upper end leaves out only annotators that
    are surely not replaced. `advantage` is the mean share of votes on which the judge agrees at least as well with the
    others. `beyond_chance` is the judge's agreement with single votes beyond that of its verdicts dealt at random
    (kappa, with squared distances for scores), or None if neither judge nor people vary. `items_needed` is the number
    of items that would settle the question, or None if it is settled or no number would.
    """

    annotators: tuple[Advantage, ...]
    rate: Estimate
    advantage: Estimate
    beyond_chance: Estimate | None
    is_constant: bool
    epsilon: float
    votes: int
    items: int
    items_needed: int | None
    left_out: tuple[str, ...]

    @property
    def outcome(self) -> Outcome:
        """Answer of the test."""
        beyond = self.beyond_chance
        if self.is_constant:
            return "no" if beyond is not None else "not enough data"
        if beyond is not None and not beyond.why:
            if beyond.high < 0:
                return "no"
            if self.rate.value >= 0.5 and beyond.low > 0:
                return "yes"
        return "no" if self.rate.high < 0.5 else "not enough data"


def alternative_annotator(
    judge: Verdicts,
    people: Verdicts,
    item: Ints,
    names: Sequence[str],
    *,
    measure: Measure,
    group: Ints | None = None,
    epsilon: float = 0.15,
    level: float = 0.05,
) -> Replacement:
    """Run the test. Rows of one item stay together.

    Args:
        judge: the judge's verdicts; several on a row count by the mean of their comparisons.
        people: single votes. Annotators with fewer than `ROWS` votes on rows that the judge and others judged are left
            out and listed.
        item: item of each row.
        names: name of each rater code in `people`.
        measure: `same class` for choices (values 1, 0 and 1/2 for a tie), `distance` for scores.
        group: scale of each row, if scores on several scales are mixed.
        epsilon: loss that is allowed.
        level: level of each multiple test over annotators, by Benjamini and Yekutieli.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=90)
    >>> crowd = Verdicts(np.tile(np.arange(90), 4), np.tile(truth, 4) + rng.normal(0, 1, 360), np.arange(360) // 90)
    >>> judge = Verdicts(np.arange(90), truth, np.zeros(90, int))
    >>> alternative_annotator(judge, crowd, np.arange(90), list("abcd"), measure="distance").outcome
    'yes'
    """
    is_class = measure == "same class"
    rows = len(item)
    likeness = _ClassLikeness(people, judge, rows) if is_class else _DistanceLikeness(people, rows)
    comparisons: list[tuple[str, Floats, Floats, Ints]] = []
    left_out: list[str] = []
    for code, name in enumerate(names):
        ours, theirs, row = _compare_with_annotator(judge, people, likeness, code, rows)
        if len(row) < ROWS:
            left_out.append(name)
        else:
            comparisons.append((name, ours, theirs, item[row]))
    if len(comparisons) < ANNOTATORS:
        raise Undefined(Note("replacement.few", people=ANNOTATORS, rows=ROWS, found=len(comparisons)))
    gaps = [_mean_over_items(ours - theirs, items) for _, ours, theirs, items in comparisons]
    counts = [len(np.unique(items)) for *_, items in comparisons]
    ps = [_p_values(gap, epsilon, count) for gap, count in zip(gaps, counts, strict=True)]
    replaced = _benjamini_yekutieli([p for p, _ in ps], level)
    better = _benjamini_yekutieli([p for _, p in ps], level)
    annotators = tuple(
        Advantage(row[0], gap, *p, is_replaced, is_better)
        for row, gap, p, is_replaced, is_better in zip(comparisons, gaps, ps, replaced, better, strict=True)
    )
    votes = sum(len(row[1]) for row in comparisons)
    advantage = _mean_over_items(
        np.concatenate([row[1] for row in comparisons]), np.concatenate([row[3] for row in comparisons])
    )
    share = sum(replaced) / len(replaced)
    most = 1 - sum(better) / len(better)
    rate = Estimate(share, share, most, votes, 1 - level, "tests of single annotators")
    if share == most:
        rate = Estimate.bare(share, votes, ALL_DECIDED)
    beyond_chance, is_constant = _agreement_beyond_chance(judge, people, item, is_class=is_class, group=group)
    items = len(np.unique(np.concatenate([row[3] for row in comparisons])))
    replacement = Replacement(
        annotators, rate, advantage, beyond_chance, is_constant, epsilon, votes, items, None, tuple(left_out)
    )  # fmt: skip
    if replacement.outcome != "not enough data":
        return replacement
    return Replacement(**{**vars(replacement), "items_needed": _items_needed(replacement, counts, level)})


class _ClassLikeness:
    """Share of the other votes with the same class."""

    def __init__(self, people: Verdicts, judge: Verdicts, rows: int) -> None:
        self.classes = np.unique(np.concatenate([people.value, judge.value]))
        self.counts = self._count(people.row, people.value, rows)

    def _count(self, row: Ints, value: Floats, rows: int) -> Floats:
        flat = row * len(self.classes) + np.searchsorted(self.classes, value)
        counts = np.bincount(flat, minlength=rows * len(self.classes)).reshape(rows, len(self.classes))
        return counts.astype(np.float64)

    def without(self, row: Ints, value: Floats) -> Floats:
        """Return per row what `of` needs, without one annotator's votes."""
        return self.counts - self._count(row, value, len(self.counts))

    def sizes(self, others: Floats) -> Floats:
        total: Floats = others.sum(axis=1)
        return total

    def of(self, others: Floats, row: Ints, value: Floats) -> Floats:
        same: Floats = others[row, np.searchsorted(self.classes, value)] / self.sizes(others)[row]
        return same


class _DistanceLikeness:
    """Minus the root mean square distance to the other votes, from their number, sum and sum of squares."""

    def __init__(self, people: Verdicts, rows: int) -> None:
        self.rows = rows
        self.centre = float(people.value.mean()) if len(people.value) else 0.0
        self.moments = self._moments(people.row, people.value)

    def _moments(self, row: Ints, value: Floats) -> Floats:
        value = value - self.centre
        return np.column_stack([np.bincount(row, power, self.rows) for power in (value**0, value, value**2)])

    def without(self, row: Ints, value: Floats) -> Floats:
        return self.moments - self._moments(row, value)

    def sizes(self, others: Floats) -> Floats:
        counts: Floats = others[:, 0]
        return counts

    def of(self, others: Floats, row: Ints, value: Floats) -> Floats:
        count, total, squares = others[row].T
        value = value - self.centre
        distance: Floats = np.sqrt(np.maximum(value**2 - (2 * value * total - squares) / count, 0.0))
        return -distance


def _compare_with_annotator(
    judge: Verdicts, people: Verdicts, likeness: _ClassLikeness | _DistanceLikeness, code: int, rows: int
) -> tuple[Floats, Floats, Ints]:
    """Per vote of one annotator: share of the judge's verdicts that agree at least as well, the reverse, the row."""
    is_own = people.rater == code
    others = likeness.without(people.row[is_own], people.value[is_own])
    verdict_counts = np.bincount(judge.row, minlength=rows)
    is_used = is_own & (likeness.sizes(others)[people.row] > 0.5) & (verdict_counts[people.row] > 0)
    row, value = people.row[is_used], people.value[is_used]
    by_row = np.argsort(judge.row, kind="stable")
    starts = np.cumsum(verdict_counts) - verdict_counts
    times = verdict_counts[row]
    vote = np.repeat(np.arange(len(row)), times)
    place = np.arange(len(vote)) - np.repeat(np.cumsum(times) - times, times) + starts[row][vote]
    ours = likeness.of(others, row[vote], judge.value[by_row[place]])
    theirs = likeness.of(others, row, value)[vote]
    wins, losses = (
        np.bincount(vote, is_at_least, len(row)) / np.maximum(times, 1)
        for is_at_least in (ours >= theirs - _NEAR, theirs >= ours - _NEAR)
    )
    return wins, losses, row


def _agreement_beyond_chance(
    judge: Verdicts, people: Verdicts, item: Ints, *, is_class: bool, group: Ints | None
) -> tuple[Estimate | None, bool]:
    """Return kappa of the judge with single votes, and True if the judge always gives the same verdict.

    Classes are those of the first response shown, so a judge that always takes the first place is constant. Each row
    counts once.
    """
    rows = len(item)
    votes = np.bincount(people.row, minlength=rows)
    use = votes[judge.row] > 0
    row, value = judge.row[use], judge.value[use]
    weight = 1.0 / np.bincount(row, minlength=rows)[row]
    swapped = np.zeros(len(row), dtype=np.bool_) if judge.swapped is None else judge.swapped[use]
    _, owner = np.unique(item[row], return_inverse=True)
    if is_class:
        classes = np.unique(np.concatenate([people.value, judge.value, 1 - people.value, 1 - judge.value]))
        flat = people.row * len(classes) + np.searchsorted(classes, people.value)
        vote_counts = np.bincount(flat, minlength=rows * len(classes)).reshape(rows, len(classes))
        shares = (vote_counts / np.maximum(votes, 1)[:, None])[row]
        shares[swapped] = shares[swapped][:, ::-1]
        ours = np.searchsorted(classes, np.where(swapped, 1 - value, value))
        hot = np.eye(len(classes))[ours]
        columns = [weight, weight * shares[np.arange(len(row)), ours]]
        columns += [weight * part for table in (hot, shares) for part in table.T]
        is_constant = len(np.unique(ours)) < 2
    else:
        scale = np.zeros(rows, dtype=np.int64) if group is None else group
        middle = np.bincount(scale[people.row], people.value) / np.maximum(np.bincount(scale[people.row]), 1)
        theirs = people.value - middle[scale[people.row]]
        mean, square = (np.bincount(people.row, part, rows) / np.maximum(votes, 1) for part in (theirs, theirs**2))
        mark = value - middle[scale[row]]
        columns = [weight * part for part in (mark**0, mark, mark**2, mean[row], square[row], mark * mean[row])]
        is_constant = all(len(np.unique(value[scale[row] == code])) < 2 for code in np.unique(scale[row]))
    sums = np.column_stack([np.bincount(owner, column) for column in columns])
    total = sums.sum(axis=0)
    kappa = _kappa(np.concatenate([total[None], total[None] - sums]), is_class=is_class)
    if not np.isfinite(kappa).all():
        return None, is_constant
    spread = Spread.from_moves(kappa[1:] - kappa[0])
    return estimate_around(float(kappa[0]), len(row), spread, within=SIGNED_SCALE), is_constant


def _kappa(sums: Floats, *, is_class: bool) -> Floats:
    """Return 1 - observed disagreement / disagreement of verdicts dealt at random, per row of sums."""
    # Without its only item nothing is left: not a number, so that no interval is given.
    parts = np.divide(sums, sums[:, :1], out=np.full_like(sums, np.nan), where=sums[:, :1] > 0).T
    if is_class:
        ours, theirs = np.split(parts[2:], 2)
        observed, expected = 1 - parts[1], 1 - (ours * theirs).sum(axis=0)
    else:
        _, mark, mark_square, mean, square, product = parts
        observed, expected = mark_square - 2 * product + square, mark_square - 2 * mark * mean + square
    kappa = np.full(len(sums), np.nan)
    np.divide(expected - observed, expected, out=kappa, where=expected > 1e-12)
    return kappa


def _mean_over_items(values: Floats, cluster: Ints) -> Estimate:
    _, place = np.unique(cluster, return_inverse=True)
    sums, sizes = np.bincount(place, values), np.bincount(place)
    return cluster_mean(sums.astype(np.float64), sizes.astype(np.float64))


def _standard_error(estimate: Estimate, items: int) -> float:
    from scipy.special import stdtrit

    if estimate.why:
        return 0.0
    return (estimate.high - estimate.low) / 2 / float(stdtrit(items - 1, (1 + estimate.level) / 2))


def _p_values(gap: Estimate, epsilon: float, items: int) -> tuple[float, float]:
    """P-values of "worse by epsilon or more" and of "worse by less than epsilon", by Student's t over items."""
    from scipy.special import stdtr

    distance, error = gap.value + epsilon, _standard_error(gap, items)
    if error == 0:
        return (0.0 if items >= ROWS and distance > 0 else 1.0), (0.0 if items >= ROWS and distance < 0 else 1.0)
    return float(stdtr(items - 1, -distance / error)), float(stdtr(items - 1, distance / error))


def _items_needed(replacement: Replacement, counts: Sequence[int], level: float) -> int | None:
    """Return the number of items at which the answer is `yes` or `no` in `POWER` of studies, from these estimates.

    Annotators are taken one by one. The test over all of them is by Benjamini and Yekutieli, so half of them must pass
    at about half of the level over the harmonic sum.
    """
    size = len(counts)
    half = math.ceil(size / 2)
    harmonic = sum(1 / place for place in range(1, size + 1))

    def needed(value: float, error: float, items: int, tail: float) -> float:
        if value <= 0:
            return math.inf
        return items * ((normal_quantile(1 - tail) + normal_quantile(POWER)) * error / value) ** 2

    rows = [(one.gap.value + replacement.epsilon, _standard_error(one.gap, n), n)
            for one, n in zip(replacement.annotators, counts, strict=True)]  # fmt: skip
    for_yes = sorted(needed(value, error, n, level * half / size / harmonic) for value, error, n in rows)[half - 1]
    most = size // 2 + 1
    for_no = sorted(needed(-value, error, n, level * most / size / harmonic) for value, error, n in rows)[most - 1]
    beyond = replacement.beyond_chance
    if beyond is None or beyond.why:
        for_yes = math.inf
    else:
        units = beyond.units or replacement.items
        error = (beyond.high - beyond.low) / 2 / normal_quantile(0.975)
        for_yes = max(for_yes, needed(beyond.value, error, units, 0.025))
    fewest = min(for_yes, for_no)
    return None if math.isinf(fewest) else max(replacement.items + 1, math.ceil(fewest))


def _benjamini_yekutieli(ps: list[float], level: float) -> list[bool]:
    """Benjamini and Yekutieli 2001 (doi:10.1214/aos/1013699998), valid for any dependence of the tests."""
    from scipy.stats import false_discovery_control

    adjusted_p_values = false_discovery_control(np.array(ps), method="by")
    return [bool(p <= level) for p in adjusted_p_values]
