"""A contestant put together from tools and a language model: `composed:objects+text?llm=smollm2`.

The tools look at the pictures and their notes stand in the prompt where the pictures stood; a model that reads text
alone answers. With `llm=none` rules answer, from the notes alone. Switching tools off makes contestants that know less,
so that their true order is known before anybody reviews them.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.digests import digest
from fullbench.core.item import Part, Turn
from fullbench.core.model import Model, Prompt, Reply, as_judge, takes_schemas
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.local import rule_based
from fullbench.models.prompt_fences import hearing_in, wants_a_question
from fullbench.models.tools.picture_notes import Notes, Thing
from fullbench.models.tools.toolbox import TOOLS, Toolbox
from fullbench.plugin_registry import Spec
from fullbench.plugin_registry import model as model_of

FRAME = "(You cannot see the picture. This is what was noted by somebody who looked at it:\n{notes})\n"
BLANK = "(You cannot see the picture, and nothing was noted about it.)\n"
_ONCE = Usage(calls=1)
_EVERYTHING = Notes((Thing("person", 1.0, (0.0, 0.0, 1.0, 1.0)),), ("text",), {"red": 1.0})
"""Notes of every kind: their wording is part of a contestant's identity."""


@dataclass(frozen=True, eq=False)
class Composed:
    """Tools that look, and a language model, or rules where `llm` is None, that speaks."""

    tools: Toolbox
    llm: Model | None = None

    @cached_property
    def name(self) -> str:
        """Who speaks and who looks, in words, and a digest of all that can change an answer."""
        speaker = "rules" if self.llm is None else self.llm.name
        return f"{speaker}+{self.tools.name}#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        wording = "rules 1" if self.llm is None else digest([FRAME, BLANK, _EVERYTHING.told()])
        speaker = None if self.llm is None else {"name": self.llm.name, **self.llm.settings}
        return {"tools": self.tools.versions, "llm": speaker, "wording": wording}

    def as_judge(self) -> Composed:
        return self if self.llm is None else replace(self, llm=as_judge(self.llm))

    @property
    def takes_schemas(self) -> bool:
        return self.llm is not None and takes_schemas(self.llm)

    @property
    def price(self) -> tuple[float, float] | None:
        return (0.0, 0.0) if self.llm is None else self.llm.price

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Replies as they come. A picture that cannot be read fails its own prompt and no other."""
        return self._by_rules(prompts) if self.llm is None else self._by_model(self.llm, prompts)

    def _by_rules(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            try:
                yield Reply(prompt, self._ruled(prompt), _ONCE, stop="stop")
            except InputError as error:
                yield Reply(prompt, error=str(error))

    def _ruled(self, prompt: Prompt) -> str:
        question = prompt.turns[-1].text
        pictures = [picture for turn in prompt.turns for picture in turn.pictures]
        notes = self.tools.notes(pictures[-1]) if pictures else Notes()
        if (hearing := hearing_in(question)) is not None:
            return rule_based.ruled(hearing, notes)
        if wants_a_question(question):
            lot = f"{self.tools.name}/{pictures[-1].digest if pictures else ''}/{prompt.seed}"
            return rule_based.asked(notes, random.Random(lot))
        return rule_based.answered(question, notes)

    def _by_model(self, llm: Model, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        failed: deque[Reply] = deque()

        def noted() -> Iterator[Prompt]:
            for prompt in prompts:
                try:
                    yield self.noted(prompt)
                except InputError as error:
                    failed.append(Reply(prompt, error=str(error)))

        replies = llm.answer(noted())

        def given() -> Iterator[Reply]:
            for reply in replies:
                yield reply
                yield from _taken(failed)
            yield from _taken(failed)

        return given()

    def noted(self, prompt: Prompt) -> Prompt:
        """The prompt with notes where the pictures were."""
        turns = tuple(Turn(turn.role, self._words(turn.parts)) for turn in prompt.turns)
        return replace(prompt, turns=turns)

    def _words(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        words = "".join(self._told(part) if isinstance(part, Picture) else part for part in parts)
        return (words,)

    def _told(self, picture: Picture) -> str:
        notes = self.tools.notes(picture).told()
        return FRAME.format(notes=notes) if notes else BLANK


def _taken(waiting: deque[Reply]) -> Iterator[Reply]:
    while waiting:
        yield waiting.popleft()


def composed(name: str, options: Mapping[str, str]) -> Composed:
    """The contestant that `composed:TOOLS?llm=SPEC` names. Options other than `llm` are the language model's."""
    tools = Toolbox.named(name or "+".join(TOOLS))
    speaker = options.get("llm", "none")
    rest = {key: value for key, value in options.items() if key != "llm"}
    if speaker == "none":
        if rest:
            raise InputError(f"'composed:{name}' goes by rules and takes no {next(iter(rest))!r}; name an llm=SPEC")
        return Composed(tools)
    spec = Spec.parse(speaker)
    return Composed(tools, model_of(Spec(spec.kind, spec.name, {**spec.options, **rest}), speaker))
