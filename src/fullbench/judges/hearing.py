"""One case on its way through a judge that asks in several turns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from fullbench.core.call import NOTHING, Call, Usage
from fullbench.core.case import Case

Step = Literal["both", "picture", "question", "answer"]
"""What a reasoning turn looks at before the ruling is asked for."""


@dataclass(eq=False)
class Hearing:
    """What has happened so far in one case. `shared` parts of the first turn are the item's, not the case's."""

    case: Case
    steps: deque[Step]
    usage: Usage = NOTHING
    earlier: list[str] = field(default_factory=list)
    exchanges: list[Call] = field(default_factory=list)
    attempts: int = 0
    estimated: bool = False
    shared: int = 0
