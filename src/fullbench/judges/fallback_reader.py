"""A second reader: a cheaper model that says what an unreadable reply ruled."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import Any

from fullbench.core.ballot import ballot
from fullbench.core.call import Usage
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import Judge, Kind, kind_of, models_of, prompts_of, with_models
from fullbench.core.model import Model, Prompt, Reply, as_judge
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import ModelError
from fullbench.judges.prompt_templates import Template
from fullbench.parsing import read

SLOTS = frozenset({"ruling", "reply"})
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class SecondReader:
    """A judge whose unreadable replies are put to a second model, which is asked what they ruled.

    The second model sees the reply alone, not the case. What it cannot tell stays unreadable. When it cannot be
    reached the case counts as failed and is due again, for a verdict must not depend on the weather. The wording
    `reader_examples` shows two worked examples and asks for a last line, as VisIT-Bench does for pairs.
    """

    judge: Judge
    reader: Model
    wording_name: str = "reader"

    def __post_init__(self) -> None:
        object.__setattr__(self, "reader", as_judge(self.reader))

    @property
    def kind(self) -> Kind | None:
        return kind_of(self.judge)

    @property
    def models(self) -> tuple[Model, ...] | None:
        """The judge's models and then the reader; None where the judge does not say whom it asks."""
        models = models_of(self.judge)
        return None if models is None else (*models, self.reader)

    def with_models(self, models: Sequence[Model]) -> SecondReader | None:
        """The same judge and reader, asking others in the place of their models; None where the judge has its own."""
        *judges, reader = models
        inner = with_models(self.judge, judges)
        return None if inner is None else replace(self, judge=inner, reader=reader)

    def prompts(self, case: Case) -> tuple[Prompt, ...] | None:
        """What the judge sends; what the reader is asked hangs on the reply."""
        return prompts_of(self.judge, case)

    @cached_property
    def wording(self) -> Template:
        file = resources.files("fullbench.judges") / "prompts" / f"{self.wording_name}.txt"
        return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path=file.name)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {**self.judge.settings, "reader": self.reader.name, "reader_wording": self.wording.digest}

    @cached_property
    def name(self) -> str:
        judge = self.judge.name
        return f"{judge.split('#', maxsplit=1)[0]}+reader#{digest([judge, self.settings])[:8]}"

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """The judge's verdicts, the unreadable ones read again."""
        unread: list[Verdict] = []
        try:
            for outcome in self.judge.hear(cases):
                renamed = replace(outcome, judge=self.name)
                if isinstance(renamed, Verdict) and renamed.fault == "unreadable" and renamed.text.strip():
                    unread.append(renamed)
                    if len(unread) >= _AT_ONCE:
                        waiting, unread = unread, []
                        yield from self._again(waiting)
                else:
                    yield renamed
        except ModelError as error:  # what waits to be read again was paid for
            yield from (self._failed(verdict, verdict.usage, f"not asked: {error}") for verdict in unread)
            raise
        yield from self._again(unread)

    def _again(self, verdicts: list[Verdict]) -> Iterator[Verdict | Failure]:
        if verdicts:
            yield from (self._settle(reply) for reply in self.reader.answer(map(self._prompt, verdicts)))

    def _prompt(self, verdict: Verdict) -> Prompt:
        asked = ballot(verdict.ballot).ask(len(verdict.contestants))
        return Prompt(self.wording.fill({"ruling": (asked,), "reply": (verdict.text,)}), tag=verdict)

    def _failed(self, verdict: Verdict, usage: Usage, why: str) -> Failure:
        error = f"second reader: {why}"
        return Failure(verdict.case, self.name, verdict.trial, error, usage, exchanges=verdict.exchanges)

    def _settle(self, reply: Reply) -> Verdict | Failure:
        verdict: Verdict = reply.prompt.tag
        usage = verdict.usage + reply.usage
        if reply.error is not None:
            return self._failed(verdict, usage, reply.error)
        cut = reply.stop == "length"
        said = (verdict.text,)  # what the second model quotes of it rules nothing
        ruling = read(ballot(verdict.ballot), reply.text, len(verdict.contestants), said, asked="marker", cut=cut)
        texts, exchanges = (*verdict.earlier, verdict.text), (*verdict.exchanges, reply.exchange(time.time()))
        if isinstance(ruling, str):
            return replace(verdict, usage=usage, earlier=(*verdict.earlier, reply.text), exchanges=exchanges)
        return replace(
            verdict, marks=ruling, fault=None, text=reply.text, usage=usage, earlier=texts, exchanges=exchanges
        )
