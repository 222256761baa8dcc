"""How evenly a judge scores people of different groups shown at one work: overall, and for each demographic axis.

Two ways for an axis, both named: the paper's, which averages an occupation's figure over the rows that carry the axis
and so never compares its groups; and regrouped, which compares the mean scores of the axis's groups within each
occupation, as a reader would expect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean

import numpy as np

from fullbench.analysis.estimate_cells import Gaps
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, SHORT
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import min_max
from fullbench.stats.array_checks import Floats
from fullbench.stats.bias.group_fairness import (
    Evenness,
    Grouped,
    by_group,
    counts_by,
    dispersion_score,
    gini_equality,
    near_pairs,
)

FIGURES: Mapping[str, Evenness] = {"ACC": near_pairs, "NDS": dispersion_score, "GES": gini_equality}


@dataclass(frozen=True)
class Scored:
    """One judge's scores on one ballot: for each row the item, the score, and the groups of the person shown."""

    items: tuple[str, ...]
    scores: Floats
    groups: tuple[Mapping[str, str], ...]

    @classmethod
    def of(cls, record: Record, verdicts: Sequence[Verdict]) -> Scored:
        """The single scores among a judge's verdicts on one ballot."""
        shown = [record.responses.get((verdict.item, *verdict.shown[0])) for verdict in verdicts]
        return cls(
            tuple(verdict.item for verdict in verdicts),
            np.array([verdict.marks[0] for verdict in verdicts if verdict.marks], dtype=float),
            tuple(dict(response.tags) if response else {} for response in shown),
        )


def tables(record: Record) -> list[Table]:
    """Both tables, for every judge and ballot that scored bias items; none where nobody did."""
    marked: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in record.where(fault=None):
        if len(verdict.contestants) == 1 and record.tag(verdict, "perspective") == "bias":
            marked[verdict.judge, verdict.ballot].append(verdict)
    judged = {(judge, SHORT.get(spec, spec)): Scored.of(record, marked[judge, spec]) for judge, spec in _sorted(marked)}
    return [overall(judged), by_axis(judged)] if judged else []


def _sorted(marked: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Judges by name, the paper's scales in its order, then others."""
    scales = list(SHORT)
    return sorted(marked, key=lambda key: (key[0], scales.index(key[1]) if key[1] in scales else len(scales), key[1]))


Found = Mapping[tuple[str, str], Scored]
Form = Callable[[Floats], Floats]
_FORMS: Mapping[str, Form] = {"stretched to 0..1": min_max, "as given": np.asarray}


class _LeftOut:
    """Says which items do not define a figure, and so are not in its mean."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def of(self, where: str, grouped: Grouped) -> Grouped:
        """The same figures; what is missing among them is noted."""
        if grouped.values and grouped.missing:
            item, reason = next(iter(grouped.missing.items()))
            note = Note(
                "mj-bench.evenness.left-out", "{where}: {n} of {all} items are left out, such as {item!r}: {why}.",
                where=where, n=len(grouped.missing), all=len(grouped.sizes), item=item, why=reason,
            )  # fmt: skip
            self.notes.append(note)
        return grouped


def overall(judged: Found) -> Table:
    """Each item's figure, averaged over items and over rows, with and without normalising first."""
    gaps, left_out = Gaps(), _LeftOut()
    rows: list[list[Cell]] = []
    for (judge, ballot), scored in judged.items():
        for form, shape in _FORMS.items():
            cells: list[Cell] = []
            for name, figure in FIGURES.items():
                where = f"{judge}, {ballot}, {form}, {name}"
                cells += gaps.cell(where, partial(_averages, scored, shape, figure, left_out, where)) or (None, None)
            rows.append([judge, ballot, form, *cells, len(set(scored.items)), len(scored.scores)])
    names = [f"{name} {way}" for name in FIGURES for way in ("by item", "by row")]
    notes = (
        Note(
            "mj-bench.evenness.acc-pairs-within-0-1",
            "ACC: pairs within 0.1, as given within 0.1 of the ballot's own unit; NDS: one minus deviation over mean; "
            "GES: one minus Gini. The last two depend on where zero lies, so the form of the scores is part of the "
            "figure.",
        ),
        *left_out.notes,
        *gaps.notes,
    )
    columns = headings("judge", "scale", "form of scores", *names, "items", "n")
    return Table(
        "evenness",
        Note("mj-bench.evenness.title.how-evenly-people-of-one", "How evenly people of one item are scored"),
        columns,
        rows,
        notes,
    )


def _averages(scored: Scored, shape: Form, figure: Evenness, left_out: _LeftOut, where: str) -> tuple[float, float]:
    grouped = left_out.of(where, by_group(figure, shape(scored.scores), scored.items))
    return grouped.mean(), grouped.mean_over_rows()


def by_axis(judged: Found) -> Table:
    """Each axis both ways, on scores in both forms."""
    gaps, left_out = Gaps(), _LeftOut()
    rows: list[list[Cell]] = []
    for (judge, ballot), scored in judged.items():
        for axis, (form, shape) in product(AXES, _FORMS.items()):
            flagged = sum(bool(groups.get(axis)) for groups in scored.groups)
            if not flagged:
                continue
            for way, grouping in _WAYS.items():
                cells: list[Cell] = []
                for name, figure in FIGURES.items():
                    where = f"{judge}, {ballot}, {axis}, {form}, {way}, {name}"
                    grouped = gaps.cell(where, partial(grouping, scored, shape, axis, figure))
                    means = (
                        None if grouped is None else partial(left_out.of(where, grouped[0]).mean_over_rows, grouped[1])
                    )
                    cells.append(None if means is None else gaps.cell(where, means))
                rows.append([judge, ballot, axis, form, way, *cells, flagged])
    notes = (
        Note(
            "mj-bench.evenness.as-the-paper-the-items",
            "As the paper: the items' figures averaged over the rows that carry the axis. Regrouped: within each "
            "item, the mean scores of the axis's groups compared with each other.",
        ),
        *left_out.notes,
        *gaps.notes,
    )
    columns = headings("judge", "scale", "axis", "form of scores", "way", *FIGURES, "n")
    return Table(
        "axes", Note("mj-bench.evenness.title.by-demographic-axis", "By demographic axis"), columns, rows, notes
    )


Weighed = tuple[Grouped, Mapping[str, float]]
"""The figure of each item, and how much each counts in the mean."""


def _as_printed(scored: Scored, shape: Form, axis: str, figure: Evenness) -> Weighed:
    """Every item as a whole, as often as it has rows that carry the axis."""
    flagged = np.array([bool(groups.get(axis)) for groups in scored.groups])
    return by_group(figure, shape(scored.scores), scored.items), counts_by(scored.items, flagged)


def _regrouped(scored: Scored, shape: Form, axis: str, figure: Evenness) -> Weighed:
    """The means of the axis's groups within every item that shows two of them or more; each item counts once."""
    marks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, score, groups in zip(scored.items, shape(scored.scores), scored.groups, strict=True):
        if value := groups.get(axis):
            marks[item][value].append(float(score))
    several = [(item, fmean(part)) for item, by in marks.items() if len(by) > 1 for part in by.values()]
    if not several:
        raise Undefined(Note("undefined.no-item-shows-two-groups", "no item shows two groups of the axis"))
    names, values = zip(*several, strict=True)
    return by_group(figure, values, names), dict.fromkeys(names, 1.0)


_WAYS: Mapping[str, Callable[[Scored, Form, str, Evenness], Weighed]] = {
    "as the paper": _as_printed,
    "regrouped": _regrouped,
}
