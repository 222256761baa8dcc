"""Rows that pair judges' verdicts with people's votes on the same responses, as input of corrections.

A pair is two responses to one item. A judge's orders, trials and ballots of one family are averaged. Several people's
votes on the same responses are joined by the rule that all boards use. Unusable verdicts give no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.matches_from_verdicts import Matches, build_matches, means_by_order
from fullbench.analysis.people.joined_votes import VoteCounts, join_column_votes
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.analysis.views.view_verdict_helpers import without_people_decisions
from fullbench.columns.verdict_columns import FAMILIES, Columns, Family, group_rows
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = tuple[Ints, ...]
Selection = Literal["all", "random", "designed", "unknown"]
"""How the voted rows were chosen: all of them, drawn with equal recorded chances, with unequal ones, or unknown."""


@dataclass(frozen=True)
class KeyedValues:
    """Keys of rows (item first, then contestants) and one value per row."""

    keys: Keys
    value: Floats

    def values_of(self, code: int) -> tuple[Floats, Ints]:
        """Return the values of one contestant and their items. In a pair, the second one has one minus the outcome."""
        item, *sides = self.keys
        if len(sides) < 3:
            is_contestant = sides[0] == code
            return self.value[is_contestant], item[is_contestant]
        first, second = sides[0] == code, sides[1] == code
        return np.concatenate([self.value[first], 1 - self.value[second]]), np.concatenate([item[first], item[second]])


_NO_PAIRS = KeyedValues(tuple(np.zeros(0, dtype=np.int64) for _ in range(5)), np.zeros(0))


@dataclass(frozen=True)
class Votes:
    """Rows that judges judged, with people's votes on some of them.

    `judge_values` has a line per judge, NaN without a verdict. `vote` is NaN without a vote. `chance` is the
    probability that the row was selected for people, or None if all were equally likely. `outside` counts rows with
    votes but without any judge. `votes_without_chance` counts votes without a probability if other votes have one.
    `samples` are the sample numbers of a pair. `visible` counts votes left out because names were visible. `order_gap`
    is how far a judge's outcomes in the two orders differ, on average over judges, NaN if none judged both.
    `vote_counts` tells how several votes on the same responses were joined. `judge_rows` and `people_rows` are the rows
    of their own boards: a judge's trials are rows of their own there. People's are on rows that a judge judged.
    """

    item: Ints
    judge_values: Floats
    vote: Floats
    chance: Floats | None
    outside: int
    votes_without_chance: int
    sides: Keys
    samples: Keys = ()
    visible: int = 0
    order_gap: Floats | None = None
    vote_counts: VoteCounts | None = None
    judge_rows: tuple[KeyedValues, ...] = ()
    people_rows: KeyedValues = _NO_PAIRS

    def __len__(self) -> int:
        return len(self.vote)

    @property
    def vote_count(self) -> int:
        """Number of rows with a vote."""
        return int((~np.isnan(self.vote)).sum())

    @property
    def items(self) -> int:
        """Number of items with a vote."""
        return len(np.unique(self.item[~np.isnan(self.vote)]))

    @property
    def selection(self) -> Selection:
        """Selection of the voted rows, as recorded with the votes."""
        if self.vote_count == len(self):
            return "all"
        if self.chance is None or self.votes_without_chance:
            return "unknown"
        return "random" if self.has_equal_chances else "designed"

    @property
    def has_equal_chances(self) -> bool:
        """True if all votes weigh the same."""
        if self.chance is None:
            return True
        chances = self.chance[~np.isnan(self.vote)]
        return not len(chances) or bool(np.allclose(chances, chances[0], rtol=1e-6))

    def votes_by_contestant(self) -> dict[int, int]:
        """Return the number of voted rows of each contestant code."""
        codes = np.unique(np.concatenate(self.sides))
        has_vote = ~np.isnan(self.vote)
        return {int(code): int(sum((side[has_vote] == code).sum() for side in self.sides)) for code in codes}

    def where(self, selection: npt.NDArray[np.bool_] | Ints) -> Votes:
        """Return the rows of a mask, or those with these numbers."""
        return replace(
            self,
            item=self.item[selection],
            judge_values=self.judge_values[:, selection],
            vote=self.vote[selection],
            chance=None if self.chance is None else self.chance[selection],
            sides=tuple(side[selection] for side in self.sides),
            samples=tuple(sample[selection] for sample in self.samples),
            order_gap=None if self.order_gap is None else self.order_gap[selection],
        )


def family_verdicts(columns: Columns, family: Family) -> Columns:
    """Return the counted verdicts of one ballot family: the latest of each rater, without self-matches."""
    part = columns.rows(columns.family == FAMILIES.index(family)).latest()
    return part.rows(~part.self_matches())


def drop_visible_votes(votes: Columns) -> tuple[Columns, int]:
    """Drop votes cast with names visible if there are others. Return the rest and the number dropped."""
    is_visible = votes.blind == 0
    if not is_visible.any() or is_visible.all():
        return votes, 0
    return votes.rows(~is_visible), int(is_visible.sum())


def scope_columns(columns: Columns) -> list[str]:
    """Return extra columns that rows need: study if there are several, criterion if one is not the default."""
    criteria = {columns.names["criterion"][code] for code in np.unique(columns.criterion)}
    several_studies = len(np.unique(columns.study)) > 1
    return [*(["study"] if several_studies else []), *(["criterion"] if criteria - {OVERALL} else [])]


def ballot_families(part: Columns) -> list[Family]:
    """Return the ballot families that occur."""
    return [cast("Family", family) for (family,), _ in part.by("family")]


def has_verdicts(part: Columns, judge: str, family: Family) -> bool:
    """Return True if a judge has a usable verdict of a family."""
    return bool((family_verdicts(part.where(judge=judge), family).fault < 0).any())


def paired_outcomes(
    columns: Columns, judges: Sequence[str], people: str, family: Family, rule: VoteRule = "default"
) -> Votes:
    """Return every two responses that a judge compared or marked separately, with people's votes on them.

    `sides` are the codes of the first and the second contestant (by name). Values are the outcome for the first.
    People's votes of another family are used if there are none of this one. `rule` joins several people's votes.
    """
    judge_parts = [family_verdicts(without_people_decisions(columns.where(judge=judge)), family) for judge in judges]
    people_verdicts, visible_count = drop_visible_votes(columns.where(judge=people))
    same = family_verdicts(people_verdicts, family)
    cast = same if (same.fault < 0).any() else people_verdicts.latest()
    cast = cast.rows(~cast.self_matches())
    joined = join_column_votes(cast, rule, visible=True)
    return replace(
        _combine_votes(
            [_pair_outcomes(part) for part in judge_parts],
            _pair_outcomes(joined.columns),
            _pair_chances(cast),
            sides=(1, 2),
            order_gaps=[_order_gaps(part) for part in judge_parts],
        ),
        visible=visible_count,
        vote_counts=joined.vote_counts,
    )


def verdict_outcomes(
    columns: Columns, judges: Sequence[str], people: str, family: Family, rule: VoteRule = "default"
) -> tuple[Votes, Votes]:
    """Return `paired_outcomes` once by verdict of the first judge, and once by pair.

    Each order and trial of the first judge is a row of its own. Other judges and people have their value of the pair.
    """
    votes = paired_outcomes(columns, judges, people, family, rule)
    votes = votes.where(~np.isnan(votes.judge_values[0]))
    part = family_verdicts(without_people_decisions(columns.where(judge=judges[0])), family)
    matches = build_matches(part, rule="each")
    verdict_keys, pair_keys = _match_keys(part, matches), (votes.item, *votes.sides, *votes.samples)
    code, _ = group_rows(*(np.concatenate(both) for both in zip(pair_keys, verdict_keys, strict=True)))
    row_of_code = np.zeros(len(votes), dtype=np.int64)
    row_of_code[code[: len(votes)]] = np.arange(len(votes))
    by_verdict = votes.where(row_of_code[code[len(votes) :]])
    values = by_verdict.judge_values.copy()
    values[0] = matches.rows.outcome
    return replace(by_verdict, judge_values=values), votes


def has_same_winner(outcomes: Floats, votes: Floats) -> Floats:
    """Return 1 if an outcome and a vote name the same winner or both a tie, else 0; NaN without a vote.

    >>> has_same_winner(np.array([1.0, 0.5, 0.5]), np.array([0.7, 0.5, np.nan])).tolist()
    [1.0, 1.0, nan]
    """
    same: Floats = np.where(np.isnan(votes), np.nan, np.sign(outcomes - 0.5) == np.sign(votes - 0.5))
    return same


def paired_marks(
    columns: Columns, judges: Sequence[str], people: str, ballot: str, rule: VoteRule = "default"
) -> Votes:
    """Return every response that a judge marked alone on a ballot, with people's marks. `sides`: contestant codes."""
    part = family_verdicts(columns.where(ballot=ballot), "score")
    judge_marks = [_single_marks(without_people_decisions(part.where(judge=judge))) for judge in judges]
    people_verdicts, visible_count = drop_visible_votes(part.where(judge=people))
    joined = join_column_votes(people_verdicts, rule, visible=True)
    return replace(
        _combine_votes(
            judge_marks, _single_marks(joined.columns), _single_marks(people_verdicts, chances=True), sides=(1,)
        ),
        visible=visible_count,
        vote_counts=joined.vote_counts,
    )


def people_ballots(columns: Columns, people: str) -> list[str]:
    """Return the ballots on which people marked single responses."""
    part = family_verdicts(columns.where(judge=people), "score")
    return [part.names["ballot"][code] for code in np.unique(part.ballot[part.fault < 0])]


def _pair_outcomes(part: Columns) -> KeyedValues:
    """Return the outcome of every comparison for its first, with codes that all judges share."""
    if not len(part):
        return _NO_PAIRS
    matches = build_matches(part, rule="mean")
    return KeyedValues(_match_keys(part, matches), matches.rows.outcome)


def _match_keys(part: Columns, matches: Matches) -> Keys:
    place = {name: code for code, name in enumerate(part.names["contestant"])}
    code = np.array([place[name] for name in matches.names] or [0], dtype=np.int64)
    rows = matches.rows
    keys = (rows.item, code[rows.first], code[rows.second], *rows.samples)
    return tuple(key.astype(np.int64) for key in keys)


def _order_gaps(part: Columns) -> KeyedValues:
    """Return how far the outcomes in the two orders of every comparison differ; NaN with one order."""
    if not len(part):
        return _NO_PAIRS
    matches = build_matches(part, rule="mean")
    if not (matches.plays.ahead >= 0).any():
        return _NO_PAIRS
    first_shown, second_shown = means_by_order(matches.plays, matches.pair)
    return KeyedValues(_match_keys(part, matches), np.abs(first_shown - second_shown))


def _single_marks(part: Columns, *, chances: bool = False) -> KeyedValues:
    single = np.flatnonzero((part.response_counts == 1) & (part.fault < 0))
    at = part.start.astype(np.int64)[single]
    keys = (part.item[single], part.contestant[at], part.sample[at])
    value = part.probability[single] if chances else part.mark[at]
    return KeyedValues(tuple(key.astype(np.int64) for key in keys), value)


def _pair_chances(part: Columns) -> KeyedValues:
    chance_parts = list(_chosen_together(part))
    single = _single_marks(part, chances=True)
    if len(single.value):
        chance_parts.append(_chosen_apart(single))
    if not chance_parts:
        return _NO_PAIRS
    keys = tuple(np.concatenate([chance_part.keys[place] for chance_part in chance_parts]) for place in range(5))
    return KeyedValues(keys, np.concatenate([chance_part.value for chance_part in chance_parts]))


def _chosen_together(part: Columns) -> Iterator[KeyedValues]:
    sizes, start = part.response_counts, part.start.astype(np.int64)
    for size in np.unique(sizes[sizes > 1]).tolist():
        index = np.flatnonzero((sizes == size) & (part.fault < 0))
        for here, there in combinations(range(size), 2):
            left, right = start[index] + here, start[index] + there
            yield _sort_sides(part.item[index], (part.contestant[left], part.contestant[right]),
                          (part.sample[left], part.sample[right]), part.probability[index])  # fmt: skip


def _chosen_apart(single: KeyedValues) -> KeyedValues:
    item, who, sample = single.keys
    order = np.lexsort((sample, who, item))
    pair_rows = []
    _, begin, sizes = np.unique(item[order], return_index=True, return_counts=True)
    for first, size in zip(begin.tolist(), sizes.tolist(), strict=True):
        rows = order[first : first + size]
        for left, right in combinations(rows.tolist(), 2):
            # Equal probabilities are taken as one joint selection of the item; different ones as independent.
            left_chance, right_chance = single.value[left], single.value[right]
            pair_rows.append((left, right, left_chance if left_chance == right_chance else left_chance * right_chance))
    left, right = (
        np.array([row[0] for row in pair_rows], dtype=np.int64),
        np.array([row[1] for row in pair_rows], dtype=np.int64),
    )
    chance = np.array([row[2] for row in pair_rows], dtype=np.float64)
    return _sort_sides(item[left], (who[left], who[right]), (sample[left], sample[right]), chance)


def _sort_sides(item: Any, who: tuple[Any, Any], sample: tuple[Any, Any], chance: Floats) -> KeyedValues:
    is_swapped = who[0] > who[1]
    keys = (
        item, np.where(is_swapped, who[1], who[0]), np.where(is_swapped, who[0], who[1]),
        np.where(is_swapped, sample[1], sample[0]), np.where(is_swapped, sample[0], sample[1]),
    )  # fmt: skip
    return KeyedValues(tuple(key.astype(np.int64) for key in keys), chance)


def _combine_votes(
    judge_values: Sequence[KeyedValues],
    cast_votes: KeyedValues,
    chances: KeyedValues,
    *,
    sides: tuple[int, ...],
    order_gaps: Sequence[KeyedValues] = (),
) -> Votes:
    parts = [*order_gaps, *judge_values, cast_votes, chances]
    sizes = [len(part.value) for part in parts]
    keys = tuple(np.concatenate([part.keys[place] for part in parts]) for place in range(len(cast_votes.keys)))
    code, first = group_rows(*keys)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    count = len(first)
    lines = []
    for place, part in enumerate(parts):
        here = code[bounds[place] : bounds[place + 1]]
        has_value = ~np.isnan(part.value)
        total = np.bincount(here[has_value], part.value[has_value], count)
        number = np.bincount(here[has_value], minlength=count)
        lines.append(np.divide(total, number, out=np.full(count, np.nan), where=number > 0))
    judge_means, vote, chance = np.array(lines[len(order_gaps) : -2]), lines[-2], lines[-1]
    there = ~np.isnan(judge_means).all(axis=0)
    outside = int((~np.isnan(vote) & ~there).sum())
    vote, chance, judge_means = vote[there], chance[there], judge_means[:, there]
    order_gap = _mean_of_known(np.array(lines[: len(order_gaps)])[:, there]) if order_gaps else None
    item, *other_keys = (key[first][there] for key in keys)
    has_vote = ~np.isnan(vote)
    unknown = has_vote & np.isnan(chance)
    row_chance = None
    votes_without_chance = 0
    if (has_vote & ~np.isnan(chance)).any():
        votes_without_chance = int(unknown.sum())
        # Votes with and without a probability are two samples, and each represents all rows.
        has_value = has_vote & ~unknown
        even_chance = float(has_value.sum() / (1 / chance[has_value]).sum())
        row_chance = np.where(unknown, even_chance, np.where(has_vote, chance, 1.0))
    samples = tuple(other_keys[len(sides) :])
    is_on_judged = there[code[bounds[-3] : bounds[-2]]]
    people_rows = KeyedValues(tuple(key[is_on_judged] for key in cast_votes.keys), cast_votes.value[is_on_judged])
    return Votes(
        item,
        judge_means,
        vote,
        row_chance,
        outside,
        votes_without_chance,
        tuple(other_keys[place - 1] for place in sides),
        samples,
        order_gap=order_gap,
        judge_rows=tuple(judge_values),
        people_rows=people_rows,
    )


def _mean_of_known(lines: Floats) -> Floats:
    """Return the mean over lines without NaN; NaN if no line has a value."""
    number = (~np.isnan(lines)).sum(axis=0)
    means: Floats = np.divide(np.nansum(lines, axis=0), number, out=np.full(lines.shape[1], np.nan), where=number > 0)
    return means
