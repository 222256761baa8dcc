"""Helpers shared by panels, cascades and rubrics: response set keys, people's mean marks, verdicts of a view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from fullbench.columns.verdict_columns import Columns
from fullbench.core.model_call import NOTHING
from fullbench.core.panel_and_cascade import Marks, View
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import NOT_READ, PEOPLE, ReplyReading, Verdict
from fullbench.stats.array_checks import Bools

ResponseSetKey = tuple[str, str, str, frozenset[tuple[str, int]]]
"""Item, criterion, ballot and responses, independent of the order shown."""
PeopleMarks = dict[ResponseSetKey, dict[tuple[str, int], float]]
WAITS = "it waits for people"
"""Reason of a cascade without a verdict yet. Tables count it as pending, not as an abstention."""
BY_PEOPLE = ReplyReading(is_by_people=True)
"""Reading of a verdict that people decided. No judge of the cascade produced it."""
PENDING = Note("cascades.pending")


def response_set_key(verdict: Verdict) -> ResponseSetKey:
    """Return the response set that a verdict is about."""
    return verdict.item, verdict.criterion, verdict.ballot, frozenset(verdict.shown_responses)


def people_marks(verdicts: Sequence[Verdict]) -> PeopleMarks:
    """Return people's mean mark of each response, per response set."""
    marks: dict[ResponseSetKey, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        if verdict.judge == PEOPLE and verdict.marks is not None:
            for response_key, mark in zip(verdict.shown_responses, verdict.marks, strict=True):
                marks[response_set_key(verdict)][response_key].append(mark)
    return {
        place: {response_key: fmean(mark_list) for response_key, mark_list in each.items()}
        for place, each in marks.items()
    }


def waiting_mask(columns: Columns) -> Bools:
    """Return a mask of cascade verdicts that wait for people. They count neither as usable nor as unusable."""
    waits = np.zeros(len(columns), dtype=np.bool_)
    waits[[row for row, text in columns.abstentions.items() if text == WAITS]] = True
    return waits


def waiting_note(pending: int, verdicts: int) -> Note:
    """Return a note on how many verdicts of a judge wait for people."""
    return Note("leaderboard.pending", n=pending, all=verdicts)


def without_people_decisions(columns: Columns) -> Columns:
    """Drop cascade verdicts that people decided: compared with people's votes they would agree with themselves."""
    is_by_people = columns.reading_mask(lambda reading: reading.is_by_people)
    return columns.rows(~is_by_people) if is_by_people.any() else columns


def view_verdict(view: View, verdict: Verdict, marks: Marks, reading: ReplyReading = NOT_READ) -> Verdict:
    """Return a view's verdict in place of a member's verdict."""
    return replace(_blank_verdict(view, verdict), marks=marks, fault=None, reading=reading)


def view_abstention(view: View, verdict: Verdict, why: str) -> Verdict:
    """Return a view's abstention in place of a member's verdict."""
    return replace(_blank_verdict(view, verdict), marks=None, fault="abstained", text=why)


def _blank_verdict(view: View, verdict: Verdict) -> Verdict:
    """Return an empty verdict of the view in place of a member's. It has no usage, because no call was made."""
    return Verdict(
        verdict.case, view.name, verdict.item, verdict.contestants, verdict.ballot, verdict.criterion, verdict.trial,
        fault="abstained", usage=NOTHING, at=verdict.at, samples=verdict.samples,
    )  # fmt: skip
