"""One prompt's attempts: how many there were."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fullbench.models.replies import Trouble
from fullbench.core.call import FailureKind
from fullbench.core.model import Prompt

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
