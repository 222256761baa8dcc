"""What of a contestant can be tuned: a generator made ready for learning, and saved when it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.errors import InputError, MissingExtra
from fullbench.models.pipelines import PipelineModel
from fullbench.nouns.model import Model
from fullbench.nouns.picture import Picture
from fullbench.training.generator.model import SheetModel
from fullbench.training.generator.planes import pixels_of

if TYPE_CHECKING:
    from fullbench.training.generator.sheet_generator import SheetGenerator
    from fullbench.training.generator.tuning import Tunable


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


@dataclass(eq=False)
class SheetTrainee:
    """A generator of sheets that is tuned as a whole."""

    model: SheetModel

    @cached_property
    def tunable(self) -> SheetGenerator:
        return self.model.load().copy()

    def base(self) -> SheetGenerator:
        return self.model.load()

    def encode(self, pictures: Sequence[Picture]) -> Any:
        import torch

        return torch.stack([pixels_of(picture) for picture in pictures])

    def save(self, folder: Path) -> str:
        self.tunable.save(folder)
        return f"sheets:{folder}"


def trainee(model: Model, lora: int) -> Trainee:
    """A contestant made ready for tuning; `lora` is the rank of adapters, 0 for all weights."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra("tuning a generator", "train") from error
    if isinstance(model, SheetModel):
        if lora:
            raise InputError("a generator of sheets is small and tuned as a whole; leave out --lora")
        return SheetTrainee(model)
    if isinstance(model, PipelineModel):
        from fullbench.training.generator.pipeline_tuning import PipelineTrainee

        return PipelineTrainee(model, lora)
    raise InputError(f"{model.name!r} has no weights here to tune; tuned are sheets:FOLDER and diffusers:FOLDER")
