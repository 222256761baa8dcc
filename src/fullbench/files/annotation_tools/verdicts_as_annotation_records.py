"""Writer of verdicts as Label Studio and Argilla records, one per case, with the answers of each person or judge.

An item is its `question` and `picture_1`, `picture_2`...; a response is `response_a` and `picture_a_1`... Videos,
recordings and documents are `video_1`, `audio_1`, `document_1`. If a file is between words, the text contains its
place: `[picture 2]`, `[video 1]`. A dialogue is a `conversation` of messages next to the question. Items and responses
are also read from such fields.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from fullbench.core.ballot import LETTERS, Choice, GradedChoice, Likert, Ranking, ballot
from fullbench.core.item import ROLES, Item, Part, Turn
from fullbench.core.media import KINDS, PART_NAMES, Kind, Media
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.annotation_tools.read_labels import Tool
from fullbench.files.picture_access_policy import data_uri, read_media_of
from fullbench.files.row_readers import suffix_of
from fullbench.files.row_writers import write_rows

_KINDS: Mapping[str, Kind] = {name: kind for kind, name in PART_NAMES.items()}
_PLACE = re.compile(rf"\n?\[({'|'.join(_KINDS)}) (\d+)\]\n?")


def item_fields(item: Item) -> dict[str, Any]:
    """Return an item as fields of a record."""
    fields: dict[str, Any] = {"question": item.question}
    fields |= _media_fields(item.media)
    if len(item.turns) > 1 or item.turns[0].role != "user" or not _is_plain_content(item.turns[0].parts):
        messages, counts = [], Counter[str]()
        for turn in item.turns:
            messages.append({"role": turn.role, "content": _text_with_places(turn.parts, counts)})
        fields["conversation"] = messages
    return fields


def response_fields(letter: str, response: Response | None) -> dict[str, str]:
    """Return a response as fields of a record."""
    if response is None:
        return {f"response_{letter}": ""}
    text = response.text if _is_plain_content(response.parts) else _text_with_places(response.parts, Counter())
    return {f"response_{letter}": text, **_media_fields(response.media, f"{letter}_")}


def _media_fields(media: Iterable[Media], side: str = "") -> dict[str, str]:
    counts: Counter[str] = Counter()
    fields = {}
    for part in media:
        counts[part.part_name] += 1
        fields[f"{part.part_name}_{side}{counts[part.part_name]}"] = data_uri(part)
    return fields


def turns_of(fields: Mapping[str, Any], question: str, path: Path, line: int) -> tuple[Turn, ...]:
    """Return the turns of a record's item; `question` is the name of the question field."""
    media = _read_media(fields, "", path, line)
    messages = fields.get("conversation")
    if not messages:
        return (Turn("user", (*media.values(), str(fields[question]))),)
    turns = []
    for message in messages if isinstance(messages, list) else [messages]:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError("'conversation' is a list of messages with 'role' and 'content'", path=path, line=line)
        turns.append(Turn(message["role"], _split_parts(str(message.get("content") or ""), media, path, line)))
    return tuple(turns)


def parts_of_response(fields: Mapping[str, Any], letter: str, path: Path, line: int) -> tuple[Part, ...]:
    """Return the texts and files of the response with this letter."""
    media = _read_media(fields, f"{letter}_", path, line)
    text = str(fields.get(f"response_{letter}") or "")
    if _PLACE.search(text) and media:
        return _split_parts(text, media, path, line)
    return (*media.values(), text) if text or not media else tuple(media.values())


def _is_plain_content(parts: Sequence[Part]) -> bool:
    """True if parts are files in the order of kinds and then at most one text, or only texts: no places are needed."""
    texts = [at for at, part in enumerate(parts) if isinstance(part, str)]
    if len(texts) == len(parts):
        return True
    kinds = [KINDS.index(part.kind) for part in parts if not isinstance(part, str)]
    return kinds == sorted(kinds) and (not texts or texts == [len(parts) - 1])


def _text_with_places(parts: Sequence[Part], counts: Counter[str]) -> str:
    """Return the text with a place for each file; `counts` are the files so far, by kind, and grow."""
    lines = []
    for part in parts:
        if not isinstance(part, str):
            counts[part.part_name] += 1
        lines.append(part if isinstance(part, str) else f"[{part.part_name} {counts[part.part_name]}]")
    return "\n".join(lines)


def _split_parts(text: str, media: Mapping[tuple[str, int], Media], path: Path, line: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    pieces = _PLACE.split(text)
    for place in range(0, len(pieces), 3):
        parts += [pieces[place]] if pieces[place] else []
        if place + 2 < len(pieces):
            key = (pieces[place + 1], int(pieces[place + 2]))
            if key not in media:
                raise InputError(f"the text refers to {key[0]} {key[1]}, which is missing", path=path, line=line)
            parts.append(media[key])
    return tuple(parts) or ("",)


def _read_media(fields: Mapping[str, Any], side: str, path: Path, line: int) -> dict[tuple[str, int], Media]:
    media: dict[tuple[str, int], Media] = {}
    for name, kind in _KINDS.items():
        number = 1
        while isinstance(value := fields.get(f"{name}_{side}{number}"), str) and value:
            media[name, number] = read_media_of(path.parent, value, kind, path=path, line=line)
            number += 1
    return media


_USERS = UUID("5d0c9c0e-6f0b-5d57-9b6e-8e0f5c1c7a11")
"""Namespace of the user ids that Argilla requires."""


def write_records(
    path: Path, tool: Tool, verdicts: Iterable[Verdict], items: Mapping[str, Item], answers: Mapping[Any, Response],
    *, blank: bool = False,
) -> int:  # fmt: skip
    """Write verdicts as records of a tool, one for each case, and return the number of verdicts.
    `blank` records contain no answers, for people to label; then the number of cases is returned.
    """
    cases: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if not blank:
            cases.setdefault((verdict.case, verdict.judge), []).append(verdict)
        else:
            cases[verdict.case, PEOPLE] = [replace(verdict, judge=PEOPLE)]
    if suffix_of(path) not in {".json", ".jsonl", ".ndjson"}:
        raise InputError(f"{tool} reads JSON: name a file .json or .jsonl", path=path)
    make = _label_studio_tasks if tool == "label-studio" else _argilla_records
    verdict_groups = list(cases.values())
    records = make(verdict_groups, items, answers)
    write_rows(path, map(_blank_record, records) if blank else records)
    if blank:
        return len(verdict_groups)
    return sum(
        len(case_verdicts if tool == "label-studio" else _latest_verdicts(case_verdicts))
        for case_verdicts in verdict_groups
    )


def _blank_record(record: dict[str, Any]) -> dict[str, Any]:
    if "annotations" in record:
        return {**record, "annotations": []}
    metadata = {name: value for name, value in record["metadata"].items() if name != "raters"}
    return {**record, "metadata": metadata, "responses": {}}


def _content_fields(verdict: Verdict, items: Mapping[str, Item], answers: Mapping[Any, Response]) -> dict[str, Any]:
    fields = item_fields(items[verdict.item]) if verdict.item in items else {"question": ""}
    for at, (name, sample) in enumerate(verdict.shown_responses):
        fields |= response_fields(LETTERS[at].lower(), answers.get((verdict.item, name, sample)))
    return fields


def _subject_fields(verdict: Verdict) -> dict[str, Any]:
    return {
        "item": verdict.item,
        "contestants": list(verdict.contestants),
        "samples": [n for _, n in verdict.shown_responses],
        "ballot": verdict.ballot,
        "criterion": verdict.criterion,
        "case": verdict.case,
        "judge": verdict.judge,
    }


def _answer_fields(verdict: Verdict) -> dict[str, Any]:
    marks = verdict.marks or ()
    form = ballot(verdict.ballot)
    if isinstance(form, Choice):
        best = [at for at, mark in enumerate(marks) if mark == max(marks)]
        return {"best": LETTERS[best[0]] if len(best) == 1 else "tie"}
    if isinstance(form, GradedChoice):
        return {"best": form.write(marks).strip("[]")}
    if isinstance(form, Ranking):
        return {"order": [LETTERS[at] for at in sorted(range(len(marks)), key=lambda at: -marks[at])]}
    if len(marks) == 1:
        return {"mark": form.words[int(marks[0]) - 1] if isinstance(form, Likert) else _plain_number(marks[0])}
    return {f"mark_{LETTERS[at]}": _plain_number(mark) for at, mark in enumerate(marks)}


def _plain_number(mark: float) -> float:
    """Return a mark as an integer if possible, since Argilla's ratings are integers."""
    return int(mark) if float(mark).is_integer() else mark


def _vote_notes(verdict: Verdict) -> dict[str, Any]:
    how = verdict.circumstances
    return {
        "revision": verdict.revision, "trial": verdict.trial, "guideline": how.guideline,
        "probability": how.probability, "blind": None if how.blind is None else int(how.blind),
        **({} if verdict.fault is None else {"fault": verdict.fault}),
    }  # fmt: skip


def _label_studio_tasks(
    cases: Sequence[Sequence[Verdict]], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> Iterable[dict[str, Any]]:
    """An annotator has the same id and email in all tasks; a judge has its name instead of an email."""
    names = dict.fromkeys(verdict.rater or verdict.judge for case_verdicts in cases for verdict in case_verdicts)
    ids = {name: at for at, name in enumerate(names, 1)}
    annotation = 0
    for number, case_verdicts in enumerate(cases, 1):
        annotations = []
        for verdict in case_verdicts:
            annotation += 1
            results = (
                [_answer_region(name, value) for name, value in _answer_fields(verdict).items()]
                if verdict.marks
                else []
            )
            if verdict.text:
                results.append({"from_name": "reason", "to_name": "question", "type": "textarea",
                                "value": {"text": [verdict.text]}})  # fmt: skip
            who = verdict.rater or verdict.judge
            annotations.append(
                {
                    "id": annotation,
                    "completed_by": {"id": ids[who], "email": who},
                    "result": results,
                    "was_cancelled": verdict.marks is None,
                    "lead_time": verdict.usage.seconds,
                    "meta": _vote_notes(verdict),
                    "created_at": datetime.fromtimestamp(verdict.at, UTC).isoformat(),
                }
            )
        fields = _content_fields(case_verdicts[0], items, answers)
        if isinstance(ballot(case_verdicts[0].ballot), Ranking):  # people sort the entries of a list
            letters = LETTERS[: len(case_verdicts[0].contestants)]
            fields["answers"] = [
                {"id": letter, "title": letter, "body": fields[f"response_{letter.lower()}"]} for letter in letters
            ]
        yield {"id": number, "data": {**_subject_fields(case_verdicts[0]), **fields}, "annotations": annotations}


def _answer_region(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"from_name": name, "to_name": "answers", "type": "ranker", "value": {"ranker": {name: value}}}
    if isinstance(value, int | float):
        return {"from_name": name, "to_name": "question", "type": "number", "value": {"number": value}}
    return {"from_name": name, "to_name": "question", "type": "choices", "value": {"choices": [value]}}


def _argilla_records(
    cases: Sequence[Sequence[Verdict]], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> Iterable[dict[str, Any]]:
    """Metadata map Argilla's user ids to our raters."""
    for number, case_verdicts in enumerate(cases, 1):
        responses: dict[str, list[dict[str, Any]]] = {}
        notes = {}
        for verdict in _latest_verdicts(case_verdicts):
            user = _user_id(verdict)
            notes[user] = {"name": verdict.rater, **_vote_notes(verdict)}
            fields: dict[str, Any] = _answer_fields(verdict) if verdict.marks else {"best": None}
            if verdict.text:
                fields["reason"] = verdict.text
            for name, value in fields.items():
                order = value if isinstance(value, list) else []
                ranks = [{"value": letter, "rank": at} for at, letter in enumerate(order, 1)]
                status = "submitted" if verdict.marks else "discarded"
                responses.setdefault(name, []).append({"value": ranks or value, "user_id": user, "status": status})
        metadata = {**_subject_fields(case_verdicts[0]), "raters": json.dumps(notes, ensure_ascii=False)}
        yield {
            "id": str(number),
            "fields": _content_fields(case_verdicts[0], items, answers),
            "metadata": metadata,
            "responses": responses,
            "suggestions": {},
        }


def _latest_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the latest revision per person and trial, since Argilla stores one response per user."""
    ordered_verdicts = sorted(verdicts, key=lambda verdict: verdict.revision)
    return list({(verdict.rater, verdict.trial): verdict for verdict in ordered_verdicts}.values())


def _user_id(verdict: Verdict) -> str:
    """Argilla's own ids are kept, and each trial of a judge gets its own."""
    try:
        return str(UUID(verdict.rater))
    except ValueError:
        return str(uuid5(_USERS, f"{verdict.judge}/{verdict.rater}/{verdict.trial}"))
