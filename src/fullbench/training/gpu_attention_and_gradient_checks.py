"""Precautions of every training on a GPU: which attention kernel runs, and an end as soon as gradients are lost."""

from __future__ import annotations

import math
from typing import Any

from fullbench.errors import InputError


def avoid_cudnn_attention(device: str) -> None:
    """Exclude cuDNN's attention from training on a GPU; torch then chooses another of its kernels.

    Its backward pass returns NaN for some shapes and masks on H100 and H200 (pytorch#196678), where torch prefers it.
    """
    if device.startswith("cuda"):
        import torch

        torch.backends.cuda.enable_cudnn_sdp(enabled=False)


def refuse_lost_gradients(norm: Any, step: int) -> None:
    """Raise if the norm of the gradients is not finite: the weights would be lost, too.

    Args:
        norm: Norm of all gradients, as `clip_grad_norm_` returns it; of a sharded model, one per process.
        step: Number of the step, from 1.
    """
    total = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
    if not math.isfinite(total):
        raise InputError(
            f"the gradients of step {step:,} are not finite ({total}), so training stopped before the weights were "
            "lost; lower --lr, or train with --device cpu"
        )
