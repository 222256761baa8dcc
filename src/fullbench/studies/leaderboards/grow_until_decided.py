"""Grow a leaderboard until every pair of neighbours is decided.

After each round, the ratings get intervals that are valid at all rounds together. The next matches are the most
informative ones about undecided neighbours. It stops when all neighbours are separated, or equal within the zone.
Stored verdicts are not requested again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import InputError
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.sequential_intervals import Look, compute_look, next_matches
from fullbench.studies.engines import Budget, JobCounts, Stop, Watch
from fullbench.studies.leaderboards.growing_leaderboard import Board, match_cases, match_price

# Pairs are chosen again after each round: shorter rounds choose better and take longer.
ROUND = 32
_FIRST = 4
"""Number of matches per pair before the data choose the next ones."""
OpenMatches = list[tuple[Item, Response, Response]]


@dataclass
class GrowthResult:
    """Result of growing: number of matches, last look at the ratings, and the reason for stopping."""

    names: Sequence[str]
    matches: int = 0
    last_look: Look | None = None
    reason: str = ""
    job_counts: list[JobCounts] = field(default_factory=list)

    def table(self) -> Table:
        """Return the neighbours, best first, with the state of each pair."""
        rows: list[list[Cell]] = []
        for standing in self.last_look.neighbours if self.last_look else ():
            state = "separated" if standing.is_separated else "equal" if standing.is_equal else "undecided"
            half = None if standing.half == float("inf") else standing.half
            rows.append([self.names[standing.ahead], self.names[standing.behind], standing.gap, half, word_note(state)])
        notes = [Note("growing.matches", n=self.matches, reason=self.reason), Note("growing.how")]
        heads = table_columns("contestant", "against", "gap", "half interval (points)", "state")
        return Table("neighbours", Note("growing.title"), heads, rows, notes)


def grow_leaderboard(
    board: Board, *, zone: float = 30.0, most: int | None = None, seed: int = 0, budget: Budget | None = None,
    stop: Stop | None = None, watch: Watch | None = None,
) -> GrowthResult:  # fmt: skip
    """Play until all neighbours are decided. The same call resumes a run that was stopped."""
    return _GrowthRun(board, zone, most, seed).run(budget, stop or Stop(), watch)


@dataclass
class _GrowthRun:
    board: Board
    zone: float
    most: int | None
    seed: int

    def run(self, budget: Budget | None, stop: Stop, watch: Watch | None) -> GrowthResult:
        names = self.board.pool.contestants()
        if len(names) < 2:
            raise InputError(f"a leaderboard needs two contestants; the responses are those of {', '.join(names)}")
        growth = GrowthResult(names)
        left = self._open_matches(names)
        prices = np.ones((len(names), len(names)))
        for first, second in left:
            prices[first, second] = match_price(self.board.judge, left[first, second]) if left[first, second] else 1.0
        while True:
            self._update_look(growth)
            growth.reason = self._stop_reason(growth, left, stop)
            if growth.reason:
                return growth
            next_cases = self._choose_cases(growth, left, prices)
            job_counts = self.board.play(partial(iter, next_cases), budget=budget, stop=stop, watch=watch)
            growth.job_counts += job_counts
            if job_counts[0].stop_reason or job_counts[0].failure_count:
                self._update_look(growth)
                growth.reason = job_counts[0].stop_reason or "calls failed"
                return growth

    def _update_look(self, growth: GrowthResult) -> None:
        matches = self.board.load_matches()
        if matches is None or not len(matches):
            return
        place = {name: code for code, name in enumerate(growth.names)}
        codes = np.array([place.get(name, -1) for name in matches.names])
        rows = matches.rows
        is_rated = (codes[rows.first] >= 0) & (codes[rows.second] >= 0)
        first, second = codes[rows.first][is_rated], codes[rows.second][is_rated]
        items = rows.item[is_rated].astype(np.int64)
        growth.matches = int(is_rated.sum())
        if growth.matches:
            growth.last_look = compute_look(
                first, second, rows.outcome[is_rated], items, len(growth.names), zone=self.zone
            )

    def _stop_reason(self, growth: GrowthResult, left: dict[tuple[int, int], OpenMatches], stop: Stop) -> str:
        if growth.last_look is not None and not growth.last_look.undecided_pairs:
            return Note("growing.decided", zone=self.zone)
        if stop.reason:
            return stop.reason
        if not any(left.values()):
            return Note("growing.all-played")
        if self.most is not None and growth.matches >= self.most:
            return Note("growing.most", n=growth.matches)
        return ""

    def _choose_cases(
        self, growth: GrowthResult, left: dict[tuple[int, int], OpenMatches], prices: Floats
    ) -> tuple[Case, ...]:
        room = ROUND if self.most is None else min(ROUND, max(1, self.most - growth.matches))
        open_ = [sides for sides in left if left[sides]]
        pairs: list[tuple[int, int]] = []
        if growth.last_look is None or growth.matches < _FIRST * len(left):
            turns = sorted(open_ * _FIRST, key=lambda sides: -len(left[sides]))
            pairs = turns[:room]
        else:
            pairs = next_matches(growth.last_look, room, price=prices, allowed_pairs=open_)
        next_cases: list[Case] = []
        for sides in pairs:
            if left[sides]:
                next_cases += match_cases(*left[sides].pop())
        return tuple(next_cases)

    def _open_matches(self, names: Sequence[str]) -> dict[tuple[int, int], OpenMatches]:
        pool, matches = self.board.pool, self.board.load_matches()
        played_keys = matches.played() if matches else set()
        responses = [pool.responses_of(name) for name in names]
        left = {}
        for first, second in combinations(range(len(names)), 2):
            open_ = [
                (item, responses[first][item.id], responses[second][item.id])
                for item in pool.items
                if item.id in responses[first] and item.id in responses[second]
                and (item.id, names[first], names[second]) not in played_keys
            ]  # fmt: skip
            random.Random(f"{self.seed}/{names[first]}/{names[second]}").shuffle(open_)
            left[first, second] = open_
        return left
