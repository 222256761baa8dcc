"""Plugin that offers the toy generator as `toy:FOLDER` and lets `fullbench tune` train it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from fullbench.core import plugin_entry_points
from fullbench.core.model import Model
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.model_specs import read_options
from fullbench.training.generator import feedback_loop
from fullbench.training.generator.picture_tensors import pixels_of
from tests.training.generator.toy.model import OPTIONS, SheetModel

ROOT = Path(__file__).parents[4]
MAKE_TRAINEE = feedback_loop.make_trainee


@dataclass(eq=False)
class SheetTrainee:
    """Toy generator that is tuned as a whole."""

    model: SheetModel

    @cached_property
    def tunable(self) -> Any:
        return self.model.load().copy()

    def base(self) -> Any:
        return self.model.load()

    def encode(self, pictures: Sequence[Picture]) -> Any:
        import torch

        return torch.stack([pixels_of(picture) for picture in pictures])

    def save(self, folder: Path) -> str:
        self.tunable.save(folder)
        return f"toy:{folder}"


def toy_trainee(model: Model, lora: int) -> feedback_loop.Trainee:
    """Return the trainee of a toy generator, and of any other model what fullbench itself returns."""
    if not isinstance(model, SheetModel):
        return MAKE_TRAINEE(model, lora)
    if lora:
        raise InputError("the toy generator is tuned as a whole; leave out --lora")
    return SheetTrainee(model)


def toy_model(name: str, options: Mapping[str, str]) -> Model:
    """Return the contestant `toy:FOLDER`, and make it tunable."""
    # `tune` knows pipelines of diffusers only. The patch is here so that it also holds in processes that tests start.
    feedback_loop.make_trainee = toy_trainee
    return SheetModel(Path(name), **read_options(f"toy:{name}", options, OPTIONS))


@pytest.fixture
def toy_plugin(tmp_path_factory, monkeypatch) -> Iterator[None]:
    """Install the plugin for one test, in this process and in those that the test starts."""
    site = tmp_path_factory.mktemp("site")
    about = site / "toy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[fullbench.models]\ntoy = {__name__}:toy_model\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setattr(feedback_loop, "make_trainee", feedback_loop.make_trainee)
    _forget_entry_points()
    yield
    _forget_entry_points()


def _forget_entry_points() -> None:
    importlib.invalidate_caches()
    plugin_entry_points._all_entry_points.cache_clear()
    plugin_entry_points.installed_plugins.cache_clear()
