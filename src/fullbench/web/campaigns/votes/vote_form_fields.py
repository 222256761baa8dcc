"""Parsing of vote form fields; an invalid field raises `InputError` with the given sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Ballot
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import InputError

Answer = Mapping[str, Any]
Fields = Mapping[str, str]
# Written references can be long; more is a file pasted by mistake.
LONGEST = 20_000


def order_from_ranks(fields: Fields, count: int) -> str:
    """Return the order given by rank numbers next to the responses, for pages without scripts."""
    place_by_rank = {fields.get(f"rank{place}", ""): str(place) for place in range(count)}
    return ",".join(place_by_rank.get(str(number + 1), "-") for number in range(count))


def read_text(fields: Fields, name: str, *, need: bool = False) -> dict[str, str]:
    """Return the text of a field, if any; raise `InputError` if it is too long, or empty and needed."""
    text = fields.get(name, "").strip()
    if len(text) > LONGEST:
        raise InputError(
            Note("web.wrong.the-has-letters-are-allowed", name=word_note(name), n=len(text), longest=LONGEST)
        )
    if need and not text:
        raise InputError(Note("web.wrong.write-the", name=word_note(name)))
    return {name: text} if text else {}


def read_numbered_texts(fields: Fields, name: str) -> list[str]:
    """Return the texts of numbered fields: `caption`, `caption2`, `caption3` ..."""
    further = (place for place in fields if re.fullmatch(rf"{name}([2-9]|[1-9]\d)", place))
    return [
        read_text(fields, place, need=True)[place] for place in (name, *sorted(further, key=lambda at: (len(at), at)))
    ]


def numbered_fields(name: str, values: Sequence[str]) -> dict[str, str]:
    """Return numbered fields for these values.

    >>> numbered_fields("caption", ["a cat", "a dog"])
    {'caption': 'a cat', 'caption2': 'a dog'}
    """
    return {name if place == 1 else f"{name}{place}": value for place, value in enumerate(values, 1)}


def common_fields(answer: Answer) -> dict[str, str]:
    """Return the fields that every kind of answer may have."""
    reason = {"reason": answer["reason"]} if answer.get("reason") else {}
    return {**reason, **({"abstained": "yes"} if answer.get("abstained") else {})}


def field_text(value: Any) -> str:
    """Return a value as form text."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def yes_marks(label: str) -> tuple[float, ...]:
    """Return the mark of yes (2) or no (1)."""
    return (2.0 if label == "yes" else 1.0,)


def is_yes(marks: Sequence[float]) -> bool:
    """Return True if the mark means yes."""
    return marks[0] > 1


def read_place(text: str, ask: str, count: int) -> int:
    """Parse the place of one of `count` responses."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text) < count):
        raise _field_error(text, ask)
    return int(text)


def read_mark(text: str, form: Ballot, ask: str) -> int:
    """Parse a mark that the ballot allows."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 8 and form.allows([float(text)])):
        raise _field_error(text, ask)
    return int(text)


def read_yes_no(fields: Fields, name: str, ask: str) -> bool:
    """Parse a yes/no field."""
    if fields.get(name) not in {"yes", "no"}:
        raise _field_error(fields.get(name, ""), ask)
    return fields[name] == "yes"


def read_choice(fields: Fields, name: str, allowed_words: Sequence[str], ask: str) -> str:
    """Parse a field that must be one of the allowed words."""
    if fields.get(name) not in allowed_words:
        raise _field_error(fields.get(name, ""), ask)
    return fields[name]


def _field_error(text: str, ask: str) -> InputError:
    if not text:
        return InputError(ask)
    return InputError(Note("web.wrong.off-the-ballot", found=text[:80]))
