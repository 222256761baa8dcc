"""VQAScore (Lin et al. 2024, arXiv:2404.01291): the probability that a model answers Yes to "does it show the prompt?".

It needs a server that returns the probabilities of tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from fullbench.core.ballot import Ballot, Number
from fullbench.core.case import Case
from fullbench.core.item import Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Kind
from fullbench.core.media import UNKNOWN
from fullbench.core.model import DECLINED_STOPS, Model, Prompt, Reply, as_judge
from fullbench.core.model_call import NOTHING, Call, Usage
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from
from fullbench.judges.scorers.image_statistics import number_option
from fullbench.models.chat_model import ChatModel
from fullbench.plugin_specs import inner_model

QUESTION = 'Does this picture show "{prompt}"? Answer with one word, Yes or No.'
_LOGPROB_OPTIONS = {"logprobs": True, "top_logprobs": 20}


@dataclass(eq=False)
class _CaseProgress:
    case: Case
    scores: list[float | None]
    usage: Usage = NOTHING
    exchanges: list[Call] = field(default_factory=list)
    fault: Fault | None = None
    error: Reply | None = None
    open_questions: int = 0


@dataclass(frozen=True, eq=False)
class VqaScore:
    """A model that answers Yes or No for each picture; the probability of Yes is the score.
    Scores within `margin` of each other tie. It abstains if a response is not one picture.
    """

    kind: ClassVar[Kind] = "model"

    model: Model
    margin: float = 0.0

    def __post_init__(self) -> None:
        model = as_judge(self.model)
        if isinstance(model, ChatModel):
            sampling = replace(model.sampling, extra={**_LOGPROB_OPTIONS, **model.sampling.extra}, max_tokens=1)
            model = replace(model, sampling=sampling)
        object.__setattr__(self, "model", model)

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def with_models(self, models: Sequence[Model]) -> VqaScore:
        """Return this judge with another model."""
        (model,) = models
        return VqaScore(model, self.margin)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"model": self.model.name, "question": digest(QUESTION), "margin": self.margin}

    @cached_property
    def name(self) -> str:
        return f"vqascore:{self.model.name}#{digest(self.settings)[:8]}"

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Return the prompts of a case: one question per picture."""
        return (
            ()
            if _abstention_reason(case)
            else tuple(self._picture_questions(_CaseProgress(case, [None] * len(case.responses))))
        )

    def _picture_questions(self, progress: _CaseProgress) -> Iterator[Prompt]:
        case = progress.case
        for place, response in enumerate(case.responses):
            words = QUESTION.format(prompt=case.item.question)
            turn = Turn("user", (response.pictures[0], "\n", words))
            progress.open_questions += 1
            yield Prompt((turn,), case.trial or None, tag=(progress, place))

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield one verdict or failure per case, as they arrive."""
        abstentions: list[Verdict] = []

        def prompts() -> Iterator[Prompt]:
            for case in cases:
                if reason := _abstention_reason(case):
                    abstentions.append(Verdict.from_case(case, self.name, "abstained", text=reason, at=time.time()))
                else:
                    # `list`: all questions of a case must be counted before the first is sent.
                    yield from list(self._picture_questions(_CaseProgress(case, [None] * len(case.responses))))

        for reply in self.model.answer(prompts()):
            progress, place = reply.prompt.tag
            _record_reply(progress, place, reply)
            if not progress.open_questions:
                yield self._make_outcome(progress)
            while abstentions:
                yield abstentions.pop()
        yield from abstentions

    def _make_outcome(self, progress: _CaseProgress) -> Verdict | Failure:
        case, exchanges = progress.case, tuple(progress.exchanges)
        if (failed_reply := progress.error) is not None:
            error, kind = failed_reply.error or "", failed_reply.failure
            return Failure(case.key, self.name, case.trial, error, progress.usage, kind, exchanges)
        scores = [score for score in progress.scores if score is not None]
        marks = _marks_from_scores(case.ballot, scores, self.margin) if progress.fault is None else None
        marks_or_fault = progress.fault or marks or "abstained"
        text = ", ".join(f"{score:.6g}" for score in scores)
        return Verdict.from_case(
            case, self.name, marks_or_fault, text=text, usage=progress.usage, at=time.time(), exchanges=exchanges
        )  # fmt: skip


def _record_reply(progress: _CaseProgress, place: int, reply: Reply) -> None:
    progress.open_questions -= 1
    progress.usage += reply.usage
    if reply.error is not None:
        progress.error = reply
        return
    progress.exchanges.append(reply.exchange(time.time()))
    if reply.stop in DECLINED_STOPS:
        progress.fault = "refused"
    elif not reply.first:
        progress.fault = progress.fault or "unreadable"
    else:
        # Tokenizers mark a leading space with ▁ or Ġ.
        progress.scores[place] = sum(
            likely for token, likely in reply.first.items() if token.strip(" ▁Ġ\n\t\"'.,!").casefold() == "yes"
        )


def _marks_from_scores(ballot: Ballot, scores: Sequence[float], margin: float) -> tuple[float, ...] | None:
    return tuple(scores) if isinstance(ballot, Number) else marks_from(ballot, scores, margin=margin)


def _abstention_reason(case: Case) -> str:
    for response in case.responses:
        if len(response.pictures) != 1:
            return f"a response shows {len(response.pictures)} pictures where one is scored"
        if response.pictures[0].media_type == UNKNOWN:
            return "what was given as a picture is none that we know"
    return ""


def build_vqascore_judge(name: str, options: Mapping[str, str]) -> VqaScore:
    """Build the judge for `vqascore:KIND:NAME`; all options but `margin` go to the model."""
    margin = number_option(options, "margin", 0.0)
    if margin < 0:
        raise InputError(f"a margin is 0 or more; found {margin}")
    model_options = {option: value for option, value in options.items() if option != "margin"}
    return VqaScore(inner_model("vqascore", name, model_options), margin)
