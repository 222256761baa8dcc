"""How the ranks of a leaderboard went: the board again at the end of each step, a step for each time newcomers came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.leaderboard import Board, Key, Settings, board, rank_text
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

STEPS = 6
"""So many steps at most are computed where they are days: each is a whole board."""
SHOWN = 8
"""So many contestants, the best of today, have a line."""
_DAY = 86400.0
_NAMED = 3


@dataclass(frozen=True)
class Step:
    """The boards at the end of a step: when it ended, and who was new in it."""

    day: str
    newcomers: Sequence[str]
    boards: Iterable[Board]


def table(judge: str, steps: Iterable[Step], notes: Sequence[str], contestants: Sequence[str] | None = None) -> Table:
    """Each step's places, of these contestants or of all."""
    rows: list[list[Cell]] = []
    for number, step in enumerate(steps, 1):
        for standing in step.boards:
            for place, line in enumerate(standing.lines, 1):
                if contestants is None or line.contestant in contestants:
                    rows.append(
                        [number, step.day, ", ".join(step.newcomers), line.contestant, place, rank_text(line.rank),
                         line.rating, line.matches]
                    )  # fmt: skip
    hint = {
        "kind": "curves",
        "x": "step number",
        "value": "place on the board",
        "label": "contestant",
        "first_on_top": True,
    }
    columns = headings(
        "step number", "day", "newcomers", "contestant", "place on the board", "rank", "rating", "matches"
    )
    title = Note("submissions.title.history", "How the ranks went, by {judge}", judge=judge)
    return Table("history", title, columns, rows, notes, {}, hint)


def daily(columns: Columns, key: Key, at: npt.NDArray[np.float64], settings: Settings | None = None) -> Table | None:
    """The places of the best after each day on which somebody was new; `at` is when each verdict was given.

    None where all contestants came on one day.
    """
    if not len(columns):
        return None
    day = np.floor(at / _DAY)
    size = len(columns.names["contestant"])
    came = np.full(size, np.inf)
    np.minimum.at(came, columns.contestant.astype(np.int64), np.repeat(day, columns.shown))
    arrivals = np.unique(came[np.isfinite(came)])
    if len(arrivals) < 2:
        return None
    chosen = np.unique(np.linspace(0, len(arrivals) - 1, min(STEPS, len(arrivals))).round().astype(np.int64))
    settings = replace(settings or Settings(), elo=False, reference=None)
    steps: list[Step] = []
    known = -np.inf
    for place in chosen.tolist():
        # As far as the next newcomer's first match: a board without it says what was known before.
        until = arrivals[place + 1] if place + 1 < len(arrivals) else np.inf
        part = columns.rows(day < until)
        new = [columns.names["contestant"][who] for who in np.flatnonzero((came > known) & (came <= arrivals[place]))]
        named = [*new[:_NAMED], *([f"+{len(new) - _NAMED}"] if len(new) > _NAMED else [])]
        ended = datetime.fromtimestamp(float(day[day < until].max()) * _DAY, UTC).strftime("%Y-%m-%d")
        steps.append(Step(ended, named, [board(part, key, settings)] if (part.fault < 0).any() else []))
        known = arrivals[place]
    today = [line.contestant for standing in steps[-1].boards for line in standing.lines]
    notes = [
        Note(
            "history.days",
            "After each day on which a contestant was new, with all matches up to the next newcomer's first; the place "
            "is by rating alone, the rank says which places the intervals leave open.",
        )
    ]
    if len(chosen) < len(arrivals):
        notes.append(
            Note("history.some-days", "{n} of {all} such days are shown.", n=len(chosen), all=len(arrivals))
        )  # fmt: skip
    if len(today) > SHOWN:
        notes.append(
            Note("history.best", "The best {n} of {all} contestants of today.", n=SHOWN, all=len(today))
        )  # fmt: skip
    return table(key.judge, steps, notes, today[:SHOWN])
