"""Tuning a generator by what a judge prefers among its own pictures.

`best` (rejection sampling; Dong et al. 2023, arXiv:2304.06767): learn the pictures that won. `weighted` (Lee et al.
2023, arXiv:2302.12192): learn all of them, those that won more more. `dpo` (Diffusion-DPO, Wallace et al. 2023,
arXiv:2311.12908): take the noise out of the preferred picture better than the network it began as, and out of the other
one worse. `ddpo` draws anew in every round and is in `ddpo`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import torch

from fullbench.core.digests import digest
from fullbench.errors import InputError
from fullbench.training.generator import checkpoints

Way = Literal["best", "weighted", "dpo", "ddpo"]


class Tunable(Protocol):
    """A generator that can be tuned."""

    device: str

    @property
    def trained(self) -> Any:
        """The network whose weights change."""

    def conditions(self, prompts: Sequence[str]) -> Any: ...

    def errors(self, network: Any, pictures: Any, conditions: Any, noise: Any, moments: Any) -> Any: ...

    def moments(self, uniform: Any) -> Any:
        """How far along the way to noise pictures are when they are learned from, given numbers between 0 and 1."""

    def arithmetic(self) -> Any: ...

    @property
    def steps(self) -> int:
        """In how many steps it draws."""

    @property
    def guidance(self) -> float:
        """How far a drawing is led away from the empty prompt; 1: not at all."""

    def start(self, seeds: Sequence[int]) -> Any:
        """What drawings begin as, each by its seed alone."""

    def parts_of(self, network: Any, noisy: Any, conditions: Any, moments: Any) -> tuple[Any, Any]:
        """The picture and the noise that a network sees in what is on the way between them."""

    def levels(self, moment: float) -> tuple[float, float]:
        """How much of the picture and of the noise is there at a moment."""

    def pictures(self, latents: Any) -> list[bytes]:
        """What was drawn, as files."""


@dataclass(frozen=True)
class Manner:
    """How a generator is tuned.

    `beta` is how much a difference of errors counts in `dpo`: higher stays closer to the beginning; `anchor` adds the
    plain error of the preferred picture there, so many times, against both errors growing together. `steps` batches
    are learned from, or what `epochs` passes over the pictures make where that is left out. The rate falls to nothing
    along a cosine, and the weights at the end are a running mean (`mean`; 0: the last ones), which draw better.

    In `ddpo` it draws pictures of `round_prompts` prompts in each of `rounds` rounds and learns from them once, with
    the last weights; a step is not taken further where it has changed how likely a picture is by the share `within`.
    """

    way: Way = "best"
    beta: float = 1000.0
    anchor: float = 1.0
    lr: float = 5e-5
    batch: int = 256
    epochs: float = 8.0
    steps: int | None = None
    warmup: int = 10
    clip: float = 1.0
    mean: float = 0.98
    seed: int = 0
    rounds: int = 10
    round_prompts: int = 32
    within: float = 1e-3

    def __post_init__(self) -> None:
        if self.way not in get_args(Way):
            raise InputError(f"unknown way {self.way!r} to tune; known: {', '.join(get_args(Way))}")
        for name in ("beta", "lr", "batch", "epochs", "clip", "rounds", "round_prompts", "within"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0; found {getattr(self, name)}")
        if not 0 <= self.mean < 1:
            raise InputError(f"mean lies from 0 to below 1; found {self.mean}")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"steps is 1 or more; found {self.steps}")

    @property
    def values(self) -> dict[str, Any]:
        return asdict(self)

    def count(self, rows: int) -> int:
        """How many batches are learned from."""
        return self.steps or max(1, round(self.epochs * rows / min(self.batch, rows)))


@dataclass(frozen=True)
class Feedback:
    """Pictures with their prompts: the preferred ones, how much each counts, and for `dpo` those that lost to them."""

    prompts: Sequence[str]
    better: Any
    weights: Any = None
    worse: Any = None

    def __len__(self) -> int:
        return len(self.prompts)

    def digest(self) -> str:
        """What tells this feedback from other feedback."""
        tensors = [part for part in (self.better, self.weights, self.worse) if part is not None]
        return digest([list(self.prompts), [[float(part.double().sum()), list(part.shape)] for part in tensors]])


class Pace:
    """When to save: not before learning has taken so many times as long as saving does, since a checkpoint of all
    weights of a large network takes longer than the steps between two of them.

    How long the first takes is guessed by its size: a gigabyte a second.
    """

    def __init__(self, size: int, times: float = 20.0) -> None:
        self._times, self._spent, self._ended = times, size / 1e9, time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self._ended >= self._times * self._spent

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._ended = time.monotonic()
        self._spent = self._ended - self._began


Step = Callable[[int, int, float], None]
"""Told the step, how many there are, and the loss."""


def tune(
    generator: Tunable,
    base: Tunable,
    feedback: Feedback,
    manner: Manner,
    *,
    state: Path | None = None,
    save_every: int = 50,
    say: Step = lambda *_: None,
) -> list[float]:
    """Tune `generator` in place; `base` is what it began as. Gives the loss of each step.

    With `state`, a file, it is saved there every so many steps, and goes on from there when it is called again with
    the same feedback and manner.
    """
    if not len(feedback):
        raise InputError("the judge preferred no picture to another, so that there is nothing to learn")
    if manner.way == "dpo" and feedback.worse is None:
        raise InputError("dpo learns from pairs, and no picture that lost was given")
    run = _Run(generator, base, feedback, manner)
    run.resume(state)
    generator.trained.train()
    saving = Pace(run.size_of_state)
    while run.step < run.steps:
        loss = run.learn()
        say(run.step, run.steps, loss)
        if state is not None and ((run.step % save_every == 0 and saving.due()) or run.step == run.steps):
            with saving:
                run.save(state)
    run.end()
    generator.trained.eval()
    return run.losses


class _Run:
    """One run of tuning: all that a checkpoint must hold."""

    def __init__(self, generator: Tunable, base: Tunable, feedback: Feedback, manner: Manner) -> None:
        self.generator, self.base, self.feedback, self.manner = generator, base, feedback, manner
        device = generator.device
        self.weights = [weight for weight in generator.trained.parameters() if weight.requires_grad]
        fused = device.startswith("cuda")
        self.optimizer = torch.optim.AdamW(self.weights, lr=manner.lr, weight_decay=0.0, fused=fused)
        self.noise = torch.Generator(device).manual_seed(manner.seed)
        self.conditions = generator.conditions(feedback.prompts)
        self.size = min(manner.batch, len(feedback))
        self.at_once = self.size
        self.steps, self.step = manner.count(len(feedback)), 0
        self.order = torch.empty(0, dtype=torch.long, device=device)
        self.losses: list[float] = []
        self.means = [weight.detach().clone() for weight in self.weights] if manner.mean else []

    def learn(self) -> float:
        """One batch."""
        manner = self.manner
        for group in self.optimizer.param_groups:
            falling = 0.5 * (1 + math.cos(math.pi * self.step / self.steps))
            group["lr"] = manner.lr * falling * min(1.0, (self.step + 1) / (manner.warmup + 1))
        loss = self._backward()
        torch.nn.utils.clip_grad_norm_(self.weights, manner.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.means:
            keep = min(manner.mean, (self.step + 1) / (self.step + 10))
            with torch.no_grad():
                torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], 1 - keep)
        self.step += 1
        self.losses.append(loss)
        return self.losses[-1]

    def end(self) -> None:
        """Put the running mean in the place of the last weights."""
        with torch.no_grad():
            for weight, mean in zip(self.weights, self.means, strict=False):
                weight.copy_(mean)

    def _chosen(self) -> Any:
        device, rows = self.generator.device, len(self.feedback)
        if len(self.order) < self.size:
            self.order = torch.cat([self.order, torch.randperm(rows, device=device, generator=self.noise)])
        chosen, self.order = self.order[: self.size], self.order[self.size :]
        return chosen

    def _backward(self) -> float:
        """The loss of a batch, with its gradients; in parts where the device has too little memory for all of it."""
        generator, device = self.generator, self.generator.device
        chosen = self._chosen()
        shape = (len(chosen), *self.feedback.better.shape[1:])
        drawn = torch.randn(shape, device=device, generator=self.noise)
        moments = generator.moments(torch.rand(len(chosen), device=device, generator=self.noise))
        while True:
            try:
                return sum(
                    self._part(chosen, drawn, moments, slice(start, start + self.at_once))
                    for start in range(0, len(chosen), self.at_once)
                )
            except torch.cuda.OutOfMemoryError as error:
                self.optimizer.zero_grad(set_to_none=True)
                torch.cuda.empty_cache()
                if self.at_once == 1:
                    raise InputError(
                        "the device has too little memory to learn from one picture; use --lora, or draw smaller ones"
                    ) from error
                half = self.at_once // 2
                sys.stderr.write(
                    f"learning: too little memory for {self.at_once:,} pictures at once; {half:,} now, added up\n"
                )
                self.at_once = half

    def _part(self, chosen: Any, drawn: Any, moments: Any, part: slice) -> float:
        """A part of a batch: what it adds to the batch's loss and gradients."""
        share = len(chosen[part]) / len(chosen)
        if self.feedback.weights is not None:
            weights = self.feedback.weights[chosen.cpu()]
            share = float(weights[part].sum() / weights.sum().clamp_min(1e-6))
        with self.generator.arithmetic():
            loss = self._loss(chosen[part], drawn[part], moments[part]) * share
        loss.backward()
        return float(loss.detach())

    def _loss(self, chosen: Any, drawn: Any, moments: Any) -> Any:
        generator, feedback, manner, network = self.generator, self.feedback, self.manner, self.generator.trained
        places, device = chosen.cpu(), generator.device
        better = feedback.better[places].to(device)
        if manner.way != "dpo":
            right = generator.errors(network, better, self.conditions[chosen], drawn, moments)
            if feedback.weights is None:
                return right.mean()
            weights = feedback.weights[places].to(device)
            return (right * weights).sum() / weights.sum().clamp_min(1e-6)
        # Both pictures of a pair in one pass, with the same noise.
        both = torch.cat([better, feedback.worse[places].to(device)])
        asked = (self.conditions[chosen.repeat(2)], torch.cat([drawn, drawn]), moments.repeat(2))
        right, wrong = generator.errors(network, both, *asked).chunk(2)
        with torch.no_grad():
            right_before, wrong_before = generator.errors(self.base.trained, both, *asked).chunk(2)
        margin = (wrong - wrong_before) - (right - right_before)
        # Over beta, so that the size of a step does not depend on it.
        preference = -torch.nn.functional.logsigmoid(manner.beta * margin).mean() * 2 / manner.beta
        return manner.anchor * right.mean() + preference

    @property
    def size_of_state(self) -> int:
        """About how many bytes a checkpoint has: the weights, their means and the optimizer's two moments."""
        return sum(int(weight.nbytes) for weight in self.weights) * (4 if self.means else 3)

    @property
    def identity(self) -> str:
        return digest([self.manner.values, self.feedback.digest(), len(self.weights)])

    def save(self, state: Path) -> None:
        """All that the run needs to go on."""
        checkpoints.save(
            state, self.identity, self.weights, self.optimizer, step=self.step, order=self.order, losses=self.losses,
            means=[mean.cpu() for mean in self.means], noise=self.noise.get_state(),
        )  # fmt: skip

    def resume(self, state: Path | None) -> None:
        """Go on from a checkpoint of the same run, where there is one."""
        saved = checkpoints.resumed(state, self.identity, self.weights, self.optimizer)
        if saved is None:
            return
        checkpoints.copy_into(self.means, saved["means"])
        self.noise.set_state(saved["noise"])
        self.step, self.losses = saved["step"], saved["losses"]
        self.order = saved["order"].to(self.generator.device)
