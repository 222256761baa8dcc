"""Training loop in plain torch, so that it runs wherever torch does.

Every step is a function of the settings, the step number and the weights: example order and dropout follow from the
seed and the step. So a killed run resumes with the losses it would have had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from fullbench.errors import InputError
from fullbench.training.critic.data.encoding import Example, count_steps, micro_batches, row_width, step_indices
from fullbench.training.critic.data.tensors import collate_batch
from fullbench.training.critic.fit.checkpoints import LossRow, RunFolder
from fullbench.training.critic.fit.distributed_training import Processes, gather_state, is_sharded, restore_state
from fullbench.training.critic.fit.forward import BLOCK, SMALLEST_HEAD, attention_head_width, compile_layers
from fullbench.training.critic.fit.objectives import Objective
from fullbench.training.critic.training_settings import Settings
from fullbench.training.gpu_attention_and_gradient_checks import refuse_lost_gradients


def never_stop() -> bool:
    """Return False: default of `Loop.stop`."""
    return False


class Watch(Protocol):
    """Observer of training progress."""

    def step(self, finished_steps: int, steps: int, loss: float, tokens: int, seconds: float) -> None: ...


@dataclass
class Loop:
    """Training of a model on examples.

    With `bfloat16`, arithmetic has half precision. Weights and optimizer keep single precision, because a step of 1e-5
    is lost in half precision. `stop` is called after each step; if it returns True, the state is saved and the loop
    ends.
    """

    model: Any
    objective: Objective
    examples: Sequence[Example]
    settings: Settings
    pad: int = 0
    bfloat16: bool = False
    processes: Processes = field(default_factory=Processes)
    run_folder: RunFolder | None = None
    watch: Watch | None = None
    stop: Callable[[], bool] = never_stop

    def __post_init__(self) -> None:
        import torch

        self.parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        matrices = [parameter for parameter in self.parameters if parameter.dim() > 1]
        vectors = [parameter for parameter in self.parameters if parameter.dim() <= 1]
        self.is_sharded = is_sharded(self.model)
        groups = [{"params": matrices, "weight_decay": self.settings.weight_decay}]
        groups += [{"params": vectors, "weight_decay": 0.0}] if vectors else []
        use_fused = self.processes.device.startswith("cuda")
        self.optimizer = torch.optim.AdamW(groups, lr=self.settings.lr, fused=use_fused)
        self.steps = count_steps(len(self.examples), self.settings)
        self.losses: list[LossRow] = []
        self.width = 0

    def compile(self) -> None:
        """Compile the layers and pad packed rows to one width, if the settings and the machine allow it."""
        cuda = self.processes.device.startswith("cuda")
        tokens = sum(example.tokens for example in self.examples)
        if self.settings.should_compile(cuda, round(self.settings.epochs * tokens)):
            if cuda and (head_width := attention_head_width(self.model)) < SMALLEST_HEAD:
                if self.settings.compile == "auto":
                    return
                raise InputError(
                    f"compiled layers need attention heads of {SMALLEST_HEAD} or more dimensions, and this base model "
                    f"has {head_width}; leave out --compile always"
                )
            width = row_width(self.examples, self.settings)
            self.width = -(-width // BLOCK) * BLOCK
            compile_layers(self.model)

    def run(self) -> bool:
        """Train to the end, starting from the last checkpoint; return False if stopped before."""
        if not self.is_sharded:
            self.processes.broadcast_weights(self.parameters)
        self._resume()
        self.compile()
        self.model.train()
        while len(self.losses) < self.steps:
            self._advance()
            finished_steps = len(self.losses)
            is_halted = self.processes.is_true_anywhere(self.stop())
            if is_halted or finished_steps == self.steps or finished_steps % self.settings.save_every == 0:
                self._save()
            if is_halted and finished_steps < self.steps:
                return False
        return True

    def _advance(self) -> None:
        start_time, step = time.perf_counter(), len(self.losses)
        loss, tokens = self.step(step)
        loss_value = float(loss)
        seconds = time.perf_counter() - start_time
        rate = self.settings.rate(step, self.steps)
        self.losses.append({"step": step, "loss": loss_value, "lr": rate, "tokens": tokens, "seconds": seconds})
        if self.watch is not None and self.processes.is_first:
            self.watch.step(step + 1, self.steps, loss_value, tokens, seconds)

    def step(self, step: int) -> tuple[Any, int]:
        """Run one step; return its mean loss as a tensor, and its number of tokens over all processes."""
        import torch

        step_examples = [self.examples[place] for place in step_indices(step, len(self.examples), self.settings)]
        count = self.objective.count(step_examples)
        tokens = sum(example.tokens for example in step_examples)
        torch.manual_seed(hash((self.settings.seed, step, self.processes.rank)) % 2**63)
        loss = torch.zeros((), device=self.processes.device)
        for rows, weight in self._share(micro_batches(step_examples, self.settings)):
            batch = collate_batch(step_examples, rows, is_packed=self.settings.pack, pad=self.pad, width=self.width)
            with self.arithmetic():
                part = self.objective.total(self.model, batch.to(self.processes.device)) * (weight / count)
            # Sharded gradients are averaged over the processes, but a sum is needed.
            (part * self.processes.world if self.is_sharded else part).backward()
            loss += part.detach()
        self.processes.sum_tensors([loss] if self.is_sharded else [loss, *self._gradients()])
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
        refuse_lost_gradients(norm, step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(step, self.steps)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss, tokens

    def _share(self, groups: list[list[list[int]]]) -> list[tuple[list[list[int]], float]]:
        """Sharded layers are gathered in every pass, so a process without rows repeats one with weight 0."""
        world = self.processes.world
        own_batches = [(rows, 1.0) for rows in groups[self.processes.rank :: world]]
        return (
            own_batches + [(groups[0], 0.0)] * (-(-len(groups) // world) - len(own_batches))
            if self.is_sharded
            else own_batches
        )

    def _gradients(self) -> list[Any]:
        """Fill in zeros if this process had no row, because sums over processes need every gradient."""
        import torch

        if self.processes.world > 1:
            for parameter in self.parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    def arithmetic(self) -> Any:
        """Return the context that sets the precision of arithmetic."""
        import torch

        kind = "cuda" if self.processes.device.startswith("cuda") else "cpu"
        return torch.autocast(kind, dtype=torch.bfloat16) if self.bfloat16 else nullcontext()

    def _resume(self) -> None:
        checkpoint = None if self.run_folder is None else self.run_folder.load(self.processes.device)
        if checkpoint is None:
            return
        state, self.losses = checkpoint
        if self.is_sharded:
            restore_state(self.model, self.optimizer, state)
            return
        trained_parameters = {
            name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad
        }
        for name, value in state["weights"].items():
            trained_parameters[name].data.copy_(value)
        self.optimizer.load_state_dict(state["optimizer"])

    def _save(self) -> None:
        if self.run_folder is None or not (self.processes.is_first or self.is_sharded):
            return
        state = gather_state(self.model, self.optimizer) if self.is_sharded else self._state()
        if self.processes.is_first:
            self.run_folder.save({**state, "losses": self.losses}, self.losses)

    def _state(self) -> dict[str, Any]:
        trained_weights = {
            name: parameter.detach() for name, parameter in self.model.named_parameters() if parameter.requires_grad
        }
        return {"weights": trained_weights, "optimizer": self.optimizer.state_dict()}
