"""Generators that can be tuned: prepared for training, and saved after it."""

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
    """Generator in tuning."""

    @property
    def tunable(self) -> Tunable: ...

    def base(self) -> Tunable:
        """Return the initial generator, for tuning methods that compare with it."""
        ...

    def encode(self, pictures: Sequence[Picture]) -> Any:
        """Return the pictures in the form that `tunable.errors` takes."""
        ...

    def save(self, folder: Path) -> str:
        """Write the tuned generator and return its spec."""
        ...


def make_trainee(model: Model, lora: int) -> Trainee:
    """Prepare a contestant for tuning; `lora` is the rank of adapters, 0 for all weights."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra("tuning a generator", "train") from error
    if isinstance(model, PipelineModel):
        from fullbench.training.generator.diffusers_tuning import PipelineTrainee

        return PipelineTrainee(model, lora)
    raise InputError(f"{model.name!r} cannot be tuned. Give --generator diffusers:FOLDER.")
