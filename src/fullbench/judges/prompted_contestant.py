"""Contestants that are asked in given words: a template around each question, as papers do when models answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.item import Turn, parts_pictures
from fullbench.core.model import Model, Prompt, Reply
from fullbench.judges.prompt_templates import Template

SLOTS = frozenset({"pictures", "question"})


@dataclass(frozen=True, eq=False)
class Asked:
    """A model whose questions stand in a template; earlier turns of a dialogue stay as they are."""

    model: Model
    template: Template

    @property
    def name(self) -> str:
        return f"{self.model.name}+asked#{self.template.digest[:8]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.model.settings, "asking": self.template.digest}

    @property
    def price(self) -> tuple[float, float] | None:
        return self.model.price

    @property
    def device(self) -> str:
        """Where it computes: where the model does."""
        return str(getattr(self.model, "device", "cpu"))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """The model's replies to the questions in the template's words."""
        return self.model.answer(map(self._worded, prompts))

    def _worded(self, prompt: Prompt) -> Prompt:
        *before, last = prompt.turns
        pictures = parts_pictures(last.parts)
        filled = self.template.fill({"pictures": pictures, "question": (last.text,)})
        # A system turn leads, whatever was said before the question follows it.
        lead = tuple(turn for turn in filled if turn.role == "system")
        rest = tuple(turn for turn in filled if turn.role != "system")
        return replace(prompt, turns=(*lead, *(Turn(turn.role, turn.parts) for turn in before), *rest))
