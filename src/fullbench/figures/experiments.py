"""What experiments show: the gain of answers that were only made longer, and which captions make right references."""

from __future__ import annotations

import numpy as np

from fullbench.figures import clustered
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.record import Record
from fullbench.nouns.response import LENGTHENS
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import Verdict


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
            gain = clustered.difference(after - before, items)
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
            scale = clustered.scale_of(verdict.ballot)
            if verdict.marks is not None and scale is not None:
                hit = float(verdict.marks[0] >= scale[1])
                by_kind.setdefault(verdict.contestants[0], []).append((verdict.item, hit))
        for kind, hits in sorted(by_kind.items()):
            _, items = np.unique([item for item, _ in hits], return_inverse=True)
            rows.append([judge, kind, clustered.share(np.array([hit for _, hit in hits]), items)])
    title = Note("experiments.title.captions", "Which captions let a model write a right reference")
    hint = {"kind": "bars", "label": "captions", "value": "references that are right", "group": "judge"}
    return Table("captions", title, headings("judge", "captions", "references that are right"), rows, (), {}, hint)
