"""Rankings of picture generators by people's ratings: mean ratings, mean ranks, and places with ties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.people.joined_votes import join_record_votes
from fullbench.core.ballot import Score, ballot
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict

_NOTE = Note("mj-bench.generators.ranks")
_RANKING_COLUMNS = ("rank", "contestant", "mean mark", "mean rank")


def generator_tables(record: Record) -> list[Table]:
    """Return each generator's mean rating, its mean rank within prompts and its place; equal means tie.

    One table covers all prompts. A second one has a part per perspective if there are several. Ratings of a picture by
    several people are averaged. Pictures with the same mean share the mean of their ranks.
    """
    rating_record = record.where(
        lambda verdict: len(verdict.contestants) > 1 and isinstance(ballot(verdict.ballot), Score), judge=PEOPLE
    )
    joined_verdicts, votes = join_record_votes(rating_record, PEOPLE, "mean")
    by_perspective: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in joined_verdicts:
        by_perspective[str(record.tag(verdict, "perspective") or "-")].append(verdict)
    overall_table = Table(
        "generators",
        Note("mj-bench.generators.title"),
        table_columns(*_RANKING_COLUMNS),
        _generator_rows(joined_verdicts),
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    if len(by_perspective) < 2:
        return [overall_table]
    perspective_table = Table(
        "generators by perspective",
        Note("mj-bench.generators.by-perspective"),
        table_columns("perspective", *_RANKING_COLUMNS),
        [[about, *row] for about in sorted(by_perspective) for row in _generator_rows(by_perspective[about])],
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    return [overall_table, perspective_table]


def _generator_rows(verdicts: Iterable[Verdict]) -> list[list[Cell]]:
    marks: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for verdict in verdicts:
        for name, mark, rank in zip(
            verdict.contestants, verdict.marks or (), mark_ranks(verdict.marks or ()), strict=True
        ):
            marks[name].append((verdict.item, mark, rank))
    rows: list[list[Cell]] = []
    # Rounded, so that floating-point errors do not separate generators that tie.
    mean_ranks = {name: round(float(np.mean([rank for _, _, rank in entries])), 12) for name, entries in marks.items()}
    for name in sorted(marks, key=lambda name: (mean_ranks[name], name)):
        items = np.unique([item for item, _, _ in marks[name]], return_inverse=True)[1]
        better_count = sum(other_rank < mean_ranks[name] for other_rank in mean_ranks.values())
        tied_count = sum(other_rank == mean_ranks[name] for other_rank in mean_ranks.values())
        rows.append([
            str(better_count + 1) if tied_count == 1 else f"{better_count + 1}-{better_count + tied_count}", name,
            estimate_cells.mean_estimate(np.array([mark for _, mark, _ in marks[name]]), items),
            estimate_cells.mean_estimate(np.array([rank for _, _, rank in marks[name]]), items),
        ])  # fmt: skip
    return rows


def mark_ranks(marks: tuple[float, ...]) -> list[float]:
    """Return the rank of each mark, 1 for the highest; equal marks share their mean rank.

    >>> mark_ranks((7.0, 9.0, 7.0))
    [2.5, 1.0, 2.5]
    """
    return [sum(other_mark > mark for other_mark in marks) + (marks.count(mark) + 1) / 2 for mark in marks]
