"""Checkpoints of generator tuning: written atomically, and resumed only by the same run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from fullbench.errors import InputError


def save_checkpoint(state: Path, identity: str, weights: Sequence[Any], optimizer: Any, **more: Any) -> None:
    """Save the weights, the optimizer and `more` under the identity of the run."""
    part = state.with_suffix(".part")
    torch.save(
        {
            "identity": identity, "network": [weight.detach().cpu() for weight in weights],
            "optimizer": optimizer.state_dict(), **more,
        },
        part,
    )  # fmt: skip
    part.replace(state)


def resume_checkpoint(
    state: Path | None, identity: str, weights: Sequence[Any], optimizer: Any
) -> dict[str, Any] | None:
    """Restore weights and optimizer from a checkpoint of the same run; return its content, or None without one."""
    if state is None or not state.exists():
        return None
    checkpoint: dict[str, Any] = torch.load(state, map_location="cpu", weights_only=True)
    if checkpoint["identity"] != identity:
        raise InputError("the checkpoint belongs to another run; choose another folder, or delete it", path=state)
    copy_into(weights, checkpoint["network"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint


def copy_into(tensors: Sequence[Any], values: Sequence[Any]) -> None:
    """Copy the values into the tensors in place."""
    with torch.no_grad():
        for tensor, value in zip(tensors, values, strict=True):
            tensor.copy_(value)
