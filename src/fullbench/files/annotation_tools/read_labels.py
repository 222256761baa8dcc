"""Reader of Label Studio and Argilla labels with their raters; `files.annotation_tools.verdicts_as_annotation_records`
writes them.

Both tools store a record per case with each person's answers. The case is described in `data` (Label Studio) or
`metadata` (Argilla), under the names of our own files: `item`, `contestants`, `ballot`, `criterion`, `case`, `samples`.
An answer is a letter (A is the first of `contestants`) or a contestant's name, `tie`, a number, a word of the scale, or
an order of letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fullbench.core.ballot import LETTERS, Ballot, Choice, GradedChoice, Likert, Ranking, ballot
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.row_readers import parse_json, read_rows

Tool = Literal["label-studio", "argilla"]
TOOLS: tuple[Tool, ...] = ("label-studio", "argilla")
SUBJECT_FIELDS = ("item", "contestants", "samples", "ballot", "criterion", "case", "judge")
CIRCUMSTANCE_FIELDS = ("revision", "trial", "blind", "guideline", "probability")
TIES = {"tie", "draw", "equal", "both", "equally good"}
REASON_FIELDS = ("reason", "comment", "explanation")
_USERS = ".responses.users"
_MINIMAL = {"annotator", "annotation_id"}
"""Columns of every row in Label Studio's JSON_MIN and CSV."""

JsonObject = Mapping[str, Any]


def label_rows(path: Path, passed_over: Counter[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a label file; Label Studio and Argilla records become one row for each person.
    Drafts are skipped and counted in `passed_over`.
    """
    counts = Counter[str]() if passed_over is None else passed_over
    for line, row in read_rows(path):
        yield from ((line, flat) for flat in vote_rows(path, line, row, counts))


def vote_rows(path: Path, line: int, row: dict[str, Any], counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each person of a tool's record; a row in our own format is yielded unchanged."""
    if isinstance(row.get("annotations"), list) and isinstance(row.get("data"), Mapping):
        yield from _label_studio_rows(path, line, row, counts)
    elif isinstance(row.get("responses"), (list, Mapping)) and isinstance(row.get("fields"), Mapping):
        yield from _argilla_rows(path, line, row, counts)
    elif any(name.endswith(_USERS) for name in row):
        yield from _argilla_rows(path, line, nest_record(row), counts)
    elif set(row) >= _MINIMAL:
        yield from _label_studio_rows(path, line, nest_record(row), counts)
    else:
        yield row


def nest_record(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a flat record to the nested JSON of its tool.

    In an Argilla data set, fields and metadata are columns, and a question's answers are three lists: values, users
    and statuses. In Label Studio's JSON_MIN a row is one annotation: the data, `id`, the answers, `annotator`...
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
    response_columns = {column for columns in parts.values() for column in columns}
    return {
        "fields": {name: value for name, value in row.items() if name not in response_columns},
        "responses": answers,
    }


def _from_minimal(row: JsonObject) -> dict[str, Any]:
    names = list(row)
    end = names.index("annotator")
    start = names.index("id") + 1 if "id" in names[:end] else 0
    answers = {name: row[name] for name in names[start:end] if name not in SUBJECT_FIELDS and row[name] is not None}
    annotation = {
        "completed_by": row["annotator"], "created_at": row.get("created_at"), "lead_time": row.get("lead_time"),
        "result": [_make_region(name, value) for name, value in answers.items()],
    }  # fmt: skip
    return {"data": {name: row[name] for name in names if name not in answers}, "annotations": [annotation]}


def _make_region(name: str, value: Any) -> dict[str, Any]:
    """JSON_MIN stores a text, a list of texts, or regions without their types."""
    if isinstance(value, list) and value and isinstance(value[-1], Mapping):
        value = value[-1]
    if isinstance(value, Mapping):
        kind = "pairwise" if "selected" in value else str(next(iter(value), ""))
        return {"from_name": name, "type": kind, "value": dict(value)}
    return {"from_name": name, "type": "choices", "value": {"choices": value if isinstance(value, list) else [value]}}


def _label_studio_rows(path: Path, line: int, row: JsonObject, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    about = _subject_fields(path, line, row["data"])
    for annotation in row["annotations"]:
        if not isinstance(annotation, Mapping) or not all(
            isinstance(region, Mapping) for region in annotation.get("result") or ()
        ):
            raise InputError("an annotation is an object with a list 'result' of objects", path=path, line=line)
        rater = _rater_name(annotation.get("completed_by")) if about.get("judge", PEOPLE) == PEOPLE else ""
        flat = {**about, "rater": rater, **_circumstance_fields(annotation.get("meta"))}
        if annotation.get("created_at"):
            flat["at"] = _parse_time(str(annotation["created_at"]))
        if annotation.get("lead_time") is not None:
            flat["seconds"] = annotation["lead_time"]
        answers: dict[str, Any] = {}
        for result in annotation.get("result") or ():
            answers[str(result.get("from_name"))] = _region_value(result)
        if annotation.get("was_cancelled"):
            yield {**flat, "fault": (annotation.get("meta") or {}).get("fault", "abstained"), **_reason_field(answers)}
            continue
        if not answers:
            counts["without an answer"] += 1
            continue
        yield {**flat, **_marks_and_reason(path, line, about, answers)}


def _region_value(result: JsonObject) -> Any:
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


def _argilla_rows(path: Path, line: int, row: JsonObject, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    about = _subject_fields(path, line, {**row["fields"], **(row.get("metadata") or {})})
    by_person: dict[str, dict[str, Any]] = {}
    status: dict[str, str] = {}
    for name, value, person, state in _argilla_answers(path, line, row["responses"]):
        by_person.setdefault(person, {})[name] = value
        status[person] = state
    notes = {**row["fields"], **(row.get("metadata") or {})}.get("raters") or {}
    notes = parse_json(notes) if isinstance(notes, str) else notes
    for person, answers in by_person.items():
        note = notes.get(person) or {}
        flat = {**about, "rater": note.get("name", person), **_circumstance_fields(note)}
        if status[person] == "draft":
            counts["drafts"] += 1
        elif status[person] == "discarded":
            yield {**flat, "fault": note.get("fault", "abstained"), **_reason_field(answers)}
        elif all(value is None for name, value in answers.items() if name not in REASON_FIELDS):
            if "fault" in note:  # Argilla's to_json omits the status "discarded"
                yield {**flat, "fault": note["fault"], **_reason_field(answers)}
            else:
                counts["without an answer"] += 1
        else:
            yield {**flat, **_marks_and_reason(path, line, about, answers)}


def _argilla_answers(path: Path, line: int, responses: Any) -> Iterator[tuple[str, Any, str, str]]:
    """Yield question, value, person and status of every answer; Argilla's two versions nest them differently."""
    wrong = InputError("'responses' has lists of objects with 'value' and 'user_id'", path=path, line=line)
    if isinstance(responses, Mapping):
        for name, answers in responses.items():
            if not isinstance(answers, list | None) or not all(isinstance(reply, Mapping) for reply in answers or ()):
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


def _subject_fields(path: Path, line: int, data: JsonObject) -> dict[str, Any]:
    about = {name: data[name] for name in SUBJECT_FIELDS if data.get(name)}
    if "contestants" in about:
        about["contestants"] = parse_list(about["contestants"], "contestants", path, line)
    elif data.get("model_a") and data.get("model_b"):
        about["contestants"] = [data["model_a"], data["model_b"]]
    if "item" not in about or not about.get("contestants"):
        raise InputError(
            "the record does not name its item: its data (or metadata) needs 'item' and 'contestants'; found "
            f"{', '.join(sorted(map(str, data))) or 'nothing'}",
            path=path,
            line=line,
        )
    if len(about["contestants"]) > 1:
        about.setdefault("ballot", "choice+tie")
    return about


def parse_list(value: Any, name: str, path: Path, line: int) -> list[Any]:
    """Return a list, also from JSON text; another text becomes a list of one."""
    if isinstance(value, str):
        try:
            value = parse_json(value) if value.startswith("[") else [value]
        except ValueError as error:
            raise InputError(f"{name!r} is not a valid list ({error})", path=path, line=line) from error
    if not isinstance(value, list):
        raise InputError(f"{name!r} is a list; found {str(value)[:40]!r}", path=path, line=line)
    return value


def _circumstance_fields(meta: Any) -> dict[str, Any]:
    return (
        {name: meta[name] for name in CIRCUMSTANCE_FIELDS if meta.get(name) is not None}
        if isinstance(meta, Mapping)
        else {}
    )


def _rater_name(person: Any) -> str:
    if isinstance(person, Mapping):
        person = person.get("email") or person.get("username") or person.get("id")
    return "" if person is None else str(person)


def _parse_time(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _marks_and_reason(path: Path, line: int, about: JsonObject, fields: JsonObject) -> dict[str, Any]:
    names = [str(name) for name in about["contestants"]]
    answers = {name: value for name, value in fields.items() if name not in REASON_FIELDS and value is not None}
    text = _reason_field(fields)
    try:
        if "ballot" not in about:
            raise InputError("a record on one answer needs its scale: add 'ballot' to its data, such as score:1-5")
        form = ballot(str(about["ballot"]))
        return {"ballot": form.spec, "marks": _answer_marks(form, names, answers), **text}
    except InputError as error:
        raise InputError(str(error), path=path, line=line) from error


def _answer_marks(form: Ballot, names: Sequence[str], answers: JsonObject) -> list[float]:
    separate_marks = [answers.get(f"mark_{LETTERS[at]}") for at in range(len(names))]
    if all(mark is not None for mark in separate_marks):
        return [_parse_mark(form, mark) for mark in separate_marks]
    if len(answers) != 1:
        raise InputError(f"one answer is expected; found {', '.join(answers) or 'none'}")
    (value,) = answers.values()
    if isinstance(form, Choice):
        return _choice_marks(value, names)
    if isinstance(form, GradedChoice):
        return [*form.marks_of(_graded_step(form, value))]
    return _ranking_marks(value, names) if isinstance(form, Ranking) else [_parse_mark(form, value)]


def _reason_field(fields: JsonObject) -> dict[str, str]:
    reasons = [str(fields[name]) for name in fields if name in REASON_FIELDS and fields[name]]
    return {"text": reasons[0]} if reasons else {}


def _answer_place(answer: Any, names: Sequence[str]) -> int:
    words = str(answer).strip()
    if words in names:
        return names.index(words)
    if len(words) == 1 and words.upper() in LETTERS[: len(names)]:
        return LETTERS.index(words.upper())
    letters = ", ".join(LETTERS[: len(names)])
    raise InputError(f"an answer must be one of {letters}, or of {', '.join(names)}; found {words[:40]!r}")


def _graded_step(form: GradedChoice, value: Any) -> int:
    step = form.step_of_token("A=B" if str(value).strip().lower() in TIES else str(value))
    if step is None:
        levels = ", ".join(map(form.token, form.steps))
        raise InputError(f"an answer on {form.spec} is one of {levels}; found {str(value)[:40]!r}")
    return step


def _choice_marks(value: Any, names: Sequence[str]) -> list[float]:
    if str(value).strip().lower() in TIES:
        return [1 / len(names)] * len(names)
    best = _answer_place(value, names)
    return [float(at == best) for at in range(len(names))]


def _ranking_marks(value: Any, names: Sequence[str]) -> list[float]:
    """Return marks for an order, best first; Argilla writes each entry with its rank."""
    order = value if isinstance(value, list) else str(value).split(">")
    if order and all(isinstance(entry, Mapping) for entry in order):
        order = [entry["value"] for entry in sorted(order, key=lambda entry: int(entry["rank"]))]
    places = [_answer_place(entry, names) for entry in order]
    if sorted(places) != list(range(len(names))):
        raise InputError(f"an order has each of {len(names)} answers once; found {len(places)}")
    return [float(len(names) - places.index(at)) for at in range(len(names))]


def _parse_mark(form: Any, value: Any) -> float:
    if isinstance(form, Likert) and str(value) in form.words:
        return float(form.words.index(str(value)) + 1)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"a mark is a number on {form.spec}; found {str(value)[:40]!r}") from error
