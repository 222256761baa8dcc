"""Verdicts as records of Label Studio and Argilla, one for each case, with what each person or judge said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from fullbench.core.ballot import LETTERS, Choice, Likert, Ranking, ballot
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.annotation_tools.label_content import item_fields, response_fields
from fullbench.files.annotation_tools.read_labels import Tool
from fullbench.files.readers import suffix_of
from fullbench.files.writers import write_rows

_USERS = UUID("5d0c9c0e-6f0b-5d57-9b6e-8e0f5c1c7a11")
"""Under which people get the ids that Argilla wants them to have."""


def write(
    path: Path, tool: Tool, verdicts: Iterable[Verdict], items: Mapping[str, Item], answers: Mapping[Any, Response],
    *, blank: bool = False,
) -> int:  # fmt: skip
    """Write verdicts as records of a tool, one for each case, with what each person said; how many verdicts.

    `blank` records have nothing said in them, for people to label: one for each case, and so many are counted.
    """
    cases: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if not blank:
            cases.setdefault((verdict.case, verdict.judge), []).append(verdict)
        else:
            cases[verdict.case, PEOPLE] = [replace(verdict, judge=PEOPLE)]
    if suffix_of(path) not in {".json", ".jsonl", ".ndjson"}:
        raise InputError(f"{tool} reads JSON: name a file .json or .jsonl", path=path)
    make = _tasks if tool == "label-studio" else _records
    some = list(cases.values())
    records = make(some, items, answers)
    write_rows(path, map(_emptied, records) if blank else records)
    if blank:
        return len(some)
    return sum(len(ruled if tool == "label-studio" else _latest(ruled)) for ruled in some)


def _emptied(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is before anybody has labelled it."""
    if "annotations" in record:
        return {**record, "annotations": []}
    metadata = {name: value for name, value in record["metadata"].items() if name != "raters"}
    return {**record, "metadata": metadata, "responses": {}}


def _shown(verdict: Verdict, items: Mapping[str, Item], answers: Mapping[Any, Response]) -> dict[str, Any]:
    fields = item_fields(items[verdict.item]) if verdict.item in items else {"question": ""}
    for at, (name, sample) in enumerate(verdict.shown):
        fields |= response_fields(LETTERS[at].lower(), answers.get((verdict.item, name, sample)))
    return fields


def _what(verdict: Verdict) -> dict[str, Any]:
    return {
        "item": verdict.item, "contestants": list(verdict.contestants), "samples": [n for _, n in verdict.shown],
        "ballot": verdict.ballot, "criterion": verdict.criterion, "case": verdict.case, "judge": verdict.judge,
    }  # fmt: skip


def _said(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says, by the names of questions."""
    marks = verdict.marks or ()
    form = ballot(verdict.ballot)
    if isinstance(form, Choice):
        best = [at for at, mark in enumerate(marks) if mark == max(marks)]
        return {"best": LETTERS[best[0]] if len(best) == 1 else "tie"}
    if isinstance(form, Ranking):
        return {"order": [LETTERS[at] for at in sorted(range(len(marks)), key=lambda at: -marks[at])]}
    if len(marks) == 1:
        return {"mark": form.words[int(marks[0]) - 1] if isinstance(form, Likert) else _number(marks[0])}
    return {f"mark_{LETTERS[at]}": _number(mark) for at, mark in enumerate(marks)}


def _number(mark: float) -> float:
    """A mark as a whole number where it is one: Argilla's ratings are."""
    return int(mark) if float(mark).is_integer() else mark


def _notes(verdict: Verdict) -> dict[str, Any]:
    how = verdict.circumstances
    return {
        "revision": verdict.revision, "trial": verdict.trial, "guideline": how.guideline,
        "probability": how.probability, "blind": None if how.blind is None else int(how.blind),
        **({} if verdict.fault is None else {"fault": verdict.fault}),
    }  # fmt: skip


def _tasks(
    cases: Sequence[Sequence[Verdict]], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> Iterable[dict[str, Any]]:
    """Tasks of Label Studio. Who is behind an annotation has one id and one address in all of them; a judge has its
    name in the place of an address."""
    names = dict.fromkeys(verdict.rater or verdict.judge for some in cases for verdict in some)
    ids = {name: at for at, name in enumerate(names, 1)}
    annotation = 0
    for number, some in enumerate(cases, 1):
        annotations = []
        for verdict in some:
            annotation += 1
            results = [_result(name, value) for name, value in _said(verdict).items()] if verdict.marks else []
            if verdict.text:
                results.append({"from_name": "reason", "to_name": "question", "type": "textarea",
                                "value": {"text": [verdict.text]}})  # fmt: skip
            who = verdict.rater or verdict.judge
            annotations.append({
                "id": annotation, "completed_by": {"id": ids[who], "email": who}, "result": results,
                "was_cancelled": verdict.marks is None, "lead_time": verdict.usage.seconds, "meta": _notes(verdict),
                "created_at": datetime.fromtimestamp(verdict.at, UTC).isoformat(),
            })  # fmt: skip
        shown = _shown(some[0], items, answers)
        if isinstance(ballot(some[0].ballot), Ranking):  # people order the entries of a list
            letters = LETTERS[: len(some[0].contestants)]
            shown["answers"] = [{"id": one, "title": one, "body": shown[f"response_{one.lower()}"]} for one in letters]
        yield {"id": number, "data": {**_what(some[0]), **shown}, "annotations": annotations}


def _result(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"from_name": name, "to_name": "answers", "type": "ranker", "value": {"ranker": {name: value}}}
    if isinstance(value, int | float):
        return {"from_name": name, "to_name": "question", "type": "number", "value": {"number": value}}
    return {"from_name": name, "to_name": "question", "type": "choices", "value": {"choices": [value]}}


def _records(
    cases: Sequence[Sequence[Verdict]], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> Iterable[dict[str, Any]]:
    """Records of Argilla. It knows people by ids of its own kind: whose is whose stands in the metadata."""
    for number, some in enumerate(cases, 1):
        responses: dict[str, list[dict[str, Any]]] = {}
        notes = {}
        for verdict in _latest(some):
            user = _user(verdict)
            notes[user] = {"name": verdict.rater, **_notes(verdict)}
            fields: dict[str, Any] = _said(verdict) if verdict.marks else {"best": None}
            if verdict.text:
                fields["reason"] = verdict.text
            for name, value in fields.items():
                order = value if isinstance(value, list) else []
                ranks = [{"value": letter, "rank": at} for at, letter in enumerate(order, 1)]
                status = "submitted" if verdict.marks else "discarded"
                responses.setdefault(name, []).append({"value": ranks or value, "user_id": user, "status": status})
        metadata = {**_what(some[0]), "raters": json.dumps(notes, ensure_ascii=False)}
        yield {
            "id": str(number), "fields": _shown(some[0], items, answers), "metadata": metadata, "responses": responses,
            "suggestions": {},
        }  # fmt: skip


def _latest(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of each person, and of each trial of a judge, what was said last: Argilla has one answer of everybody."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.revision)
    return list({(verdict.rater, verdict.trial): verdict for verdict in ordered}.values())


def _user(verdict: Verdict) -> str:
    """A person's id; one of Argilla's own stays as it is, and every trial of a judge is somebody."""
    try:
        return str(UUID(verdict.rater))
    except ValueError:
        return str(uuid5(_USERS, f"{verdict.judge}/{verdict.rater}/{verdict.trial}"))
