"""Boundary between a model's reasoning and its answer, by the tags of the models' own formats.

A tag counts at the beginning of a reply, where a model's format puts it. A chat template may have opened it already,
so that only the closing tag is in the reply. Elsewhere, or in a contestant's text, it is a word like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

CLOSES = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|channel|>analysis<|message|>": "<|channel|>final<|message|>",
}
END = CLOSES["<think>"]
_OPENING_TAG = re.compile(r"\s*(" + "|".join(map(re.escape, CLOSES)) + ")")


def reasoning_span(text: str, is_quoted: Callable[[int, int], bool] | None = None) -> tuple[int, int, int]:
    """Return the start and end of the reasoning in a reply, and the start of the answer.

    A reply that was cut off during reasoning has no answer. `is_quoted` tells whether a closing tag is a quotation.

    >>> text = "<think>Red, I see.</think>[[A]]"
    >>> begin, end, speech = reasoning_span(text)
    >>> text[begin:end], text[speech:]
    ('Red, I see.', '[[A]]')
    >>> reasoning_span("The tag <think> opens, </think> closes.")
    (0, 0, 0)
    """
    opening = _OPENING_TAG.match(text)
    close = CLOSES[opening[1]] if opening else END
    begin = opening.end() if opening else 0
    at = text.find(close, begin)
    while at != -1 and is_quoted is not None and is_quoted(at, at + len(close)):
        at = text.find(close, at + 1)
    if opening:
        return (begin, at, at + len(close)) if at != -1 else (begin, len(text), len(text))
    # An opening tag in the middle of the text means that both tags are ordinary words.
    if at == -1 or "<think>" in text[:at]:
        return 0, 0, 0
    return 0, at, at + len(close)
