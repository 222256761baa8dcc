"""What a kind of task is.

An **answer** is a small JSON value. Whatever speaks of a response names its place in the task, not the place where this
person saw it: `read` turns one into the other. An answer `{"recused": true}` is somebody who cannot judge this one; it
becomes a verdict with that fault, never a mark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from fullbench.core.ballot import Ballot, ballot
from fullbench.core.case import Case
from fullbench.core.verdict import ADJUDICATION, PEOPLE, Circumstances, Fault, Verdict
from fullbench.errors import InputError
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes import vote_form_fields
from fullbench.web.campaigns.votes.vote_form_fields import Answer, Fields

BLIND = Circumstances(blind=True)
"""At the desk nobody sees whose answers these are, or what others ruled."""
SEEN = Circumstances(blind=False)


@dataclass(frozen=True)
class Rules:
    """What of a study a kind must know to read an answer."""

    ballot: str
    criterion: str = "overall"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> Ballot:
        return ballot(self.ballot)


@dataclass(frozen=True)
class Cast:
    """A vote with all that it speaks of."""

    answer: Answer
    rules: Rules
    content: Content
    shown: Sequence[int]
    rater: str
    at: float
    guideline: str = ""
    probability: float | None = None
    by_lead: bool = False
    """Whether this is a lead's ruling on a split, given with all votes in view."""

    def verdict(self, case: Case, ruling: Sequence[float] | Fault) -> Verdict:
        return Verdict.of(
            case,
            ADJUDICATION if self.by_lead else PEOPLE,
            ruling,
            text=self.answer.get("reason", ""),
            at=self.at,
            rater=self.rater,
            circumstances=replace(
                SEEN if self.by_lead else BLIND, guideline=self.guideline, probability=self.probability
            ),
        )


class Kind(ABC):
    """One kind of task."""

    name: ClassVar[str]
    title: ClassVar[str]
    does: ClassVar[str] = ""
    """What people do, in a sentence."""
    ballot: ClassVar[str]
    """The ballot where a study names none."""

    def check(self, rules: Rules, content: Content) -> None:
        """Raise `InputError` when a task of this kind cannot show this content."""
        content.case(rules.ballot, rules.criterion, range(len(content.responses)))

    def read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]:
        """The answer that filled-in fields give, or `InputError` with what is missing."""
        if fields.get("recused"):
            return {"recused": True, **vote_form_fields.words(fields, "reason")}
        return {
            **self._read(fields, rules, shown),
            **vote_form_fields.words(fields, "reason", need=bool(rules.options.get("reason"))),
        }

    @abstractmethod
    def _read(self, fields: Fields, rules: Rules, shown: Sequence[int]) -> dict[str, Any]: ...

    @abstractmethod
    def fields(self, answer: Answer, shown: Sequence[int]) -> dict[str, str]:
        """The fields that give this answer: what a form shows again when somebody goes back."""

    def label(self, answer: Answer) -> str | None:
        """What the answer says, as a word that can be compared and counted; None where it says nothing countable."""
        return None if answer.get("recused") else self._label(answer)

    @abstractmethod
    def _label(self, answer: Answer) -> str | None: ...

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...] | None:
        """The marks that a label stands for, response by response; None where it stands for none."""
        return None

    def known(self, marks: Sequence[float]) -> dict[str, Any]:
        """The answer that these marks stand for: how known answers are read from a file of labels."""
        raise InputError(f"the answer to a {self.name} task cannot be known before")

    def verdicts(self, cast: Cast) -> Iterator[tuple[Case, Verdict]]:
        """What a vote is in a ledger: one verdict, several, or none."""
        case = cast.content.case(cast.rules.ballot, cast.rules.criterion, cast.shown)
        label = self.label(cast.answer)
        marks = None if label is None else self.marks(label, cast.rules, len(cast.content.responses))
        if cast.answer.get("recused"):
            yield case, cast.verdict(case, "recused")
        elif marks is not None:
            yield case, cast.verdict(case, tuple(marks[place] for place in cast.shown))
