"""Generators as people rate their pictures: mean ratings, and one ranking of all raters with its ties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.people.joined_votes import joined_record
from fullbench.core.ballot import Score, ballot
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict

_NOTE = Note("mj-bench.generators.ranks", "Mean rank: 1 is the best of a prompt; pictures with the same mean share it.")
_FIGURES = ("rank", "contestant", "mean mark", "mean rank")


def tables(record: Record) -> list[Table]:
    """Each generator's mean rating, its mean rank among the pictures of a prompt, and its place; equal means tie. Once
    over all prompts, and where there are several perspectives once for each.

    Several people's ratings of a picture are its mean, by which the pictures of a prompt are ranked: pictures with the
    same mean share the mean of their ranks.
    """
    rated = record.where(
        lambda verdict: len(verdict.contestants) > 1 and isinstance(ballot(verdict.ballot), Score), judge=PEOPLE
    )
    together, votes = joined_record(rated, PEOPLE, "mean")
    by_perspective: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in together:
        by_perspective[str(record.tag(verdict, "perspective") or "-")].append(verdict)
    whole = Table(
        "generators",
        Note("mj-bench.generators.title", "Generators by people's ratings"),
        headings(*_FIGURES),
        _rows(together),
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    if len(by_perspective) < 2:
        return [whole]
    parts = Table(
        "generators by perspective",
        Note("mj-bench.generators.by-perspective", "Generators by people's ratings, for each perspective"),
        headings("perspective", *_FIGURES),
        [[about, *row] for about in sorted(by_perspective) for row in _rows(by_perspective[about])],
        (_NOTE, *votes.notes()),
        {"rule": "mean"},
    )
    return [whole, parts]


def _rows(verdicts: Iterable[Verdict]) -> list[list[Cell]]:
    marks: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for verdict in verdicts:
        for name, mark, rank in zip(verdict.contestants, verdict.marks or (), ranks(verdict.marks or ()), strict=True):
            marks[name].append((verdict.item, mark, rank))
    rows: list[list[Cell]] = []
    mean_ranks = {name: round(float(np.mean([rank for _, _, rank in given])), 12) for name, given in marks.items()}
    for name in sorted(marks, key=lambda name: (mean_ranks[name], name)):
        items = np.unique([item for item, _, _ in marks[name]], return_inverse=True)[1]
        ahead = sum(other < mean_ranks[name] for other in mean_ranks.values())
        tied = sum(other == mean_ranks[name] for other in mean_ranks.values())
        rows.append([
            str(ahead + 1) if tied == 1 else f"{ahead + 1}-{ahead + tied}", name,
            estimate_cells.mean(np.array([mark for _, mark, _ in marks[name]]), items),
            estimate_cells.mean(np.array([rank for _, _, rank in marks[name]]), items),
        ])  # fmt: skip
    return rows


def ranks(marks: tuple[float, ...]) -> list[float]:
    """The rank of each mark, 1 for the highest; equal ones share the mean of theirs.

    >>> ranks((7.0, 9.0, 7.0))
    [2.5, 1.0, 2.5]
    """
    return [sum(other > mark for other in marks) + (marks.count(mark) + 1) / 2 for mark in marks]
