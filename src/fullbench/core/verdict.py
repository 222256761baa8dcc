"""A verdict: what was ruled; and a failure, where a call brought nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fullbench.core.call import NOTHING, Call, FailureKind, Usage
from fullbench.core.case import Case
from fullbench.errors import InputError

Fault = Literal["refused", "unreadable", "recused"]


FAULTS: tuple[Fault, ...] = ("refused", "unreadable", "recused")


PEOPLE = "human"
"""The judge that all people are; which of them it was is the verdict's `rater`."""

ADJUDICATION = "adjudication"
"""The judge, and the rater, that a lead is who rules where people were split: no vote, and counted in place of the
votes only by the rule `adjudicated`."""

PILOT = "pilot:"
"""What the rater of a vote begins with that was cast in a pilot: such votes count only where somebody asks for them."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How a case came to be heard, where it was not in the usual way.

    `blind` is whether a person saw neither names nor rulings (None: not known), `guideline` the version of what they
    were told, `probability` the chance that the case had of being chosen. `variant` and `dose` name what was changed
    on purpose in what was shown; `canary` marks the fixed cases that watch a judge over time.
    """

    blind: bool | None = None
    guideline: str = ""
    probability: float | None = None
    variant: str = ""
    dose: float | None = None
    canary: bool = False


USUAL = Circumstances()


class Reader(int):
    """How a reply was read: the version of the rules, and what the reply looked like, in one number that is stored.

    10 is added where the reply carries the nonce that it was asked for with, 20 where it does not; 100 where it was cut
    off by the limit on its length; 1000 where the server did not count its tokens, or not readably, so that they are
    estimated. 10000 stands alone, for what a cascade rules by people's votes: no reply was read.

    >>> Reader.of(2, signed=False, cut=True), Reader(122).version, Reader(122).unsigned, Reader(12).signed
    (122, 2, True, True)
    >>> Reader(1012).estimated, Reader(1012).cut, Reader(1112).cut
    (True, False, True)
    """

    @staticmethod
    def of(version: int, *, signed: bool | None = None, cut: bool = False, estimated: bool = False) -> int:
        """The number to be stored."""
        return version + (0 if signed is None else 10 if signed else 20) + 100 * cut + 1000 * estimated

    @property
    def version(self) -> int:
        return self % 10

    @property
    def signed(self) -> bool:
        return self // 10 % 10 == 1

    @property
    def unsigned(self) -> bool:
        return self // 10 % 10 == 2

    @property
    def cut(self) -> bool:
        return self // 100 % 10 == 1

    @property
    def estimated(self) -> bool:
        return self // 1000 % 10 == 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge ruled in one case: a mark for every response shown, or the fault that prevented it.

    `samples` numbers the answer of each contestant that was shown; empty means that all were the first. `rater` tells
    the people behind one judge apart (a random id; empty for a model), `revision` counts how often a person changed
    this vote. `exchanges` are the calls that the ruling came from, `reader` says how the reply was read (see `Reader`).
    """

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
    samples: tuple[int, ...] = ()
    rater: str = ""
    revision: int = 0
    exchanges: tuple[Call, ...] = ()
    reader: int = 0
    confidence: float | None = None
    circumstances: Circumstances = USUAL

    def __post_init__(self) -> None:
        if (self.marks is None) == (self.fault is None):
            raise InputError(f"a verdict has marks or a fault, never both and never neither (case {self.case})")
        if self.fault is not None and self.fault not in FAULTS:
            raise InputError(f"unknown fault {self.fault!r}: {', '.join(FAULTS)} are known (case {self.case})")
        if self.marks is not None:
            if len(self.marks) != len(self.contestants):
                found = f"{len(self.marks)} marks for {len(self.contestants)} responses"
                raise InputError(f"a verdict gives every response shown one mark; found {found} (case {self.case})")
            if self.samples and len(self.samples) != len(self.contestants):
                raise InputError(f"a verdict numbers the sample of every response shown or of none (case {self.case})")
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
        rater: str = "",
        revision: int = 0,
        exchanges: tuple[Call, ...] = (),
        reader: int = 0,
        confidence: float | None = None,
        circumstances: Circumstances = USUAL,
    ) -> Verdict:
        """The verdict of `judge` in `case`: marks in the order shown, or the name of a fault."""
        fault, marks = (ruling, None) if isinstance(ruling, str) else (None, tuple(map(float, ruling)))
        names = case.contestants
        spec = case.ballot.spec
        return cls(
            case.key, judge, case.item.id, names, spec, case.criterion, case.trial,
            marks, fault, text, usage, prompt, earlier, at,
            case.samples, rater, revision, exchanges, reader, confidence, circumstances,
        )  # fmt: skip

    @property
    def shown(self) -> tuple[tuple[str, int], ...]:
        """The contestant and the sample of each response, in the order shown."""
        return tuple(zip(self.contestants, self.samples or (0,) * len(self.contestants), strict=True))


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that brought no reply (network, server, time-out). Not a verdict: the case is due again next time.

    `exchanges` are the replies that came before the one that did not.
    """

    case: str
    judge: str
    trial: int
    error: str
    usage: Usage = NOTHING
    kind: FailureKind = "passing"
    exchanges: tuple[Call, ...] = ()
