"""A second reader: a cheaper model that extracts the verdict from an unreadable reply."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import (
    Judge,
    Kind,
    answer_request_of,
    answers_first,
    kind_of,
    models_of,
    prompts_of,
    with_models,
)
from fullbench.core.model import Model, Prompt, Reply, as_judge
from fullbench.core.model_call import Usage
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import ModelError
from fullbench.judges.prompt_templates import Template, load_template
from fullbench.parsing import read

SLOTS = frozenset({"verdict", "reply"})
# Waiting for a few makes one concurrent batch of calls to the second reader.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class SecondReader:
    """A judge whose unreadable replies are sent to a second model, which extracts the verdict.

    The second model gets the reply alone, not the case. What it cannot extract stays unreadable. If it cannot be
    reached, the case fails and is due again: a verdict must not depend on an outage. The template `reader_examples`
    shows two worked examples and requests a last line, as VisIT-Bench does for pairs.
    """

    inner: Judge
    reader: Model
    template_name: str = "reader"

    def __post_init__(self) -> None:
        object.__setattr__(self, "reader", as_judge(self.reader))

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.inner)

    @property
    def models(self) -> tuple[Model, ...] | None:
        """Return the judge's models and then the reader, or None if the judge does not define its models."""
        models = models_of(self.inner)
        return None if models is None else (*models, self.reader)

    def with_models(self, models: Sequence[Model]) -> SecondReader | None:
        """Return this judge and reader with other models, or None if the judge's models cannot be replaced."""
        *judges, reader = models
        inner = with_models(self.inner, judges)
        return None if inner is None else replace(self, inner=inner, reader=reader)

    def prompts(self, case: Case) -> tuple[Prompt, ...] | None:
        """Return the judge's prompts; those of the reader depend on the reply."""
        return prompts_of(self.inner, case)

    @property
    def answers_first(self) -> bool:
        """Return True if this judge answers the question before it sees the responses."""
        return answers_first(self.inner)

    def answer_request(self, case: Case) -> Item | None:
        """Return the request for the judge's own answer, if it answers first."""
        return answer_request_of(self.inner, case)

    @cached_property
    def template(self) -> Template:
        return load_template("fullbench.judges", self.template_name, SLOTS)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {**self.inner.settings, "reader": self.reader.name, "reader_template": self.template.digest}

    @cached_property
    def name(self) -> str:
        judge = self.inner.name
        return f"{judge.split('#', maxsplit=1)[0]}+reader#{digest([judge, self.settings])[:8]}"

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield the judge's verdicts, with unreadable ones read again."""
        unreadable_verdicts: list[Verdict] = []
        try:
            for outcome in self.inner.judge(cases):
                own_outcome = replace(outcome, judge=self.name)
                if isinstance(own_outcome, Verdict) and own_outcome.fault == "unreadable" and own_outcome.text.strip():
                    unreadable_verdicts.append(own_outcome)
                    if len(unreadable_verdicts) >= _AT_ONCE:
                        waiting, unreadable_verdicts = unreadable_verdicts, []
                        yield from self._read_again(waiting)
                else:
                    yield own_outcome
        except ModelError as error:  # the waiting replies were paid for, so their usage is reported
            yield from (
                self._make_failure(verdict, verdict.usage, f"not asked: {error}") for verdict in unreadable_verdicts
            )
            raise
        yield from self._read_again(unreadable_verdicts)

    def _read_again(self, verdicts: list[Verdict]) -> Iterator[Verdict | Failure]:
        if verdicts:
            yield from (self._outcome_of_reply(reply) for reply in self.reader.answer(map(self._prompt, verdicts)))

    def _prompt(self, verdict: Verdict) -> Prompt:
        ballot_request = ballot(verdict.ballot).ask(len(verdict.contestants))
        return Prompt(self.template.fill({"verdict": (ballot_request,), "reply": (verdict.text,)}), tag=verdict)

    def _make_failure(self, verdict: Verdict, usage: Usage, why: str) -> Failure:
        error = f"second reader: {why}"
        return Failure(verdict.case, self.name, verdict.trial, error, usage, exchanges=verdict.exchanges)

    def _outcome_of_reply(self, reply: Reply) -> Verdict | Failure:
        verdict: Verdict = reply.prompt.tag
        usage = verdict.usage + reply.usage
        if reply.error is not None:
            return self._make_failure(verdict, usage, reply.error)
        cut = reply.stop == "length"
        quoted_texts = (verdict.text,)  # a quote of the first reply is no verdict
        marks_or_fault = read(
            ballot(verdict.ballot), reply.text, len(verdict.contestants), quoted_texts, asked="marker", cut=cut
        )
        texts, exchanges = (*verdict.earlier, verdict.text), (*verdict.exchanges, reply.exchange(time.time()))
        if isinstance(marks_or_fault, str):
            return replace(verdict, usage=usage, earlier=(*verdict.earlier, reply.text), exchanges=exchanges)
        return replace(
            verdict, marks=marks_or_fault, fault=None, text=reply.text, usage=usage, earlier=texts, exchanges=exchanges
        )
