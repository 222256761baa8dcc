"""Where a model stops thinking and begins to speak, by the tags of models' own formats.

A tag counts at the beginning of a reply, where a model's format puts it. A chat template may have opened it already, so
that only its end stands in the reply. Anywhere else, or in what a contestant wrote, it is a word like any other.
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
_OPENED = re.compile(r"\s*(" + "|".join(map(re.escape, CLOSES)) + ")")


def thought_of(text: str, quoted: Callable[[int, int], bool] | None = None) -> tuple[int, int, int]:
    """The beginning and the end of the thinking in a reply, and where the speaking begins.

    A reply that was cut off while thinking never speaks. `quoted` says of a closing tag whether it is somebody else's.

    >>> text = "<think>Red, I see.</think>[[A]]"
    >>> begin, end, speech = thought_of(text)
    >>> text[begin:end], text[speech:]
    ('Red, I see.', '[[A]]')
    >>> thought_of("The tag <think> opens, </think> closes.")
    (0, 0, 0)
    """
    opened = _OPENED.match(text)
    close = CLOSES[opened[1]] if opened else END
    begin = opened.end() if opened else 0
    at = text.find(close, begin)
    while at != -1 and quoted is not None and quoted(at, at + len(close)):
        at = text.find(close, at + 1)
    if opened:
        return (begin, at, at + len(close)) if at != -1 else (begin, len(text), len(text))
    if at == -1 or "<think>" in text[:at]:
        return 0, 0, 0
    return 0, at, at + len(close)
