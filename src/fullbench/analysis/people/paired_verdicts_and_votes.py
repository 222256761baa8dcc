"""Rows that pair judges' verdicts with people's votes on the same responses, as input of corrections.

A pair is two responses to one item. Both orders, several trials, several raters and several ballots of one family are
averaged. Unusable verdicts give no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.scope_text import OVERALL
from fullbench.analysis.views.view_verdict_helpers import without_people_decisions
from fullbench.columns.verdict_columns import FAMILIES, Columns, Family, group_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = tuple[Ints, ...]


@dataclass(frozen=True)
class Votes:
    """Rows that judges judged, with people's votes on some of them.

    `judge_values` has a line per judge, NaN without a verdict. `vote` is NaN without a vote. `chance` is the
    probability that the row was selected for people, or None if all were equally likely. `outside` counts rows with
    votes but without any judge. `votes_without_chance` counts votes without a probability if other votes have one.
    `samples` are the sample numbers of a pair. `visible` counts votes left out because names were visible.
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

    def where(self, selection: npt.NDArray[np.bool_]) -> Votes:
        """Return the selected rows."""
        chance = None if self.chance is None else self.chance[selection]
        sides = tuple(side[selection] for side in self.sides)
        return Votes(
            self.item[selection],
            self.judge_values[:, selection],
            self.vote[selection],
            chance,
            self.outside,
            self.votes_without_chance,
            sides,
            tuple(sample[selection] for sample in self.samples),
            self.visible,
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


def paired_outcomes(columns: Columns, judges: Sequence[str], people: str, family: Family) -> Votes:
    """Return every two responses that a judge compared or marked separately, with people's votes on them.

    `sides` are the codes of the first and the second contestant (by name). Values are the outcome for the first.
    People's votes of another family are used if there are none of this one.
    """
    judge_outcomes = [
        _pair_outcomes(family_verdicts(without_people_decisions(columns.where(judge=judge)), family))
        for judge in judges
    ]
    people_verdicts, visible_count = drop_visible_votes(columns.where(judge=people))
    same = family_verdicts(people_verdicts, family)
    cast = same if (same.fault < 0).any() else people_verdicts.latest()
    cast = cast.rows(~cast.self_matches())
    return replace(
        _combine_votes(judge_outcomes, _pair_outcomes(cast), _pair_chances(cast), sides=(1, 2)), visible=visible_count
    )


def paired_marks(columns: Columns, judges: Sequence[str], people: str, ballot: str) -> Votes:
    """Return every response that a judge marked alone on a ballot, with people's marks. `sides`: contestant codes."""
    part = family_verdicts(columns.where(ballot=ballot), "score")
    judge_marks = [_single_marks(without_people_decisions(part.where(judge=judge))) for judge in judges]
    people_verdicts, visible_count = drop_visible_votes(part.where(judge=people))
    return replace(
        _combine_votes(
            judge_marks, _single_marks(people_verdicts), _single_marks(people_verdicts, chances=True), sides=(1,)
        ),
        visible=visible_count,
    )


def people_ballots(columns: Columns, people: str) -> list[str]:
    """Return the ballots on which people marked single responses."""
    part = family_verdicts(columns.where(judge=people), "score")
    return [part.names["ballot"][code] for code in np.unique(part.ballot[part.fault < 0])]


@dataclass(frozen=True)
class _KeyedValues:
    """Keys of rows (item first) and one value per row."""

    keys: Keys
    value: Floats


def _pair_outcomes(part: Columns) -> _KeyedValues:
    """Return the outcome of every comparison for its first, with codes that all judges share."""
    if not len(part):
        return _KeyedValues(tuple(np.zeros(0, dtype=np.int64) for _ in range(5)), np.zeros(0))
    matches = build_matches(part, rule="mean")
    place = {name: code for code, name in enumerate(part.names["contestant"])}
    code = np.array([place[name] for name in matches.names] or [0], dtype=np.int64)
    rows = matches.rows
    keys = (rows.item, code[rows.first], code[rows.second], *rows.samples)
    return _KeyedValues(tuple(key.astype(np.int64) for key in keys), rows.outcome)


def _single_marks(part: Columns, *, chances: bool = False) -> _KeyedValues:
    single = np.flatnonzero((part.response_counts == 1) & (part.fault < 0))
    at = part.start.astype(np.int64)[single]
    keys = (part.item[single], part.contestant[at], part.sample[at])
    value = part.probability[single] if chances else part.mark[at]
    return _KeyedValues(tuple(key.astype(np.int64) for key in keys), value)


def _pair_chances(part: Columns) -> _KeyedValues:
    chance_parts = list(_chosen_together(part))
    single = _single_marks(part, chances=True)
    if len(single.value):
        chance_parts.append(_chosen_apart(single))
    if not chance_parts:
        return _KeyedValues(tuple(np.zeros(0, dtype=np.int64) for _ in range(5)), np.zeros(0))
    keys = tuple(np.concatenate([chance_part.keys[place] for chance_part in chance_parts]) for place in range(5))
    return _KeyedValues(keys, np.concatenate([chance_part.value for chance_part in chance_parts]))


def _chosen_together(part: Columns) -> Iterator[_KeyedValues]:
    sizes, start = part.response_counts, part.start.astype(np.int64)
    for size in np.unique(sizes[sizes > 1]).tolist():
        index = np.flatnonzero((sizes == size) & (part.fault < 0))
        for here, there in combinations(range(size), 2):
            left, right = start[index] + here, start[index] + there
            yield _sort_sides(part.item[index], (part.contestant[left], part.contestant[right]),
                          (part.sample[left], part.sample[right]), part.probability[index])  # fmt: skip


def _chosen_apart(single: _KeyedValues) -> _KeyedValues:
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


def _sort_sides(item: Any, who: tuple[Any, Any], sample: tuple[Any, Any], chance: Floats) -> _KeyedValues:
    is_swapped = who[0] > who[1]
    keys = (
        item, np.where(is_swapped, who[1], who[0]), np.where(is_swapped, who[0], who[1]),
        np.where(is_swapped, sample[1], sample[0]), np.where(is_swapped, sample[0], sample[1]),
    )  # fmt: skip
    return _KeyedValues(tuple(key.astype(np.int64) for key in keys), chance)


def _combine_votes(
    judge_values: Sequence[_KeyedValues], cast: _KeyedValues, chances: _KeyedValues, *, sides: tuple[int, ...]
) -> Votes:
    parts = [*judge_values, cast, chances]
    sizes = [len(part.value) for part in parts]
    keys = tuple(np.concatenate([part.keys[place] for part in parts]) for place in range(len(cast.keys)))
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
    judge_means, vote, chance = np.array(lines[:-2]), lines[-2], lines[-1]
    there = ~np.isnan(judge_means).all(axis=0)
    outside = int((~np.isnan(vote) & ~there).sum())
    vote, chance, judge_means = vote[there], chance[there], judge_means[:, there]
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
    return Votes(
        item,
        judge_means,
        vote,
        row_chance,
        outside,
        votes_without_chance,
        tuple(other_keys[place - 1] for place in sides),
        samples,
    )
