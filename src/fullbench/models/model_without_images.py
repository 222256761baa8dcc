"""A model that gets every prompt without its pictures, for picture-blind controls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fullbench.core.item import Turn
from fullbench.core.media import KINDS
from fullbench.core.model import Model, Prompt, Reply, as_judge
from fullbench.plugin_specs import inner_model


@dataclass(frozen=True)
class ModelWithoutImages:
    """A model called without the pictures: a control that shows what the text alone gives away."""

    model: Model

    media_kinds: ClassVar[frozenset[str]] = frozenset(KINDS)
    """It takes all kinds, and sends none."""

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
        """Return the device of the wrapped model."""
        return str(getattr(self.model, "device", "cpu"))

    def as_judge(self) -> ModelWithoutImages:
        return ModelWithoutImages(as_judge(self.model))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield the model's replies to the prompts without their pictures."""
        return self.model.answer(map(_without_pictures, prompts))


def _without_pictures(prompt: Prompt) -> Prompt:
    texts = [tuple(part for part in turn.parts if isinstance(part, str)) or ("",) for turn in prompt.turns]
    return replace(prompt, turns=tuple(Turn(turn.role, text) for turn, text in zip(prompt.turns, texts, strict=True)))


def build_model_without_images(name: str, options: Mapping[str, str]) -> ModelWithoutImages:
    """Build the contestant for `blind:KIND:NAME`."""
    return ModelWithoutImages(inner_model("blind", name, options))
