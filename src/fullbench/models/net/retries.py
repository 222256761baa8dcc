"""Attempts of one prompt: their counts, and the wait before the next one."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.model import Prompt
from fullbench.core.model_call import FailureKind
from fullbench.models.model_settings import Limits
from fullbench.models.wire.reply_parsing import Trouble

RATE_LIMITED = 429
GARBLED_TRIES = 2
"""A malformed answer is billed and mostly comes again, so it is requested once more, not `attempts` times."""


@dataclass(slots=True)
class Tries:
    """Attempts at one prompt: how many were sent, and how many failed other than by a rate limit."""

    deadline: float
    sent_count: int = 0
    rate_limited_count: int = 0
    garbled_count: int = 0
    last_error: str = ""

    def count_attempt(self, trouble: Trouble) -> None:
        self.sent_count += 1
        self.rate_limited_count += trouble.status == RATE_LIMITED
        self.garbled_count += trouble.kind == "garbled"
        tries = "1 attempt" if self.sent_count == 1 else f"{self.sent_count} attempts"
        self.last_error = f"no answer after {tries}; the last one: {trouble.message}"

    @property
    def failed_count(self) -> int:
        """Return the attempts used up. A rate limit uses none: it is waited for as long as `patience` lasts."""
        return self.sent_count - self.rate_limited_count


def prompt_failure_kind(prompt: Prompt) -> FailureKind:
    """Return how lasting an unwritable prompt's failure is: a broken picture stays, a missing file may return."""
    files = [part.source for turn in prompt.turns for part in turn.media if isinstance(part.source, Path)]
    return "permanent" if all(file.exists() for file in files) else "passing"


LONGEST_WAIT = 30.0


def retry_delay(trouble: Trouble, tries: Tries, limits: Limits) -> float:
    """Return the wait that the server requested plus a little, else a random time that grows with each attempt.
    A server that still refuses after the time it named is waited for longer each time.
    """
    random_delay = random.uniform(0, min(LONGEST_WAIT, limits.backoff * 2.0 ** min(tries.sent_count, 30)))
    if trouble.wait is None:
        return random_delay
    requested_delay = trouble.wait + random.uniform(0, min(1.0, 0.1 * trouble.wait))
    return requested_delay if tries.rate_limited_count <= 1 else max(requested_delay, random_delay)
