"""A verdict: what was ruled; and a failure, where a call brought nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fullbench.errors import InputError
from fullbench.nouns.call import NOTHING, Usage
from fullbench.nouns.case import Case

Fault = Literal["refused", "unreadable", "recused"]


FAULTS: tuple[Fault, ...] = ("refused", "unreadable", "recused")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge ruled in one case: a mark for every response shown, or the fault that prevented it."""

    case: str
    judge: str
    item: str
    contestants: tuple[str, ...]
    ballot: str
    criterion: str = "overall"
    trial: int = 0
    marks: tuple[float, ...] | None = None
    fault: Fault | None = None
    text: str = ""
    usage: Usage = NOTHING
    prompt: str = ""
    earlier: tuple[str, ...] = ()
    at: float = 0.0

    def __post_init__(self) -> None:
        if (self.marks is None) == (self.fault is None):
            raise InputError(f"a verdict has marks or a fault, never both and never neither (case {self.case})")
        if self.fault is not None and self.fault not in FAULTS:
            raise InputError(f"unknown fault {self.fault!r}: {', '.join(FAULTS)} are known (case {self.case})")
        if self.marks is not None:
            if len(self.marks) != len(self.contestants):
                found = f"{len(self.marks)} marks for {len(self.contestants)} responses"
                raise InputError(f"a verdict gives every response shown one mark; found {found} (case {self.case})")
            if not all(map(math.isfinite, self.marks)):
                raise InputError(f"a mark must be a finite number; found {self.marks} (case {self.case})")

    @classmethod
    def of(
        cls,
        case: Case,
        judge: str,
        ruling: Sequence[float] | Fault,
        *,
        text: str = "",
        usage: Usage = NOTHING,
        prompt: str = "",
        earlier: tuple[str, ...] = (),
        at: float = 0.0,
    ) -> Verdict:
        """The verdict of `judge` in `case`: marks in the order shown, or the name of a fault."""
        fault, marks = (ruling, None) if isinstance(ruling, str) else (None, tuple(map(float, ruling)))
        names = case.contestants
        spec = case.ballot.spec
        return cls(
            case.key, judge, case.item.id, names, spec, case.criterion, case.trial,
            marks, fault, text, usage, prompt, earlier, at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that brought no reply (network, server, time-out). Not a verdict: the case is due again next time."""

    case: str
    judge: str
    trial: int
    error: str
    usage: Usage = NOTHING
