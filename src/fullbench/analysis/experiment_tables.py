"""What experiments show: the gain of answers that were only made longer, which captions make right references, and how
judges rule who see, who read what another saw, and who do neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement import judges_with_people
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict

SEEING = "image"
_PRINTED = {
    "scores": ("Pearson",),
    "pairs": ("accuracy, ties a class", "accuracy, ties left out"),
    "rankings": ("edit distance",),
}
"""The figures of agreement that the paper prints for judges who see and who do not."""


def _marks(record: Record, judge: str) -> dict[tuple[str, str, int, tuple[str, str, int, str]], float]:
    """A judge's marks of single responses by item, contestant, sample, and what else tells verdicts apart."""
    return {
        (verdict.item, *verdict.shown[0], _rest(verdict)): verdict.marks[0]
        for verdict in record.where(judge=judge)
        if verdict.marks is not None and len(verdict.marks) == 1
    }


def _rest(verdict: Verdict) -> tuple[str, str, int, str]:
    return verdict.ballot, verdict.criterion, verdict.trial, verdict.rater


def gains(record: Record) -> Table:
    """For each judge and contestant, the mean mark before and after, and the gain, items kept together."""
    longer = {
        (item, name, sample): response.tags[LENGTHENS]
        for (item, name, sample), response in record.responses.items()
        if LENGTHENS in response.tags
    }
    rows: list[list[Cell]] = []
    for judge in record.judges:
        marks = _marks(record, judge)
        pairs = [
            (longer[item, name, sample], item, marks[item, longer[item, name, sample], sample, rest], mark)
            for (item, name, sample, rest), mark in marks.items()
            if (item, name, sample) in longer and (item, longer[item, name, sample], sample, rest) in marks
        ]
        for who in (*sorted({pair[0] for pair in pairs}), "") if pairs else ():
            chosen = [pair for pair in pairs if who in {"", pair[0]}]
            _, items = np.unique([item for _, item, _, _ in chosen], return_inverse=True)
            before, after = (np.array([pair[place] for pair in chosen]) for place in (2, 3))
            gain = estimate_cells.difference(after - before, items)
            rows.append([judge, who or "(all)", float(before.mean()), float(after.mean()), gain, gain.p])
    notes = [
        Note("experiments.gain", "The same answers at greater length, saying no more: an even-handed judge gains none.")
    ]
    title = Note("experiments.title.gain", "What length alone gains")
    columns = headings("judge", "contestant", "mean before", "mean after", "gain", "p")
    return Table("lengthening", title, columns, rows, notes, {}, {"kind": "bars", "label": "judge", "value": "gain"})


def right(record: Record) -> Table:
    """The share of references, by the captions that they were written from, that each judge puts on the top mark."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        by_kind: dict[str, list[tuple[str, float]]] = {}
        for verdict in record.where(judge=judge):
            scale = estimate_cells.scale_of(verdict.ballot)
            if verdict.marks is not None and scale is not None:
                hit = float(verdict.marks[0] >= scale[1])
                by_kind.setdefault(verdict.contestants[0], []).append((verdict.item, hit))
        for kind, hits in sorted(by_kind.items()):
            _, items = np.unique([item for item, _ in hits], return_inverse=True)
            rows.append([judge, kind, estimate_cells.share(np.array([hit for _, hit in hits]), items)])
    title = Note("experiments.title.captions", "Which captions let a model write a right reference")
    hint = {"kind": "bars", "label": "captions", "value": "references that are right", "group": "judge"}
    return Table("captions", title, headings("judge", "captions", "references that are right"), rows, (), {}, hint)


def sights(record: Record, judges: Sequence[Mapping[str, str]]) -> Table:
    """How far each judge agrees with people seeing, reading descriptions, and with neither (Table 6).

    `judges` has for each judge its names by sight, `image` among them. Where people did not vote, the same judge's
    rulings with the pictures in view stand in for theirs.
    """
    by_people = PEOPLE in record.judges
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for names in judges:
        seeing = names[SEEING]
        meetings = judges_with_people.meet(record, PEOPLE if by_people else seeing)
        for sight, name in names.items():
            if by_people or name != seeing:
                entries = {entry.shape: entry for entry in judges_with_people.agreements(meetings, name)}
                cells = [
                    entries[kind].figures.get(figure) if kind in entries else None
                    for kind, figures in _PRINTED.items()
                    for figure in figures
                ]
                heard = record.where(judge=name)
                lost = sum(verdict.fault is not None for verdict in heard)
                rows.append([seeing, word(sight), *cells, len(heard), lost])
                notes += [
                    Note("experiments.sights.undefined", "{judge}, {sight}, {figure}: {why}.",
                         judge=seeing, sight=word(sight), figure=word(figure), why=why)
                    for entry in entries.values() for figure, why in entry.undefined.items()
                    if figure in _PRINTED[entry.shape]
                ]  # fmt: skip
    beside = (
        Note("experiments.sights.people", "Beside people, over all items; by data set, and their means, below.")
        if by_people
        else Note(
            "experiments.sights.seeing", "People did not vote: beside the same judge's rulings with the pictures."
        )
    )
    title = Note("experiments.title.sights", "Judges who see, who read descriptions, and who do neither")
    columns = headings("judge", "sight", *(name for names in _PRINTED.values() for name in names), "verdicts", "faults")
    return Table("vision expert", title, columns, rows, [beside, *notes])
