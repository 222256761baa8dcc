"""Contestants with a prompt template around each question, as papers use when models answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.item import Item, Turn, separate_texts
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Model, Prompt, Reply, media_kinds, prepare_prompt
from fullbench.judges.item_layout_in_prompt import layout_digest
from fullbench.judges.prompt_templates import Template

SLOTS = frozenset({"pictures", "question"})


@dataclass(frozen=True, eq=False)
class PromptedContestant:
    """A model whose questions are put into a template, in place if interleaved; earlier turns stay unchanged."""

    model: Model
    template: Template

    @property
    def name(self) -> str:
        return f"{self.model.name}+asked#{self._prompt_digest[:8]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.model.settings, "asking": self._prompt_digest}

    @property
    def _prompt_digest(self) -> str:
        return digest([self.template.digest, layout_digest("en")])

    @property
    def price(self) -> tuple[float, float] | None:
        return self.model.price

    @property
    def device(self) -> str:
        """Return the device of the wrapped model."""
        return str(getattr(self.model, "device", "cpu"))

    @property
    def media_kinds(self) -> frozenset[str]:
        return media_kinds(self.model)

    def prepare(self, prompt: Prompt) -> Prompt:
        """Return the prompt unchanged, or raise `InputError` if the model cannot be sent its media."""
        prepare_prompt(self.model, prompt)
        return prompt

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield the model's replies to the questions in the template."""
        return self.model.answer(prepare_prompt(self.model, self._fill_template(prompt)) for prompt in prompts)

    def _fill_template(self, prompt: Prompt) -> Prompt:
        *before, last = prompt.turns
        has_other_media = len(last.media) > len(last.pictures)
        is_in_place = Item("", (last,)).is_interleaved or "pictures" not in self.template.slots or has_other_media
        template_turns = self.template.fill(
            {
                "pictures": () if is_in_place else last.pictures,
                "question": separate_texts(last.parts) if is_in_place else (last.text,),
            }
        )
        # The system turn of the template comes first, then the earlier dialogue, then the question.
        system_turns = tuple(turn for turn in template_turns if turn.role == "system")
        question_turns = tuple(turn for turn in template_turns if turn.role != "system")
        return replace(
            prompt, turns=(*system_turns, *(Turn(turn.role, turn.parts) for turn in before), *question_turns)
        )
