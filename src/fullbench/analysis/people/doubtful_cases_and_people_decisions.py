"""Cases that a judge leaves in doubt: listing them for people, and applying people's decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError


def find_doubtful_cases(record: Record) -> list[tuple[str, str]]:
    """Return judge and case if the judge gave no mark at all, or its repeated verdicts have no majority."""
    outcomes: dict[tuple[str, str], list[str]] = {}
    for verdict in record:
        # The trial makes each unusable verdict unique, so that these never form a majority.
        outcome = f"{verdict.fault} {verdict.trial}" if verdict.fault else str(verdict.marks)
        outcomes.setdefault((verdict.judge, verdict.case), []).append(outcome)
    marked_cases = {(verdict.judge, verdict.case) for verdict in record if verdict.fault is None}
    return [
        place
        for place, case_verdicts in outcomes.items()
        if place not in marked_cases
        or (len(case_verdicts) > 1 and 2 * max(map(case_verdicts.count, case_verdicts)) <= len(case_verdicts))
    ]


def doubtful_case_rows(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the doubtful cases as rows for people to fill in, each set of responses once.
    Once the column `marks` is filled in, the file is a file of labels.
    """
    doubtful_cases = set(find_doubtful_cases(record))
    yielded_keys: set[tuple[str, ...]] = set()
    for verdict in record:
        place = _response_set_key(verdict)
        if (verdict.judge, verdict.case) not in doubtful_cases or place in yielded_keys:
            continue
        yielded_keys.add(place)
        item = record.items.get(verdict.item)
        answers = [record.responses.get((verdict.item, *place_shown)) for place_shown in verdict.shown_responses]
        yield {
            "item": verdict.item,
            "contestants": list(verdict.contestants),
            "ballot": verdict.ballot,
            "criterion": verdict.criterion,
            "question": item.question if item else "",
            "answers": [answer.text if answer else "" for answer in answers],
            "marks": None,
        }


def settle_doubtful_cases(record: Record, people: str = "human") -> Record:
    """Return the record plus a copy of each doubtful judge with people's marks on its doubtful cases.

    The copy is called `JUDGE, settled by PEOPLE`, so that it is not mistaken for the judge alone. A doubtful case
    without marks of people stays unchanged.
    """
    votes = {_response_set_key(v): v for v in record if v.judge == people and v.marks is not None}
    if not votes:
        raise InputError(f"doubtful cases cannot be decided: the record has no marks of {people!r}")
    doubtful_cases = set(find_doubtful_cases(record.where(lambda verdict: verdict.judge != people)))
    new_verdicts: list[Verdict] = []
    for judge in sorted({judge for judge, _ in doubtful_cases}):
        name = f"{judge}, settled by {people}"
        for verdict in record.where(judge=judge):
            vote = votes.get(_response_set_key(verdict)) if (judge, verdict.case) in doubtful_cases else None
            if vote is None or vote.marks is None:
                new_verdicts.append(replace(verdict, judge=name))
            else:
                marks = dict(zip(vote.contestants, vote.marks, strict=True))
                ordered_marks = tuple(marks[contestant] for contestant in verdict.contestants)
                new_verdicts.append(replace(verdict, judge=name, marks=ordered_marks, fault=None))
    return replace(record, verdicts=(*record.verdicts, *new_verdicts))


def _response_set_key(verdict: Verdict) -> tuple[str, ...]:
    return (verdict.item, verdict.criterion, verdict.ballot, *sorted(verdict.contestants))
