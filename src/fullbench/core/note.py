"""Sentences of ours that can be said in another language: each knows its id and what was filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WORD = "word."
Value = str | int | float | None


class Note(str):
    """An English sentence with its id and the values filled in. It is a text like any other to whoever only shows it.

    Values may be notes: these are translated in turn; all other texts are data and stay as they are.

    >>> note = Note("faults.left", "{n:,} recusals of {judge} are not shown.", n=1200, judge="甲")
    >>> print(note, note.id, note.values["n"])
    1,200 recusals of 甲 are not shown. faults.left 1200
    >>> note.said_in({"faults.left": "{judge} 的 {n:,} 次回避未列出。"})
    '甲 的 1,200 次回避未列出。'
    """

    id: str
    values: Mapping[str, Value]

    def __new__(cls, id_: str, text: str, /, **values: Value) -> Note:
        """`text` is the sentence in English with `{names}` to fill in."""
        return cls.again(id_, text.format(**values), values)

    @classmethod
    def again(cls, id_: str, said: str, values: Mapping[str, Value]) -> Note:
        """A note whose English sentence is at hand, as it comes out of a file."""
        note = super().__new__(cls, said)
        note.id, note.values = id_, {name: _plain(value) for name, value in values.items()}
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        return Note.again, (self.id, str(self), dict(self.values))

    def said_in(self, messages: Mapping[str, str]) -> str:
        """The sentence by a language's messages; English where these do not have its id."""
        message = messages.get(self.id)
        if message is None:
            return str(self)
        return message.format(**{name: say(value, messages) for name, value in self.values.items()})


def _plain(value: Value) -> Value:
    """The value as one of Python's own, so that it can be written: numpy's numbers are sorts of these."""
    if value is None or isinstance(value, Note):
        return value
    if isinstance(value, str):
        return str(value)
    return float(value) if isinstance(value, float) else int(value)


def word(text: str) -> Note:
    """A word of ours, such as the name of a figure, that is its own id.

    >>> word("pairs").id
    'word.pairs'
    """
    return Note.again(f"{WORD}{text}", text, {})


def listed(parts: Sequence[str]) -> str:
    """Several texts as one, notes among them.

    >>> str(listed(["a", "b", "c"]))
    'a; b; c'
    """
    joined = parts[0]
    for part in parts[1:]:
        joined = Note("list.and", "{first}; {second}", first=joined, second=part)
    return joined


def sentences(parts: Sequence[str]) -> str:
    """Sentences one after another.

    >>> str(sentences(["One.", "Two."]))
    'One. Two.'
    """
    joined = parts[0]
    for part in parts[1:]:
        joined = Note("list.sentences", "{first} {second}", first=joined, second=part)
    return joined


def say(value: Any, messages: Mapping[str, str]) -> Any:
    """A note in the language of these messages; anything else as it is."""
    return value.said_in(messages) if isinstance(value, Note) else value


def sentence(error: Exception) -> str:
    """What an error says, as the note that it was made with where it was."""
    return error.args[0] if error.args and isinstance(error.args[0], Note) else str(error)


def pack(text: str) -> dict[str, Any] | None:
    """What a note knows besides its sentence, as JSON values; None for a plain text."""
    if not isinstance(text, Note):
        return None
    values = {name: _packed(value) for name, value in text.values.items()}
    return {"id": text.id, **({"values": values} if values else {})}


def unpack(said: Any, packed: Mapping[str, Any] | None) -> Any:
    """The note that `pack` packed; what there is where it was no note."""
    if packed is None:
        return said
    values = {
        name: unpack(value["said"], value) if isinstance(value, dict) else value
        for name, value in packed.get("values", {}).items()
    }
    return Note.again(packed["id"], said, values)


def _packed(value: Value) -> Any:
    return value if not isinstance(value, Note) else {"said": str(value), **(pack(value) or {})}
