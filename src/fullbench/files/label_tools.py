"""Labels of Label Studio and Argilla, in and out, with their raters.

Both keep a record for what was asked about and, within it, what each person said. What a record is about stands in its
`data` (Label Studio) or `metadata` (Argilla), under the names that our own files have: `item`, `contestants`, `ballot`,
`criterion`, `case`, `samples`. What somebody said is a letter (A is the first of `contestants`) or a contestant's name,
`tie`, a number, a word of the scale, or an order of letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fullbench.errors import InputError
from fullbench.files.readers import parse_json, read_rows, suffix_of
from fullbench.files.writers import write_rows
from fullbench.nouns.ballot import LETTERS, Choice, Likert, Ranking, ballot
from fullbench.nouns.item import Item
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import PEOPLE, Verdict

Tool = Literal["label-studio", "argilla"]
TOOLS: tuple[Tool, ...] = ("label-studio", "argilla")
ABOUT = ("item", "contestants", "samples", "ballot", "criterion", "case", "judge")
HOW = ("revision", "trial", "blind", "guideline", "probability")
TIES = {"tie", "draw", "equal", "both", "equally good"}
_TEXTS = ("reason", "comment", "explanation")

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
    else:
        yield row


def _label_studio(path: Path, line: int, row: Said, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    about = _about(path, line, row["data"])
    for annotation in row["annotations"]:
        flat = {**about, "rater": _rater(annotation.get("completed_by")), **_how(annotation.get("meta"))}
        if annotation.get("created_at"):
            flat["at"] = _time(str(annotation["created_at"]))
        if annotation.get("lead_time") is not None:
            flat["seconds"] = annotation["lead_time"]
        if annotation.get("was_cancelled"):
            yield {**flat, "fault": "recused"}
            continue
        answers: dict[str, Any] = {}
        for result in annotation.get("result") or ():
            answers[str(result.get("from_name"))] = _value(result)
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
    for name, value, person, sent in _answers(row["responses"]):
        by_person.setdefault(person, {})[name] = value
        status[person] = sent
    notes = (row.get("metadata") or {}).get("raters") or {}
    for person, answers in by_person.items():
        flat = {**about, "rater": person, **_how(notes.get(person))}
        if status[person] == "draft":
            counts["drafts"] += 1
        elif status[person] == "discarded":
            yield {**flat, "fault": "recused"}
        else:
            yield {**flat, **_marked(path, line, about, answers)}


def _answers(responses: Any) -> Iterator[tuple[str, Any, str, str]]:
    """Question, value, person and status of every answer; Argilla's two versions nest them the other way round."""
    if isinstance(responses, Mapping):
        for name, answers in responses.items():
            for answer in answers or ():
                yield name, answer.get("value"), str(answer.get("user_id")), str(answer.get("status") or "submitted")
        return
    for response in responses:
        values = response.get("values") or {"": {"value": None}}
        for name, entry in values.items():
            value = entry.get("value") if isinstance(entry, Mapping) else entry
            yield name, value, str(response.get("user_id")), str(response.get("status") or "submitted")


def _about(path: Path, line: int, data: Said) -> dict[str, Any]:
    about = {name: data[name] for name in ABOUT if data.get(name)}
    contestants = about.get("contestants")
    if isinstance(contestants, str) and contestants.startswith("["):
        about["contestants"] = parse_json(contestants)
    elif isinstance(contestants, str):
        about["contestants"] = [contestants]
    elif contestants is None and data.get("model_a") and data.get("model_b"):
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
    reasons = [str(fields[name]) for name in fields if name in _TEXTS and fields[name]]
    answers = {name: value for name, value in fields.items() if name not in _TEXTS and value is not None}
    text = {"text": reasons[0]} if reasons else {}
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


# Out


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
    make = _task if tool == "label-studio" else _record
    records = (make(number, some, items, answers) for number, some in enumerate(cases.values(), 1))
    write_rows(path, map(_emptied, records) if blank else records)
    return sum(map(len, cases.values()))


def _emptied(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is before anybody has labelled it."""
    if "annotations" in record:
        return {**record, "annotations": []}
    metadata = {name: value for name, value in record["metadata"].items() if name != "raters"}
    return {**record, "metadata": metadata, "responses": {}}


def _shown(verdict: Verdict, items: Mapping[str, Item], answers: Mapping[Any, Response]) -> dict[str, str]:
    texts = {"question": items[verdict.item].question if verdict.item in items else ""}
    for at, (name, sample) in enumerate(verdict.shown):
        response = answers.get((verdict.item, name, sample))
        texts[f"response_{LETTERS[at].lower()}"] = "" if response is None else response.text
    return texts


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
        return {"mark": form.words[int(marks[0]) - 1] if isinstance(form, Likert) else marks[0]}
    return {f"mark_{LETTERS[at]}": mark for at, mark in enumerate(marks)}


def _notes(verdict: Verdict) -> dict[str, Any]:
    how = verdict.circumstances
    return {
        "revision": verdict.revision, "trial": verdict.trial, "guideline": how.guideline,
        "probability": how.probability, "blind": None if how.blind is None else int(how.blind),
    }  # fmt: skip


def _task(
    number: int, some: Sequence[Verdict], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> dict[str, Any]:
    """A task of Label Studio."""
    annotations = []
    for at, verdict in enumerate(some, 1):
        results = [_result(name, value) for name, value in _said(verdict).items()] if verdict.marks else []
        if verdict.text:
            results.append({"from_name": "reason", "to_name": "question", "type": "textarea",
                            "value": {"text": [verdict.text]}})  # fmt: skip
        annotations.append({
            "id": at, "completed_by": {"id": at, "email": verdict.rater}, "result": results,
            "was_cancelled": verdict.marks is None, "lead_time": verdict.usage.seconds, "meta": _notes(verdict),
            "created_at": datetime.fromtimestamp(verdict.at, UTC).isoformat(),
        })  # fmt: skip
    return {"id": number, "data": {**_what(some[0]), **_shown(some[0], items, answers)}, "annotations": annotations}


def _result(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"from_name": name, "to_name": "question", "type": "ranker", "value": {"ranker": {"rank": value}}}
    if isinstance(value, float):
        return {"from_name": name, "to_name": "question", "type": "number", "value": {"number": value}}
    return {"from_name": name, "to_name": "question", "type": "choices", "value": {"choices": [value]}}


def _record(
    number: int, some: Sequence[Verdict], items: Mapping[str, Item], answers: Mapping[Any, Response]
) -> dict[str, Any]:
    """A record of Argilla, which has one answer of each person: the latest."""
    responses: dict[str, list[dict[str, Any]]] = {}
    latest = {verdict.rater: verdict for verdict in sorted(some, key=lambda vote: vote.revision)}
    for rater, verdict in latest.items():
        fields: dict[str, Any] = _said(verdict) if verdict.marks else {"best": None}
        if verdict.text:
            fields["reason"] = verdict.text
        for name, value in fields.items():
            order = value if isinstance(value, list) else []
            ranks = [{"value": letter, "rank": at} for at, letter in enumerate(order, 1)]
            status = "submitted" if verdict.marks else "discarded"
            responses.setdefault(name, []).append({"value": ranks or value, "user_id": rater, "status": status})
    notes = {rater: _notes(verdict) for rater, verdict in latest.items()}
    return {
        "id": str(number), "fields": _shown(some[0], items, answers), "metadata": {**_what(some[0]), "raters": notes},
        "responses": responses, "suggestions": {},
    }  # fmt: skip
