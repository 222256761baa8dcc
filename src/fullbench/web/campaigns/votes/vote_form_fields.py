"""Reading the fields of the form that a vote is sent with; what does not fit is refused by the sentence given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.ballot import Ballot
from fullbench.core.note import Note, word
from fullbench.errors import InputError

Answer = Mapping[str, Any]
Fields = Mapping[str, str]
LONGEST = 20_000


def numbered(fields: Fields, count: int) -> str:
    """The order that numbers beside the responses give, for pages without scripts."""
    place_by_rank = {fields.get(f"rank{place}", ""): str(place) for place in range(count)}
    return ",".join(place_by_rank.get(str(number + 1), "-") for number in range(count))


def words(fields: Fields, name: str, *, need: bool = False) -> dict[str, str]:
    """What somebody wrote in a field, if anything."""
    text = fields.get(name, "").strip()
    if len(text) > LONGEST:
        raise InputError(
            Note(
                "web.wrong.the-has-letters-are-allowed",
                "the {name} has {n:,} letters; {longest:,} are allowed",
                name=word(name),
                n=len(text),
                longest=LONGEST,
            )
        )
    if need and not text:
        raise InputError(Note("web.wrong.write-the", "write the {name}", name=word(name)))
    return {name: text} if text else {}


def each(fields: Fields, name: str) -> list[str]:
    """What somebody wrote in fields that count on from one of this name: `caption`, `caption2`, `caption3` ..."""
    further = (place for place in fields if re.fullmatch(rf"{name}([2-9]|[1-9]\d)", place))
    return [words(fields, place, need=True)[place] for place in (name, *sorted(further, key=lambda at: (len(at), at)))]


def counting_on(name: str, values: Sequence[str]) -> dict[str, str]:
    """Fields that count on from one of this name.

    >>> counting_on("caption", ["a cat", "a dog"])
    {'caption': 'a cat', 'caption2': 'a dog'}
    """
    return {name if place == 1 else f"{name}{place}": value for place, value in enumerate(values, 1)}


def kept(answer: Answer) -> dict[str, str]:
    """What every kind of answer may hold."""
    reason = {"reason": answer["reason"]} if answer.get("reason") else {}
    return {**reason, **({"recused": "yes"} if answer.get("recused") else {})}


def said(value: Any) -> str:
    """A value as the form says it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def yes_marks(label: str) -> tuple[float, ...]:
    """The mark of a yes or no."""
    return (2.0 if label == "yes" else 1.0,)


def known_yes(marks: Sequence[float]) -> bool:
    """Whether a known answer is yes."""
    return marks[0] > 1


def place(text: str, ask: str, count: int) -> int:
    """The place of one of so many responses."""
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text) < count):
        raise _off_the_ballot(text, ask)
    return int(text)


def mark(text: str, form: Ballot, ask: str) -> int:
    """A mark that the ballot allows."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 8 and form.allows([float(text)])):
        raise _off_the_ballot(text, ask)
    return int(text)


def yes(fields: Fields, name: str, ask: str) -> bool:
    """A field that is yes or no."""
    if fields.get(name) not in {"yes", "no"}:
        raise _off_the_ballot(fields.get(name, ""), ask)
    return fields[name] == "yes"


def one_of(fields: Fields, name: str, known: Sequence[str], ask: str) -> str:
    """A field that is one of some words."""
    if fields.get(name) not in known:
        raise _off_the_ballot(fields.get(name, ""), ask)
    return fields[name]


def _off_the_ballot(found: str, ask: str) -> InputError:
    """What is said of a field: what is asked where it is empty, else that there is no such choice."""
    if not found:
        return InputError(ask)
    return InputError(
        Note("web.wrong.off-the-ballot", "{found!r} is not on the ballot; choose one of those shown", found=found[:80])
    )
