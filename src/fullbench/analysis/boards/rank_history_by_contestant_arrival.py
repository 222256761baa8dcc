"""Rank history: the leaderboard recomputed at the end of each step, with one step per arrival of contestants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.leaderboard import Board, Key, Settings, build_board
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

STEPS = 6
"""Largest number of daily steps, because each computes a whole leaderboard."""
MAX_CONTESTANTS = 8
"""Number of contestants with a line: today's best."""
_DAY = 86400.0
_MAX_NEWCOMERS = 3


@dataclass(frozen=True)
class Step:
    """Leaderboards at the end of a step, the day it ended, and the contestants new in it."""

    day: str
    newcomers: Sequence[str]
    boards: Iterable[Board]


def history_table(
    judge: str, steps: Iterable[Step], notes: Sequence[str], contestants: Sequence[str] | None = None
) -> Table:
    """Return the places after each step, of the given contestants or of all."""
    rows: list[list[Cell]] = []
    for number, step in enumerate(steps, 1):
        for standing in step.boards:
            match_counts = dict(zip(standing.matches.names, standing.matches.counts(), strict=True))
            ranks = standing.standings.column("rank")
            for place, (name, rank) in enumerate(zip(standing.contestants, ranks, strict=True), 1):
                if contestants is None or name in contestants:
                    rows.append(
                        [number, step.day, ", ".join(step.newcomers), name, place, rank, standing.rating_of(name),
                         match_counts[name]]
                    )  # fmt: skip
    hint = {
        "kind": "curves",
        "x": "step number",
        "value": "place on the board",
        "label": "contestant",
        "first_on_top": True,
    }
    columns = table_columns(
        "step number", "day", "newcomers", "contestant", "place on the board", "rank", "rating", "matches"
    )
    title = Note("submissions.title.history", judge=judge)
    return Table("history", title, columns, rows, notes, {}, hint)


def daily_history_table(
    columns: Columns, key: Key, at: npt.NDArray[np.float64], settings: Settings | None = None
) -> Table | None:
    """Return the places of the best after each day with a new contestant, or None if all arrived on one day.
    `at` is the time of each verdict.
    """
    if not len(columns):
        return None
    day = np.floor(at / _DAY)
    size = len(columns.names["contestant"])
    came = np.full(size, np.inf)
    np.minimum.at(came, columns.contestant.astype(np.int64), np.repeat(day, columns.response_counts))
    arrivals = np.unique(came[np.isfinite(came)])
    if len(arrivals) < 2:
        return None
    step_places = np.unique(np.linspace(0, len(arrivals) - 1, min(STEPS, len(arrivals))).round().astype(np.int64))
    settings = replace(settings or Settings(), elo=False, reference=None)
    steps: list[Step] = []
    last_arrival = -np.inf
    for place in step_places.tolist():
        # Each step ends before the next newcomer's first match, so its board shows what was known before.
        until = arrivals[place + 1] if place + 1 < len(arrivals) else np.inf
        part = columns.rows(day < until)
        new = [
            columns.names["contestant"][who]
            for who in np.flatnonzero((came > last_arrival) & (came <= arrivals[place]))
        ]
        newcomer_names = [
            *new[:_MAX_NEWCOMERS],
            *([f"+{len(new) - _MAX_NEWCOMERS}"] if len(new) > _MAX_NEWCOMERS else []),
        ]
        end_day = datetime.fromtimestamp(float(day[day < until].max()) * _DAY, UTC).strftime("%Y-%m-%d")
        steps.append(
            Step(end_day, newcomer_names, [build_board(part, key, settings)] if (part.fault < 0).any() else [])
        )
        last_arrival = arrivals[place]
    today = [name for standing in steps[-1].boards for name in standing.contestants]
    notes = [Note("history.days")]
    if len(step_places) < len(arrivals):
        notes.append(Note("history.some-days", n=len(step_places), all=len(arrivals)))
    if len(today) > MAX_CONTESTANTS:
        notes.append(Note("history.best", n=MAX_CONTESTANTS, all=len(today)))
    return history_table(key.judge, steps, notes, today[:MAX_CONTESTANTS])
