"""One process or many. `torchrun` and `accelerate launch` tell each process its number in the same variables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


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
