"""What the paper draws, for whatever was judged: radar, densities, length and ego, each a table with its chart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import Met
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.text import length_of
from fullbench.core.verdict import PEOPLE

BINS = 10
DATASET = "dataset"
_RADAR = {"scores": "Pearson", "pairs": "accuracy, ties left out", "rankings": "edit distance"}
"""The figure that the radar of each kind of ruling shows; of distances what is left to one, so that out is good."""


def drawings(record: Record, meetings: Met | None, agreement: Sequence[Table]) -> list[Table]:
    """All that the record has something for; `agreement` are the tables of judges beside people."""
    shown = list(radars(agreement))
    shown += [scores(record), answer_lengths(record), judgment_lengths(record)]
    if meetings is not None:
        shown += [by_length(record, meetings), favours(meetings)]
    return [table for table in shown if table.rows]


def radars(agreement: Sequence[Table]) -> Iterable[Table]:
    """Agreement with people over data sets, a line for each judge (Figure 1), from the tables of agreement."""
    for kind, figure in _RADAR.items():
        of_kind = [table for table in agreement if table.name.startswith(f"{kind} by {DATASET}")]
        table = next((table for table in of_kind if figure in table.columns), None)
        if table is None:
            continue
        found: dict[str, dict[str, float]] = {}
        for judge, group, cell in zip(table.column("judge"), table.column(DATASET), table.column(figure), strict=True):
            # The mean over data sets is a note, and no data set itself.
            if isinstance(cell, Estimate) and not isinstance(group, Note):
                out = 1 - cell.value if kind == "rankings" else max(cell.value, 0.0)
                found.setdefault(str(judge), {})[str(group)] = out
        sets = sorted({name for values in found.values() for name in values})
        rows: list[list[Cell]] = [[judge, *(values.get(name) for name in sets)] for judge, values in found.items()]
        note = Note(
            "mllm-judge.drawings.radar",
            "{figure}; what is below zero is drawn at the centre, and of a distance what is left to one.",
            figure=word(figure),
        )
        title = Note("mllm-judge.drawings.title.radar", "Over data sets: {kind}", kind=word(kind))
        hint = {"kind": "radar", "label": "judge", "axes": sets} if len(sets) > 2 else None
        yield Table(f"radar {kind}", title, headings("judge", *(named(name) for name in sets)), rows, [note], {}, hint)


def scores(record: Record) -> Table:
    """How often each judge gives each score, people beside them (Figure 4)."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        marks = [
            (verdict.marks[0], verdict.item)
            for verdict in record.where(judge=judge)
            if verdict.marks is not None and verdict.ballot == "score:1-5"
        ]
        _, items = np.unique([item for _, item in marks] or [""], return_inverse=True)
        for score in range(1, 6) if marks else ():
            share = estimate_cells.share(np.array([float(mark == score) for mark, _ in marks]), items)
            rows.append([judge, score, share])
    title = Note("mllm-judge.drawings.title.scores", "How often each score is given")
    hint = {"kind": "densities", "x": "mark", "value": "share", "label": "judge"}
    return Table("score density", title, headings("judge", "mark", "share"), rows, (), {}, hint)


def _density(lengths: Mapping[str, Sequence[int]]) -> list[list[Cell]]:
    """The share of texts of each length, in bins of equal width; what is longer than 99% of all is in the last."""
    every = [length for each in lengths.values() for length in each]
    if not every:
        return []
    most = max(float(np.quantile(every, 0.99)), 1.0)
    width = most / BINS
    rows: list[list[Cell]] = []
    # Sorted: a run has its verdicts and responses in another order than its ledger.
    for name, each in sorted(lengths.items()):
        counts = Counter(min(int(length / width), BINS - 1) for length in each)
        rows += [[name, (place + 0.5) * width, counts[place] / len(each)] for place in range(BINS)]
    return rows


def answer_lengths(record: Record) -> Table:
    """How long the answers of each contestant are."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for response in record.responses.values():
        if response.text:
            lengths[response.contestant].append(length_of(response.text))
    title = Note("mllm-judge.drawings.title.answers", "How long the answers are, in words")
    hint = {"kind": "densities", "x": "length in words", "value": "share", "label": "contestant"}
    columns = headings("contestant", "length in words", "share")
    return Table("answer lengths", title, columns, _density(lengths), (), {}, hint)


def judgment_lengths(record: Record) -> Table:
    """How long each judge's rulings are, where it said more than the ruling."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for verdict in record:
        if verdict.judge != PEOPLE and verdict.text and verdict.fault is None:
            lengths[verdict.judge].append(length_of(verdict.text))
    title = Note("mllm-judge.drawings.title.judgments", "How long the judgments are, in words")
    hint = {"kind": "densities", "x": "length in words", "value": "share", "label": "judge"}
    columns = headings("judge", "length in words", "share")
    return Table("judgment lengths", title, columns, _density(lengths), (), {}, hint)


def by_length(record: Record, meetings: Met) -> Table:
    """Mean scores over the length of the answers, for each judge and for people on the same answers (Figure 6)."""
    rows: list[list[Cell]] = []
    for judge in meetings.judges:
        marks: list[tuple[int, float, float]] = []
        for pairing in meetings.of(judge, "scores"):
            place = (pairing.verdict.item, *pairing.verdict.shown[0])
            if place in record.responses:
                marks.append((length_of(record.responses[place].text), pairing.marks[0], pairing.other[0]))
        if not marks:
            continue
        edges = np.unique(np.quantile([length for length, _, _ in marks], np.linspace(0, 1, 6)))
        for low, high in pairwise(edges):
            inside = [row for row in marks if low <= row[0] < high or row[0] == high == edges[-1]]
            if inside:
                middle = fmean(row[0] for row in inside)
                rows.append([judge, middle, fmean(row[1] for row in inside), len(inside)])
                rows.append([_people(judge), middle, fmean(row[2] for row in inside), len(inside)])
    title = Note("mllm-judge.drawings.title.by-length", "Mean scores over the length of answers")
    hint = {"kind": "curves", "x": "length in words", "value": "mean mark", "label": "judge"}
    columns = headings("judge", "length in words", "mean mark", "n")
    return Table("scores by length", title, columns, rows, (), {}, hint)


def _people(judge: str) -> str:
    return Note("mllm-judge.drawings.people-beside", "people, where {judge} ruled", judge=judge)


def favours(meetings: Met) -> Table:
    """By how much each judge scores each contestant above or below people (Figures 19 and 20)."""
    rows: list[list[Cell]] = []
    for judge in meetings.judges:
        gaps: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for pairing in meetings.of(judge, "scores"):
            gaps[pairing.verdict.contestants[0]].append((pairing.marks[0] - pairing.other[0], pairing.verdict.item))
        for contestant, each in sorted(gaps.items()):
            _, items = np.unique([item for _, item in each], return_inverse=True)
            rows.append([judge, contestant, estimate_cells.difference(np.array([gap for gap, _ in each]), items)])
    title = Note("mllm-judge.drawings.title.favours", "Marks above people's, by contestant")
    hint = {"kind": "heat", "row": "judge", "column": "contestant", "value": "difference"}
    return Table("favours", title, headings("judge", "contestant", "difference"), rows, (), {}, hint)
