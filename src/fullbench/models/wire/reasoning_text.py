"""What a model thought, kept apart from what it answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fullbench.core.reasoning_tags import thought_of


def apart(text: str) -> tuple[str, str]:
    """The answer, and the thinking that a server without a reasoning parser sends in front of it.

    >>> apart("<think>Red, I see.</think>\\n[[A]]")
    ('[[A]]', 'Red, I see.')
    >>> apart("<think>Red or")
    ('', 'Red or')
    >>> apart("The tag <think> opens, </think> closes.")
    ('The tag <think> opens, </think> closes.', '')
    """
    begin, end, speech = thought_of(text)
    return (text[speech:].lstrip(), text[begin:end].strip()) if speech else (text, "")


def written(value: Any) -> str:
    """The words in a field that may be text, a block with text in it, a list of such blocks, or nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return next((words for name in ("text", "thinking", "summary") if (words := written(value.get(name)))), "")
    return "".join(map(written, value)) if isinstance(value, Iterable) else ""
