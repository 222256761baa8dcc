"""What one judge ruled under one criterion, as columns of numbers: read from the catalogue, ready to be counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from sqlalchemy import Connection, func, select

from fullbench.web.results import tables
from fullbench.web.results.filters import Filter

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
GROUPS = 40
"""A tag with more values than this has no table."""


@dataclass
class Column:
    """Observations of contestants: who, on which item, and a number."""

    who: list[int] = field(default_factory=list)
    item: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    @cached_property
    def arrays(self) -> tuple[Ints, Ints, Floats]:
        return np.array(self.who, np.int64), np.array(self.item, np.int64), np.array(self.value, np.float64)

    def of(self, contestant: int) -> tuple[Ints, Floats]:
        """Items and numbers of one contestant."""
        who, item, value = self.arrays
        mine = who == contestant
        return item[mine], value[mine]


@dataclass
class Duels:
    """Who met whom on which item; 1, 0.5 or 0 for the first."""

    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    item: list[int] = field(default_factory=list)
    outcome: list[float] = field(default_factory=list)


@dataclass
class Numbers:
    """All that one judge ruled under one criterion."""

    judge: str
    criterion: str
    names: Mapping[int, str]
    duels: Duels
    won: Column
    marks: Mapping[str, Column]
    faults: Mapping[int, int]
    tags: Mapping[str, Mapping[int, str]]
    verdicts: int

    @cached_property
    def contestants(self) -> list[int]:
        found = {*self.won.who, *self.faults, *(who for column in self.marks.values() for who in column.who)}
        return sorted(found, key=lambda who: self.names[who])

    def asked(self, **more: Any) -> Filter:
        """A filter of this board's verdicts."""
        return Filter(judge=self.judge, criterion=self.criterion, **more)


def read(connection: Connection, judge: int, criterion: str) -> Numbers:
    """The numbers of a board."""
    n, v = tables.names.c, tables.verdicts.c
    names = {row.id: row.name for row in connection.execute(select(n.id, n.name))}
    number = connection.execute(select(n.id).where(n.kind == "criterion", n.name == criterion)).scalar_one()
    mine = (v.judge_id == judge, v.criterion_id == number)
    duels, won = Duels(), Column()
    marks: dict[str, Column] = defaultdict(Column)
    rows = connection.execute(
        select(v.item_id, v.first_id, v.second_id, v.value, v.ballot_id).where(
            *mine, v.fault == 0, v.value.is_not(None)
        )
    )
    for item, first, second, value, ballot in rows:
        if second is None:
            column = marks[names[ballot]]
            column.who.append(first)
            column.item.append(item)
            column.value.append(value)
        else:
            _meet(duels, item, first, second, value)
            won.who += (first, second)
            won.item += (item, item)
            won.value += (value, 1 - value)
    for item, shown, given in connection.execute(
        select(v.item_id, v.shown, v.marks).where(*mine, v.fault == 0, v.value.is_(None))
    ):
        _several(duels, won, item, orjson.loads(shown), orjson.loads(given))
    c = tables.counts.c
    counted = (c.judge_id == judge, c.criterion_id == number)
    lost = connection.execute(select(c.contestant_id, c.n).where(*counted, c.contestant_id != 0, c.fault > 0))
    faults: dict[int, int] = defaultdict(int)
    for who, count in lost:
        faults[who] += count
    total = connection.execute(
        select(func.coalesce(func.sum(c.n), 0)).where(*counted, c.contestant_id == 0)
    ).scalar_one()
    return Numbers(names[judge], criterion, names, duels, won, marks, faults, _tags(connection), int(total))


def _meet(duels: Duels, item: int, first: int, second: int, outcome: float) -> None:
    duels.first.append(first)
    duels.second.append(second)
    duels.item.append(item)
    duels.outcome.append(outcome)


def _several(duels: Duels, won: Column, item: int, shown: Sequence[int], marks: Sequence[float]) -> None:
    """A ruling on more than two: every two of them met, and each won its share of the others."""
    beaten = dict.fromkeys(shown, 0.0)
    for (one, mark), (two, other) in combinations(zip(shown, marks, strict=True), 2):
        outcome = 0.5 if mark == other else float(mark > other)
        _meet(duels, item, one, two, outcome)
        beaten[one] += outcome
        beaten[two] += 1 - outcome
    for who, count in beaten.items():
        won.who.append(who)
        won.item.append(item)
        won.value.append(count / (len(shown) - 1))


def _tags(connection: Connection) -> dict[str, dict[int, str]]:
    """The tags that part the items into a few groups, and each item's value."""
    t = tables.tags.c
    sizes = connection.execute(select(t.name, func.count(t.value.distinct())).group_by(t.name).order_by(t.name))
    wanted = [name for name, values in sizes if 1 < values <= GROUPS]
    found: dict[str, dict[int, str]] = {name: {} for name in wanted}
    for item, name, value in connection.execute(select(t.item_id, t.name, t.value).where(t.name.in_(wanted))):
        found[name][item] = value
    return found
