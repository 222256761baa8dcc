"""Verdicts of judges on cases, their circumstances, and failures of calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, starmap
from typing import Literal

from fullbench.core.case import Case
from fullbench.core.model_call import NOTHING, Call, FailureKind, Usage
from fullbench.errors import InputError

Fault = Literal["refused", "unreadable", "abstained"]


FAULTS: tuple[Fault, ...] = ("refused", "unreadable", "abstained")


PEOPLE = "human"
"""Judge name shared by all people; the verdict's `rater` distinguishes them."""

ADJUDICATION = "adjudication"
"""Judge and rater name of a lead who decides if people were split. It is no vote: only the rule `adjudicated` uses it,
in place of the votes.
"""

PILOT = "pilot:"
"""Prefix of the rater of a vote in a pilot; such votes count only if requested."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Circumstances of a verdict that differ from the usual ones.

    `blind` tells if a person saw neither names nor verdicts (None: unknown). `guideline` is the version of their
    instructions. `probability` is the chance of the case to be chosen. `variant` and `strength` name a deliberate
    change of what was shown, and its strength. `canary` marks the fixed cases that monitor a judge over time.
    """

    blind: bool | None = None
    guideline: str = ""
    probability: float | None = None
    variant: str = ""
    strength: float | None = None
    canary: bool = False


USUAL = Circumstances()


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """Facts on how a reply was read.

    `version` is the version of the parsing rules; 0: no reply was read. `has_check_code` is None if the prompt asked
    for no check code. `has_estimated_tokens` tells that the server reported no readable token counts. `is_by_people`
    marks a cascade's verdict by people's votes.

    Ledgers, files and columns store a reading as one number, whose decimal digits are the fields.

    >>> ReplyReading(2, has_check_code=False, is_cut_off=True).number
    122
    >>> ReplyReading.from_number(1012)
    ReplyReading(version=2, has_check_code=True, is_cut_off=False, has_estimated_tokens=True, is_by_people=False)
    """

    version: int = 0
    has_check_code: bool | None = None
    is_cut_off: bool = False
    has_estimated_tokens: bool = False
    is_by_people: bool = False

    @property
    def number(self) -> int:
        """The number to store."""
        check_digit = 0 if self.has_check_code is None else 1 if self.has_check_code else 2
        return (
            self.version
            + 10 * check_digit
            + 100 * self.is_cut_off
            + 1000 * self.has_estimated_tokens
            + 10_000 * self.is_by_people
        )

    @staticmethod
    def from_number(number: int) -> ReplyReading:
        """Return the reading that was stored as this number."""
        try:
            return READINGS_BY_NUMBER[number]
        except KeyError:
            raise InputError(
                f"unknown number {number} in the column `reader`, which shows how a reply was read"
            ) from None


_READINGS = starmap(ReplyReading, product(range(10), (None, True, False), *[(False, True)] * 3))
READINGS_BY_NUMBER = {reading.number: reading for reading in _READINGS}
NOT_READ = READINGS_BY_NUMBER[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one judge on one case: a mark for every response shown, or the fault that prevented it.

    `samples` has the sample number of each response shown; empty means that all are the first. `rater` distinguishes
    people behind one judge (a random id; empty for a model). `revision` counts changes of this vote. `exchanges` are
    the calls behind the verdict. `reading` tells how the reply was read.
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
    reading: ReplyReading = NOT_READ
    confidence: float | None = None
    circumstances: Circumstances = USUAL

    def __post_init__(self) -> None:
        if (self.marks is None) == (self.fault is None):
            raise InputError(f"a verdict has either marks or a fault (case {self.case})")
        if self.fault is not None and self.fault not in FAULTS:
            raise InputError(f"unknown fault {self.fault!r}: {', '.join(FAULTS)} are known (case {self.case})")
        if self.marks is not None:
            if len(self.marks) != len(self.contestants):
                counts_text = f"{len(self.marks)} marks for {len(self.contestants)} responses"
                raise InputError(
                    f"a verdict has one mark for every response shown; found {counts_text} (case {self.case})"
                )
            if self.samples and len(self.samples) != len(self.contestants):
                raise InputError(f"a verdict has a sample number for every response, or for none (case {self.case})")
            if not all(map(math.isfinite, self.marks)):
                raise InputError(f"a mark must be a finite number; found {self.marks} (case {self.case})")

    @classmethod
    def from_case(
        cls,
        case: Case,
        judge: str,
        marks_or_fault: Sequence[float] | Fault,
        *,
        text: str = "",
        usage: Usage = NOTHING,
        prompt: str = "",
        earlier: tuple[str, ...] = (),
        at: float = 0.0,
        rater: str = "",
        revision: int = 0,
        exchanges: tuple[Call, ...] = (),
        reading: ReplyReading = NOT_READ,
        confidence: float | None = None,
        circumstances: Circumstances = USUAL,
    ) -> Verdict:
        """Build the verdict of a judge on a case.

        Args:
            case: The case.
            judge: Name of the judge.
            marks_or_fault: Marks in the order shown, or the name of a fault.
            text: What the judge wrote.
            usage: Calls, tokens and dollars that it took.
            prompt: Digest of what was sent.
            earlier: Replies that could not be read, before this one.
            at: Seconds since 1970.
            rater: Random id of a person; empty for a model.
            revision: Number of changes of this vote.
            exchanges: The calls behind the verdict.
            reading: How the reply was read.
            confidence: Confidence of the judge in it, from 0 to 1; None if unknown.
            circumstances: What differs from the usual; see `Circumstances`.
        """
        fault, marks = (
            (marks_or_fault, None) if isinstance(marks_or_fault, str) else (None, tuple(map(float, marks_or_fault)))
        )
        names = case.contestants
        spec = case.ballot.spec
        return cls(
            case.key, judge, case.item.id, names, spec, case.criterion, case.trial,
            marks, fault, text, usage, prompt, earlier, at,
            case.samples, rater, revision, exchanges, reading, confidence, circumstances,
        )  # fmt: skip

    @property
    def shown_responses(self) -> tuple[tuple[str, int], ...]:
        """Contestant and sample of each response, in the order shown."""
        return tuple(zip(self.contestants, self.samples or (0,) * len(self.contestants), strict=True))


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a reply (network, server, time-out). Not a verdict: the case is due again next time.

    `exchanges` are the replies that came before the failed one.
    """

    case: str
    judge: str
    trial: int
    error: str
    usage: Usage = NOTHING
    kind: FailureKind = "passing"
    exchanges: tuple[Call, ...] = ()
