"""What judges ruled and what people voted on the same responses, side by side: the rows that corrections are made of.

A pair is two responses to one item. Both orders, several trials, several raters and several ballots of one family count
by their mean. Faults are no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.matches_from_verdicts import settle
from fullbench.analysis.scope_text import OVERALL
from fullbench.analysis.views.member_verdicts import by_judges
from fullbench.columns.verdict_columns import FAMILIES, Columns, Family, grouped

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = tuple[Ints, ...]


@dataclass(frozen=True)
class Votes:
    """Rows on which judges ruled, with people's votes on some of them.

    `ruled` has a line for each judge, NaN where it did not rule; `vote` is NaN where nobody voted. `chance` is how
    likely the row was to be chosen for people, None where all were equally likely. `outside` counts rows that people
    voted on and no judge ruled on; `guessed` counts votes without a chance of their own beside votes that have one.
    `samples` number the responses of a pair; `visible` counts votes
    that are left out because they were cast with names in view.
    """

    item: Ints
    ruled: Floats
    vote: Floats
    chance: Floats | None
    outside: int
    guessed: int
    sides: Keys
    samples: Keys = ()
    visible: int = 0

    def __len__(self) -> int:
        return len(self.vote)

    @property
    def voted(self) -> int:
        """How many rows bear a vote."""
        return int((~np.isnan(self.vote)).sum())

    @property
    def items(self) -> int:
        """How many items bear a vote."""
        return len(np.unique(self.item[~np.isnan(self.vote)]))

    def where(self, chosen: npt.NDArray[np.bool_]) -> Votes:
        """Some of the rows."""
        chance = None if self.chance is None else self.chance[chosen]
        sides = tuple(side[chosen] for side in self.sides)
        return Votes(
            self.item[chosen], self.ruled[:, chosen], self.vote[chosen], chance, self.outside, self.guessed, sides,
            tuple(sample[chosen] for sample in self.samples), self.visible,
        )  # fmt: skip


def of_family(columns: Columns, family: Family) -> Columns:
    """The verdicts of one family of ballots that count: the latest of each rater, nobody beside itself."""
    part = columns.rows(columns.family == FAMILIES.index(family)).latest()
    return part.rows(~part.meeting_themselves())


def blind(votes: Columns) -> tuple[Columns, int]:
    """People's votes without those that were cast with names in view, where there are others; how many that are."""
    seen = votes.blind == 0
    if not seen.any() or seen.all():
        return votes, 0
    return votes.rows(~seen), int(seen.sum())


def named_parts(columns: Columns) -> list[str]:
    """What rows must name beside the judge: the study where there are several, the criterion where it matters."""
    criteria = {columns.names["criterion"][code] for code in np.unique(columns.criterion)}
    several_studies = len(np.unique(columns.study)) > 1
    return [*(["study"] if several_studies else []), *(["criterion"] if criteria - {OVERALL} else [])]


def families(part: Columns) -> list[Family]:
    """The families of ballots that there are."""
    return [cast("Family", family) for (family,), _ in part.by("family")]


def rules(part: Columns, judge: str, family: Family) -> bool:
    """Whether a judge ruled on anything of a family."""
    return bool((of_family(part.of(judge=judge), family).fault < 0).any())


def pairs(columns: Columns, judges: Sequence[str], people: str, family: Family) -> Votes:
    """Every two responses that one of the judges compared, or marked apart, beside people's votes on the same two.

    `sides` are the codes of the first and the second contestant (by name). What is told of a row is what the first won.
    People's votes of another family count where there are none of this one.
    """
    heard = [_compared(of_family(by_judges(columns.of(judge=judge)), family)) for judge in judges]
    voted, seen = blind(columns.of(judge=people))
    same = of_family(voted, family)
    cast = same if (same.fault < 0).any() else voted.latest()
    cast = cast.rows(~cast.meeting_themselves())
    return replace(_beside(heard, _compared(cast), _chances(cast), sides=(1, 2)), visible=seen)


def marks(columns: Columns, judges: Sequence[str], people: str, ballot: str) -> Votes:
    """Every response that one of the judges marked alone on a ballot, beside people's marks of it.

    `sides` is the code of the contestant.
    """
    part = of_family(columns.of(ballot=ballot), "score")
    heard = [_marked(by_judges(part.of(judge=judge))) for judge in judges]
    voted, seen = blind(part.of(judge=people))
    return replace(_beside(heard, _marked(voted), _marked(voted, chances=True), sides=(1,)), visible=seen)


def ballots(columns: Columns, people: str) -> list[str]:
    """The ballots on which people marked single responses."""
    part = of_family(columns.of(judge=people), "score")
    return [part.names["ballot"][code] for code in np.unique(part.ballot[part.fault < 0])]


@dataclass(frozen=True)
class _Told:
    """Rows by their keys (item first), and a value of each."""

    keys: Keys
    value: Floats


def _compared(part: Columns) -> _Told:
    """What the first won in every comparison, under codes that all judges share."""
    if not len(part):
        return _Told(tuple(np.zeros(0, dtype=np.int64) for _ in range(5)), np.zeros(0))
    settled = settle(part, rule="mean")
    place = {name: code for code, name in enumerate(part.names["contestant"])}
    code = np.array([place[name] for name in settled.names] or [0], dtype=np.int64)
    rows = settled.rows
    keys = (rows.item, code[rows.one], code[rows.two], *rows.samples)
    return _Told(tuple(key.astype(np.int64) for key in keys), rows.outcome)


def _marked(part: Columns, *, chances: bool = False) -> _Told:
    single = np.flatnonzero((part.shown == 1) & (part.fault < 0))
    at = part.start.astype(np.int64)[single]
    keys = (part.item[single], part.contestant[at], part.sample[at])
    value = part.probability[single] if chances else part.mark[at]
    return _Told(tuple(key.astype(np.int64) for key in keys), value)


def _chances(part: Columns) -> _Told:
    """How likely each pair was to be chosen. Marks given apart: both, and once where all of an item were one choice."""
    told = list(_chosen_together(part))
    single = _marked(part, chances=True)
    if len(single.value):
        told.append(_chosen_apart(single))
    if not told:
        return _Told(tuple(np.zeros(0, dtype=np.int64) for _ in range(5)), np.zeros(0))
    keys = tuple(np.concatenate([one.keys[place] for one in told]) for place in range(5))
    return _Told(keys, np.concatenate([one.value for one in told]))


def _chosen_together(part: Columns) -> Iterator[_Told]:
    sizes, start = part.shown, part.start.astype(np.int64)
    for size in np.unique(sizes[sizes > 1]).tolist():
        index = np.flatnonzero((sizes == size) & (part.fault < 0))
        for here, there in combinations(range(size), 2):
            left, right = start[index] + here, start[index] + there
            yield _turned(part.item[index], (part.contestant[left], part.contestant[right]),
                          (part.sample[left], part.sample[right]), part.probability[index])  # fmt: skip


def _chosen_apart(single: _Told) -> _Told:
    item, who, sample = single.keys
    order = np.lexsort((sample, who, item))
    told = []
    _, begin, sizes = np.unique(item[order], return_index=True, return_counts=True)
    for first, size in zip(begin.tolist(), sizes.tolist(), strict=True):
        rows = order[first : first + size]
        for left, right in combinations(rows.tolist(), 2):
            one, two = single.value[left], single.value[right]
            told.append((left, right, one if one == two else one * two))
    left, right = np.array([row[0] for row in told], dtype=np.int64), np.array([row[1] for row in told], dtype=np.int64)
    chance = np.array([row[2] for row in told], dtype=np.float64)
    return _turned(item[left], (who[left], who[right]), (sample[left], sample[right]), chance)


def _turned(item: Any, who: tuple[Any, Any], sample: tuple[Any, Any], chance: Floats) -> _Told:
    turned = who[0] > who[1]
    keys = (
        item, np.where(turned, who[1], who[0]), np.where(turned, who[0], who[1]),
        np.where(turned, sample[1], sample[0]), np.where(turned, sample[0], sample[1]),
    )  # fmt: skip
    return _Told(tuple(key.astype(np.int64) for key in keys), chance)


def _beside(heard: Sequence[_Told], cast: _Told, chances: _Told, *, sides: tuple[int, ...]) -> Votes:
    """All rows that a judge ruled on, each once, with means over what each judge and people said of it."""
    parts = [*heard, cast, chances]
    sizes = [len(part.value) for part in parts]
    keys = tuple(np.concatenate([part.keys[place] for part in parts]) for place in range(len(cast.keys)))
    code, first = grouped(*keys)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    count = len(first)
    lines = []
    for place, part in enumerate(parts):
        here = code[bounds[place] : bounds[place + 1]]
        known = ~np.isnan(part.value)
        total = np.bincount(here[known], part.value[known], count)
        number = np.bincount(here[known], minlength=count)
        lines.append(np.divide(total, number, out=np.full(count, np.nan), where=number > 0))
    ruled, vote, chance = np.array(lines[:-2]), lines[-2], lines[-1]
    there = ~np.isnan(ruled).all(axis=0)
    outside = int((~np.isnan(vote) & ~there).sum())
    vote, chance, ruled = vote[there], chance[there], ruled[:, there]
    item, *rest = (key[first][there] for key in keys)
    voted = ~np.isnan(vote)
    unknown = voted & np.isnan(chance)
    told = None
    guessed = 0
    if (voted & ~np.isnan(chance)).any():
        guessed = int(unknown.sum())
        # Votes drawn evenly and votes drawn by chance are two samples, each of which stands for everything.
        known = voted & ~unknown
        alike = float(known.sum() / (1 / chance[known]).sum())
        told = np.where(unknown, alike, np.where(voted, chance, 1.0))
    samples = tuple(rest[len(sides) :])
    return Votes(item, ruled, vote, told, outside, guessed, tuple(rest[place - 1] for place in sides), samples)
