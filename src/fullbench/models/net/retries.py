"""One prompt's attempts: how many there were."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from fullbench.core.call import FailureKind
from fullbench.core.model import Prompt
from fullbench.models.model_settings import Limits
from fullbench.models.wire.reply_parsing import Trouble

RATE_LIMITED = 429
GARBLED_TRIES = 2
"""An answer of a wrong form is paid for and mostly comes again: it is asked for once more, not `attempts` times."""


@dataclass(slots=True)
class Tries:
    """The attempts at one prompt: how many were sent, how many of them failed by more than a rate limit."""

    give_up: float
    sent: int = 0
    limited: int = 0
    garbled: int = 0
    last: str = ""

    def count(self, trouble: Trouble) -> None:
        self.sent += 1
        self.limited += trouble.status == RATE_LIMITED
        self.garbled += trouble.kind == "garbled"
        tries = "1 attempt" if self.sent == 1 else f"{self.sent} attempts"
        self.last = f"no answer after {tries}; the last one: {trouble.message}"

    @property
    def failed(self) -> int:
        """A rate limit is waited for, as long as `patience` lasts, and uses up no attempt."""
        return self.sent - self.limited


def lasting(prompt: Prompt) -> FailureKind:
    """Whether a prompt that cannot be written will never be: a picture that is broken stays so, one that is not there
    may come back."""
    files = [picture.source for turn in prompt.turns for picture in turn.pictures if isinstance(picture.source, Path)]
    return "permanent" if all(file.exists() for file in files) else "passing"


# How long to wait before a prompt is sent again.

LONGEST_WAIT = 30.0


def wait_for(trouble: Trouble, tries: Tries, limits: Limits) -> float:
    """What the server asks for and a little more, else a random time that grows with every attempt.

    A server that goes on refusing after the time that it named itself is waited for longer each time.
    """
    drawn = random.uniform(0, min(LONGEST_WAIT, limits.backoff * 2.0 ** min(tries.sent, 30)))
    if trouble.wait is None:
        return drawn
    asked = trouble.wait + random.uniform(0, min(1.0, 0.1 * trouble.wait))
    return asked if tries.limited <= 1 else max(asked, drawn)
