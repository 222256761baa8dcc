"""A second reader: a cheaper model that says what an unreadable reply ruled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import Any

from fullbench.judges.templates import Template
from fullbench.nouns.ballot import ballot
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.judge import Judge
from fullbench.nouns.model import Model, Prompt, Reply
from fullbench.nouns.verdict import Failure, Verdict
from fullbench.reading import read

SLOTS = frozenset({"ruling", "reply"})
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class SecondReader:
    """A judge whose unreadable replies are put to a second model, which is asked what they ruled.

    The second model sees the reply alone, not the case. What it cannot tell stays unreadable. When it cannot be
    reached the case counts as failed and is due again, for a verdict must not depend on the weather.
    """

    judge: Judge
    reader: Model

    @cached_property
    def wording(self) -> Template:
        file = resources.files("fullbench.judges") / "prompts" / "reader.txt"
        return Template.parse(file.read_text(encoding="utf-8"), SLOTS, path="reader.txt")

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {**self.judge.settings, "reader": self.reader.name, "reader_wording": self.wording.digest}

    @cached_property
    def name(self) -> str:
        return f"{self.judge.name.split('#')[0]}+reader#{digest([self.judge.name, self.settings])[:8]}"

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """The judge's verdicts, the unreadable ones read again."""
        unread: list[Verdict] = []
        for outcome in self.judge.hear(cases):
            mine = replace(outcome, judge=self.name)
            if isinstance(mine, Verdict) and mine.fault == "unreadable" and mine.text.strip():
                unread.append(mine)
                if len(unread) >= _AT_ONCE:
                    yield from self._again(unread)
                    unread = []
            else:
                yield mine
        yield from self._again(unread)

    def _again(self, verdicts: list[Verdict]) -> Iterator[Verdict | Failure]:
        if verdicts:
            yield from (self._settle(reply) for reply in self.reader.answer(map(self._prompt, verdicts)))

    def _prompt(self, verdict: Verdict) -> Prompt:
        asked = ballot(verdict.ballot).ask(len(verdict.contestants))
        return Prompt(self.wording.fill({"ruling": (asked,), "reply": (verdict.text,)}), tag=verdict)

    def _settle(self, reply: Reply) -> Verdict | Failure:
        verdict: Verdict = reply.prompt.tag
        usage = verdict.usage + reply.usage
        if reply.error is not None:
            return Failure(verdict.case, self.name, verdict.trial, f"second reader: {reply.error}", usage)
        ruling = read(ballot(verdict.ballot), reply.text, len(verdict.contestants))
        texts = (*verdict.earlier, verdict.text)
        if isinstance(ruling, str):
            return replace(verdict, usage=usage, earlier=(*verdict.earlier, reply.text))
        return replace(verdict, marks=ruling, fault=None, text=reply.text, usage=usage, earlier=texts)
