"""Outcomes as a ledger can hold them, whoever made them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.verdict import Failure, Verdict

LARGEST = 1 << 63
"""Whole numbers below this have a place in every database."""


def keepable(outcome: Any, who: str, key: tuple[str, int]) -> Any:
    """The outcome as it is, or the failure that stands for it where its numbers or texts cannot be held."""
    if (reason := odd(outcome.usage)) or (reason := _odd_words(outcome)):
        return Failure(key[0], who, key[1], f"what came cannot be kept: {reason}", sane(outcome.usage))
    if isinstance(outcome, Verdict) and "\0" in outcome.text:
        return replace(outcome, text=outcome.text.replace("\0", "\ufffd"))
    return outcome


def odd(usage: Usage) -> str:
    """What in a usage is no amount of anything; nothing where all is well."""
    if _plain(usage):
        return ""
    for name in ("calls", "retries", "tokens_in", "tokens_out"):
        value = getattr(usage, name)
        if not isinstance(value, int) or not 0 <= value < LARGEST:
            return f"{name} is {str(value)[:40]}"
    for name in ("cached", "stored"):
        value = getattr(usage, name)
        if value is not None and not (isinstance(value, int) and 0 <= value < LARGEST):
            return f"{name} is {str(value)[:40]}"
    for name in ("dollars", "seconds"):
        value = getattr(usage, name)
        if value is not None and not (isinstance(value, int | float) and math.isfinite(value) and value >= 0):
            return f"{name} is {str(value)[:40]}"
    return ""


def _plain(usage: Usage) -> bool:
    """Whether all is well at first sight, as it nearly always is: this is asked of every outcome."""
    whole = (usage.calls, usage.retries, usage.tokens_in, usage.tokens_out, usage.cached or 0, usage.stored or 0)
    if {*map(type, whole)} != {int} or min(whole) < 0 or max(whole) >= LARGEST:
        return False
    seconds, dollars = usage.seconds, usage.dollars or 0.0
    return type(seconds) is type(dollars) is float and 0 <= seconds < math.inf and 0 <= dollars < math.inf


def sane(usage: Usage) -> Usage:
    """What of a usage can be believed: the rest is nothing, and its price unknown."""
    if not odd(usage):
        return usage
    calls, retries, tokens_in, tokens_out = (
        value if isinstance(value, int) and 0 <= value < LARGEST else 0
        for value in (usage.calls, usage.retries, usage.tokens_in, usage.tokens_out)
    )
    seconds = usage.seconds if isinstance(usage.seconds, int | float) and math.isfinite(usage.seconds) else 0.0
    return Usage(calls, retries, tokens_in, tokens_out, None, max(0.0, seconds))


def _odd_words(outcome: Any) -> str:
    for name in ("text", "error"):
        value = getattr(outcome, name, "")
        if not isinstance(value, str):
            return f"its {name} is no text but {type(value).__name__}"
    return ""
