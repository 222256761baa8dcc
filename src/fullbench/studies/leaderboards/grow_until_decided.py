"""A leaderboard that grows until every place on it is decided, and may be watched all the while.

After every round of matches it is looked at with intervals that hold at all looks together; the next matches are those
that tell most about the neighbours that are still undecided. It stops when each two neighbours are separated, or surely
closer than anybody cares. What the ledger holds is never asked again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np

from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note, word
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.sequential_intervals import Look, look, next_matches
from fullbench.studies.engines import Budget, Stop, Tally, Watch
from fullbench.studies.leaderboards.growing_leaderboard import Board, match_price, pair

ROUND = 32
_FIRST = 4
"""Every pair is played so often before the data choose."""
Open = list[tuple[Item, Response, Response]]


@dataclass
class Grown:
    """What came of it: matches that are there, the last look, and why it stopped."""

    names: Sequence[str]
    matches: int = 0
    seen: Look | None = None
    reason: str = ""
    tallies: list[Tally] = field(default_factory=list)

    def table(self) -> Table:
        """The neighbours, best first, and what is sure of each two."""
        rows: list[list[Cell]] = []
        for standing in self.seen.neighbours if self.seen else ():
            said = "separated" if standing.separated else "equal" if standing.equal else "undecided"
            half = None if standing.half == float("inf") else standing.half
            rows.append([self.names[standing.ahead], self.names[standing.behind], standing.gap, half, word(said)])
        notes = [
            Note("growing.matches", "{n:,} matches; stopped: {reason}.", n=self.matches, reason=self.reason),
            Note(
                "growing.how",
                "The intervals hold at every look together (a confidence sequence, 95% for all pairs); equal: the gap "
                "surely lies within the zone.",
            ),
        ]
        heads = headings("contestant", "against", "gap", "half interval (points)", "state")
        return Table("neighbours", Note("growing.title", "What is sure of neighbours"), heads, rows, notes)


def grow(
    board: Board, *, zone: float = 30.0, most: int | None = None, seed: int = 0, budget: Budget | None = None,
    stop: Stop | None = None, watch: Watch | None = None,
) -> Grown:  # fmt: skip
    """Play until all neighbours are decided. Stopped half-way, the same call goes on from there."""
    return _Growing(board, zone, most, seed).run(budget, stop or Stop(), watch)


@dataclass
class _Growing:
    board: Board
    zone: float
    most: int | None
    seed: int

    def run(self, budget: Budget | None, stop: Stop, watch: Watch | None) -> Grown:
        names = self.board.pool.contestants()
        if len(names) < 2:
            raise InputError(f"a leaderboard needs two contestants; the responses are those of {', '.join(names)}")
        grown = Grown(names)
        left = self._left(names)
        prices = np.ones((len(names), len(names)))
        for one, two in left:
            prices[one, two] = match_price(self.board.judge, left[one, two]) if left[one, two] else 1.0
        while True:
            self._look(grown)
            grown.reason = self._enough(grown, left, stop)
            if grown.reason:
                return grown
            chosen = self._choose(grown, left, prices)
            tallies = self.board.play(partial(iter, chosen), budget=budget, stop=stop, watch=watch)
            grown.tallies += tallies
            if tallies[0].stopped or tallies[0].failed:
                self._look(grown)
                grown.reason = tallies[0].stopped or "calls failed"
                return grown

    def _look(self, grown: Grown) -> None:
        settled = self.board.settled()
        if settled is None or not len(settled):
            return
        place = {name: code for code, name in enumerate(grown.names)}
        known = np.array([place.get(name, -1) for name in settled.names])
        rows = settled.rows
        there = (known[rows.one] >= 0) & (known[rows.two] >= 0)
        one, two = known[rows.one][there], known[rows.two][there]
        items = rows.item[there].astype(np.int64)
        grown.matches = int(there.sum())
        if grown.matches:
            grown.seen = look(one, two, rows.outcome[there], items, len(grown.names), zone=self.zone)

    def _enough(self, grown: Grown, left: dict[tuple[int, int], Open], stop: Stop) -> str:
        if grown.seen is not None and not grown.seen.undecided:
            return Note(
                "growing.decided", "all neighbours are separated, or equal within ±{zone:g} points", zone=self.zone
            )
        if stop.reason:
            return stop.reason
        if not any(left.values()):
            return Note("growing.all-played", "every pair was played on every item")
        if self.most is not None and grown.matches >= self.most:
            return Note("growing.most", "{n:,} matches were played", n=grown.matches)
        return ""

    def _choose(self, grown: Grown, left: dict[tuple[int, int], Open], prices: Floats) -> tuple[Case, ...]:
        """The cases of the next round."""
        room = ROUND if self.most is None else min(ROUND, max(1, self.most - grown.matches))
        open_ = [sides for sides in left if left[sides]]
        pairs: list[tuple[int, int]] = []
        if grown.seen is None or grown.matches < _FIRST * len(left):
            turns = sorted(open_ * _FIRST, key=lambda sides: -len(left[sides]))
            pairs = turns[:room]
        else:
            pairs = next_matches(grown.seen, room, price=prices, allowed=open_)
        chosen: list[Case] = []
        for sides in pairs:
            if left[sides]:
                chosen += pair(*left[sides].pop())
        return tuple(chosen)

    def _left(self, names: Sequence[str]) -> dict[tuple[int, int], Open]:
        """For each two contestants the items still to be played, in an order drawn from the seed."""
        pool, settled = self.board.pool, self.board.settled()
        done = {(m.item, m.first, m.second) for m in settled.matches} if settled else set()
        responses = [pool.of(name) for name in names]
        left = {}
        for one, two in combinations(range(len(names)), 2):
            open_ = [
                (item, responses[one][item.id], responses[two][item.id])
                for item in pool.items
                if item.id in responses[one] and item.id in responses[two]
                and (item.id, names[one], names[two]) not in done
            ]  # fmt: skip
            random.Random(f"{self.seed}/{names[one]}/{names[two]}").shuffle(open_)
            left[one, two] = open_
        return left
