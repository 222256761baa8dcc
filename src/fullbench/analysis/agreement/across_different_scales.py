"""Marks that a judge gave on one scale beside those that people gave on another: do both rise and fall together?

A rubric's total lies from 0 to 1 and an expected mark has decimals, while people give whole numbers: on the same
responses both can be compared all the same, by figures that ask for no shared unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fullbench.analysis.estimate_cells import Gaps, scale_of
from fullbench.analysis.people.paired_verdicts_and_votes import blind
from fullbench.analysis.views.member_verdicts import by_judges
from fullbench.columns.verdict_columns import Columns, grouped
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement import two_raters
from fullbench.stats.array_checks import Floats

FIGURES = {"Pearson": two_raters.pearson, "Spearman": two_raters.spearman, "Kendall": two_raters.kendall}


@dataclass(frozen=True)
class Beside:
    """A judge's marks on one scale beside the means of the other's on another, response by response."""

    key: tuple[str, str, str, str, str]
    """Judge, study, criterion, the judge's ballot, the other's."""
    ours: Floats
    theirs: Floats
    item: npt.NDArray[np.int64]


def table(columns: Columns, other: str = PEOPLE, judges: Collection[str] = (), *, seed: int = 0) -> Table:
    """Of each judge (or of `judges` alone), how its single marks go with those of `other` on another scale."""
    met = sorted(_met(columns, other, judges), key=lambda pairs: pairs.key)
    varied = [
        (place, name)
        for place, name in ((1, "study"), (2, "criterion"))
        if len({pairs.key[place] for pairs in met}) > 1
    ]
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for pairs in met:
        judge, *_, own, theirs = pairs.key
        options: two_raters.Options = {"cluster": pairs.item.tolist(), "seed": seed}
        cells = [
            gaps.cell(f"{judge}, {name}", partial(figure, pairs.ours, pairs.theirs, **options))
            for name, figure in FIGURES.items()
        ]
        alike = scale_of(own) == scale_of(theirs)
        error = two_raters.absolute_error(pairs.ours, pairs.theirs, **options) if alike else None
        places = [pairs.key[place] for place, _ in varied]
        rows.append([judge, *places, own, theirs, *cells, error, len(pairs.ours)])
    names = [name for _, name in varied]
    notes = [
        Note(
            "other-scales.what",
            "Rulings on responses that {other} marked on another scale (mean of several), and on the judge's not: how "
            "both rise and fall together. An error is told where both scales have the same ends. Items are resampled.",
            other=other,
        ),
        *gaps.notes,
    ]
    title = Note("other-scales.title", "Correlation with {other} on another scale", other=other)
    shown = headings("judge", *names, "ballot", "other's ballots", *FIGURES, "error", "n")
    hint = {"kind": "intervals", "label": "judge", "value": "Pearson"}
    return Table("other scales", title, shown, rows, notes, {"against": other, "seed": seed}, hint)


def _met(columns: Columns, other: str, judges: Collection[str]) -> Iterator[Beside]:
    """Every two scales that meet on responses which the other did not mark on the judge's own."""
    ruled = by_judges(columns.latest())
    ruled = ruled.rows((ruled.shown == 1) & (ruled.fault < 0))
    names = ruled.names
    scaled = np.array([scale_of(spec) is not None for spec in names["ballot"]] or [False])
    ruled = ruled.rows(scaled[ruled.ballot.astype(np.int64)])
    voted, _ = blind(ruled.of(judge=other))
    if not len(voted):
        return
    for (judge, study, criterion, own), part in ruled.by("judge", "study", "criterion", "ballot"):
        if judge == other or (judges and judge not in judges):
            continue
        votes = voted.of(study=study, criterion=criterion)
        same = _responses(votes.of(ballot=own))
        for (theirs,), cast in votes.by("ballot"):
            if theirs == own:
                continue
            means = _means(cast)
            mine = [
                (row, means[place]) for row, place in enumerate(_listed(part)) if place in means and place not in same
            ]
            if mine:
                rows = np.array([row for row, _ in mine])
                marks = part.mark[part.start[:-1][rows]].astype(np.float64)
                item = part.item[rows].astype(np.int64)
                yield Beside((judge, study, criterion, own, theirs), marks, np.array([mean for _, mean in mine]), item)


Response = tuple[int, int, int]


def _listed(part: Columns) -> list[Response]:
    """Item, contestant and sample of each row."""
    at = part.start[:-1]
    return list(zip(part.item.tolist(), part.contestant[at].tolist(), part.sample[at].tolist(), strict=True))


def _responses(part: Columns) -> set[Response]:
    return set(_listed(part))


def _means(part: Columns) -> dict[Response, float]:
    """The mean mark of each response."""
    at = part.start[:-1]
    code, first = grouped(part.item, part.contestant[at], part.sample[at])
    sums = np.bincount(code, part.mark[at]) / np.bincount(code)
    listed = _listed(part)
    return {listed[row]: float(mean) for row, mean in zip(first.tolist(), sums.tolist(), strict=True)}
