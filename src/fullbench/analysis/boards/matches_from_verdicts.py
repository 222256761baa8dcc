"""Matches from verdicts: every two responses that a judge compared, and the rule that joins two orders.

The rule is always named in the output. A verdict without marks gives no result under any rule; it is never a tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from fullbench.columns.column_builder import columns_from_verdicts, join_blocks
from fullbench.columns.verdict_columns import Columns, group_rows, is_constant
from fullbench.core.ballot import is_graded
from fullbench.core.rubric import is_less_better
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError

Rule = Literal["mean", "both-agree", "majority", "each"]
RULES: tuple[Rule, ...] = get_args(Rule)
RULE_DESCRIPTIONS: dict[Rule, str] = {
    "mean": Note("orders.mean"),
    "both-agree": Note("orders.both-agree"),
    "majority": Note("orders.majority"),
    "each": Note("orders.each"),
}
RULE_NAMES: dict[Rule, str] = {
    "mean": Note("orders.name.mean"),
    "both-agree": Note("orders.name.both-agree"),
    "majority": Note("orders.name.majority"),
    "each": Note("orders.name.each"),
}

Codes = npt.NDArray[Any]
"""Integers of the smallest sufficient dtype. Widen them before arithmetic, or they overflow."""
_BLOCK = 1 << 13
"""Comparisons per block, so few that temporary arrays are small compared with the result."""
_STEP = 1 << 16
"""Comparisons of separate marks per step. Large, because few items lead to many steps."""
_NEAR = 1e-9
"""Marks of graded choices are shares of one; sixths are not exact."""

Outcomes = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MatchRows:
    """Comparisons as arrays: the contestant whose name sorts first, the other one, and the outcome of the first.
    `ahead` is 1 if the first was also shown first, 0 if it was shown second, -1 if both were marked separately.
    `weight` is how often each counts in ratings; None: once each.
    """

    item: Codes
    first: Codes
    second: Codes
    outcome: Outcomes
    samples: tuple[Codes, Codes]
    ahead: npt.NDArray[np.int8]
    weight: Outcomes | None = None

    def __len__(self) -> int:
        return len(self.item)

    def where(self, selection: Bools | npt.NDArray[np.intp]) -> MatchRows:
        first, second = self.samples
        return MatchRows(self.item[selection], self.first[selection], self.second[selection], self.outcome[selection],
                    (first[selection], second[selection]), self.ahead[selection],
                    None if self.weight is None else self.weight[selection])  # fmt: skip

    @classmethod
    def concatenate(cls, parts: list[MatchRows]) -> MatchRows:
        """Concatenate the parts column by column, and release each part's column to save memory."""
        item, first_contestants, second_contestants, outcome, ahead, first, second = (
            [part.item for part in parts],
            [part.first for part in parts],
            [part.second for part in parts],
            [part.outcome for part in parts],
            [part.ahead for part in parts],
            [part.samples[0] for part in parts],
            [part.samples[1] for part in parts],
        )
        weights = [part.weight for part in parts if part.weight is not None]
        parts.clear()
        return cls(
            join_blocks(item),
            join_blocks(first_contestants),
            join_blocks(second_contestants),
            join_blocks(outcome),
            (join_blocks(first), join_blocks(second)),
            join_blocks(ahead),
            join_blocks(weights) if weights else None,
        )


@dataclass(frozen=True)
class Matches:
    """All matches of one judge under one rule, and counts of what they leave out.

    `rows` are the matches, `plays` the comparisons behind them, `pair` the pair number of each play. `one_order_pairs`
    counts pairs that lack a usable verdict in one order. Under rules that need both orders they give no match, under
    the others a match from one order. `set_aside` counts verdicts that compared a contestant with itself. If strong
    preferences count more than once, `rated` has the matches as ratings count them.
    """

    judge: str
    rule: Rule
    names: tuple[str, ...]
    items: tuple[str, ...]
    rows: MatchRows
    plays: MatchRows
    pair: Codes
    one_order_pairs: int
    set_aside: int
    rated: MatchRows | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def played(self) -> set[tuple[str, str, str]]:
        """Return the item and both contestants of every match; the name that sorts first comes first."""
        rows = self.rows
        codes = zip(rows.item.tolist(), rows.first.tolist(), rows.second.tolist(), strict=True)
        return {(self.items[item], self.names[first], self.names[second]) for item, first, second in codes}

    @property
    def ties(self) -> int:
        return int((self.rows.outcome == 0.5).sum())

    def counts(self) -> list[int]:
        """Return the number of matches of each contestant."""
        counts = np.zeros(len(self.names), dtype=np.int64)
        # Block by block, because `np.bincount` widens one-byte codes to eight bytes.
        for codes in (self.rows.first, self.rows.second):
            for start in range(0, len(codes), _STEP):
                counts += np.bincount(codes[start : start + _STEP], minlength=len(self.names))
        return [int(count) for count in counts]

    def only(self, items: Iterable[str]) -> Matches:
        """Return the matches on some items."""
        item_set = set(items)
        is_included = np.array([name in item_set for name in self.items] or [False])
        play_mask = is_included[self.plays.item]
        return replace(
            self,
            rows=self.rows.where(is_included[self.rows.item]),
            rated=None if self.rated is None else self.rated.where(is_included[self.rated.item]),
            plays=self.plays.where(play_mask),
            pair=self.pair[play_mask],
        )


def select_judge(judges: Iterable[str], judge: str | None = None) -> str:
    """Return the given judge, or the only one. Raise if the choice is ambiguous or unknown."""
    judge_names = list(judges)
    if judge is None:
        if len(judge_names) == 1:
            return judge_names[0]
        if not judge_names:
            raise InputError("There is no verdict of any judge.")
        names = ", ".join(judge_names)
        raise InputError(f"This shows one judge, but there are {len(judge_names)}: {names}. Choose one.")
    if judge not in judge_names:
        raise InputError(f"there is no verdict of {judge!r}; judges there: {', '.join(judge_names) or 'none'}")
    return judge


def build_matches(
    verdicts: Columns | Record, judge: str | None = None, rule: Rule = "mean", strong: float = 1.0
) -> Matches:
    """Return the matches of one judge under one criterion.

    `mean`: the mean of the orders that were judged. `both-agree`: a contestant that won in both orders wins, anything
    else is a tie. `majority`: a winner in one order wins if the other order is a tie; opposite winners tie. `each`:
    every verdict is a match. Under `both-agree` and `majority` a pair without a usable verdict in each order is no
    match yet. Marks given separately have no order. They are compared like marks given together, sample i with sample
    i. Where less is better, the lower mark wins. In ratings, the strongest preference of a graded choice counts
    `strong` times.
    """
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
    columns = columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts
    who = select_judge(columns.judges(), judge)
    latest_verdicts = columns.where(judge=who).latest()
    criteria = np.unique(latest_verdicts.criterion)
    if len(criteria) > 1:
        criterion_names = ", ".join(latest_verdicts.names["criterion"][code] for code in criteria)
        raise InputError(f"a leaderboard shows one criterion; the verdicts are on {criterion_names}: choose one")
    is_self_match = latest_verdicts.self_matches()
    latest_verdicts = latest_verdicts.rows(~is_self_match)
    if any(is_less_better(latest_verdicts.names["criterion"][code], _ballots(latest_verdicts)) for code in criteria):
        latest_verdicts = replace(latest_verdicts, mark=-latest_verdicts.mark)
    plays, pair = _collect_plays(latest_verdicts, strong)
    names, plays = _renumber_contestants(latest_verdicts, plays)
    rows, half = _join_orders(plays, pair, rule)
    rated = None if plays.weight is None else _weigh_matches(rows, plays, pair, rule)
    items, set_aside = latest_verdicts.names["item"], int(is_self_match.sum())
    return Matches(who, rule, names, items, rows, plays, pair, half, set_aside, rated)


def _ballots(columns: Columns) -> list[str]:
    return [columns.names["ballot"][code] for code in np.unique(columns.ballot)]


def _renumber_contestants(columns: Columns, plays: MatchRows) -> tuple[tuple[str, ...], MatchRows]:
    """Keep the contestants shown to this judge, including those with only unusable verdicts."""
    contestant_codes = np.unique(columns.contestant)
    place = np.zeros(len(columns.names["contestant"]) or 1, dtype=np.min_scalar_type(max(len(contestant_codes) - 1, 0)))
    place[contestant_codes] = np.arange(len(contestant_codes))
    names = tuple(columns.names["contestant"][code] for code in contestant_codes)
    return names, replace(plays, first=place[plays.first], second=place[plays.second])


def strongest_preferences(columns: Columns) -> Bools:
    """Return a mask of verdicts that give one response the whole mark of a graded choice ("much better")."""
    graded = [code for code, spec in enumerate(columns.names["ballot"]) if is_graded(spec)]
    mask: Bools = np.isin(columns.ballot, graded) & (columns.fault < 0) & (columns.response_counts == 2)
    at = columns.start.astype(np.int64)[:-1][mask]
    mask[mask] = np.abs(columns.mark[at] - columns.mark[at + 1]) > 1 - _NEAR
    return mask


def _collect_plays(columns: Columns, strong: float = 1.0) -> tuple[MatchRows, Codes]:
    weights = None if strong == 1 else np.where(strongest_preferences(columns), strong, 1.0)
    parts = [*_plays_within_verdicts(columns, weights), *_plays_across_verdicts(columns, weights)]
    if not parts:
        none = np.zeros(0, dtype=np.int32)
        empty = MatchRows(none, none, none, np.zeros(0), (none, none), none.astype(np.int8))
        return empty, np.zeros(0, dtype=np.int64)
    row_parts, sittings = [part for part, _ in parts], [sat for _, sat in parts]
    parts.clear()
    # Marks given separately have no second order, so each comparison is a pair of its own.
    if not any((part.ahead >= 0).any() for part in row_parts):
        sittings.clear()
        rows = MatchRows.concatenate(row_parts)
        return rows, np.arange(len(rows), dtype=np.uint32)
    rows, sitting = MatchRows.concatenate(row_parts), join_blocks(sittings)
    has_order = rows.ahead >= 0
    if has_order.all():
        code, first = group_rows(sitting, rows.first, rows.second, *rows.samples)
        pair = first[code]
    else:
        ordered_rows, part = np.flatnonzero(has_order), rows.where(has_order)
        code, first = group_rows(sitting[ordered_rows], part.first, part.second, *part.samples)
        pair = np.arange(len(rows), dtype=np.int64)
        pair[ordered_rows] = ordered_rows[first][code]
    del sitting, code, first
    return rows, group_rows(pair)[0].astype(np.uint32)


def _sitting_codes(columns: Columns) -> Codes:
    """Return a code per item, ballot, trial and rater: the unit within which verdicts are compared or joined."""
    code, _ = group_rows(columns.item, columns.ballot, columns.trial, columns.rater)
    return code.astype(np.uint32)


def _plays_within_verdicts(columns: Columns, weights: Outcomes | None) -> Iterator[tuple[MatchRows, Codes]]:
    sizes = columns.response_counts
    several = np.unique(sizes[sizes > 1]).tolist()
    sitting = _sitting_codes(columns) if several else sizes
    for size in several:
        index = np.flatnonzero((sizes == size) & (columns.fault < 0)).astype(columns.start.dtype)
        at = columns.start[index]
        for here, there in combinations(range(size), 2):
            compared = _compare_responses(columns, index, at + here, at + there, together=True)
            yield replace(compared, weight=None if weights is None else weights[index]), sitting[index]


def _plays_across_verdicts(columns: Columns, weights: Outcomes | None) -> Iterator[tuple[MatchRows, Codes]]:
    single = np.flatnonzero((columns.response_counts == 1) & (columns.fault < 0))
    if not len(single):
        return
    sitting, at = _sitting_codes(columns)[single], columns.start[single]
    names, numbers = columns.contestant[at], columns.sample[at]
    code, _ = group_rows(sitting, names)
    several = np.bincount(code)[code] > 1
    order = np.lexsort((numbers, names, sitting))
    _, begin, sizes = np.unique(sitting[order], return_index=True, return_counts=True)
    for size in np.unique(sizes[sizes > 1]).tolist():
        panel = order[begin[sizes == size][:, None] + np.arange(size)].T
        lefts, rights = np.triu_indices(size, 1)
        together = max(1, _STEP // panel.shape[1])  # with few items, a pair is too short for a step of its own
        for pair in range(0, len(lefts), together):
            here, there = panel[lefts[pair : pair + together]].ravel(), panel[rights[pair : pair + together]].ravel()
            meet = (names[here] != names[there]) & (
                (numbers[here] == numbers[there]) | ~(several[here] & several[there])
            )
            here, there = here[meet], there[meet]
            compared = _compare_responses(columns, single[here], at[here], at[there], together=False)
            yield replace(compared, weight=None if weights is None else np.ones(len(compared))), sitting[here]


def _compare_responses(columns: Columns, row: Any, here: Any, there: Any, *, together: bool) -> MatchRows:
    """Turn each comparison so that the name that sorts first is first."""
    size, who = len(row), columns.contestant.dtype
    first_codes, second_codes, outcome = np.empty(size, dtype=who), np.empty(size, dtype=who), np.empty(size)
    has_one_sample = is_constant(columns.sample)
    samples = np.empty((2, 0 if has_one_sample else size), dtype=columns.sample.dtype)
    ahead = np.empty(size, dtype=np.int8) if together else np.broadcast_to(np.int8(-1), size)
    # In blocks, because temporary arrays would take several times the memory of the result.
    for start in range(0, size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        ours, theirs = here[rows], there[rows]
        left, right = columns.contestant[ours], columns.contestant[theirs]
        is_swapped = left > right
        first_codes[rows], second_codes[rows] = np.where(is_swapped, right, left), np.where(is_swapped, left, right)
        gap = columns.mark[ours] - columns.mark[theirs]
        outcome[rows] = (np.sign(np.where(is_swapped, -gap, gap)) + 1) / 2
        if not has_one_sample:
            first, second = columns.sample[ours], columns.sample[theirs]
            samples[:, rows] = np.where(is_swapped, second, first), np.where(is_swapped, first, second)
        if together:
            ahead[rows] = ~is_swapped
    # If every contestant answered once, all samples share one value.
    both = (np.broadcast_to(columns.sample[:1], size),) * 2 if has_one_sample else (samples[0], samples[1])
    return MatchRows(columns.item[row], first_codes, second_codes, outcome, both, ahead)


def means_by_order(plays: MatchRows, pair: Codes) -> Outcomes:
    """Return the mean outcome of each pair's first: row 0 if shown second, row 1 if shown first, NaN if not shown."""
    size = int(pair.max()) + 1
    means = np.full((2, size), np.nan)
    for order in (0, 1):
        in_order = plays.ahead == order
        of_pair = pair[in_order]
        play_counts = np.bincount(of_pair, minlength=size)
        total = np.bincount(of_pair, plays.outcome[in_order], size)
        np.divide(total, play_counts, out=means[order], where=play_counts > 0)
    return means


def _weigh_matches(rows: MatchRows, plays: MatchRows, pair: Codes, rule: Rule) -> MatchRows:
    """Return the matches as ratings count them: each with the mean weight of its orders.

    Under the rule `mean`, a strong verdict also counts more than a weak one in the other order.
    """
    if rule == "each" or not (plays.ahead >= 0).any():
        return plays
    size = int(pair.max()) + 1
    weight = plays.weight if plays.weight is not None else np.ones(len(plays))
    means, wins = np.zeros((3, size)), np.zeros((3, size))
    # Marks given separately (-1) have no order; each is a match of its own.
    for order in (-1, 0, 1):
        in_order = plays.ahead == order
        counts = np.maximum(np.bincount(pair[in_order], minlength=size), 1)
        means[order] = np.bincount(pair[in_order], weight[in_order], size) / counts
        wins[order] = np.bincount(pair[in_order], (weight * plays.outcome)[in_order], size) / counts
    orders = np.maximum((means > 0).sum(axis=0), 1)
    _, first = group_rows(pair)
    # Rules that need both orders drop the pairs of one order; the rest stays in this order.
    kept = np.ones(size, dtype=np.bool_) if len(rows) == size else (means[:2] > 0).all(axis=0) | (means[2] > 0)
    outcome = rows.outcome if rule != "mean" else (wins.sum(axis=0) / means.sum(axis=0))[kept]
    weighted = replace(plays.where(first), weight=means.sum(axis=0) / orders).where(kept)
    return replace(weighted, outcome=outcome)


def _join_orders(plays: MatchRows, pair: Codes, rule: Rule) -> tuple[MatchRows, int]:
    """Return one result per pair, and the number of pairs that lack an order."""
    if not (plays.ahead >= 0).any():
        # Marks given separately have no order to join, so each comparison is a match under every rule.
        return plays, 0
    size = int(pair.max()) + 1
    means = means_by_order(plays, pair)
    alone = plays.ahead < 0
    is_marked_apart = np.bincount(pair[alone], minlength=size) > 0
    half = (np.isnan(means[0]) != np.isnan(means[1])) & ~is_marked_apart
    if rule == "each":
        return plays, int(half.sum())
    if is_marked_apart.any():
        means[:, is_marked_apart] = np.bincount(pair[alone], plays.outcome[alone], size)[is_marked_apart]
    if rule == "mean":
        has_mean = ~np.isnan(means)
        outcome = np.where(has_mean, means, 0.0).sum(axis=0) / has_mean.sum(axis=0)
    else:
        votes = np.sign(means - 0.5).sum(axis=0)
        outcome = np.where(np.abs(votes) == 2, (votes / 2 + 1) / 2, 0.5)
        if rule == "majority":
            outcome = (np.sign(votes) + 1) / 2
    del means
    _, first = group_rows(pair)
    rows = replace(plays.where(first), outcome=outcome)
    if rule == "mean":
        return rows, int(half.sum())
    return rows.where(~half), int(half.sum())
