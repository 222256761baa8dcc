"""What a model thought, kept apart from what it answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OPEN, _CLOSE = "<think>", "</think>"


def apart(text: str) -> tuple[str, str]:
    """The answer, and the thinking that a server without a reasoning parser sends in front of it.

    A chat template may have opened the tag already, so that only its end stands in the reply. A reply cut off while
    thinking has said nothing yet.

    >>> apart("<think>Red, I see.</think>\\n[[A]]")
    ('[[A]]', 'Red, I see.')
    >>> apart("<think>Red or")
    ('', 'Red or')
    >>> apart("The tag <think> opens, </think> closes.")
    ('The tag <think> opens, </think> closes.', '')
    """
    if "think>" not in text:
        return text, ""
    head = text.lstrip()
    opened = head.startswith(_OPEN)
    thought, close, answer = head.removeprefix(_OPEN).partition(_CLOSE)
    if not opened and (not close or _OPEN in thought):
        return text, ""
    return answer.lstrip(), thought.strip()


def written(value: Any) -> str:
    """The words in a field that may be text, a block with text in it, a list of such blocks, or nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return next((words for name in ("text", "thinking", "summary") if (words := written(value.get(name)))), "")
    return "".join(map(written, value)) if isinstance(value, Iterable) else ""
