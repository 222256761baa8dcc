"""Distributed training: process groups of `torchrun` and `accelerate launch`, and sharded models.

Both launchers set the same environment variables for each process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fullbench.errors import InputError
from fullbench.models.local.transformers_model import refuse_missing_gpu
from fullbench.training.gpu_attention_and_gradient_checks import avoid_cudnn_attention


@dataclass(frozen=True)
class Processes:
    """Rank of this process, number of processes, and its device."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    @classmethod
    def join(cls, device: str = "auto") -> Processes:
        """Join the processes that were started together; a single process needs no group."""
        import torch

        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        has_gpu = torch.cuda.is_available()
        refuse_missing_gpu(device, "critic train")
        if device == "cuda" or (device == "auto" and has_gpu):  # each process of a machine has a GPU of its own
            local_rank = int(os.environ.get("LOCAL_RANK", "0"))
            if local_rank >= torch.cuda.device_count():
                raise InputError(
                    f"each process needs a GPU of its own, and torch finds {torch.cuda.device_count()} here; start "
                    "fewer processes, or give --device cpu"
                )
            device = f"cuda:{local_rank}"
        elif device == "auto":
            device = "cpu"
        if device.startswith("cuda"):
            torch.cuda.set_device(device)
            avoid_cudnn_attention(device)
        if world > 1 and not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(rank, world, device)

    @property
    def is_first(self) -> bool:
        """True if this process writes files and messages."""
        return self.rank == 0

    def broadcast_weights(self, parameters: Iterable[Any]) -> None:
        """Copy the first process's weights to all."""
        if self.world > 1:
            import torch

            for parameter in parameters:
                torch.distributed.broadcast(parameter.data, 0)

    def sum_tensors(self, tensors: Iterable[Any]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.world > 1:
            import torch

            for handle in [torch.distributed.all_reduce(tensor, async_op=True) for tensor in tensors]:
                handle.wait()

    def is_true_anywhere(self, here: bool) -> bool:
        """True if the condition holds in any process."""
        if self.world == 1:
            return here
        import torch

        flag = torch.tensor(float(here), device=self.device)
        self.sum_tensors([flag])
        return bool(flag)

    def leave_group(self) -> None:
        """Wait for the other processes and close the group."""
        if self.world > 1:
            import torch

            torch.distributed.barrier()
            torch.distributed.destroy_process_group()


# A model that does not fit on one GPU is split over all: weights, gradients and optimizer state, by torch's fully
# sharded data parallelism (`fully_shard`, Zhao et al. 2023, arXiv:2304.11277). Each process keeps its share of every
# layer and gathers the rest while the layer is used.


def shard_model(model: Any, processes: Processes) -> None:
    """Split a model over the processes, layer by layer, in place."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    if processes.world == 1:
        raise InputError(
            "--shard splits a model over several processes, and there is one; start them with "
            "`accelerate launch --num_processes N -m fullbench critic train ...`"
        )
    # Without a mesh, torch would use the GPU of a machine that has one, even with --device cpu.
    mesh = init_device_mesh(processes.device.partition(":")[0], (processes.world,))
    unsplit_names = set(getattr(model, "_no_split_modules", None) or ())
    for module in model.modules():
        if type(module).__name__ in unsplit_names:
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def is_sharded(model: Any) -> bool:
    """True if a model's weights are complete only inside its own forward pass."""
    from torch.distributed.fsdp import FSDPModule

    return isinstance(model, FSDPModule)


def gather_state(model: Any, optimizer: Any) -> dict[str, Any]:
    """Gather trained weights and optimizer state; every process must call it, only the first gets them."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    trained_names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    weights = {name: value for name, value in gather_weights(model).items() if name in trained_names}
    return {"weights": weights, "optimizer": get_optimizer_state_dict(model, optimizer, options=options)}


def gather_weights(model: Any) -> dict[str, Any]:
    """Gather all weights; every process must call it, only the first gets them."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights: dict[str, Any] = get_model_state_dict(model, options=options)
    return weights


def restore_state(model: Any, optimizer: Any, state: dict[str, Any]) -> None:
    """Restore gathered weights and optimizer state, each process its share."""
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        set_model_state_dict,
        set_optimizer_state_dict,
    )

    options = StateDictOptions(full_state_dict=True, strict=False)
    set_model_state_dict(model, state["weights"], options=options)
    set_optimizer_state_dict(model, optimizer, state["optimizer"], options=options)
