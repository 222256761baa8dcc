"""How far people agree with each other, criterion by criterion, from their single votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import partial

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.estimate_cells import Gaps
from fullbench.analysis.people.joined_votes import form_of
from fullbench.analysis.verdicts_from_columns import narrow
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.stats.agreement.many_raters import Distance, krippendorff_alpha

_ONE_SIDED = Note(
    "among.one-sided",
    "Alpha on choices counts who won by name: where one contestant nearly always wins, chance alone would have votes "
    "agree, and alpha is low beside a high share of votes that say the same.",
)


def table(columns: Columns) -> Table:
    """Krippendorff's alpha and the share of equal pairs of votes, for every judge with several raters."""
    votes = columns.latest()
    named = [place for place, name in enumerate(votes.names["rater"]) if name]
    votes = votes.rows((votes.fault < 0) & np.isin(votes.rater, named))
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for (judge, criterion, _), part in votes.by("judge", "criterion", "family"):
        for spec, cast in sorted(narrow(part).by("ballot").items()):
            panels = _panels(cast)
            several = [panel for panel in panels.values() if len(panel) > 1]
            if several:
                alpha = gaps.cell(f"{judge}, {criterion}, {spec}", partial(_alpha, spec, several))
                raters = len({verdict.rater for verdict in cast})
                rows.append([judge, criterion, spec, raters, len(cast), alpha, _same(several)])
    notes = [
        Note(
            "among.what",
            "Alpha is Krippendorff's, nominal for choices and yes or no, else ordinal, response by response. Pairs: "
            "two votes on the same responses that say the same.",
        ),
        *([_ONE_SIDED] if any(form_of(str(row[2])) == "choice" for row in rows) else []),
        *gaps.notes,
    ]
    heads = headings("judge", "criterion", "ballot", "people", "votes", "alpha", "pairs of votes that say the same")
    return Table("among people", Note("among.title", "How far people agree with each other"), heads, rows, notes)


Panel = list[tuple[float, ...]]


def _panels(verdicts: Iterable[Verdict]) -> dict[tuple[object, ...], Panel]:
    """The votes on each set of responses, marks in an order that all share."""
    panels: dict[tuple[object, ...], Panel] = defaultdict(list)
    for verdict in verdicts:
        ordered = sorted(zip(verdict.shown, verdict.marks or (), strict=True))
        panels[(verdict.item, *(shown for shown, _ in ordered))].append(tuple(mark for _, mark in ordered))
    return panels


def _alpha(spec: str, panels: list[Panel]) -> Estimate:
    units: list[str] = []
    marks: list[float] = []
    distance: Distance = "nominal" if form_of(spec) in {"choice", "yes-no"} else "ordinal"
    codes: dict[tuple[float, ...], float] = {}
    for number, panel in enumerate(panels):
        for vote in panel:
            if distance == "nominal":
                units.append(str(number))
                marks.append(codes.setdefault(vote, float(len(codes))))
            else:
                units += [f"{number}.{place}" for place in range(len(vote))]
                marks += vote
    return krippendorff_alpha(units, marks, distance=distance, resamples=300)


def _same(panels: list[Panel]) -> Cell:
    """The share of pairs of votes that say the same; those on one set of responses are kept together."""
    pairs = np.array([len(panel) * (len(panel) - 1) / 2 for panel in panels])
    same = np.array([sum(n * (n - 1) / 2 for n in Counter(panel).values()) for panel in panels])
    return estimate_cells.share_of(same, pairs, np.arange(len(panels)))
