"""Tuning of a generator by a judge's preferences among its own pictures.

`best` (rejection sampling; Dong et al. 2023, arXiv:2304.06767): learn the pictures that won. `weighted` (Lee et al.
2023, arXiv:2302.12192): learn all, with larger weights for better ones. `dpo` (Diffusion-DPO, Wallace et al. 2023,
arXiv:2311.12908): denoise the preferred picture better than the initial network does, and the other one worse. `ddpo`
draws again in every round; see the module `ddpo`.
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

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.errors import InputError
from fullbench.training.generator import checkpoints
from fullbench.training.gpu_attention_and_gradient_checks import avoid_cudnn_attention, refuse_lost_gradients

TuningMethod = Literal["best", "weighted", "dpo", "ddpo"]


class Tunable(Protocol):
    """Generator that can be tuned."""

    device: str

    @property
    def trained_network(self) -> Any:
        """Network whose weights change."""

    def conditions(self, prompts: Sequence[str]) -> Any: ...

    def errors(self, network: Any, pictures: Any, conditions: Any, noise: Any, moments: Any) -> Any: ...

    def moments(self, uniform: Any) -> Any:
        """Return the noise moments to train on, from numbers between 0 and 1."""

    def arithmetic(self) -> Any: ...

    @property
    def steps(self) -> int:
        """Number of drawing steps."""

    @property
    def guidance(self) -> float:
        """Guidance scale away from the empty prompt; 1 means none."""

    def start(self, seeds: Sequence[int]) -> Any:
        """Return the initial latents of drawings, each from its seed alone."""

    def parts_of(self, network: Any, noisy: Any, conditions: Any, moments: Any) -> tuple[Any, Any]:
        """Return the clean picture and the noise that a network predicts in noisy latents."""

    def levels(self, moment: float) -> tuple[float, float]:
        """Return the levels of picture and noise at a moment."""

    def pictures(self, latents: Any) -> list[bytes]:
        """Return latents as picture files."""


@dataclass(frozen=True)
class TuningSettings:
    """Settings of generator tuning.

    In `dpo`, `beta` is the weight of a difference of errors: higher stays closer to the start. `anchor` is the weight
    of the plain error of the preferred picture, which prevents both errors from growing together. `steps` is the number
    of batches; by default it follows from `epochs` passes over the pictures. The learning rate falls to zero along a
    cosine. The final weights are a running mean with decay `mean` (0: the last weights), because means draw better.

    In `ddpo`, each of `rounds` rounds draws pictures of `round_prompts` prompts and learns from them once; the last
    weights are kept. A step has no further effect once it changed the likelihood of a picture by the share `within`.
    """

    way: TuningMethod = "best"
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
        if self.way not in get_args(TuningMethod):
            raise InputError(f"unknown method {self.way!r}; known: {', '.join(get_args(TuningMethod))}")
        for name in ("beta", "lr", "batch", "epochs", "clip", "rounds", "round_prompts", "within"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0; found {getattr(self, name)}")
        if not 0 <= self.mean < 1:
            raise InputError(f"mean is at least 0 and below 1; found {self.mean}")
        if self.steps is not None and self.steps < 1:
            raise InputError(f"steps is 1 or more; found {self.steps}")

    @property
    def values(self) -> dict[str, Any]:
        return asdict(self)

    def count_batches(self, rows: int) -> int:
        """Return the number of batches."""
        return self.steps or max(1, round(self.epochs * rows / min(self.batch, rows)))


@dataclass(frozen=True)
class Feedback:
    """Preferred pictures with their prompts, their weights, and for `dpo` the pictures that lost to them."""

    prompts: Sequence[str]
    better: Any
    weights: Any = None
    worse: Any = None

    def __len__(self) -> int:
        return len(self.prompts)

    def digest(self) -> str:
        """Return a digest that identifies this feedback."""
        tensors = [part for part in (self.better, self.weights, self.worse) if part is not None]
        return digest([list(self.prompts), [[float(part.double().sum()), list(part.shape)] for part in tensors]])


class Pace:
    """Timer that decides when to save: after learning has taken `times` as long as saving.

    A checkpoint of all weights of a large network takes longer than the steps between two of them. The first duration
    is estimated from its size, at one gigabyte per second.
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


StepCallback = Callable[[int, int, float], None]
"""Gets the step, the number of steps, and the loss."""


def tune_weights(
    generator: Tunable,
    base: Tunable,
    feedback: Feedback,
    settings: TuningSettings,
    *,
    state: Path | None = None,
    save_every: int = 50,
    say: StepCallback = lambda *_: None,
) -> list[float]:
    """Tune a generator in place; return the loss of each step.

    Args:
        generator: The generator in training.
        base: The generator as it was, from which it must not move far.
        feedback: Pictures with what the judge prefers.
        settings: Settings of the tuning.
        state: File for the progress. A call with the same feedback and settings resumes from it.
        save_every: Steps between two writes of this file.
        say: Gets each step.
    """
    if not len(feedback):
        raise InputError("the judge preferred no picture to another, so there is nothing to learn")
    if settings.way == "dpo" and feedback.worse is None:
        raise InputError("dpo learns from pairs, but no losing picture was given")
    run = _Run(generator, base, feedback, settings)
    run.resume(state)
    generator.trained_network.train()
    save_pace = Pace(run.size_of_state)
    while run.step < run.steps:
        loss = run.learn()
        say(run.step, run.steps, loss)
        if state is not None and ((run.step % save_every == 0 and save_pace.due()) or run.step == run.steps):
            with save_pace:
                run.save(state)
    run.apply_mean_weights()
    generator.trained_network.eval()
    return run.losses


class _Run:
    def __init__(self, generator: Tunable, base: Tunable, feedback: Feedback, settings: TuningSettings) -> None:
        self.generator, self.base, self.feedback, self.settings = generator, base, feedback, settings
        device = generator.device
        avoid_cudnn_attention(device)
        self.weights = [weight for weight in generator.trained_network.parameters() if weight.requires_grad]
        use_fused = device.startswith("cuda")
        self.optimizer = torch.optim.AdamW(self.weights, lr=settings.lr, weight_decay=0.0, fused=use_fused)
        self.noise = torch.Generator(device).manual_seed(settings.seed)
        self.conditions = generator.conditions(feedback.prompts)
        self.size = min(settings.batch, len(feedback))
        self.at_once = self.size
        self.steps, self.step = settings.count_batches(len(feedback)), 0
        self.order = torch.empty(0, dtype=torch.long, device=device)
        self.losses: list[float] = []
        self.means = [weight.detach().clone() for weight in self.weights] if settings.mean else []

    def learn(self) -> float:
        settings = self.settings
        for group in self.optimizer.param_groups:
            cosine_factor = 0.5 * (1 + math.cos(math.pi * self.step / self.steps))
            group["lr"] = settings.lr * cosine_factor * min(1.0, (self.step + 1) / (settings.warmup + 1))
        loss = self._backward()
        refuse_lost_gradients(torch.nn.utils.clip_grad_norm_(self.weights, settings.clip), self.step + 1)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.means:
            mean_share = min(settings.mean, (self.step + 1) / (self.step + 10))
            with torch.no_grad():
                torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], 1 - mean_share)
        self.step += 1
        self.losses.append(loss)
        return self.losses[-1]

    def apply_mean_weights(self) -> None:
        with torch.no_grad():
            for weight, mean in zip(self.weights, self.means, strict=False):
                weight.copy_(mean)

    def _next_indices(self) -> Any:
        device, rows = self.generator.device, len(self.feedback)
        if len(self.order) < self.size:
            self.order = torch.cat([self.order, torch.randperm(rows, device=device, generator=self.noise)])
        indices, self.order = self.order[: self.size], self.order[self.size :]
        return indices

    def _backward(self) -> float:
        """Compute the loss of a batch and its gradients; in parts if the device has too little memory for all."""
        generator, device = self.generator, self.generator.device
        indices = self._next_indices()
        shape = (len(indices), *self.feedback.better.shape[1:])
        noise = torch.randn(shape, device=device, generator=self.noise)
        moments = generator.moments(torch.rand(len(indices), device=device, generator=self.noise))
        while True:
            try:
                return sum(
                    self._part_loss(indices, noise, moments, slice(start, start + self.at_once))
                    for start in range(0, len(indices), self.at_once)
                )
            except torch.cuda.OutOfMemoryError as error:
                self.optimizer.zero_grad(set_to_none=True)
                torch.cuda.empty_cache()
                if self.at_once == 1:
                    raise InputError(
                        "the device has too little memory to train on one picture; use --lora, or smaller pictures"
                    ) from error
                half = self.at_once // 2
                sys.stderr.write(
                    f"learning: too little memory for {self.at_once:,} pictures at once; {half:,} now, added up\n"
                )
                self.at_once = half

    def _part_loss(self, indices: Any, noise: Any, moments: Any, part: slice) -> float:
        share = len(indices[part]) / len(indices)
        if self.feedback.weights is not None:
            weights = self.feedback.weights[indices.cpu()]
            share = float(weights[part].sum() / weights.sum().clamp_min(1e-6))
        with self.generator.arithmetic():
            loss = self._loss(indices[part], noise[part], moments[part]) * share
        loss.backward()
        return float(loss.detach())

    def _loss(self, indices: Any, noise: Any, moments: Any) -> Any:
        generator, feedback, settings, network = (
            self.generator,
            self.feedback,
            self.settings,
            self.generator.trained_network,
        )
        cpu_indices, device = indices.cpu(), generator.device
        better = feedback.better[cpu_indices].to(device)
        if settings.way != "dpo":
            right = generator.errors(network, better, self.conditions[indices], noise, moments)
            if feedback.weights is None:
                return right.mean()
            weights = feedback.weights[cpu_indices].to(device)
            return (right * weights).sum() / weights.sum().clamp_min(1e-6)
        # Both pictures of a pair in one pass, with the same noise.
        both = torch.cat([better, feedback.worse[cpu_indices].to(device)])
        network_inputs = (self.conditions[indices.repeat(2)], torch.cat([noise, noise]), moments.repeat(2))
        right, wrong = generator.errors(network, both, *network_inputs).chunk(2)
        with torch.no_grad():
            right_before, wrong_before = generator.errors(self.base.trained_network, both, *network_inputs).chunk(2)
        margin = (wrong - wrong_before) - (right - right_before)
        # Divided by beta, so that the step size does not depend on it.
        preference = -torch.nn.functional.logsigmoid(settings.beta * margin).mean() * 2 / settings.beta
        return settings.anchor * right.mean() + preference

    @property
    def size_of_state(self) -> int:
        """Approximate size of a checkpoint in bytes: weights, their means and the optimizer's two moments."""
        return sum(int(weight.nbytes) for weight in self.weights) * (4 if self.means else 3)

    @property
    def identity(self) -> str:
        return digest([self.settings.values, self.feedback.digest(), len(self.weights)])

    def save(self, state: Path) -> None:
        checkpoints.save_checkpoint(
            state, self.identity, self.weights, self.optimizer, step=self.step, order=self.order, losses=self.losses,
            means=[mean.cpu() for mean in self.means], noise=self.noise.get_state(),
        )  # fmt: skip

    def resume(self, state: Path | None) -> None:
        checkpoint = checkpoints.resume_checkpoint(state, self.identity, self.weights, self.optimizer)
        if checkpoint is None:
            return
        checkpoints.copy_into(self.means, checkpoint["means"])
        self.noise.set_state(checkpoint["noise"])
        self.step, self.losses = checkpoint["step"], checkpoint["losses"]
        self.order = checkpoint["order"].to(self.generator.device)
