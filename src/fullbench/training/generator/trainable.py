"""What of a contestant can be tuned: a generator made ready for learning, and saved when it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.core.model import Model
from fullbench.core.picture import Picture
from fullbench.errors import InputError, MissingExtra
from fullbench.models.local.diffusers_pipeline import PipelineModel

if TYPE_CHECKING:
    from fullbench.training.generator.preference_tuning import Tunable


class Trainee(Protocol):
    """A generator on its way through tuning."""

    @property
    def tunable(self) -> Tunable: ...

    def base(self) -> Tunable:
        """What it began as, for ways of tuning that look back at it."""
        ...

    def encode(self, pictures: Sequence[Picture]) -> Any:
        """Pictures as `tunable.errors` takes them."""
        ...

    def save(self, folder: Path) -> str:
        """Write the tuned generator; gives the spec that names it."""
        ...


def trainee(model: Model, lora: int) -> Trainee:
    """A contestant made ready for tuning; `lora` is the rank of adapters, 0 for all weights."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra("tuning a generator", "train") from error
    if isinstance(model, PipelineModel):
        from fullbench.training.generator.diffusers_tuning import PipelineTrainee

        return PipelineTrainee(model, lora)
    raise InputError(f"{model.name!r} cannot be tuned. Give --generator diffusers:FOLDER.")
