"""Judges and contestants whose models answer from batch files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.case import Case
from fullbench.core.judge import Judge, models_of, with_models
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.verdict import Failure, Verdict
from fullbench.models.chat_model import ChatModel
from fullbench.models.wire.batch_lines import takes_batches
from fullbench.studies.batches.requests_and_replies import Mailbox, RequestContext
from fullbench.studies.run.answer_items import Question

FailureLookup = Callable[[str], Iterable[Failure]]


@dataclass(frozen=True, eq=False)
class BatchFileModel:
    """A chat model with replies from a mailbox. `at` returns the task of a prompt if the judge does not set it."""

    inner: ChatModel
    context: RequestContext
    mailbox: Mailbox
    at: Callable[[Prompt], tuple[str, int]] | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    @property
    def price(self) -> tuple[float, float] | None:
        return self.inner.price

    @property
    def takes_schemas(self) -> bool:
        return self.inner.takes_schemas

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield the replies that exist. Other prompts are written as requests or wait, without an outcome."""
        for prompt in prompts:
            if self.at is not None:
                self.context.set_task(*self.at(prompt))
            reply = self.mailbox.reply(self.inner, self.context, prompt)
            if reply is not None:
                if reply.error is not None:
                    self.context.failed_usage = reply.usage
                yield reply


@dataclass(frozen=True, eq=False)
class BatchFileJudge:
    """A judge whose models answer from files, one case at a time, so that each request has its case's name.

    A failure costs only its failed request. Earlier replies for the same case are still available, and are billed with
    the verdict that they lead to.
    """

    inner: Judge
    context: RequestContext

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        for case in cases:
            self.context.set_task(case.key, case.trial)
            for outcome in self.inner.judge((case,)):
                yield outcome if isinstance(outcome, Verdict) else replace(outcome, usage=self.context.failed_usage)


def judge_from_batch_files(
    judge: Judge, mailbox: Mailbox, failures: FailureLookup, formers: Iterable[str] = ()
) -> BatchFileJudge | None:
    """Return the judge with models that answer from files, or None if a model takes no batches or it has none."""
    context = RequestContext(judge.name, failures(judge.name), formers)
    models = models_of(judge) or ()
    batch_models = [BatchFileModel(model, context, mailbox) for model in models if isinstance(model, ChatModel)]
    if not batch_models or len(batch_models) < len(models) or not all(map(takes_batches, models)):
        return None
    inner = with_models(judge, batch_models)
    return None if inner is None else BatchFileJudge(inner, context)


def contestant_from_batch_files(
    model: Model, mailbox: Mailbox, failures: FailureLookup, formers: Iterable[str] = ()
) -> BatchFileModel | None:
    """Return the contestant with answers from files, or None if it only takes live calls."""
    if not isinstance(model, ChatModel) or not takes_batches(model):
        return None

    def at(prompt: Prompt) -> tuple[str, int]:
        question: Question = prompt.tag
        return question.item.key, question.sample

    return BatchFileModel(model, RequestContext(model.name, failures(model.name), formers), mailbox, at)
