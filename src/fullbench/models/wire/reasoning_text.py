"""Separation of a model's reasoning from its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fullbench.core.reasoning_tags import reasoning_span


def split_reasoning(text: str) -> tuple[str, str]:
    r"""Return the answer, and the reasoning that a server without a reasoning parser puts before it.

    >>> split_reasoning("<think>Red, I see.</think>\n[[A]]")
    ('[[A]]', 'Red, I see.')
    >>> split_reasoning("<think>Red or")
    ('', 'Red or')
    >>> split_reasoning("The tag <think> opens, </think> closes.")
    ('The tag <think> opens, </think> closes.', '')
    """
    begin, end, speech = reasoning_span(text)
    return (text[speech:].lstrip(), text[begin:end].strip()) if speech else (text, "")


def collect_text(value: Any) -> str:
    """Return the text of a field that may be a string, a block with text, a list of such blocks, or None."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return next((words for name in ("text", "thinking", "summary") if (words := collect_text(value.get(name)))), "")
    return "".join(map(collect_text, value)) if isinstance(value, Iterable) else ""
