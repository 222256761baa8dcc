"""A model that is asked without the pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.item import Part, Turn
from fullbench.core.model import Model, Prompt, Reply, as_judge
from fullbench.core.picture import Picture
from fullbench.plugin_registry import inner_model


@dataclass(frozen=True)
class Blind:
    """A model that is asked without the pictures: the control that says what the words alone give away."""

    model: Model

    @property
    def name(self) -> str:
        return f"{self.model.name} without image"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {**self.model.settings, "pictures": "withheld"}

    @property
    def price(self) -> tuple[float, float] | None:
        return self.model.price

    @property
    def device(self) -> str:
        """Where it computes: where the model does."""
        return str(getattr(self.model, "device", "cpu"))

    def as_judge(self) -> Blind:
        return Blind(as_judge(self.model))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """The model's replies to the prompts without their pictures."""
        return self.model.answer(map(_unseen, prompts))


def _unseen(prompt: Prompt) -> Prompt:
    turns = tuple(Turn(turn.role, _words(turn.parts)) for turn in prompt.turns)
    return replace(prompt, turns=turns)


def _words(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, Picture)) or ("",)


def blind_named(name: str, options: Mapping[str, str]) -> Blind:
    """The contestant that `blind:KIND:NAME` names."""
    return Blind(inner_model("blind", name, options))
