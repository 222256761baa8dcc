"""VQAScore (Lin et al. 2024, arXiv:2404.01291): how likely a model is to say Yes when asked whether a picture shows the
prompt. It needs a server that gives the probabilities of tokens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from fullbench.core.ballot import Ballot
from fullbench.core.call import NOTHING, Call, Usage
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.item import Turn
from fullbench.core.judge import Kind
from fullbench.core.model import DECLINED, Model, Prompt, Reply, as_judge
from fullbench.core.number_ballot import Number
from fullbench.core.picture import UNKNOWN
from fullbench.core.verdict import Failure, Fault, Verdict
from fullbench.errors import InputError
from fullbench.judges.baselines import marks_from
from fullbench.judges.scorers.image_statistics import number
from fullbench.models.chat_model import ChatModel
from fullbench.plugin_registry import inner_model

QUESTION = 'Does this picture show "{prompt}"? Answer with one word, Yes or No.'
_WANTED = {"logprobs": True, "top_logprobs": 20}


@dataclass(eq=False)
class _Hearing:
    """A case, and what is known so far of its pictures."""

    case: Case
    scores: list[float | None]
    usage: Usage = NOTHING
    exchanges: list[Call] = field(default_factory=list)
    fault: Fault | None = None
    error: Reply | None = None
    open: int = 0


@dataclass(frozen=True, eq=False)
class VqaScore:
    """A model that is asked for Yes or No of each picture; the probability of Yes is the score.

    Scores within `margin` of each other tie. It recuses itself where a response is not one picture.
    """

    kind: ClassVar[Kind] = "model"

    model: Model
    margin: float = 0.0

    def __post_init__(self) -> None:
        model = as_judge(self.model)
        if isinstance(model, ChatModel):
            sampling = replace(model.sampling, extra={**_WANTED, **model.sampling.extra}, max_tokens=1)
            model = replace(model, sampling=sampling)
        object.__setattr__(self, "model", model)

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def with_models(self, models: Sequence[Model]) -> VqaScore:
        """The same judge, asking another in the place of its model."""
        (model,) = models
        return VqaScore(model, self.margin)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {"model": self.model.name, "question": digest(QUESTION), "margin": self.margin}

    @cached_property
    def name(self) -> str:
        return f"vqascore:{self.model.name}#{digest(self.settings)[:8]}"

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """What is sent in a case: a question for each picture."""
        return () if _recuses(case) else tuple(self._asked(_Hearing(case, [None] * len(case.responses))))

    def _asked(self, hearing: _Hearing) -> Iterator[Prompt]:
        case = hearing.case
        for place, response in enumerate(case.responses):
            words = QUESTION.format(prompt=case.item.question)
            turn = Turn("user", (response.pictures[0], "\n", words))
            hearing.open += 1
            yield Prompt((turn,), case.trial or None, tag=(hearing, place))

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """One verdict or failure for each case, as they come."""
        settled: list[Verdict] = []

        def prompts() -> Iterator[Prompt]:
            for case in cases:
                if reason := _recuses(case):
                    settled.append(Verdict.of(case, self.name, "recused", text=reason, at=time.time()))
                else:
                    # All of a case's questions are counted before the first is sent.
                    yield from list(self._asked(_Hearing(case, [None] * len(case.responses))))

        for reply in self.model.answer(prompts()):
            hearing, place = reply.prompt.tag
            _take(hearing, place, reply)
            if not hearing.open:
                yield self._ruled(hearing)
            while settled:
                yield settled.pop()
        yield from settled

    def _ruled(self, hearing: _Hearing) -> Verdict | Failure:
        case, exchanges = hearing.case, tuple(hearing.exchanges)
        if (failed := hearing.error) is not None:
            error, kind = failed.error or "", failed.failure
            return Failure(case.key, self.name, case.trial, error, hearing.usage, kind, exchanges)
        scores = [score for score in hearing.scores if score is not None]
        marks = _marks(case.ballot, scores, self.margin) if hearing.fault is None else None
        ruling = hearing.fault or marks or "recused"
        text = ", ".join(f"{score:.6g}" for score in scores)
        return Verdict.of(
            case, self.name, ruling, text=text, usage=hearing.usage, at=time.time(), exchanges=exchanges
        )  # fmt: skip


def _take(hearing: _Hearing, place: int, reply: Reply) -> None:
    """What a reply says of one picture."""
    hearing.open -= 1
    hearing.usage += reply.usage
    if reply.error is not None:
        hearing.error = reply
        return
    hearing.exchanges.append(reply.exchange(time.time()))
    if reply.stop in DECLINED:
        hearing.fault = "refused"
    elif not reply.first:
        hearing.fault = hearing.fault or "unreadable"
    else:
        hearing.scores[place] = sum(
            likely for token, likely in reply.first.items() if token.strip(" ▁Ġ\n\t\"'.,!").casefold() == "yes"
        )


def _marks(ballot: Ballot, scores: Sequence[float], margin: float) -> tuple[float, ...] | None:
    return tuple(scores) if isinstance(ballot, Number) else marks_from(ballot, scores, margin=margin)


def _recuses(case: Case) -> str:
    """Why a case cannot be scored; empty where it can."""
    for response in case.responses:
        if len(response.pictures) != 1:
            return f"a response shows {len(response.pictures)} pictures where one is scored"
        if response.pictures[0].media == UNKNOWN:
            return "what was given as a picture is none that we know"
    return ""


def vqascore(name: str, options: Mapping[str, str]) -> VqaScore:
    """The judge that `vqascore:KIND:NAME` names; `margin` is its own option, all others are the model's."""
    margin = number(options, "margin", 0.0)
    if margin < 0:
        raise InputError(f"a margin is 0 or more; found {margin}")
    own = {option: value for option, value in options.items() if option != "margin"}
    return VqaScore(inner_model("vqascore", name, own), margin)
