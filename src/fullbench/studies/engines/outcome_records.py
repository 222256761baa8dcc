"""Checks that the outcome of a task can be stored in a ledger."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.verdict import Failure, Verdict

LARGEST = 1 << 63
"""Smaller whole numbers fit into every database."""


def storable_outcome(outcome: Any, who: str, key: tuple[str, int]) -> Any:
    """Return the outcome, or a failure if its numbers or texts cannot be stored."""
    if (reason := usage_problem(outcome.usage)) or (reason := _text_problem(outcome)):
        return Failure(key[0], who, key[1], f"what came cannot be kept: {reason}", sanitise_usage(outcome.usage))
    if isinstance(outcome, Verdict) and "\0" in outcome.text:
        return replace(outcome, text=outcome.text.replace("\0", "\ufffd"))
    return outcome


def usage_problem(usage: Usage) -> str:
    """Return a description of the first invalid number of a usage, or ""."""
    if _is_plain_usage(usage):
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


def _is_plain_usage(usage: Usage) -> bool:
    """Fast check for the normal case, because it runs for every outcome."""
    whole_numbers = (
        usage.calls,
        usage.retries,
        usage.tokens_in,
        usage.tokens_out,
        usage.cached or 0,
        usage.stored or 0,
    )
    if {*map(type, whole_numbers)} != {int} or min(whole_numbers) < 0 or max(whole_numbers) >= LARGEST:
        return False
    seconds, dollars = usage.seconds, usage.dollars or 0.0
    return type(seconds) is type(dollars) is float and 0 <= seconds < math.inf and 0 <= dollars < math.inf


def sanitise_usage(usage: Usage) -> Usage:
    """Return a usage with invalid numbers set to 0 and the price unknown."""
    if not usage_problem(usage):
        return usage
    calls, retries, tokens_in, tokens_out = (
        value if isinstance(value, int) and 0 <= value < LARGEST else 0
        for value in (usage.calls, usage.retries, usage.tokens_in, usage.tokens_out)
    )
    seconds = usage.seconds if isinstance(usage.seconds, int | float) and math.isfinite(usage.seconds) else 0.0
    return Usage(calls, retries, tokens_in, tokens_out, None, max(0.0, seconds))


def _text_problem(outcome: Any) -> str:
    for name in ("text", "error"):
        value = getattr(outcome, name, "")
        if not isinstance(value, str):
            return f"its {name} is no text but {type(value).__name__}"
    return ""
