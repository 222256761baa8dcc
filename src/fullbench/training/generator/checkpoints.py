"""What a run of training needs to go on: written whole or not at all, and read again by the same run alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fullbench.errors import InputError


def save(state: Path, identity: str, weights: Sequence[Any], optimizer: Any, **more: Any) -> None:
    """Keep the weights, the optimizer and whatever else the run says, under the identity of the run."""
    part = state.with_suffix(".part")
    torch.save(
        {
            "identity": identity, "network": [weight.detach().cpu() for weight in weights],
            "optimizer": optimizer.state_dict(), **more,
        },
        part,
    )  # fmt: skip
    part.replace(state)


def resumed(state: Path | None, identity: str, weights: Sequence[Any], optimizer: Any) -> dict[str, Any] | None:
    """Put weights and optimizer back as a checkpoint of the same run has them: all that it holds, None where there is
    no checkpoint."""
    if state is None or not state.exists():
        return None
    saved: dict[str, Any] = torch.load(state, map_location="cpu", weights_only=True)
    if saved["identity"] != identity:
        raise InputError("the checkpoint is of another run; name another folder, or delete it", path=state)
    copy_into(weights, saved["network"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved


def copy_into(tensors: Sequence[Any], values: Sequence[Any]) -> None:
    """The values in the place of what the tensors hold."""
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
