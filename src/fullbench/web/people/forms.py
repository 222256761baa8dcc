"""Reading the fields of the form that a vote is sent with; what does not fit is refused by the sentence given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.errors import InputError
from fullbench.nouns.ballot import Ballot

Answer = Mapping[str, Any]
Fields = Mapping[str, str]
LONGEST = 20_000


def numbered(fields: Fields, count: int) -> str:
    """The order that numbers beside the responses give, for pages without scripts."""
    given = {fields.get(f"rank{place}", ""): str(place) for place in range(count)}
    return ",".join(given.get(str(number + 1), "-") for number in range(count))


def words(fields: Fields, name: str, *, need: bool = False) -> dict[str, str]:
    """What somebody wrote in a field, if anything."""
    said = fields.get(name, "").strip()
    if len(said) > LONGEST:
        raise InputError(f"the {name} has {len(said):,} letters; {LONGEST:,} are allowed")
    if need and not said:
        raise InputError(f"write the {name}")
    return {name: said} if said else {}


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


def place(said: str, ask: str, count: int) -> int:
    """The place of one of so many responses."""
    if not (said.isascii() and said.isdigit() and len(said) < 4 and int(said) < count):
        raise InputError(ask)
    return int(said)


def mark(said: str, form: Ballot, ask: str) -> int:
    """A mark that the ballot allows."""
    if not (said.isascii() and said.removeprefix("-").isdigit() and len(said) < 8 and form.allows([float(said)])):
        raise InputError(ask)
    return int(said)


def yes(fields: Fields, name: str, ask: str) -> bool:
    """A field that is yes or no."""
    if fields.get(name) not in {"yes", "no"}:
        raise InputError(ask)
    return fields[name] == "yes"


def one_of(fields: Fields, name: str, known: Sequence[str], ask: str) -> str:
    """A field that is one of some words."""
    if fields.get(name) not in known:
        raise InputError(ask)
    return fields[name]
