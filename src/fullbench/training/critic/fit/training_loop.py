"""The training loop: plain torch, so that it runs wherever torch does.

Every step is a function of the settings, the step's number and the weights: the order of examples and the noise of
dropout come from the seed and the step. So a run that was killed goes on with the losses it would have had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from fullbench.training.critic.data.encoding import Example, members, micro_batches, row_width, steps_of
from fullbench.training.critic.data.tensors import collate
from fullbench.training.critic.fit.checkpoints import Kept, Line
from fullbench.training.critic.fit.distributed import Processes, is_sharded, take_state, whole_state
from fullbench.training.critic.fit.forward import BLOCK, compile_layers
from fullbench.training.critic.fit.objectives import Objective
from fullbench.training.critic.training_settings import Settings


def never() -> bool:
    """Nobody wants to stop."""
    return False


class Watch(Protocol):
    """Whoever wants to know how it goes."""

    def step(self, done: int, steps: int, loss: float, tokens: int, seconds: float) -> None: ...


@dataclass
class Loop:
    """A model that learns from examples.

    `bfloat16` makes arithmetic half precision; weights and the optimizer stay in single precision, since a step of
    1e-5 is lost in half. `stop` is asked after each step; when it says so, the state is kept and the loop ends.
    """

    model: Any
    objective: Objective
    examples: Sequence[Example]
    settings: Settings
    pad: int = 0
    bfloat16: bool = False
    processes: Processes = field(default_factory=Processes)
    kept: Kept | None = None
    watch: Watch | None = None
    stop: Callable[[], bool] = never

    def __post_init__(self) -> None:
        import torch

        self.parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        matrices = [parameter for parameter in self.parameters if parameter.dim() > 1]
        rest = [parameter for parameter in self.parameters if parameter.dim() <= 1]
        self.sharded = is_sharded(self.model)
        groups = [{"params": matrices, "weight_decay": self.settings.weight_decay}]
        groups += [{"params": rest, "weight_decay": 0.0}] if rest else []
        fused = self.processes.device.startswith("cuda")
        self.optimizer = torch.optim.AdamW(groups, lr=self.settings.lr, fused=fused)
        self.steps = steps_of(len(self.examples), self.settings)
        self.losses: list[Line] = []
        self.width = 0

    def compile(self) -> None:
        """Compile the layers and fill packed rows to one width, where the settings and the machine are for it."""
        cuda = self.processes.device.startswith("cuda")
        tokens = sum(example.tokens for example in self.examples)
        if self.settings.compiled(cuda, round(self.settings.epochs * tokens)):
            width = row_width(self.examples, self.settings)
            self.width = -(-width // BLOCK) * BLOCK
            compile_layers(self.model)

    def run(self) -> bool:
        """Train to the end, from where the last checkpoint left off; False where it was stopped before."""
        if not self.sharded:
            self.processes.same(self.parameters)
        self._resume()
        self.compile()
        self.model.train()
        while len(self.losses) < self.steps:
            self._advance()
            done = len(self.losses)
            halted = self.processes.any(self.stop())
            if halted or done == self.steps or done % self.settings.save_every == 0:
                self._save()
            if halted and done < self.steps:
                return False
        return True

    def _advance(self) -> None:
        started, step = time.perf_counter(), len(self.losses)
        loss, tokens = self.step(step)
        loss_value = float(loss)
        spent = time.perf_counter() - started
        rate = self.settings.rate(step, self.steps)
        self.losses.append({"step": step, "loss": loss_value, "lr": rate, "tokens": tokens, "seconds": spent})
        if self.watch is not None and self.processes.first:
            self.watch.step(step + 1, self.steps, loss_value, tokens, spent)

    def step(self, step: int) -> tuple[Any, int]:
        """One step: the mean loss over its examples, as a tensor, and how many tokens went through, over all
        processes."""
        import torch

        chosen = [self.examples[place] for place in members(step, len(self.examples), self.settings)]
        count = self.objective.count(chosen)
        tokens = sum(example.tokens for example in chosen)
        torch.manual_seed(hash((self.settings.seed, step, self.processes.rank)) % 2**63)
        loss = torch.zeros((), device=self.processes.device)
        for rows, weight in self._share(micro_batches(chosen, self.settings)):
            batch = collate(chosen, rows, packed=self.settings.pack, pad=self.pad, width=self.width)
            with self.arithmetic():
                part = self.objective.total(self.model, batch.to(self.processes.device)) * (weight / count)
            # sharded gradients are averaged over the processes as they come, and a sum is wanted
            (part * self.processes.world if self.sharded else part).backward()
            loss += part.detach()
        self.processes.add([loss] if self.sharded else [loss, *self._gradients()])
        torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(step, self.steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss, tokens

    def _share(self, groups: list[list[list[int]]]) -> list[tuple[list[list[int]], float]]:
        """This process's micro-batches and their weights.

        Sharded layers are borrowed from the others at every pass, so all processes make equally many; one that has
        run out of rows repeats one that counts for nothing.
        """
        world = self.processes.world
        own = [(rows, 1.0) for rows in groups[self.processes.rank :: world]]
        return own + [(groups[0], 0.0)] * (-(-len(groups) // world) - len(own)) if self.sharded else own

    def _gradients(self) -> list[Any]:
        """All gradients, with zeros where this process had no row, so that sums over processes meet."""
        import torch

        if self.processes.world > 1:
            for parameter in self.parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    def arithmetic(self) -> Any:
        """The precision that sums are made in."""
        import torch

        kind = "cuda" if self.processes.device.startswith("cuda") else "cpu"
        return torch.autocast(kind, dtype=torch.bfloat16) if self.bfloat16 else nullcontext()

    def _resume(self) -> None:
        saved = None if self.kept is None else self.kept.load(self.processes.device)
        if saved is None:
            return
        state, self.losses = saved
        if self.sharded:
            take_state(self.model, self.optimizer, state)
            return
        trained = {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        for name, value in state["weights"].items():
            trained[name].data.copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])

    def _save(self) -> None:
        if self.kept is None or not (self.processes.first or self.sharded):
            return
        state = whole_state(self.model, self.optimizer) if self.sharded else self._state()
        if self.processes.first:
            self.kept.save({**state, "losses": self.losses}, self.losses)

    def _state(self) -> dict[str, Any]:
        trained = {
            name: parameter.detach() for name, parameter in self.model.named_parameters() if parameter.requires_grad
        }
        return {"weights": trained, "optimizer": self.optimizer.state_dict()}
