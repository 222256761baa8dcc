"""Generators as people rate their pictures: mean ratings, and one ranking of all raters with its ties."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from fullbench.figures import clustered
from fullbench.figures.joined import joined_record
from fullbench.nouns.ballot import Score, ballot
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.record import Record
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import PEOPLE


def table(record: Record) -> Table:
    """Each generator's mean rating, its mean rank among the pictures of a prompt, and its place; equal means tie.

    Several people's ratings of a picture are its mean, by which the pictures of a prompt are ranked: pictures with the
    same mean share the mean of their ranks.
    """
    rated = record.where(
        lambda verdict: len(verdict.contestants) > 1 and isinstance(ballot(verdict.ballot), Score), judge=PEOPLE
    )
    together, votes = joined_record(rated, PEOPLE, "mean")
    marks: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for verdict in together:
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
            clustered.mean(np.array([mark for _, mark, _ in marks[name]]), items),
            clustered.mean(np.array([rank for _, _, rank in marks[name]]), items),
        ])  # fmt: skip
    notes = [
        Note(
            "mj-bench.generators.ranks", "Mean rank: 1 is the best of a prompt; pictures with the same mean share it."
        ),
        *votes.notes(),
    ]
    return Table(
        "generators",
        Note("mj-bench.generators.title", "Generators by people's ratings"),
        headings("rank", "contestant", "mean mark", "mean rank"),
        rows,
        notes,
        {"rule": "mean"},
    )


def ranks(marks: tuple[float, ...]) -> list[float]:
    """The rank of each mark, 1 for the highest; equal ones share the mean of theirs.

    >>> ranks((7.0, 9.0, 7.0))
    [2.5, 1.0, 2.5]
    """
    return [sum(other > mark for other in marks) + (marks.count(mark) + 1) / 2 for mark in marks]
