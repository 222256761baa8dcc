"""One process or many. `torchrun` and `accelerate launch` tell each process its number in the same variables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fullbench.errors import InputError


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is, and on which device it works."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    @classmethod
    def join(cls, device: str = "auto") -> Processes:
        """Join those that were started together; alone where nobody else was."""
        import torch

        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        if device == "auto":
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"
        if device.startswith("cuda"):
            torch.cuda.set_device(device)
        if world > 1 and not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(rank, world, device)

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def same(self, parameters: Iterable[Any]) -> None:
        """Let all begin with the first one's weights."""
        if self.world > 1:
            import torch

            for parameter in parameters:
                torch.distributed.broadcast(parameter.data, 0)

    def add(self, tensors: Iterable[Any]) -> None:
        """Replace each tensor by its sum over all processes."""
        if self.world > 1:
            import torch

            for waiting in [torch.distributed.all_reduce(tensor, async_op=True) for tensor in tensors]:
                waiting.wait()

    def any(self, here: bool) -> bool:
        """Whether it is so in any of the processes."""
        if self.world == 1:
            return here
        import torch

        flag = torch.tensor(float(here), device=self.device)
        self.add([flag])
        return bool(flag)

    def leave(self) -> None:
        """Part from the others."""
        if self.world > 1:
            import torch

            torch.distributed.barrier()
            torch.distributed.destroy_process_group()


# A model that does not fit on one card, split over all of them: weights, gradients and the optimizer's state.
#
# By torch's own fully sharded data parallelism (`fully_shard`, Zhao et al. 2023, arXiv:2304.11277): each process keeps
# its share of every layer and borrows the rest while the layer is used. `accelerate launch` and `torchrun` start the
# processes.


def shard(model: Any, processes: Processes) -> None:
    """Split a model over the processes, layer by layer, in place."""
    from torch.distributed.fsdp import fully_shard

    if processes.world == 1:
        raise InputError(
            "--shard splits a model over several processes, and there is one; start them with "
            "`accelerate launch --num_processes N -m fullbench critic train ...`"
        )
    whole = set(getattr(model, "_no_split_modules", None) or ())
    for module in model.modules():
        if type(module).__name__ in whole:
            fully_shard(module)
    fully_shard(model)


def is_sharded(model: Any) -> bool:
    """Whether a model's weights are whole only inside its own forward pass."""
    from torch.distributed.fsdp import FSDPModule

    return isinstance(model, FSDPModule)


def whole_state(model: Any, optimizer: Any) -> dict[str, Any]:
    """The trained weights and the optimizer's state, gathered; every process takes part, the first one gets them."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    weights = {name: value for name, value in whole_weights(model).items() if name in trained}
    return {"weights": weights, "optimizer": get_optimizer_state_dict(model, optimizer, options=options)}


def whole_weights(model: Any) -> dict[str, Any]:
    """All weights, gathered; every process takes part, the first one gets them."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights: dict[str, Any] = get_model_state_dict(model, options=options)
    return weights


def take_state(model: Any, optimizer: Any, state: dict[str, Any]) -> None:
    """Put gathered weights and optimizer state back, each process its share."""
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        set_model_state_dict,
        set_optimizer_state_dict,
    )

    options = StateDictOptions(full_state_dict=True, strict=False)
    set_model_state_dict(model, state["weights"], options=options)
    set_optimizer_state_dict(model, optimizer, state["optimizer"], options=options)
