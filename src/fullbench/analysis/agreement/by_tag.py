"""Tables of how far judges agree with people: a row for each group of items, and pairs that everybody decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fullbench.analysis.agreement.judges_with_people import (
    FIGURES,
    UNTAGGED,
    Agreement,
    Met,
    agreements,
    by_tag,
    winner,
)
from fullbench.analysis.averages_over_groups import averages
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed, word
from fullbench.core.record import Pairing
from fullbench.core.table import Cell, Table

WIDTH = 2
"""How many figures stand side by side in one table."""


def agreement_tables(
    meetings: Met,
    tags: Sequence[str],
    *,
    judges: Sequence[str] | None = None,
    brief: bool = False,
    p_values: bool = False,
    seed: int = 0,
) -> list[Table]:
    """For each shape of ruling and each tag, a table of judges and groups, with the mean over groups below.

    `brief` leaves out the tables of further figures; `p_values` adds that of each correlation with people.
    """
    tables: list[Table] = []
    listed = meetings.judges if judges is None else judges
    for tag in tags:
        groups = by_tag(meetings.record, tag)
        entries = [entry for judge in listed for entry in agreements(meetings, judge, groups, seed=seed)]
        means = {judge: averages(meetings, judge, groups, first=brief, seed=seed) for judge in listed}
        for kind, figures in FIGURES.items():
            of_kind = [entry for entry in entries if entry.shape == kind]
            names = list(figures)
            for start in range(0, WIDTH if brief else len(names), WIDTH):
                part = names[start : start + WIDTH]
                tables.append(_table(meetings, kind, tag, names=part, entries=of_kind, means=means,
                                     p_values=p_values and kind == "scores" and start == 0))  # fmt: skip
    return [table for table in tables if table.rows]


def _table(
    meetings: Met,
    kind: str,
    tag: str,
    *,
    names: Sequence[str],
    entries: Sequence[Agreement],
    means: Mapping[str, Mapping[str, Mapping[str, Estimate]]],
    p_values: bool,
) -> Table:
    main = names[0] == next(iter(FIGURES[kind]))
    rows: list[list[Cell]] = []
    notes = [
        Note(
            "judging.beside-people-on-the-same",
            "Beside people on the same responses ({rule} of several votes); items are resampled.",
            rule=word(meetings.rule(kind)),
        ),
        *meetings.notes(kind),
    ]
    if p_values:
        notes.append(
            Note(
                "judging.p",
                "p: of no correlation (Pearson), by Student's t with rows taken as independent; where items have "
                "several rows it is too small, and the interval is the one to go by.",
            )
        )
    for judge in dict.fromkeys(entry.judge for entry in entries):
        of_judge = [entry for entry in entries if entry.judge == judge]
        for entry in of_judge:
            cells = [entry.figures.get(name) for name in names]
            first = entry.figures.get(names[0])
            chances: list[Cell] = [None if first is None else first.p] if p_values else []
            rows.append([judge, entry.group or UNTAGGED, *cells, *chances, entry.n, entry.faults])
            notes += [
                Note(
                    "judging.undefined",
                    "{judge}, {group}, {figure}: {why}.",
                    judge=judge,
                    group=entry.group or UNTAGGED,
                    figure=word(name),
                    why=why,
                )
                for name, why in entry.undefined.items()
                if name in names
            ]
        known = sum(entry.first is not None and not entry.of_one_item for entry in of_judge)
        averaged = means[judge].get(kind, {})
        if known > 1 and any(name in averaged for name in names):
            notes += _single(judge, sum(entry.of_one_item for entry in of_judge)) if main else []
            faults = sum(entry.faults for entry in of_judge)
            values = [averaged.get(name) for name in names]
            n = max(mean.n for mean in values if mean is not None)
            blank: list[Cell] = [None] if p_values else []
            rows.append([judge, Note("judging.mean-of", "mean of {n}", n=known), *values, *blank, n, faults])
    heat = {"kind": "heat", "row": "judge", "column": tag, "value": names[0]}
    intervals = {"kind": "intervals", "label": tag, "value": names[0]}
    hint = None if not main else heat if len({row[0] for row in rows}) > 1 else intervals
    title: str = Note("judging.title", "Agreement with people on {kind}, by {tag}", kind=word(kind), tag=tag)
    if not main:
        figures = listed([word(name) for name in names])
        title = Note("judging.title.more", "{title}: {figures}", title=title, figures=figures)
    columns = headings("judge", named(tag), *names, *(["p"] if p_values else []), "n", "faults")
    name = f"{kind} by {tag}" + ("" if main else f", {names[0]}")
    return Table(
        name, title, columns, rows, notes, {"rule": meetings.rule(kind)},
        hint,
    )  # fmt: skip


def _single(judge: str, groups: int) -> list[str]:
    """That groups of one item are in no mean over groups, for their spread is not known."""
    apart = Note(
        "judging.groups-of-one-item", "{judge}'s mean is over groups of two items or more; {n} of one stand apart.",
        judge=judge, n=groups,
    )  # fmt: skip
    return [apart] if groups else []


def decided_by_all(meetings: Met, *, seed: int = 0) -> Table:
    """Accuracy on the pairs that people and every judge of the table decide: the same rows for all judges.

    The other meaning of "without ties" (people and this judge decide) is a column of `agreement_tables`.
    """
    heard = {
        judge: {_panel(p): p for p in meetings.of(judge, "pairs")}
        for judge in meetings.judges
        if meetings.of(judge, "pairs")
    }
    shared = set.intersection(*(set(panels) for panels in heard.values())) if heard else set()
    decided = [
        place
        for place in sorted(shared)
        if all(None not in {winner(panels[place].marks), winner(panels[place].other)} for panels in heard.values())
    ]
    rows: list[list[Cell]] = []
    if decided and len(heard) > 1:
        hits = FIGURES["pairs"]["accuracy, ties a class"]
        rows = [[judge, hits([panels[place] for place in decided], seed)] for judge, panels in heard.items()]
    note = Note(
        "judging.pairs-were-ruled-on-by",
        "{n:,} pairs were ruled on by all {judges} judges; {decided:,} of them nobody ties.",
        n=len(shared), judges=len(heard), decided=len(decided),
    )  # fmt: skip
    title = Note("judging.title.accuracy-on-pairs-that-everybody", "Accuracy on pairs that everybody decides")
    return Table("pairs decided by all", title, headings("judge", "accuracy"), rows, [note])


def _panel(pairing: Pairing) -> tuple[str, ...]:
    return (pairing.verdict.item, pairing.verdict.criterion, *sorted(pairing.verdict.contestants))
