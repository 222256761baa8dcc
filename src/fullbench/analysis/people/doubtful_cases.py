"""Cases that a judge leaves in doubt: who should look at them, and what becomes of the judge once somebody has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fullbench.core.record import Record
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError


def doubtful(record: Record) -> list[tuple[str, str]]:
    """Judge and case wherever a judge gave no mark at all, or its rulings on a case that was heard again have no
    majority: what people should look at.
    """
    rulings: dict[tuple[str, str], list[str]] = {}
    for verdict in record:
        ruling = f"{verdict.fault} {verdict.trial}" if verdict.fault else str(verdict.marks)
        rulings.setdefault((verdict.judge, verdict.case), []).append(ruling)
    marked = {(verdict.judge, verdict.case) for verdict in record if verdict.fault is None}
    return [
        place
        for place, heard in rulings.items()
        if place not in marked or (len(heard) > 1 and 2 * max(map(heard.count, heard)) <= len(heard))
    ]


def queue(record: Record) -> Iterator[dict[str, Any]]:
    """The doubtful cases as rows for people to fill in: each panel once, whatever judge or order is in doubt.

    Once the column `marks` is filled in, the file is a file of labels.
    """
    wanted = set(doubtful(record))
    seen: set[tuple[str, ...]] = set()
    for verdict in record:
        place = _panel(verdict)
        if (verdict.judge, verdict.case) not in wanted or place in seen:
            continue
        seen.add(place)
        item = record.items.get(verdict.item)
        answers = [record.responses.get((verdict.item, *place_shown)) for place_shown in verdict.shown]
        yield {
            "item": verdict.item,
            "contestants": list(verdict.contestants),
            "ballot": verdict.ballot,
            "criterion": verdict.criterion,
            "question": item.question if item else "",
            "answers": [answer.text if answer else "" for answer in answers],
            "marks": None,
        }


def settled(record: Record, people: str = "human") -> Record:
    """The record with one more judge for each that was in doubt: itself, with people's marks where it was.

    It is called `JUDGE, settled by PEOPLE`, so that nobody takes it for the judge alone. A doubtful case that people
    have not ruled on stays as it is.
    """
    votes = {_panel(v): v for v in record if v.judge == people and v.marks is not None}
    if not votes:
        raise InputError(f"nobody can settle a doubt: the record holds no marks of {people!r}")
    wanted = set(doubtful(record.where(lambda verdict: verdict.judge != people)))
    added: list[Verdict] = []
    for judge in sorted({judge for judge, _ in wanted}):
        name = f"{judge}, settled by {people}"
        for verdict in record.where(judge=judge):
            vote = votes.get(_panel(verdict)) if (judge, verdict.case) in wanted else None
            if vote is None or vote.marks is None:
                added.append(replace(verdict, judge=name))
            else:
                marks = dict(zip(vote.contestants, vote.marks, strict=True))
                turned = tuple(marks[contestant] for contestant in verdict.contestants)
                added.append(replace(verdict, judge=name, marks=turned, fault=None))
    return replace(record, verdicts=(*record.verdicts, *added))


def _panel(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.item, verdict.criterion, verdict.ballot, *sorted(verdict.contestants))
