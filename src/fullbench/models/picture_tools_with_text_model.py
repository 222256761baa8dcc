"""A contestant made of picture tools and a language model: `composed:objects+text?llm=smollm2`.

The tools write notes on the pictures. The notes replace the pictures in the prompt, and a text-only model answers.
With `llm=none`, rules answer from the notes alone. Leaving tools out gives weaker contestants, so that their true
order is known before any review.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fullbench.core.item import Part, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.media import Media
from fullbench.core.model import Model, Prompt, Reply, as_judge, takes_schemas
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.local import rule_based_answers_questions_and_verdicts
from fullbench.models.response_fences_and_parser import parse_judging_request, wants_a_question
from fullbench.models.tools.picture_notes_and_their_wording import Notes, Thing
from fullbench.models.tools.toolbox import TOOLS, Toolbox
from fullbench.plugin_specs import Spec
from fullbench.plugin_specs import build_model as model_of

FRAME = "(You cannot see the picture. This is what was noted by somebody who looked at it:\n{notes})\n"
BLANK = "(You cannot see the picture, and nothing was noted about it.)\n"
_ONE_CALL = Usage(calls=1)
_EXAMPLE_NOTES = Notes((Thing("person", 1.0, (0.0, 0.0, 1.0, 1.0)),), ("text",), {"red": 1.0})
"""Notes of every kind: their text format is part of a contestant's identity."""


@dataclass(frozen=True, eq=False)
class ComposedModel:
    """Tools that describe pictures, and the language model that answers (rules if `llm` is None)."""

    tools: Toolbox
    llm: Model | None = None

    @cached_property
    def name(self) -> str:
        """Return the language model, the tools, and a digest of everything that can change an answer."""
        speaker = "rules" if self.llm is None else self.llm.name
        return f"{speaker}+{self.tools.name}#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        wording = "rules 1" if self.llm is None else digest([FRAME, BLANK, _EXAMPLE_NOTES.to_text()])
        speaker = None if self.llm is None else {"name": self.llm.name, **self.llm.settings}
        return {"tools": self.tools.versions, "llm": speaker, "prompt_template": wording}

    def as_judge(self) -> ComposedModel:
        return self if self.llm is None else replace(self, llm=as_judge(self.llm))

    @property
    def takes_schemas(self) -> bool:
        return self.llm is not None and takes_schemas(self.llm)

    @property
    def price(self) -> tuple[float, float] | None:
        return (0.0, 0.0) if self.llm is None else self.llm.price

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield replies as they arrive. An unreadable picture fails only its own prompt."""
        return self._replies_by_rules(prompts) if self.llm is None else self._replies_by_model(self.llm, prompts)

    def _replies_by_rules(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            try:
                yield Reply(prompt, self._answer_by_rules(prompt), _ONE_CALL, stop="stop")
            except InputError as error:
                yield Reply(prompt, error=str(error))

    def _answer_by_rules(self, prompt: Prompt) -> str:
        question = prompt.turns[-1].text
        pictures = [picture for turn in prompt.turns for picture in turn.pictures]
        notes = self.tools.notes(pictures[-1]) if pictures else Notes()
        if (judging_request := parse_judging_request(question)) is not None:
            return rule_based_answers_questions_and_verdicts.judge_answers(judging_request, notes)
        if wants_a_question(question):
            seed_text = f"{self.tools.name}/{pictures[-1].digest if pictures else ''}/{prompt.seed}"
            return rule_based_answers_questions_and_verdicts.pose_question(notes, random.Random(seed_text))
        return rule_based_answers_questions_and_verdicts.answer_question(question, notes)

    def _replies_by_model(self, llm: Model, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        failed_replies: deque[Reply] = deque()

        def prompts_with_notes() -> Iterator[Prompt]:
            for prompt in prompts:
                try:
                    yield self.replace_pictures(prompt)
                except InputError as error:
                    failed_replies.append(Reply(prompt, error=str(error)))

        replies = llm.answer(prompts_with_notes())

        def all_replies() -> Iterator[Reply]:
            for reply in replies:
                yield reply
                yield from _drain_replies(failed_replies)
            yield from _drain_replies(failed_replies)

        return all_replies()

    def replace_pictures(self, prompt: Prompt) -> Prompt:
        """Return the prompt with notes in place of the pictures."""
        turns = tuple(Turn(turn.role, self._parts_as_text(turn.parts)) for turn in prompt.turns)
        return replace(prompt, turns=turns)

    def _parts_as_text(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        words = "".join(part if isinstance(part, str) else self._picture_as_text(part) for part in parts)
        return (words,)

    def _picture_as_text(self, picture: Media) -> str:
        if not isinstance(picture, Picture):
            raise InputError(f"these tools describe pictures, but no {picture.noun}")
        notes = self.tools.notes(picture).to_text()
        return FRAME.format(notes=notes) if notes else BLANK


def _drain_replies(waiting: deque[Reply]) -> Iterator[Reply]:
    while waiting:
        yield waiting.popleft()


def build_composed_model(name: str, options: Mapping[str, str]) -> ComposedModel:
    """Build the contestant for `composed:TOOLS?llm=SPEC`. Options other than `llm` go to the language model."""
    tools = Toolbox.from_names(name or "+".join(TOOLS))
    speaker = options.get("llm", "none")
    model_options = {key: value for key, value in options.items() if key != "llm"}
    if speaker == "none":
        if model_options:
            raise InputError(
                f"'composed:{name}' follows fixed rules and takes no {next(iter(model_options))!r}; add llm=SPEC"
            )
        return ComposedModel(tools)
    spec = Spec.parse(speaker)
    return ComposedModel(tools, model_of(Spec(spec.kind, spec.name, {**spec.options, **model_options}), speaker))
