"""A prompted judge that records its confidence in each verdict, stated in the reply or from token probabilities.

With `marks="expected"`, token probabilities also give the mark: the mean of all marks it might have written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from fullbench.core.ballot import LETTERS, Ballot, Choice, Language, Real, Score
from fullbench.core.case import Case
from fullbench.core.item import Part
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import InputError
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects import OpenAI
from fullbench.parsing.stated_and_token_confidence import expected_mark, stated_confidence, token_confidence

Source = Literal["stated", "logprobs"]
Marks = Literal["written", "expected"]
ASKING: Mapping[Language, str] = {
    "en": "On the line before the ruling, write Confidence: N%, with N from 0 to 100: how likely it is that the ruling "
    "is right.",
    "zh": "请在裁决的前一行写上“把握：N%”，N 为 0 到 100 之间的数，表示该裁决正确的可能性。",
}
_LOGPROB_OPTIONS = {"logprobs": True, "top_logprobs": 20}
# Providers return 20 token probabilities at most: a scale with more digits would miss some.
_MOST = 9
NO_CHANCES = (
    "the reply came without the chances of its tokens, so there is no expected mark; ask a server that gives logprobs, "
    "or leave out marks=expected"
)


@dataclass(frozen=True, eq=False)
class ConfidentJudge(PromptedJudge):
    """A prompted judge with a confidence: stated in the reply (`stated`) or from token probabilities (`logprobs`).

    `logprobs` takes the probability of the written verdict among all legal ones. With `marks="expected"` the prompt
    requests a whole number on a `real` ballot. The mark is then the mean of all numbers, weighted by probability. A
    reply without probabilities is a failed call, never a whole number.
    """

    confidence: Source = "stated"
    marks: Marks = "written"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.marks not in get_args(Marks):
            raise InputError(f"marks are {' or '.join(get_args(Marks))}; found {self.marks!r}")
        if self.marks == "expected" and self.confidence != "logprobs":
            raise InputError(
                "marks=expected needs token probabilities; use confidence=logprobs, or leave confidence out"
            )
        if self.confidence not in get_args(Source):
            raise InputError(f"confidence is {' or '.join(get_args(Source))}; found {self.confidence!r}")
        if self.confidence == "stated":
            if self.template is not None or self.form != "marker" or self.constrained:
                raise InputError("confidence=stated works only with our own prompts and verdicts in brackets")
            return
        model = self.model
        if not isinstance(model, ChatModel) or not isinstance(model.dialect, OpenAI):
            raise InputError(
                f"{model.name!r} returns no token probabilities; confidence=logprobs needs chat completions"
            )
        sampling = replace(model.sampling, extra={**_LOGPROB_OPTIONS, **model.sampling.extra})
        object.__setattr__(self, "model", replace(model, sampling=sampling))

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        confidence_setting = {"confidence": digest(ASKING[self.language])} if self.confidence == "stated" else {}
        return {**super().settings, **confidence_setting, **({"marks": self.marks} if self.marks == "expected" else {})}

    def abstention_reason(self, case: Case) -> str:
        form = case.ballot
        if self.marks == "expected" and not (
            isinstance(form, Real) and len(case.responses) == 1 and _whole_number_scale(form)
        ):
            raise InputError(
                f"marks=expected works for one response on a scale with at most {_MOST + 1} whole numbers, such as "
                f"--ballot real:1-5; found {form.spec} with {len(case.responses)} responses"
            )
        return super().abstention_reason(case)

    def _verdict_request(self, form: Ballot, n: int) -> tuple[Part, ...]:
        return super()._verdict_request(_whole_number_scale(form) or form if self.marks == "expected" else form, n)

    def _judging_parts(self, case: Case) -> tuple[Part, ...]:
        parts = super()._judging_parts(case)
        return (*parts, f"\n{ASKING[self.language]}") if self.confidence == "stated" else parts

    def _evaluate_reply(self, reply: Reply) -> Prompt | Verdict | Failure:
        outcome = super()._evaluate_reply(reply)
        if not isinstance(outcome, Verdict) or outcome.marks is None:
            return outcome
        if self.confidence == "stated":
            return replace(outcome, confidence=stated_confidence(reply.text))
        case: Case = reply.prompt.tag.case
        legal = _legal_tokens(_whole_number_scale(case.ballot) or case.ballot, len(case.responses))
        sure = token_confidence(reply.tokens, legal)
        if self.marks == "written":
            return replace(outcome, confidence=sure)
        mark = expected_mark(reply.tokens, legal)
        if mark is None:
            return self._make_failure(reply.prompt.tag, NO_CHANCES, "permanent")
        return replace(outcome, marks=(mark,), confidence=sure)


def _whole_number_scale(form: Ballot) -> Score | None:
    """Return the whole numbers of a real scale with few of them and whole ends; None for other ballots."""
    if isinstance(form, Real) and form.low.is_integer() and form.high.is_integer() and form.high - form.low <= _MOST:
        return Score(int(form.low), int(form.high))
    return None


def _legal_tokens(ballot: Ballot, n: int) -> tuple[str, ...]:
    """Return the tokens allowed in the brackets if one token decides; empty if a verdict takes several."""
    if isinstance(ballot, Choice):
        return (*LETTERS[:n], *((LETTERS[n],) if ballot.tie else ()))
    if isinstance(ballot, Score) and n == 1 and ballot.high - ballot.low <= _MOST:
        return tuple(str(mark) for mark in range(int(ballot.low), int(ballot.high) + 1))
    return ()
