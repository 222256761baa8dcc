"""Reading and writing of items, responses and verdicts in files.

One row each, in any format of `files.row_readers`. These names are written; some common others are read as well.

Item
    `id` (or `question_id`, `item_id`, `item`); `question` (or `instruction`, `prompt`) and `pictures` (or `picture`,
    `images`, `image`: a path or a list of paths, relative to the file), `videos` (or `video`), `audio` (or `audios`),
    `documents` (or `document`), or else `turns`: a list of `{"role", "parts"}`; `reference`; `captions` (or
    `caption`); `tags`, a mapping. `reference` of a dialogue may be a list with a text for each turn to answer.
Response
    `item` (or `question_id`, `item_id`, `id`), `contestant` (or `model`); `text` (or `answer`, `response`, `output`)
    and/or `pictures`, `videos`, `audio`, `documents`, or else `parts`, or for a dialogue `turns`, a list of answers,
    each a text or a list of parts; `sample`; `tags`.
Verdict
    `item` (or `question_id`, `item_id`, `id`), `contestants` (or `contestant`, `model`; or `model_a` and `model_b`),
    `marks` (or `mark`, `score`, `rating`), `winner` (or `preference`: a contestant's name, `model_a`, `model_b`,
    `tie`...) or `fault`, `ballot`, `criterion`, `judge`, `case`, `trial`, `text`, `earlier`, `prompt`, `at`. Usage:
    `calls`, `retries`, `tokens_in`, `tokens_out`, `dollars`, `seconds`; `cached` and `stored`, the input tokens read
    from and written to a server's cache. `probability`, the chance that the case was selected; `variant` and
    `strength`, the kind and strength of a deliberate change; `canary`; `confidence`.

`parts` is a list of texts and of `{"picture": PATH}`, `{"video": PATH}`, `{"audio": PATH}` or `{"document": PATH}`.
Lists and mappings are JSON if the file has only text cells. Any other column of an item or a response becomes a tag.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from fullbench.core.ballot import Ballot, GradedChoice
from fullbench.core.ballot import ballot as ballot_of
from fullbench.core.dialogue_turn_answers_and_criteria import dialogue_response, join_references, open_turns
from fullbench.core.item import ROLES, WITHOUT_PICTURES, Item, Part, Turn, parts_media
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import (
    COLUMN_NAMES,
    KINDS,
    NOUNS,
    PART_NAMES,
    Kind,
    Media,
    any_media_from_bytes,
    media_from_bytes,
)
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, PILOT, USUAL, Circumstances, ReplyReading, Verdict
from fullbench.errors import InputError
from fullbench.files.annotation_tools import read_labels
from fullbench.files.items_from_picture_folder import items_in
from fullbench.files.missing_answer_texts import Blanks
from fullbench.files.name_suggestions_and_lookalikes import closest_name, warn_of_twins
from fullbench.files.picture_access_policy import is_missing_picture, read_media_of
from fullbench.files.released_rubric_rows import convert_rubric_row
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows
from fullbench.files.row_writers import Columns, replace_atomically, write_rows

_Kind = TypeVar("_Kind")


def media_of(fields: Fields, *, is_answer: bool = False) -> tuple[tuple[Media, ...], list[str]]:
    """Return the pictures, videos, recordings and documents, and the names of missing ones if these are allowed."""
    loaded: list[Media | _MissingPicture] = []
    for kind, column in COLUMN_NAMES.items():
        value = fields.json(column)
        sources = value if isinstance(value, list) else [] if value is None else [value]
        loaded += [_load_media(fields, source, kind, is_answer) for source in sources]
    return _separate_missing(loaded)


def parts_of(fields: Fields, parts: Any, *, is_answer: bool = False) -> tuple[tuple[Part, ...], list[str]]:
    if not isinstance(parts, list) or not parts:
        raise fields.error("'parts' must be a list with at least one part")
    content = [part if isinstance(part, str) else _load_part(fields, part, is_answer) for part in parts]
    return _separate_missing(content)


def _load_part(fields: Fields, part: Any, is_answer: bool) -> Media | _MissingPicture:
    """Load a typed part; a bare path or a part of another shape is a picture, as ever."""
    if isinstance(part, Mapping):
        kinds = [kind for kind in KINDS if PART_NAMES[kind] in part]
        if len(kinds) > 1:
            raise fields.error(f"a part has one of {', '.join(PART_NAMES.values())}; found {sorted(part)}")
        if kinds:
            return _load_media(fields, part[PART_NAMES[kinds[0]]], kinds[0], is_answer)
    return _load_media(fields, part, "image", is_answer)


@dataclass(frozen=True)
class _MissingPicture:
    name: str


def _separate_missing(parts: Sequence[_Kind | _MissingPicture]) -> tuple[tuple[_Kind, ...], list[str]]:
    if _MissingPicture not in map(type, parts):
        return cast("tuple[_Kind, ...]", tuple(parts)), []
    there = tuple(part for part in parts if not isinstance(part, _MissingPicture))
    return there, [part.name for part in parts if isinstance(part, _MissingPicture)]


def _load_media(fields: Fields, value: Any, kind: Kind, is_answer: bool) -> Media | _MissingPicture:
    """Load a file from its path, from `{"path": PATH}`, or from bytes, as Parquet data sets contain.

    The file of a response (`is_answer`) is not checked: a broken one is the contestant's fault. One of an item may be
    missing if the user allowed it.
    """
    if isinstance(value, Mapping):
        data = value.get("bytes")
        value = data if isinstance(data, bytes) else value.get(PART_NAMES[kind], value.get("path"))
    if isinstance(value, Media):
        return value
    if isinstance(value, bytes):
        if not is_answer:
            return media_from_bytes(value, kind, path=fields.path, line=fields.line)
        return Picture.from_any_bytes(value, value) if kind == "image" else any_media_from_bytes(value, kind)
    if not isinstance(value, str) or not value:
        raise fields.error(f"a {NOUNS[kind]} must be named by its path")
    if not is_answer and is_missing_picture(fields.path.parent, value):
        return _MissingPicture(value)
    return read_media_of(fields.path.parent, value, kind, path=fields.path, line=fields.line, is_answer=is_answer)


def simple_form(parts: tuple[Part, ...]) -> tuple[tuple[Media, ...], str | None] | None:
    """Return media and text if the parts are media in the order of their columns and then at most one text."""
    media = parts_media(parts)
    trailing_parts = parts[len(media) :]
    if not parts or len(trailing_parts) > 1 or parts[: len(media)] != media:
        return None
    columns = [KINDS.index(part.kind) for part in media]
    return (media, str(trailing_parts[0]) if trailing_parts else None) if columns == sorted(columns) else None


PICTURES = ("picture", "images", "image")
MEDIA = {"pictures": PICTURES, "videos": ("video",), "audio": ("audios",), "documents": ("document",)}
ITEM = {"question": ("instruction", "prompt"), "captions": ("caption",), **MEDIA}
RESPONSE = {"contestant": ("model",), "text": ("answer", "response", "output"), **MEDIA}
VERDICT = {
    "item": ("question_id",), "contestants": ("contestant", "model"),
    "marks": ("mark", "score", "rating"), "rater": ("annotator", "worker"),
}  # fmt: skip

ITEM_FALLBACKS = {"id": ("question_id", "item_id", "item")}
RESPONSE_FALLBACKS = {"item": ("question_id", "item_id", "id")}
VERDICT_FALLBACKS = {"item": ("item_id", "id"), "winner": ("preference",)}

ITEM_COLUMNS: Columns = {
    "id": "text", "question": "text", "pictures": "json", "videos": "json", "audio": "json", "documents": "json",
    "turns": "json", "reference": "text", "captions": "json",
    "tags": "json",
}  # fmt: skip
RESPONSE_COLUMNS: Columns = {
    "item": "text", "contestant": "text", "sample": "int", "text": "text", "pictures": "json", "videos": "json",
    "audio": "json", "documents": "json", "parts": "json",
    "tags": "json",
}  # fmt: skip
VERDICT_COLUMNS: Columns = {
    "case": "text", "judge": "text", "item": "text", "contestants": "json", "ballot": "text", "criterion": "text",
    "trial": "int", "marks": "json", "fault": "text", "text": "text", "earlier": "json", "prompt": "text",
    "calls": "int", "retries": "int", "tokens_in": "int", "tokens_out": "int", "dollars": "float", "seconds": "float",
    "at": "float", "samples": "json", "rater": "text", "revision": "int", "blind": "int", "guideline": "text",
    "probability": "float", "reader": "int", "variant": "text", "strength": "float", "canary": "int",
    "confidence": "float",
    "cached": "int", "stored": "int",
}  # fmt: skip


def read_items(path: str | Path, *, question: str | None = None) -> Iterator[Item]:
    """Yield the items of a file, or of a folder of pictures, videos, recordings and PDF files, each of which is an item
    named like its file. Subfolders are included. `question` is the default for rows or files without a question.
    """
    path = Path(path)
    ids: set[str] = set()
    rows = ((None, item) for item in items_in(path, question)) if path.is_dir() else _item_rows(path, question)
    for line, item in rows:
        if item.id in ids:
            raise InputError(f"the id {item.id!r} occurs twice; ids must differ", path=path, line=line)
        ids.add(item.id)
        yield item


def _item_rows(path: Path, question: str | None) -> Iterator[tuple[int | None, Item]]:
    for line, row in read_rows(path):
        yield line, item_of(item_fields(path, line, row), question)


def item_fields(path: Path, line: int, row: Mapping[str, Any]) -> Fields:
    """Return the fields of an item's row, with usual names of the id. A row of a contestant is none of an item."""
    is_response = not row.keys().isdisjoint(("contestant", "model")) and "id" not in row
    return Fields(path, line, convert_rubric_row(row, line), ITEM, {} if is_response else ITEM_FALLBACKS)


def item_of(fields: Fields, question: str | None) -> Item:
    """Return the item of one row."""
    if not fields.has("id") and fields.has("item") and (fields.has("contestant") or fields.has("model")):
        raise fields.error("this row is a response to an item, and no item; were items and responses exchanged?")
    name = fields.name("id")
    turns = fields.json("turns")
    if turns is None:
        question_text = fields.text("question", question)
        if question_text is None:
            raise fields.error(f"the item has no 'question' and no 'turns'; found {', '.join(fields.columns)}")
        media, missing = media_of(fields)
        conversation: tuple[Turn, ...] = (Turn("user", (*media, question_text)),)
    else:
        conversation, missing = _parse_turns(fields, turns)
        conversation, more_missing = _add_question_and_media(fields, conversation)
        missing += more_missing
    reference = _parse_reference(fields, Item(name, conversation))
    captions = tuple(fields.texts("captions"))
    tags = fields.tags()  # the columns that were not read before
    if missing:
        tags = {**tags, WITHOUT_PICTURES: "\n".join(missing)}
    return Item(name, conversation, reference, captions, tags)


def _parse_reference(fields: Fields, item: Item) -> str | None:
    """Return the reference: a text, or of a dialogue a text for each turn."""
    if not isinstance(fields.get("reference"), list):
        return fields.text("reference")
    texts, turn_count = fields.texts("reference"), len(open_turns(item))
    if len(texts) != turn_count:
        raise fields.error(
            f"'reference' is a text, or a list with one for each turn to answer; found {len(texts)} for {turn_count} "
            "turns"
        )
    return join_references(texts)


def _parse_turns(fields: Fields, turns: Any) -> tuple[tuple[Turn, ...], list[str]]:
    if not isinstance(turns, list) or not turns:
        raise fields.error("'turns' must be a list with at least one turn")
    parsed_turns: list[Turn] = []
    missing: list[str] = []
    for turn in turns:
        if not isinstance(turn, dict) or turn.get("role") not in ROLES or not isinstance(turn.get("parts"), list):
            raise fields.error(f"a turn must be {{'role', 'parts'}} with a role of {', '.join(ROLES)}")
        parts, missing_names = parts_of(fields, turn["parts"])
        parsed_turns.append(Turn(turn["role"], parts))
        missing += missing_names
    return tuple(parsed_turns), missing


def _add_question_and_media(fields: Fields, turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], list[str]]:
    """Return the turns of an item with its other columns: pictures come first, a question is the last turn."""
    media, missing = media_of(fields)
    if media or missing:
        if any(not isinstance(part, str) for turn in turns for part in turn.parts):
            raise fields.error("'turns' have pictures, and so has the row; give each picture once, in its turn")
        first = next((place for place, turn in enumerate(turns) if turn.role == "user"), None)
        if first is None:
            raise fields.error("the row has pictures, and none of its 'turns' has the role user")
        turns = (*turns[:first], replace(turns[first], parts=(*media, *turns[first].parts)), *turns[first + 1 :])
    question = fields.text("question") if fields.has("question") else None
    if question and question not in {turn.text for turn in turns}:
        if turns[-1].role == "user":
            raise fields.error("'turns' end with a user turn, and 'question' is another text; leave out one of the two")
        turns = (*turns, Turn("user", (question,)))
    return turns, missing


def read_responses(
    path: str | Path, *, contestant: str | None = None, items: Collection[str] | None = None
) -> Iterator[Response]:
    """Yield the responses of a file; `contestant` is the default for rows without one.
    With `items`, the known item ids, a response to any other item is refused.
    """
    path = Path(path)
    seen_keys: dict[tuple[str, str, int], int] = {}
    blanks = Blanks()
    for line, row in read_rows(path):
        response = response_of(Fields(path, line, row, RESPONSE, RESPONSE_FALLBACKS), contestant, blanks)
        place = (response.item, response.contestant, response.sample)
        if items is not None and response.item not in items:
            raise InputError(_unknown_item_message(response, items), path=path, line=line)
        if place in seen_keys:
            first_line = seen_keys[place]
            is_same_row = next(first_row for number, first_row in read_rows(path) if number == first_line) == row
            remedy = (
                f"line {first_line} is the same row: leave one out"
                if is_same_row
                else f"the other one is in line {first_line}: number them in a column 'sample'"
            )
            raise InputError(
                f"{response.contestant!r} answers item {response.item!r} twice; {remedy}", path=path, line=line
            )
        seen_keys[place] = line
        yield response
    blanks.warn(path, len(seen_keys))
    warn_of_twins(path, (contestant for _, contestant, _ in seen_keys))


def read_response_files(paths: Iterable[Path], *, items: Collection[str] | None = None) -> Iterator[Response]:
    """Yield the responses of several files; the same response in two files is refused."""
    first_files: dict[tuple[str, str, int], Path] = {}
    for path in paths:
        for response in read_responses(path, items=items):
            first_file = first_files.setdefault((response.item, response.contestant, response.sample), path)
            if first_file != path:
                raise InputError(
                    f"{response.contestant!r} answers item {response.item!r} in {first_file}, too; leave one out, or "
                    "number them in a column 'sample'",
                    path=path,
                )
            yield response


def response_of(fields: Fields, contestant: str | None, blanks: Blanks) -> Response:
    """Return the response of one row; `blanks` counts those without a text."""
    item, who = fields.name("item"), fields.name("contestant", contestant)
    sample = fields.integer("sample", 0)
    if sample < 0:
        raise fields.error(f"'sample' numbers the answers of one contestant from 0; found {sample}")
    answers = fields.json("turns")
    if answers is not None:
        return _response_with_turns(fields, Response(item, who, (), {}, sample), answers)
    parts = fields.json("parts")
    if parts is None:
        bare = not fields.has("text")
        text, (media, _) = fields.text("text"), media_of(fields, is_answer=True)
        if bare and not media:
            raise fields.error("the response has no 'text', no 'pictures' and no 'parts'")
        if text is None and not media:
            blanks.add(fields.path, fields.line, (item, who))
        content: tuple[Part, ...] = media if media and text is None else (*media, text or "")
    else:
        content, _ = parts_of(fields, parts, is_answer=True)
    return Response(item, who, content, fields.tags(), sample)


def _response_with_turns(fields: Fields, response: Response, answers: Any) -> Response:
    """Return the response to a dialogue: `turns` has a text, or a list of parts, for each turn."""
    if not isinstance(answers, list) or not answers:
        raise fields.error("'turns' of a response is a list with one answer for each turn")
    content = [
        (answer,) if isinstance(answer, str) else parts_of(fields, answer, is_answer=True)[0] for answer in answers
    ]
    return dialogue_response(replace(response, tags=fields.tags()), content)


def _unknown_item_message(response: Response, items: Collection[str]) -> str:
    near = closest_name(response.item, items)
    instead = f"; did you mean {near!r}?" if near else ""
    item_summary = (
        f"the {len(items)} items" if len(items) != 1 else f"the items: there is one, {next(iter(items))[:80]!r}"
    )
    return f"{response.contestant!r} answers item {response.item[:80]!r}, which is not among {item_summary}{instead}"


def read_verdicts(
    path: str | Path, *, judge: str = "human", ballot: str | None = None, passed_over: Counter[str] | None = None
) -> Iterator[Verdict]:
    """Yield the verdicts of a file, such as people's marks; also of a file by Label Studio or Argilla.

    `judge` and `ballot` are defaults for rows without them. Without `case`, a key is derived from item, contestants,
    samples, ballot and criterion. A row may name its `rater`. If people's rows have none, repeated votes on a case are
    numbered, so that each counts as one person.
    """
    path = Path(path)
    yield from verdicts_in(read_labels.label_rows(path, passed_over), path, judge=judge, ballot=ballot)


def verdicts_in(
    rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path, *, judge: str = "human", ballot: str | None = None
) -> Iterator[Verdict]:
    """Yield the verdicts of numbered rows; `path` is for error messages."""
    votes: Counter[tuple[str, str]] = Counter()
    seen_keys: set[tuple[object, ...]] = set()
    for line, row in rows:
        fields = Fields(path, line, row, VERDICT, VERDICT_FALLBACKS)
        who, spec = fields.name("judge", judge), fields.name("ballot", ballot or fields.choice)
        item, contestants = fields.name("item"), fields.contestants()
        criterion = fields.text("criterion") or "overall"
        samples = samples_of(fields)
        case_content = [item, list(contestants), spec, criterion, *([list(samples)] if samples else [])]
        case = fields.text("case") or digest(["label", *case_content])
        trial, rater = _trial_and_rater(fields, who, votes[who, case])
        revision = fields.integer("revision", 0)
        votes[who, case] += 1
        if (who, case, trial, rater, revision) in seen_keys:
            by = f"the rater {rater!r}" if rater else f"the judge {who!r}"
            raise fields.error(f"{by} rules twice on item {item!r} in trial {trial}")
        seen_keys.add((who, case, trial, rater, revision))
        with fields.locate_errors():
            form = _ballot(spec)
            marks = fields.marks(contestants, form)
            if marks is not None and not form.allows(marks):
                raise InputError(
                    f"the marks {list(marks)} are not legal on the ballot {spec}{_ballot_advice(fields, form, marks)}"
                )
            if isinstance(form, GradedChoice) and marks is not None:
                marks = form.marks_of(form.step_of(marks) or 0)  # a file may have rounded sixths
            yield Verdict(
                case,
                who,
                item,
                contestants,
                spec,
                criterion,
                trial,
                marks,
                fields.fault(),
                fields.text("text") or "",
                _read_usage(fields),
                fields.text("prompt") or "",
                tuple(fields.texts("earlier")),
                fields.number("at", 0.0),
                samples,
                rater,
                revision,
                reading=ReplyReading.from_number(fields.integer("reader", 0)),
                confidence=None if fields.get("confidence") is None else fields.number("confidence", 0.0),
                circumstances=_read_circumstances(fields),
            )


def _ballot_advice(fields: Fields, form: Ballot, marks: Sequence[float]) -> str:
    """Return what to do if marks do not fit a ballot."""
    if isinstance(form, GradedChoice):
        levels = ", ".join(f"{form.marks_of(step)[0]:.3g}" for step in form.steps)
        return f"; the first mark is one of {levels}, and both sum to 1"
    if len(marks) > 1 and len(set(marks)) == 1:
        return "; for ties the ballot is choice+tie"
    if fields.has("ballot"):
        return ""
    scale = _scale_for(marks[0]) if len(marks) == 1 else "choice, choice+tie or ranking"
    return f"; the file names no ballot of its own: add a column 'ballot' with {scale}, or pass it with --ballot"


def _scale_for(mark: float) -> str:
    """Return the name of a usual scale that takes this mark."""
    ends = next((ends for ends in ((1, 5), (0, 10), (0, 100)) if ends[0] <= mark <= ends[1]), None)
    if ends is None:
        return "number"
    return f"a scale such as {'score' if mark == int(mark) else 'real'}:{ends[0]}-{ends[1]}"


def _trial_and_rater(fields: Fields, judge: str, before: int) -> tuple[int, str]:
    """`before` counts this judge's earlier rows on the case. A person votes once, so another trial of people without a
    rater counts as another person. Raters of pilots get a prefix.
    """
    rater = fields.text("rater") or ""
    if rater and not rater.startswith(PILOT) and str(fields.get("pilot") or "").lower() in {"true", "1"}:
        rater = f"{PILOT}{rater}"
    if judge != PEOPLE or rater:
        return fields.integer("trial", 0 if rater else before), rater
    return 0, str(fields.integer("trial", before))


def _read_circumstances(fields: Fields) -> Circumstances:
    blind = {"": None, "0": False, "1": True, "false": False, "true": True}
    text = "" if fields.get("blind") is None else str(fields.get("blind")).lower().removesuffix(".0")
    if text not in blind:
        raise fields.error(f"'blind' is 1 for a vote cast without names in view, else 0; found {text!r}")
    guideline = fields.text("guideline") or ""
    chance = None if fields.get("probability") is None else fields.number("probability", 1.0)
    if chance is not None and not 0 < chance <= 1:
        raise fields.error(f"'probability' is the chance of being chosen, above 0 and at most 1; found {chance:g}")
    variant, canary = fields.text("variant") or "", bool(fields.integer("canary", 0))
    strength = None if fields.get("strength") is None else fields.number("strength", 0.0)
    how = Circumstances(blind[text], guideline, chance, variant, strength, canary)
    return USUAL if how == USUAL else how


def samples_of(fields: Fields) -> tuple[int, ...]:
    """Return the sample numbers of a row, or () if it has none."""
    value = fields.json("samples") or []
    if not value and fields.get("sample") is not None:  # the column name in files of responses
        value = [fields.integer("sample", 0)] * len(fields.contestants())
    if not isinstance(value, list) or any(type(number) is not int or number < 0 for number in value):
        raise fields.error(f"'samples' is a list of whole numbers, one for each response; found {value!r}")
    return tuple(value) if any(value) else ()


_ballot = lru_cache(maxsize=256)(ballot_of)


def _read_usage(fields: Fields) -> Usage:
    unknown = fields.has("dollars") and fields.get("dollars") is None
    counts = {name: fields.integer(name, 0) for name in ("calls", "retries", "tokens_in", "tokens_out")}
    dollars = None if unknown else fields.number("dollars", 0.0)
    cached_tokens, stored_tokens = (
        None if fields.get(name) is None else fields.integer(name, 0) for name in ("cached", "stored")
    )
    counted_tokens = 0 if cached_tokens is None else counts["tokens_in"]
    seconds = fields.number("seconds", 0.0)
    return Usage(
        **counts, dollars=dollars, seconds=seconds, cached=cached_tokens, stored=stored_tokens, counted=counted_tokens
    )


def write_items(path: str | Path, items: Iterable[Item], *, raw: bool = False, place: Path | None = None) -> int:
    """Write items, completely or not at all, and return their number.

    Pictures in memory or outside the file's folder are written next to the file, since readers accept no others.
    `place` is the final path of the file, if it is written elsewhere for a comparison.
    """
    target = Path(path)
    return write_rows(target, (_item_row(place or target, item) for item in items), ITEM_COLUMNS, raw=raw)


def _item_row(path: Path, item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id}
    simple = simple_form(item.turns[0].parts) if len(item.turns) == 1 and item.turns[0].role == "user" else None
    if simple is not None and simple[1] is not None:
        row["question"] = simple[1]
        row |= _media_columns(path, simple[0])
    else:
        row["turns"] = [{"role": turn.role, "parts": _part_values(path, turn.parts)} for turn in item.turns]
    if item.reference is not None:
        row["reference"] = item.reference
    if item.captions:
        row["captions"] = list(item.captions)
    if item.tags:
        row["tags"] = dict(item.tags)
    return row


def write_responses(path: str | Path, responses: Iterable[Response], *, raw: bool = False) -> int:
    """Write responses, completely or not at all, and return their number; pictures as in `write_items`."""
    target = Path(path)
    rows = (_response_row(target, response) for response in responses)
    return write_rows(target, rows, RESPONSE_COLUMNS, raw=raw)


def _response_row(path: Path, response: Response) -> dict[str, Any]:
    row: dict[str, Any] = {"item": response.item, "contestant": response.contestant, "sample": response.sample}
    simple = simple_form(response.parts)
    if simple is None:
        row["parts"] = _part_values(path, response.parts)
    else:
        media, text = simple
        if text is not None:
            row["text"] = text
        row |= _media_columns(path, media)
    if response.tags:
        row["tags"] = dict(response.tags)
    return row


def write_verdicts(
    path: str | Path, verdicts: Iterable[Verdict], *, raw: bool = False, names: Mapping[str, str] | None = None
) -> int:
    """Write verdicts, completely or not at all, and return their number.

    Args:
        path: File to write.
        verdicts: The verdicts.
        raw: Keep texts that a spreadsheet takes for formulas.
        names: Display names by full name, for a column `judge_name`.
    """
    if not names:
        return write_rows(path, map(_verdict_row, verdicts), VERDICT_COLUMNS, raw=raw)
    shown_names = names
    rows = ({**_verdict_row(v), "judge_name": shown_names.get(v.judge, v.judge)} for v in verdicts)
    return write_rows(path, rows, {**VERDICT_COLUMNS, "judge_name": "text"}, raw=raw)


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    how = verdict.circumstances
    blind = None if how.blind is None else int(how.blind)
    numbers = {"blind": blind, "canary": int(how.canary), "reader": verdict.reading.number}
    row = {
        name: numbers[name]
        if name in numbers
        else next(getattr(part, name) for part in (verdict, verdict.usage, how) if hasattr(part, name))
        for name in VERDICT_COLUMNS
    }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


def _part_values(path: Path, parts: tuple[Part, ...]) -> list[Any]:
    return [part if isinstance(part, str) else {part.part_name: _media_path(path, part)} for part in parts]


def _media_columns(path: Path, media: Sequence[Media]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for part in media:
        columns.setdefault(COLUMN_NAMES[part.kind], []).append(_media_path(path, part))
    return columns


def _media_path(path: Path, media: Media) -> str:
    source = media.source
    if isinstance(source, bytes) or not source.resolve().is_relative_to(path.parent.resolve()):
        copy = path.with_name(path.name + ".pictures") / f"{media.digest}.{media.suffix}"
        if not copy.exists():
            with replace_atomically(copy) as part, part.open("wb") as file:
                file.writelines(media.pieces())
        source = copy
    return os.path.relpath(source.resolve(), path.parent.resolve())
