"""Question files of other benchmarks, read as items.

Our own items are read unchanged. Other formats:

MMStar-like
    rows with `index`, `question` (including the options), `answer` (a letter) and `image`.
ScienceQA-like
    rows, or one object of rows by id, with `question`, `choices` (a list), `answer` (the index of the right one),
    `hint`, and `image` (a file, in the row's own folder if it is there).
MM-Vet-like
    one object of rows by id with `imagename`, `question`, `answer` (words; `<OR>` and `<AND>` stay unchanged).

Pictures are files next to the data, or in a folder `images`, or in the row itself: base64 as in the TSV files of
evaluation kits, bytes as in Parquet. A question without a picture is left out and counted.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fullbench.core.ballot import LETTERS
from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.row_readers import read_rows

_OPTION = re.compile(r"(?:^|[\s(（,;:])([A-Z])\s*[:：.)）]\s*\S")
_BASE64 = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""First characters of PNG, JPEG, GIF and WebP in base64."""
_TAGS = ("category", "l2_category", "capability", "subject", "topic", "split", "bench", "language")


def read_questions(path: str | Path) -> tuple[list[Item], list[str]]:
    """Return the questions of a file that have a picture, and the reasons why others were left out."""
    path = Path(path)
    rows = list(_numbered_rows(path))
    if rows and not _is_foreign(rows[0][2]):
        items = list(read_items(path))
        bare = [item.id for item in items if not item.pictures]
        return [item for item in items if item.pictures], [_no_picture_message(name) for name in bare]
    items, left_out, ids = [], [], set()
    for line, name, row in rows:
        if name in ids:
            raise InputError(f"the id {name!r} occurs twice; ids must differ", path=path, line=line)
        ids.add(name)
        picture = _load_picture(path, line, name, row)
        if picture is None:
            left_out.append(_no_picture_message(name))
        else:
            items.append(_make_item(path, line, name, row, picture))
    return items, left_out


def _no_picture_message(name: str) -> str:
    return f"the question {name!r} has no picture"


def _numbered_rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    rows_by_id = _read_object(path)
    if rows_by_id is not None:
        for place, (name, row) in enumerate(rows_by_id.items(), 1):
            if not isinstance(row, dict):
                raise InputError(f"the entry {name!r} is not an object with a question", path=path)
            yield place, str(name), row
        return
    for place, (line, row) in enumerate(read_rows(path)):
        row_id = next((row[key] for key in ("id", "index", "question_id", "qid") if row.get(key) is not None), place)
        yield line, str(row_id), row


def _read_object(path: Path) -> dict[str, Any] | None:
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8-sig")
        value = json.loads(text) if text.lstrip().startswith("{") else None
    except (UnicodeDecodeError, ValueError) as error:
        raise InputError(f"this is not valid JSON ({error})", path=path) from error
    return value if isinstance(value, dict) else None


def _is_foreign(row: Mapping[str, Any]) -> bool:
    """True if a row has a benchmark's format: an answer next to the question."""
    return "answer" in row and "question" in row and "reference" not in row


def _load_picture(path: Path, line: int, name: str, row: Mapping[str, Any]) -> Picture | None:
    value = row.get("imagename") or row.get("image_path") or row.get("image")
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return Picture.from_bytes(value)
    if not isinstance(value, str) or not value:
        return None
    if value.startswith(_BASE64):
        try:
            return Picture.from_bytes(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InputError(f"the picture of {name!r} is not valid base64 ({error})", path=path, line=line) from error
    folder = path.parent
    for place in (value, f"images/{value}", f"{name}/{value}", f"images/{name}/{value}"):
        if (folder / place).is_file():
            return read_picture(folder, place, path=path, line=line)
    return read_picture(folder, value, path=path, line=line)


def _make_item(path: Path, line: int, name: str, row: Mapping[str, Any], picture: Picture) -> Item:
    question, answer, choices = str(row["question"]).strip(), row["answer"], row.get("choices")
    if isinstance(choices, str):
        choices = json.loads(choices)
    hint = str(row.get("hint") or "").strip()
    tags = {tag: str(row[tag]) for tag in _TAGS if row.get(tag) is not None and not isinstance(row[tag], list | dict)}
    if choices is not None:
        letter = _answer_letter(path, line, answer, len(choices))
        options_text = "\n".join(f"{mark}: {choice}" for mark, choice in zip(LETTERS, choices, strict=False))
        question_text = "\n".join(filter(None, (hint, question, options_text)))
        tags |= {"options": str(len(choices)), "key": letter}
        return Item.ask(
            name, question_text, picture, reference=f"{letter}: {choices[LETTERS.index(letter)]}", tags=tags
        )
    marks = set(_OPTION.findall(question))
    letter_given = str(answer).strip().upper()
    if {"A", "B"} <= marks and letter_given in marks:
        tags |= {"options": str(_option_count(marks)), "key": letter_given}
    question_text = "\n".join(filter(None, (hint, question)))
    return Item.ask(name, question_text, picture, reference=str(answer).strip() or None, tags=tags)


def _option_count(marks: set[str]) -> int:
    return next((place for place, mark in enumerate(LETTERS) if mark not in marks), len(LETTERS))


def _answer_letter(path: Path, line: int, answer: Any, options: int) -> str:
    if isinstance(answer, str) and not answer.strip().isdecimal():
        letter = answer.strip().upper()
        place = LETTERS.index(letter) if len(letter) == 1 and letter in LETTERS else options
    else:
        place = int(answer)
    if not 0 <= place < options:
        raise InputError(f"the answer {answer!r} is not one of the {options} choices", path=path, line=line)
    return LETTERS[place]
