"""How long to wait before a prompt is sent again."""

from __future__ import annotations

import random

from fullbench.models.net.attempts import Tries
from fullbench.models.replies import Trouble
from fullbench.models.settings import Limits

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
