"""Loading of released weight files without executing code that a pickle may contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from fullbench.errors import InputError

CHECKPOINT_SUFFIXES = {".pt", ".pth", ".safetensors"}
Layers = list[tuple[Any, Any]]
HUB = "hub:"
"""Prefix of a file on the hub: `hub:OWNER/NAME/FILE`."""


def fetch_weights(weights: str) -> str:
    """Return a checkpoint from the hub, from the local cache if possible."""
    from huggingface_hub import hf_hub_download

    owner, name, file = weights.removeprefix(HUB).split("/", 2)
    try:
        return str(hf_hub_download(f"{owner}/{name}", file))
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"the hub cannot be reached for {file} ({reason}). Download the file and use weights=FILE"
        ) from error


def download_files(name: str, files: tuple[str, ...], instead: str, revision: str = "") -> Path:
    """Return the folder with some files of a repository on the hub. `instead` is the option that takes a folder."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=list(files)))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name} is not a folder, and the hub cannot be reached ({str(error).strip().splitlines()[0]}). Put its "
            f"{files[0]} into a folder and use {instead}"
        ) from error


def load_tensors(path: Path) -> dict[str, Any]:
    """Load the tensors of a .safetensors file or a torch file, with or without a training script's wrapping."""
    import torch

    if path.suffix == ".safetensors":
        weights = _load_safetensors(path)
    else:
        try:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except (UnpicklingError, RuntimeError, EOFError, ValueError) as error:
            raise InputError("this is not a file of tensors saved by torch; download it again", path=path) from error
    if isinstance(weights, Mapping) and isinstance(weights.get("state_dict"), Mapping):
        weights = weights["state_dict"]
    if not isinstance(weights, Mapping) or not weights or not all(map(torch.is_tensor, weights.values())):
        raise InputError("the file contains something other than named tensors", path=path)
    return {str(name).removeprefix("module."): value for name, value in weights.items()}


def _load_safetensors(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights: Mapping[str, Any] = load_file(path)
    except SafetensorError as error:
        raise InputError(f"this is not a safetensors file ({error}); download it again", path=path) from error
    return weights


def linear_layers(named_tensors: Mapping[str, Any], path: Path) -> Layers:
    """Return the linear layers of a head, weights and biases in order.

    Layers are numbered in their names. One skipped number is a step used only in training, as in the heads of
    ImageReward and of the aesthetics predictor. More skipped numbers mean an activation that the file does not name.
    """
    names = sorted((name for name in named_tensors if name.endswith(".weight")), key=_layer_number)
    biases = [name.removesuffix("weight") + "bias" for name in names]
    if set(names) | set(biases) != set(named_tensors):
        odd = min(set(named_tensors) ^ (set(names) | set(biases)))
        raise InputError(f"a head is linear layers, each with a weight and a bias; {odd!r} does not fit", path=path)
    layers = [(named_tensors[name], named_tensors[bias]) for name, bias in zip(names, biases, strict=True)]
    widths = [weight.shape[1] for weight, _ in layers[1:]]
    if not layers or [weight.shape[0] for weight, _ in layers] != [*widths, 1]:
        raise InputError("the head must contain linear layers that fit each other and end in one number", path=path)
    layer_numbers = [_layer_number(name) for name in names]
    if any(after[-1] - before[-1] > 2 for before, after in pairwise(layer_numbers) if before and after):
        raise InputError(
            "the head has activations between its layers; only heads without them are supported", path=path
        )
    return layers


def _layer_number(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())


@dataclass(frozen=True)
class ReleasedTensors:
    """Tensors of a released checkpoint by name. `model` and `file` are the names for error messages."""

    by_name: Mapping[str, Any]
    path: Path
    model: str
    file: str

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.by_name:
            raise self._unlike(f"it has no {name!r}, but {min(self.by_name)!r}")
        return tuple(self.by_name[name].shape)

    def depth(self, prefix: str) -> int:
        """Return the number of layers whose names begin with a prefix."""
        return len({name.removeprefix(prefix).split(".")[0] for name in self.by_name if name.startswith(prefix)})

    def check(self, expected_shapes: Mapping[str, tuple[int, ...]], other_names: set[str]) -> None:
        """Refuse a checkpoint with a missing tensor, one of another shape, or one that is in neither list."""
        missing = [name for name in expected_shapes if name not in self.by_name]
        if missing:
            raise self._unlike(f"it lacks {_names_summary(missing)}")
        unknown = [name for name in self.by_name if name not in {*expected_shapes, *other_names}]
        if unknown:
            raise self._unlike(f"it holds {_names_summary(unknown)} that {self.model} does not have")
        for name, shape in expected_shapes.items():
            if (held_shape := self.shape(name)) != shape:
                raise self._unlike(f"{name!r} has the shape {held_shape} in place of {shape}")

    def _unlike(self, why: str) -> InputError:
        return InputError(
            f"this is not {self.model}: {why}; give {self.file} as its authors release it", path=self.path
        )


def _names_summary(names: list[str]) -> str:
    return f"{names[0]!r}" if len(names) == 1 else f"{len(names)} tensors such as {names[0]!r}"
