"""What panels, cascades and rubrics have in common: what a ruling is about, people's marks on it, a view's verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from fullbench.columns.verdict_columns import Columns
from fullbench.core.call import NOTHING
from fullbench.core.note import Note
from fullbench.core.panel import Marks, View
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.stats.array_checks import Bools

Place = tuple[str, str, str, frozenset[tuple[str, int]]]
"""What is ruled on, whatever the order: item, criterion, ballot, responses."""
PeopleMarks = dict[Place, dict[tuple[str, int], float]]
WAITS = "it waits for people"
"""Why a cascade does not rule yet: figures call that pending, and no recusal."""
BY_PEOPLE = 10_000
"""The reader of a ruling that people settled (see `Reader`): no judge of the cascade stands behind it."""
PENDING = Note(
    "cascades.pending",
    "Pending: rulings that wait for people; no figure counts them. Make a campaign of them: fullbench "
    "people add NAME --pending CASCADE --ledger LEDGER.",
)


def place_of(verdict: Verdict) -> Place:
    """What a verdict is on."""
    return verdict.item, verdict.criterion, verdict.ballot, frozenset(verdict.shown)


def people_marks(verdicts: Sequence[Verdict]) -> PeopleMarks:
    """The mean mark that people give each response, wherever it was shown."""
    marks: dict[Place, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        if verdict.judge == PEOPLE and verdict.marks is not None:
            for shown, mark in zip(verdict.shown, verdict.marks, strict=True):
                marks[place_of(verdict)][shown].append(mark)
    return {place: {shown: fmean(given) for shown, given in each.items()} for place, each in marks.items()}


def waiting(columns: Columns) -> Bools:
    """Which rulings of cascades wait for people: they are neither rulings nor faults."""
    waits = np.zeros(len(columns), dtype=np.bool_)
    waits[[row for row, text in columns.recusals.items() if text == WAITS]] = True
    return waits


def waiting_note(pending: int, verdicts: int) -> Note:
    """How many verdicts of a judge wait for people."""
    return Note(
        "leaderboard.pending", "{n:,} of {all:,} verdicts of this judge wait for people and count nowhere here.",
        n=pending, all=verdicts,
    )  # fmt: skip


def by_judges(columns: Columns) -> Columns:
    """The verdicts without what people settled for a cascade: beside their own votes it would agree with itself."""
    settled = columns.reader >= BY_PEOPLE
    return columns.rows(~settled) if settled.any() else columns


def ruled(view: View, verdict: Verdict, marks: Marks, reader: int = 0) -> Verdict:
    """A view's ruling in the place of a member's verdict."""
    return replace(_blank(view, verdict), marks=marks, fault=None, reader=reader)


def recused(view: View, verdict: Verdict, why: str) -> Verdict:
    """A view that does not rule, in the place of a member's verdict."""
    return replace(_blank(view, verdict), marks=None, fault="recused", text=why)


def _blank(view: View, verdict: Verdict) -> Verdict:
    """A verdict of the view in the place of a member's; nothing was asked for it."""
    return Verdict(
        verdict.case, view.name, verdict.item, verdict.contestants, verdict.ballot, verdict.criterion, verdict.trial,
        fault="recused", usage=NOTHING, at=verdict.at, samples=verdict.samples,
    )  # fmt: skip
