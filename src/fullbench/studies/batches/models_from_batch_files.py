"""Judges and contestants as they are, with models that answer from files."""

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
from fullbench.studies.batches.requests_and_replies import Desk, Mailbox
from fullbench.studies.run.answer_items import Question

Told = Callable[[str], Iterable[Failure]]
"""Gives the failures of a judge or contestant that the ledger knows of."""


@dataclass(frozen=True, eq=False)
class FiledModel:
    """A chat model whose replies come from a mailbox. `at` says what a prompt is about, where the desk does not."""

    inner: ChatModel
    desk: Desk
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
        """The replies that are there. The other prompts are written down, or wait, and nothing is said of them."""
        for prompt in prompts:
            if self.at is not None:
                self.desk.sit(*self.at(prompt))
            reply = self.mailbox.reply(self.inner, self.desk, prompt)
            if reply is not None:
                if reply.error is not None:
                    self.desk.failed = reply.usage
                yield reply


@dataclass(frozen=True, eq=False)
class FiledJudge:
    """A judge whose models answer from files; each case on its own, so that a request bears its case's name.

    A failure costs what the failed request cost: the replies that came before it in the same hearing are still there
    and go on the bill of the verdict that they lead to.
    """

    inner: Judge
    desk: Desk

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.inner.settings

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        for case in cases:
            self.desk.sit(case.key, case.trial)
            for outcome in self.inner.hear((case,)):
                yield outcome if isinstance(outcome, Verdict) else replace(outcome, usage=self.desk.failed)


def filed_judge(judge: Judge, mailbox: Mailbox, failures: Told, formers: Iterable[str] = ()) -> FiledJudge | None:
    """The judge with all its models answering from files; None where it asks none, or one that takes no batches."""
    desk = Desk(judge.name, failures(judge.name), formers)
    models = models_of(judge) or ()
    filed = [FiledModel(model, desk, mailbox) for model in models if isinstance(model, ChatModel)]
    if not filed or len(filed) < len(models) or not all(map(takes_batches, models)):
        return None
    inner = with_models(judge, filed)
    return None if inner is None else FiledJudge(inner, desk)


def filed_contestant(model: Model, mailbox: Mailbox, failures: Told, formers: Iterable[str] = ()) -> FiledModel | None:
    """The contestant answering from files; None where it can only be asked live."""
    if not isinstance(model, ChatModel) or not takes_batches(model):
        return None

    def at(prompt: Prompt) -> tuple[str, int]:
        question: Question = prompt.tag
        return question.item.key, question.sample

    return FiledModel(model, Desk(model.name, failures(model.name), formers), mailbox, at)
