"""Notes: translatable sentences that know their id and the values filled in.

The English sentences are in `reports/words/en_notes.json`, next to their translations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

from fullbench.number_agreement import agree_with_one

WORD = "word."
Value = str | int | float | None


@cache
def english_messages() -> Mapping[str, str]:
    """Return the English sentences of all notes by id. The file is read when the first note is made."""
    path = Path(__file__).parents[1] / "reports" / "words" / "en_notes.json"
    messages: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return messages


class Note(str):
    """An English sentence with its id and the values filled in. It is an ordinary string to code that only shows it.

    Values that are notes are translated in turn. All other strings are data and stay as they are.

    >>> note = Note("board-tables.only", tag="style", value="甲", n=10, all=1200)
    >>> print(note, note.id, note.values["all"])
    Only items whose style is 甲: 10 of 1,200. board-tables.only 1200
    >>> note.translate_with({"board-tables.only": "{all:,} 道题中的 {n:,} 道：{tag} 为 {value}。"})
    '1,200 道题中的 10 道：style 为 甲。'
    """

    id: str
    values: Mapping[str, Value]

    def __new__(cls, id_: str, /, **values: Value) -> Note:
        """Fill in the `{names}` of the English sentence with this id."""
        return cls.from_sentence(id_, agree_with_one(english_messages()[id_].format(**values)), values)

    @classmethod
    def from_sentence(cls, id_: str, sentence: str, values: Mapping[str, Value]) -> Note:
        """Build a note from its finished English sentence, as read from a file."""
        note = super().__new__(cls, sentence)
        note.id, note.values = id_, {name: _plain_value(value) for name, value in values.items()}
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        return Note.from_sentence, (self.id, str(self), dict(self.values))

    def translate_with(self, messages: Mapping[str, str]) -> str:
        """Return the sentence by a language's messages, or English if they lack its id."""
        message = messages.get(self.id)
        if message is None:
            return str(self)
        return message.format(**{name: translate_if_note(value, messages) for name, value in self.values.items()})


def _plain_value(value: Value) -> Value:
    """Return the value as a plain Python type, so that it can be serialised: numpy numbers are subclasses."""
    if value is None or isinstance(value, Note):
        return value
    if isinstance(value, str):
        return str(value)
    return float(value) if isinstance(value, float) else int(value)


def word_note(text: str) -> Note:
    """Return a note for one of our own words, such as the name of a metric, with the word as its id.

    >>> word_note("pairs").id
    'word.pairs'
    """
    return Note.from_sentence(f"{WORD}{text}", text, {})


def join_notes(parts: Sequence[str]) -> str:
    """Join several texts, possibly notes, with semicolons.

    >>> str(join_notes(["a", "b", "c"]))
    'a; b; c'
    """
    return reduce(lambda first, second: Note("list.and", first=first, second=second), parts)


def join_sentences(parts: Sequence[str]) -> str:
    """Join sentences with spaces.

    >>> str(join_sentences(["One.", "Two."]))
    'One. Two.'
    """
    return reduce(lambda first, second: Note("list.sentences", first=first, second=second), parts)


def translate_if_note(value: Any, messages: Mapping[str, str]) -> Any:
    """Return a note in the language of these messages, and anything else unchanged."""
    return value.translate_with(messages) if isinstance(value, Note) else value


def error_sentence(error: Exception) -> str:
    """Return the message of an error, as the note that it was raised with if there is one."""
    return error.args[0] if error.args and isinstance(error.args[0], Note) else str(error)


def pack_note(text: str) -> dict[str, Any] | None:
    """Return the id and values of a note as JSON values, or None for a plain text."""
    if not isinstance(text, Note):
        return None
    values = {name: _pack_value(value) for name, value in text.values.items()}
    return {"id": text.id, **({"values": values} if values else {})}


def unpack_note(text: Any, note_fields: Mapping[str, Any] | None) -> Any:
    """Return the note that `pack_note` packed, or the text itself if it was no note."""
    if note_fields is None:
        return text
    values = {
        name: unpack_note(value["said"], value) if isinstance(value, dict) else value
        for name, value in note_fields.get("values", {}).items()
    }
    return Note.from_sentence(note_fields["id"], text, values)


def _pack_value(value: Value) -> Any:
    return value if not isinstance(value, Note) else {"said": str(value), **(pack_note(value) or {})}
