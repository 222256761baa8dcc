"""From verdicts to matches: every two responses that a judge compared, and the rule that joins two orders.

The rule is named, never silent. A verdict without marks is no result under any rule: it never becomes a tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from fullbench.columns.column_builder import columns_of, in_one
from fullbench.columns.verdict_columns import Columns, grouped, is_constant
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.errors import InputError

Rule = Literal["mean", "both-agree", "majority", "each"]
RULES: tuple[Rule, ...] = get_args(Rule)
SAID: dict[Rule, str] = {
    "mean": Note("orders.mean", "the mean of both orders"),
    "both-agree": Note("orders.both-agree", "who won in both orders won, anything else is a tie"),
    "majority": Note("orders.majority", "who won in one order won unless the other order says the opposite"),
    "each": Note("orders.each", "every verdict is a match of its own"),
}
"""What each rule does, in words."""
CALLED: dict[Rule, str] = {
    "mean": Note("orders.name.mean", "mean"),
    "both-agree": Note("orders.name.both-agree", "both-agree"),
    "majority": Note("orders.name.majority", "majority"),
    "each": Note("orders.name.each", "each"),
}
"""What each rule is called."""

Codes = npt.NDArray[Any]
"""Whole numbers in as few bytes as they need: widen them before arithmetic."""
_BLOCK = 1 << 13
"""So many comparisons at once: few enough that what is needed on the way is nothing beside what comes of it."""
_STEP = 1 << 16
"""So many comparisons of marks given apart in one step: many, for steps are many where items are few."""

Outcomes = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Match:
    """What one judge made of two responses to an item: 1 when `first` (by name) won, 0 when it lost, 0.5 for a tie.

    Under the rule "mean" it is the share of a win. `samples` tells which answers of the two were compared.
    """

    item: str
    first: str
    second: str
    outcome: float
    samples: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Rows:
    """Comparisons as arrays: the contestant whose name sorts first, the other, and what the first won.

    `ahead` is 1 where the first was also shown first, 0 where it was shown second, -1 where both were marked apart.
    """

    item: Codes
    one: Codes
    two: Codes
    outcome: Outcomes
    samples: tuple[Codes, Codes]
    ahead: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.item)

    def where(self, chosen: Bools | npt.NDArray[np.intp]) -> Rows:
        first, second = self.samples
        return Rows(self.item[chosen], self.one[chosen], self.two[chosen], self.outcome[chosen],
                    (first[chosen], second[chosen]), self.ahead[chosen])  # fmt: skip

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """The comparisons of several parts, one after the other; the parts are let go, column by column."""
        item, one, two, outcome, ahead, first, second = (
            [part.item for part in parts],
            [part.one for part in parts],
            [part.two for part in parts],
            [part.outcome for part in parts],
            [part.ahead for part in parts],
            [part.samples[0] for part in parts],
            [part.samples[1] for part in parts],
        )
        parts.clear()
        return cls(
            in_one(item), in_one(one), in_one(two), in_one(outcome), (in_one(first), in_one(second)), in_one(ahead)
        )


@dataclass(frozen=True)
class Matches:
    """All matches of one judge under one rule, and what they leave out.

    `rows` are the matches, `plays` the verdicts behind them, `pair` the number of the pair that each play belongs to.
    `half_heard` counts pairs that lack one order or a ruling in it: no match under a rule that needs both, a match of
    one order under the others. `set_aside` counts verdicts that were set aside because a contestant met itself.
    """

    judge: str
    rule: Rule
    names: tuple[str, ...]
    items: tuple[str, ...]
    rows: Rows
    plays: Rows
    pair: Codes
    half_heard: int
    set_aside: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def matches(self) -> tuple[Match, ...]:
        rows = self.rows
        parts = zip(rows.item.tolist(), rows.one.tolist(), rows.two.tolist(), rows.outcome.tolist(),
                    rows.samples[0].tolist(), rows.samples[1].tolist(), strict=True)  # fmt: skip
        return tuple(
            Match(self.items[item], self.names[first], self.names[second], won, (here, there))
            for item, first, second, won, here, there in parts
        )

    @property
    def ties(self) -> int:
        return int((self.rows.outcome == 0.5).sum())

    def only(self, items: Iterable[str]) -> Matches:
        """The matches on some items."""
        wanted = set(items)
        known = np.array([name in wanted for name in self.items] or [False])
        chosen = known[self.plays.item]
        return replace(
            self, rows=self.rows.where(known[self.rows.item]), plays=self.plays.where(chosen), pair=self.pair[chosen]
        )


def one_judge(judges: Iterable[str], judge: str | None = None) -> str:
    """The judge meant; verdicts of several judges never mix by mistake."""
    known = list(judges)
    if judge is None:
        if len(known) == 1:
            return known[0]
        names = ", ".join(known) or "none"
        raise InputError(f"a leaderboard belongs to one judge; the verdicts are those of {names}: name one")
    if judge not in known:
        raise InputError(f"there is no verdict of {judge!r}; judges there: {', '.join(known) or 'none'}")
    return judge


def settle(verdicts: Columns | Record, judge: str | None = None, rule: Rule = "mean") -> Matches:
    """The matches of one judge under one criterion.

    `mean`: the mean of the orders that were ruled on. `both-agree`: who won in both orders won, anything else is a tie.
    `majority`: a winner named in one order wins when the other order ties; opposite ones tie. `each`: every verdict is
    a match of its own. Under `both-agree` and `majority` a pair without a ruling in each order is no match yet. Marks
    given apart have no order: they are compared like marks given together, sample i with sample i.
    """
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
    columns = columns_of(verdicts) if isinstance(verdicts, Record) else verdicts
    who = one_judge(columns.judges(), judge)
    ruled = columns.of(judge=who).latest()
    criteria = np.unique(ruled.criterion)
    if len(criteria) > 1:
        named = ", ".join(ruled.names["criterion"][code] for code in criteria)
        raise InputError(f"a leaderboard belongs to one criterion; the verdicts are on {named}: name one")
    itself = ruled.meeting_themselves()
    ruled = ruled.rows(~itself)
    plays, pair = _plays(ruled)
    names, plays = _renamed(ruled, plays)
    rows, half = _joined(plays, pair, rule)
    return Matches(who, rule, names, ruled.names["item"], rows, plays, pair, half, int(itself.sum()))


def _renamed(columns: Columns, plays: Rows) -> tuple[tuple[str, ...], Rows]:
    """Contestants numbered among those that this judge saw, faults included."""
    known = np.unique(columns.contestant)
    place = np.zeros(len(columns.names["contestant"]) or 1, dtype=np.min_scalar_type(max(len(known) - 1, 0)))
    place[known] = np.arange(len(known))
    names = tuple(columns.names["contestant"][code] for code in known)
    return names, replace(plays, one=place[plays.one], two=place[plays.two])


def _plays(columns: Columns) -> tuple[Rows, Codes]:
    """Every comparison that a verdict makes, and the number of the pair that it belongs to."""
    parts = [*_together(columns), *_apart(columns)]
    if not parts:
        none = np.zeros(0, dtype=np.int32)
        empty = Rows(none, none, none, np.zeros(0), (none, none), none.astype(np.int8))
        return empty, np.zeros(0, dtype=np.int64)
    compared, sittings = [part for part, _ in parts], [sat for _, sat in parts]
    parts.clear()
    # Marks given apart have no second order: each comparison of theirs is a pair of its own.
    if not any((part.ahead >= 0).any() for part in compared):
        sittings.clear()
        rows = Rows.joined(compared)
        return rows, np.arange(len(rows), dtype=np.uint32)
    rows, sitting = Rows.joined(compared), in_one(sittings)
    ordered = rows.ahead >= 0
    if ordered.all():
        code, first = grouped(sitting, rows.one, rows.two, *rows.samples)
        pair = first[code]
    else:
        own, part = np.flatnonzero(ordered), rows.where(ordered)
        code, first = grouped(sitting[own], part.one, part.two, *part.samples)
        pair = np.arange(len(rows), dtype=np.int64)
        pair[own] = own[first][code]
    del sitting, code, first
    return rows, grouped(pair)[0].astype(np.uint32)


def _sittings(columns: Columns) -> Codes:
    """A number for each item, ballot, trial and rater: what is compared, or joined over orders, shares it."""
    code, _ = grouped(columns.item, columns.ballot, columns.trial, columns.rater)
    return code.astype(np.uint32)


def _together(columns: Columns) -> Iterator[tuple[Rows, Codes]]:
    """Two responses of one verdict after the other."""
    sizes = columns.shown
    several = np.unique(sizes[sizes > 1]).tolist()
    sitting = _sittings(columns) if several else sizes
    for size in several:
        index = np.flatnonzero((sizes == size) & (columns.fault < 0)).astype(columns.start.dtype)
        at = columns.start[index]
        for here, there in combinations(range(size), 2):
            yield _compared(columns, index, at + here, at + there, together=True), sitting[index]


def _apart(columns: Columns) -> Iterator[tuple[Rows, Codes]]:
    """Two responses that one sitting marked one at a time."""
    single = np.flatnonzero((columns.shown == 1) & (columns.fault < 0))
    if not len(single):
        return
    sitting, at = _sittings(columns)[single], columns.start[single]
    names, numbers = columns.contestant[at], columns.sample[at]
    code, _ = grouped(sitting, names)
    several = np.bincount(code)[code] > 1
    order = np.lexsort((numbers, names, sitting))
    _, begin, sizes = np.unique(sitting[order], return_index=True, return_counts=True)
    for size in np.unique(sizes[sizes > 1]).tolist():
        panel = order[begin[sizes == size][:, None] + np.arange(size)].T
        lefts, rights = np.triu_indices(size, 1)
        together = max(1, _STEP // panel.shape[1])  # few items make pairs too short to be worth a step each
        for pair in range(0, len(lefts), together):
            here, there = panel[lefts[pair : pair + together]].ravel(), panel[rights[pair : pair + together]].ravel()
            meet = (names[here] != names[there]) & (
                (numbers[here] == numbers[there]) | ~(several[here] & several[there])
            )
            here, there = here[meet], there[meet]
            yield _compared(columns, single[here], at[here], at[there], together=False), sitting[here]


def _compared(columns: Columns, row: Any, here: Any, there: Any, *, together: bool) -> Rows:
    """The comparisons of two columns of responses, each turned so that the name that sorts first stands first."""
    size, who = len(row), columns.contestant.dtype
    one, two, outcome = np.empty(size, dtype=who), np.empty(size, dtype=who), np.empty(size)
    alike = is_constant(columns.sample)
    samples = np.empty((2, 0 if alike else size), dtype=columns.sample.dtype)
    ahead = np.empty(size, dtype=np.int8) if together else np.broadcast_to(np.int8(-1), size)
    # By the block: what is needed on the way would take several times the memory of what comes of it.
    for start in range(0, size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        ours, theirs = here[rows], there[rows]
        left, right = columns.contestant[ours], columns.contestant[theirs]
        turned = left > right
        one[rows], two[rows] = np.where(turned, right, left), np.where(turned, left, right)
        gap = columns.mark[ours] - columns.mark[theirs]
        outcome[rows] = (np.sign(np.where(turned, -gap, gap)) + 1) / 2
        if not alike:
            first, second = columns.sample[ours], columns.sample[theirs]
            samples[:, rows] = np.where(turned, second, first), np.where(turned, first, second)
        if together:
            ahead[rows] = ~turned
    # Where nobody answered twice, the samples are one value.
    both = (np.broadcast_to(columns.sample[:1], size),) * 2 if alike else (samples[0], samples[1])
    return Rows(columns.item[row], one, two, outcome, both, ahead)


def means_by_order(plays: Rows, pair: Codes) -> Outcomes:
    """What the first won of each pair in the order that shows it second, and in the other; NaN where it was not."""
    size = int(pair.max()) + 1
    means = np.full((2, size), np.nan)
    for order in (0, 1):
        in_order = plays.ahead == order
        of_pair = pair[in_order]
        heard = np.bincount(of_pair, minlength=size)
        total = np.bincount(of_pair, plays.outcome[in_order], size)
        np.divide(total, heard, out=means[order], where=heard > 0)
    return means


def _joined(plays: Rows, pair: Codes, rule: Rule) -> tuple[Rows, int]:
    """One result for each pair, and how many pairs lack an order."""
    if not (plays.ahead >= 0).any():
        # Marks given apart have no order to join: each comparison is a match as it stands, under every rule.
        return plays, 0
    size = int(pair.max()) + 1
    means = means_by_order(plays, pair)
    alone = plays.ahead < 0
    apart = np.bincount(pair[alone], minlength=size) > 0
    half = (np.isnan(means[0]) != np.isnan(means[1])) & ~apart
    if rule == "each":
        return plays, int(half.sum())
    if apart.any():
        means[:, apart] = np.bincount(pair[alone], plays.outcome[alone], size)[apart]
    if rule == "mean":
        known = ~np.isnan(means)
        outcome = np.where(known, means, 0.0).sum(axis=0) / known.sum(axis=0)
    else:
        votes = np.sign(means - 0.5).sum(axis=0)
        outcome = np.where(np.abs(votes) == 2, (votes / 2 + 1) / 2, 0.5)
        if rule == "majority":
            outcome = (np.sign(votes) + 1) / 2
    del means
    _, first = grouped(pair)
    rows = replace(plays.where(first), outcome=outcome)
    if rule == "mean":
        return rows, int(half.sum())
    return rows.where(~half), int(half.sum())
