"""Labels of Label Studio and Argilla with their raters; `files.annotation_tools.write_labels` writes them.

Both keep a record for what was asked about and, within it, what each person said. What a record is about stands in its
`data` (Label Studio) or `metadata` (Argilla), under the names that our own files have: `item`, `contestants`, `ballot`,
`criterion`, `case`, `samples`. What somebody said is a letter (A is the first of `contestants`) or a contestant's name,
`tie`, a number, a word of the scale, or an order of letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fullbench.core.ballot import LETTERS, Choice, Likert, Ranking, ballot
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.readers import parse_json, read_rows

Tool = Literal["label-studio", "argilla"]
TOOLS: tuple[Tool, ...] = ("label-studio", "argilla")
ABOUT = ("item", "contestants", "samples", "ballot", "criterion", "case", "judge")
HOW = ("revision", "trial", "blind", "guideline", "probability")
TIES = {"tie", "draw", "equal", "both", "equally good"}
TEXTS = ("reason", "comment", "explanation")
_USERS = ".responses.users"
_MINIMAL = {"annotator", "annotation_id"}
"""Columns that every row of Label Studio's JSON_MIN has, and of its CSV."""

Said = Mapping[str, Any]


def rows(path: Path, passed_over: Counter[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of labels; records of Label Studio and Argilla become one row for each person.

    What nobody sent yet (drafts) is passed over, and counted in `passed_over`.
    """
    counts = Counter[str]() if passed_over is None else passed_over
    for line, row in read_rows(path):
        yield from ((line, flat) for flat in votes(path, line, row, counts))


def votes(path: Path, line: int, row: dict[str, Any], counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """What one record of a tool says, a row for each person; a row of our own form as it is."""
    if isinstance(row.get("annotations"), list) and isinstance(row.get("data"), Mapping):
        yield from _label_studio(path, line, row, counts)
    elif isinstance(row.get("responses"), (list, Mapping)) and isinstance(row.get("fields"), Mapping):
        yield from _argilla(path, line, row, counts)
    elif any(name.endswith(_USERS) for name in row):
        yield from _argilla(path, line, nested(row), counts)
    elif set(row) >= _MINIMAL:
        yield from _label_studio(path, line, nested(row), counts)
    else:
        yield row


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A record as the JSON of its tool has it, from a flat one.

    In a data set of Argilla, fields and metadata are columns, and the values, users and states of a question's answers
    are three lists. In Label Studio's JSON_MIN a row is one annotation: the data, `id`, the answers, `annotator`...
    """
    if set(row) >= _MINIMAL:
        return _from_minimal(row)
    questions = [name.removesuffix(_USERS) for name in row if name.endswith(_USERS)]
    if not questions:
        return row
    parts = {name: [f"{name}.responses", f"{name}{_USERS}", f"{name}.responses.status"] for name in questions}
    answers: dict[str, list[dict[str, Any]]] = {}
    for name, columns in parts.items():
        values, users, states = (row.get(column) or [] for column in columns)
        states = states or [None] * len(users)
        answers[name] = [
            {"value": value, "user_id": user, "status": state}
            for value, user, state in zip(values, users, states, strict=True)
        ]
    taken = {column for columns in parts.values() for column in columns}
    return {"fields": {name: value for name, value in row.items() if name not in taken}, "responses": answers}


def _from_minimal(row: Said) -> dict[str, Any]:
    names = list(row)
    end = names.index("annotator")
    start = names.index("id") + 1 if "id" in names[:end] else 0
    answers = {name: row[name] for name in names[start:end] if name not in ABOUT and row[name] is not None}
    annotation = {
        "completed_by": row["annotator"], "created_at": row.get("created_at"), "lead_time": row.get("lead_time"),
        "result": [_region(name, value) for name, value in answers.items()],
    }  # fmt: skip
    return {"data": {name: row[name] for name in names if name not in answers}, "annotations": [annotation]}


def _region(name: str, value: Any) -> dict[str, Any]:
    """What was said under one name, which JSON_MIN has as a text, a list of texts, or regions without their kinds."""
    if isinstance(value, list) and value and isinstance(value[-1], Mapping):
        value = value[-1]
    if isinstance(value, Mapping):
        kind = "pairwise" if "selected" in value else str(next(iter(value), ""))
        return {"from_name": name, "type": kind, "value": dict(value)}
    return {"from_name": name, "type": "choices", "value": {"choices": value if isinstance(value, list) else [value]}}


def _label_studio(path: Path, line: int, row: Said, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    about = _about(path, line, row["data"])
    for annotation in row["annotations"]:
        if not isinstance(annotation, Mapping) or not all(
            isinstance(one, Mapping) for one in annotation.get("result") or ()
        ):
            raise InputError("an annotation is an object with a list 'result' of objects", path=path, line=line)
        rater = _rater(annotation.get("completed_by")) if about.get("judge", PEOPLE) == PEOPLE else ""
        flat = {**about, "rater": rater, **_how(annotation.get("meta"))}
        if annotation.get("created_at"):
            flat["at"] = _time(str(annotation["created_at"]))
        if annotation.get("lead_time") is not None:
            flat["seconds"] = annotation["lead_time"]
        answers: dict[str, Any] = {}
        for result in annotation.get("result") or ():
            answers[str(result.get("from_name"))] = _value(result)
        if annotation.get("was_cancelled"):
            yield {**flat, "fault": (annotation.get("meta") or {}).get("fault", "recused"), **_reason(answers)}
            continue
        if not answers:
            counts["without an answer"] += 1
            continue
        yield {**flat, **_marked(path, line, about, answers)}


def _value(result: Said) -> Any:
    """What one region of an annotation says."""
    value = result.get("value") or {}
    kind = str(result.get("type", ""))
    content = value.get(kind, next(iter(value.values()), None))
    if kind == "pairwise":
        return {"left": "A", "right": "B"}.get(str(value.get("selected")), value.get("selected"))
    if kind == "ranker" and isinstance(content, Mapping):
        return next(iter(content.values()), [])
    if kind in {"choices", "textarea"} and isinstance(content, list) and len(content) == 1:
        return content[0]
    return value.get("text") if kind == "textarea" else content


def _argilla(path: Path, line: int, row: Said, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    about = _about(path, line, {**row["fields"], **(row.get("metadata") or {})})
    by_person: dict[str, dict[str, Any]] = {}
    status: dict[str, str] = {}
    for name, value, person, sent in _answers(path, line, row["responses"]):
        by_person.setdefault(person, {})[name] = value
        status[person] = sent
    notes = {**row["fields"], **(row.get("metadata") or {})}.get("raters") or {}
    notes = parse_json(notes) if isinstance(notes, str) else notes
    for person, answers in by_person.items():
        note = notes.get(person) or {}
        flat = {**about, "rater": note.get("name", person), **_how(note)}
        if status[person] == "draft":
            counts["drafts"] += 1
        elif status[person] == "discarded":
            yield {**flat, "fault": note.get("fault", "recused"), **_reason(answers)}
        elif all(value is None for name, value in answers.items() if name not in TEXTS):
            if "fault" in note:  # Argilla's to_json does not say that it was discarded
                yield {**flat, "fault": note["fault"], **_reason(answers)}
            else:
                counts["without an answer"] += 1
        else:
            yield {**flat, **_marked(path, line, about, answers)}


def _answers(path: Path, line: int, responses: Any) -> Iterator[tuple[str, Any, str, str]]:
    """Question, value, person and status of every answer; Argilla's two versions nest them the other way round."""
    wrong = InputError("'responses' has lists of objects with 'value' and 'user_id'", path=path, line=line)
    if isinstance(responses, Mapping):
        for name, answers in responses.items():
            if not isinstance(answers, list | None) or not all(isinstance(one, Mapping) for one in answers or ()):
                raise wrong
            for answer in answers or ():
                yield name, answer.get("value"), str(answer.get("user_id")), str(answer.get("status") or "submitted")
        return
    for response in responses:
        if not isinstance(response, Mapping) or not isinstance(response.get("values") or {}, Mapping):
            raise wrong
        values = response.get("values") or {"": {"value": None}}
        for name, entry in values.items():
            value = entry.get("value") if isinstance(entry, Mapping) else entry
            yield name, value, str(response.get("user_id")), str(response.get("status") or "submitted")


def _about(path: Path, line: int, data: Said) -> dict[str, Any]:
    about = {name: data[name] for name in ABOUT if data.get(name)}
    if "contestants" in about:
        about["contestants"] = listed(about["contestants"], "contestants", path, line)
    elif data.get("model_a") and data.get("model_b"):
        about["contestants"] = [data["model_a"], data["model_b"]]
    if "item" not in about or not about.get("contestants"):
        raise InputError(
            "the record does not say what it is about: its data (or metadata) needs 'item' and 'contestants'; found "
            f"{', '.join(sorted(map(str, data))) or 'nothing'}",
            path=path,
            line=line,
        )
    if len(about["contestants"]) > 1:
        about.setdefault("ballot", "choice+tie")
    return about


def listed(value: Any, name: str, path: Path, line: int) -> list[Any]:
    """A list, which a tool may have as the text of one; a text of another kind is its only entry."""
    if isinstance(value, str):
        try:
            value = parse_json(value) if value.startswith("[") else [value]
        except ValueError as error:
            raise InputError(f"{name!r} is no sound list ({error})", path=path, line=line) from error
    if not isinstance(value, list):
        raise InputError(f"{name!r} is a list; found {str(value)[:40]!r}", path=path, line=line)
    return value


def _how(meta: Any) -> dict[str, Any]:
    return {name: meta[name] for name in HOW if meta.get(name) is not None} if isinstance(meta, Mapping) else {}


def _rater(person: Any) -> str:
    if isinstance(person, Mapping):
        person = person.get("email") or person.get("username") or person.get("id")
    return "" if person is None else str(person)


def _time(text: str) -> float:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def _marked(path: Path, line: int, about: Said, fields: Said) -> dict[str, Any]:
    """The marks that an answer stands for, and the reason beside it."""
    names = [str(name) for name in about["contestants"]]
    answers = {name: value for name, value in fields.items() if name not in TEXTS and value is not None}
    text = _reason(fields)
    try:
        if "ballot" not in about:
            raise InputError("a record on one answer says how it was marked: its data needs 'ballot', as score:1-5")
        form = ballot(str(about["ballot"]))
        spec = {"ballot": form.spec}
        apart = [answers.get(f"mark_{LETTERS[at]}") for at in range(len(names))]
        if all(mark is not None for mark in apart):
            return {**spec, "marks": [_mark(form, mark) for mark in apart], **text}
        if len(answers) != 1:
            raise InputError(f"one answer is expected; found {', '.join(answers) or 'none'}")
        (value,) = answers.values()
        if isinstance(form, Choice):
            return {**spec, "marks": _chosen(value, names), **text}
        if isinstance(form, Ranking):
            return {**spec, "marks": _ranked(value, names), **text}
        return {**spec, "marks": [_mark(form, value)], **text}
    except InputError as error:
        raise InputError(str(error), path=path, line=line) from error


def _reason(fields: Said) -> dict[str, str]:
    reasons = [str(fields[name]) for name in fields if name in TEXTS and fields[name]]
    return {"text": reasons[0]} if reasons else {}


def _place(answer: Any, names: Sequence[str]) -> int:
    words = str(answer).strip()
    if words in names:
        return names.index(words)
    if len(words) == 1 and words.upper() in LETTERS[: len(names)]:
        return LETTERS.index(words.upper())
    letters = ", ".join(LETTERS[: len(names)])
    raise InputError(f"an answer names one of {letters}, or of {', '.join(names)}; found {words[:40]!r}")


def _chosen(value: Any, names: Sequence[str]) -> list[float]:
    if str(value).strip().lower() in TIES:
        return [1 / len(names)] * len(names)
    best = _place(value, names)
    return [float(at == best) for at in range(len(names))]


def _ranked(value: Any, names: Sequence[str]) -> list[float]:
    """Marks of an order, best first; Argilla writes each with its rank."""
    order = value if isinstance(value, list) else str(value).split(">")
    if order and all(isinstance(entry, Mapping) for entry in order):
        order = [entry["value"] for entry in sorted(order, key=lambda entry: int(entry["rank"]))]
    places = [_place(entry, names) for entry in order]
    if sorted(places) != list(range(len(names))):
        raise InputError(f"an order holds each of {len(names)} answers once; found {len(places)}")
    return [float(len(names) - places.index(at)) for at in range(len(names))]


def _mark(form: Any, value: Any) -> float:
    if isinstance(form, Likert) and str(value) in form.words:
        return float(form.words.index(str(value)) + 1)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"a mark is a number on {form.spec}; found {str(value)[:40]!r}") from error
