"""Base class of the kinds of annotation tasks, for ours and for plugins.

An **answer** is a small JSON value. It refers to responses by their place in the task, not by the place where this
person saw them: `Kind.read` converts one into the other. An answer `{"abstained": true}` comes from somebody who
cannot judge the task. It becomes a verdict with that fault, never a mark.
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
"""Annotation pages show neither names of contestants nor votes of others."""
NOT_BLIND = Circumstances(blind=False)


@dataclass(frozen=True)
class Rules:
    """Settings of a campaign that a kind needs to read an answer."""

    ballot: str
    criterion: str = "overall"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> Ballot:
        return ballot(self.ballot)


@dataclass(frozen=True)
class FormField:
    """Field of a vote's form, for callers of the API that have no page.

    Responses are numbered from 0 in the order shown. A field without `options` takes free text. `only_if` names a field
    and the value that it must have for this field to count.
    """

    name: str
    question: str
    options: tuple[str, ...] = ()
    is_required: bool = True
    only_if: tuple[str, str] | None = None

    def json(self, meanings: Mapping[str, str]) -> dict[str, Any]:
        """Return the field as JSON; `meanings` are the guideline's texts for points of a scale."""
        return {
            "name": self.name,
            "question": self.question,
            "options": list(self.options),
            "meanings": {option: meanings[option] for option in self.options if option in meanings},
            "required": self.is_required,
            "only_if": None if self.only_if is None else dict([self.only_if]),
        }


@dataclass(frozen=True)
class CastVote:
    """Vote with everything needed to build its verdicts."""

    answer: Answer
    rules: Rules
    content: Content
    display_order: Sequence[int]
    rater: str
    at: float
    guideline: str = ""
    probability: float | None = None
    by_lead: bool = False
    """Whether this is a lead's verdict on a split, given with all votes shown."""

    def verdict(self, case: Case, marks_or_fault: Sequence[float] | Fault) -> Verdict:
        return Verdict.from_case(
            case,
            ADJUDICATION if self.by_lead else PEOPLE,
            marks_or_fault,
            text=self.answer.get("reason", ""),
            at=self.at,
            rater=self.rater,
            circumstances=replace(
                NOT_BLIND if self.by_lead else BLIND, guideline=self.guideline, probability=self.probability
            ),
        )


class Kind(ABC):
    """Kind of annotation task; plugins subclass it."""

    name: ClassVar[str]
    title: ClassVar[str]
    does: ClassVar[str] = ""
    """What people do, in a sentence."""
    ballot: ClassVar[str]
    """Default ballot."""
    has_scale: ClassVar[bool] = True
    """Whether people mark on the scale of the campaign's ballot."""
    plain_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the form whose texts are the values of the answer, whatever the order."""

    def check(self, rules: Rules, content: Content) -> None:
        """Raise `InputError` if a task of this kind cannot show this content."""
        content.case(rules.ballot, rules.criterion, range(len(content.responses)))

    def read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]:
        """Build the answer from form fields; raise `InputError` if something is missing.

        Args:
            fields: Fields of the form; responses are numbered as displayed.
            rules: Settings of the campaign.
            display_order: Place in the task of each displayed response.
        """
        if fields.get("abstained"):
            return {"abstained": True, **vote_form_fields.read_text(fields, "reason")}
        return {
            **self._read(fields, rules, display_order),
            **vote_form_fields.read_text(fields, "reason", need=bool(rules.options.get("reason"))),
        }

    def form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        """Return every field of a vote on this task: those of the kind, the reason, and the one for "cannot judge"."""
        return [
            *self._form_fields(rules, content),
            FormField("reason", "why?", is_required=bool(rules.options.get("reason"))),
            FormField("abstained", "send this alone if you cannot judge the task", ("yes",), is_required=False),
        ]

    def _form_fields(self, rules: Rules, content: Content) -> list[FormField]:
        return [FormField(name, name) for name in self.plain_fields]

    @abstractmethod
    def _read(self, fields: Fields, rules: Rules, display_order: Sequence[int]) -> dict[str, Any]: ...

    def fields(self, answer: Answer, display_order: Sequence[int]) -> dict[str, str]:
        """Return the form fields of an answer, to show it again for editing."""
        own_fields = {name: vote_form_fields.field_text(answer[name]) for name in self.plain_fields if name in answer}
        return {**vote_form_fields.common_fields(answer), **own_fields}

    def label(self, answer: Answer) -> str | None:
        """Return the answer as a word that can be compared and counted, or None if it has none."""
        return None if answer.get("abstained") else self._label(answer)

    @abstractmethod
    def _label(self, answer: Answer) -> str | None: ...

    def marks(self, label: str, rules: Rules, count: int) -> tuple[float, ...] | None:
        """Return the mark of each response for a label, or None if the label has no marks."""
        return None

    def known_answer(self, marks: Sequence[float]) -> dict[str, Any]:
        """Return the answer that corresponds to these marks; known answers are read from a file of labels."""
        raise InputError(f"a {self.name} task has no known answer in advance; use another kind for gold tasks")

    def verdicts(self, cast: CastVote) -> Iterator[tuple[Case, Verdict]]:
        """Return the vote as verdicts for a ledger: one, several or none."""
        case = cast.content.case(cast.rules.ballot, cast.rules.criterion, cast.display_order)
        label = self.label(cast.answer)
        marks = None if label is None else self.marks(label, cast.rules, len(cast.content.responses))
        if cast.answer.get("abstained"):
            yield case, cast.verdict(case, "abstained")
        elif marks is not None:
            yield case, cast.verdict(case, tuple(marks[place] for place in cast.display_order))
