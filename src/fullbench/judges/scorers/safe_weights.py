"""Files of tensors by name, as authors release them: read without running what a pickle may hold."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from fullbench.errors import InputError

Layers = list[tuple[Any, Any]]
HUB = "hub:"
"""What a file of the hub is named by: `hub:OWNER/NAME/FILE`."""


def fetched(weights: str) -> str:
    """A checkpoint of the hub, out of this machine's cache where it is there."""
    from huggingface_hub import hf_hub_download

    owner, name, file = weights.removeprefix(HUB).split("/", 2)
    try:
        return str(hf_hub_download(f"{owner}/{name}", file))
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"the hub cannot be asked for {file} ({reason}); fetch it and say weights=FILE") from error


def tensors(path: Path) -> dict[str, Any]:
    """The tensors of a .safetensors file or of one that torch saved, packed as training scripts leave it or not."""
    import torch

    if path.suffix == ".safetensors":
        weights = _safe(path)
    else:
        try:
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except (UnpicklingError, RuntimeError, EOFError, ValueError) as error:
            raise InputError("this is no file of tensors that torch saved; download it again", path=path) from error
    if isinstance(weights, Mapping) and isinstance(weights.get("state_dict"), Mapping):
        weights = weights["state_dict"]
    if not isinstance(weights, Mapping) or not weights or not all(map(torch.is_tensor, weights.values())):
        raise InputError("the file holds something else than tensors by name", path=path)
    return {str(name).removeprefix("module."): value for name, value in weights.items()}


def _safe(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights: Mapping[str, Any] = load_file(path)
    except SafetensorError as error:
        raise InputError(f"this is no file of safetensors ({error}); download it again", path=path) from error
    return weights


def linear(held: Mapping[str, Any], path: Path) -> Layers:
    """The linear layers of a head, weights and biases in order.

    Layers are numbered in their names. One number left out is a step that only training has, as in the heads of
    ImageReward and of the aesthetics predictor; where more are, an activation stands there that no file names.
    """
    names = sorted((name for name in held if name.endswith(".weight")), key=_place)
    biases = [name.removesuffix("weight") + "bias" for name in names]
    if set(names) | set(biases) != set(held):
        odd = min(set(held) ^ (set(names) | set(biases)))
        raise InputError(f"a head is linear layers, each with a weight and a bias; {odd!r} does not fit", path=path)
    layers = [(held[name], held[bias]) for name, bias in zip(names, biases, strict=True)]
    widths = [weight.shape[1] for weight, _ in layers[1:]]
    if not layers or [weight.shape[0] for weight, _ in layers] != [*widths, 1]:
        raise InputError("the head must hold linear layers that fit each other and end in one number", path=path)
    places = [_place(name) for name in names]
    if any(after[-1] - before[-1] > 2 for before, after in pairwise(places) if before and after):
        raise InputError("the head has activations between its layers; only heads without them are known", path=path)
    return layers


def _place(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())
