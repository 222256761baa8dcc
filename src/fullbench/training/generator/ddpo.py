"""`ddpo`: drawing as a policy that is rewarded (DDPO, Black et al. 2023, arXiv:2305.13301).

In every round the generator draws, the judge marks the pictures, and the steps of better pictures of a prompt become
likelier. A step is random because part of the predicted noise is replaced by fresh noise. The noise level stays that of
its moment, as the sampler of Song et al. 2021 (arXiv:2010.02502, equation 12) allows for noise prediction, and likewise
for flows. The ratio is clipped as in PPO.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.training.generator import checkpoints
from fullbench.training.generator.judge_preference_tuning_methods import StepCallback, Tunable, TuningSettings
from fullbench.training.gpu_attention_and_gradient_checks import avoid_cudnn_attention, refuse_lost_gradients

FRESH_NOISE_SHARE = 0.7
"""Share of fresh noise in every step: less explores too little, more blurs drawings of few steps."""
MAX_ADVANTAGE = 5.0
"""Advantages are clipped here, so that one lucky picture does not decide a round."""

Reward = Callable[[int, Sequence[int], Sequence[Sequence[bytes]]], "list[list[float | None]] | None"]
"""Gets the round, the indices of its prompts and their pictures; returns a mark for each, or None if stopped."""


@dataclass
class PolicyResult:
    """Loss of each step and mean mark of each round; `is_complete` is False if training was stopped."""

    losses: list[float] = field(default_factory=list)
    marks: list[float] = field(default_factory=list)
    is_complete: bool = False


@dataclass(frozen=True)
class _Path:
    prompt_indices: torch.Tensor
    latents: Any
    log_likelihoods: Any


def train_policy(
    generator: Tunable,
    prompts: Sequence[str],
    samples: int,
    reward: Reward,
    settings: TuningSettings,
    *,
    state: Path | None = None,
    say: StepCallback = lambda *_: None,
) -> PolicyResult:
    """Draw, get marks and train in place, in rounds.

    Args:
        generator: The generator in training.
        prompts: Prompts to draw.
        samples: Pictures of each prompt and round.
        reward: Function that marks the pictures.
        settings: Settings of the tuning.
        state: File from which a run resumes after its last round, pixel for pixel.
        say: Gets each step.
    """
    run = _Policy(generator, prompts, samples, settings)
    run.resume(state)
    generator.trained_network.eval()
    while run.round < settings.rounds:
        if not run.learn(reward):
            return run.policy_result
        say(run.round, settings.rounds, run.policy_result.marks[-1])
        if state is not None:
            run.save(state)
    run.policy_result.is_complete = True
    return run.policy_result


class _Policy:
    def __init__(self, generator: Tunable, prompts: Sequence[str], samples: int, settings: TuningSettings) -> None:
        avoid_cudnn_attention(generator.device)
        self.generator, self.prompts, self.samples, self.settings = generator, prompts, samples, settings
        self.weights = [weight for weight in generator.trained_network.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=settings.lr, weight_decay=0.0)
        self.round, self.policy_result = 0, PolicyResult()
        self.conditions = generator.conditions(prompts)
        self.empty_condition = generator.conditions([""]) if generator.guidance != 1.0 else None
        self.moments = [1 - step / generator.steps for step in range(generator.steps + 1)]

    def round_prompt_indices(self) -> list[int]:
        """All prompts in turn, in a new order in every pass."""
        count, size = len(self.prompts), min(self.settings.round_prompts, len(self.prompts))
        prompt_indices: list[int] = []
        for position in range(self.round * size, (self.round + 1) * size):
            order = torch.randperm(count, generator=self._seeded_generator("order", position // count))
            prompt_indices.append(int(order[position % count]))
        return sorted(set(prompt_indices))

    def _seeded_generator(self, *what: Any) -> torch.Generator:
        return torch.Generator().manual_seed(int(digest([self.settings.seed, *what])[:12], 16))

    def learn(self, reward: Reward) -> bool:
        prompt_indices = self.round_prompt_indices()
        rows = [(index, sample) for index in prompt_indices for sample in range(self.samples)]
        size = self.settings.batch
        paths, pictures = [], []
        for start in range(0, len(rows), size):
            path = self._draw_path(rows[start : start + size])
            paths.append(path)
            pictures += self.generator.pictures(path.latents[-1])
        groups = [pictures[start : start + self.samples] for start in range(0, len(pictures), self.samples)]
        marks = reward(self.round, prompt_indices, groups)
        if marks is None:
            return False
        advantages = torch.tensor(_picture_advantages(marks))
        known_marks = [mark for group in marks for mark in group if mark is not None]
        order = torch.randperm(len(paths), generator=self._seeded_generator("batches", self.round)).tolist()
        for index in order:
            batch_advantages = advantages[index * size : (index + 1) * size]
            if bool((batch_advantages != 0).any()):
                self.policy_result.losses.append(
                    self._update_weights(paths[index], batch_advantages.to(self.generator.device))
                )
        self.policy_result.marks.append(sum(known_marks) / len(known_marks) if known_marks else math.nan)
        self.round += 1
        return True

    def _draw_path(self, rows: Sequence[tuple[int, int]]) -> _Path:
        """All randomness comes from seeds of the round, the prompt and the sample."""
        seeds = [int(digest([self.settings.seed, self.round, self.prompts[p], s])[:12], 16) for p, s in rows]
        noise_generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        prompt_indices = torch.tensor([prompt_index for prompt_index, _ in rows])
        latents = self.generator.start(seeds)
        latents_by_step, log_likelihoods = [latents], []
        with torch.no_grad():
            for now, then in pairwise(self.moments):
                mean, spread = self._predict_step(latents, prompt_indices, now, then)
                fresh_noise = torch.stack(
                    [torch.randn(latents.shape[1:], generator=noise) for noise in noise_generators]
                )
                latents = mean + spread * fresh_noise.to(mean.device)
                latents_by_step.append(latents)
                log_likelihoods.append(_step_log_likelihood(latents, mean, spread))
        return _Path(prompt_indices, latents_by_step, log_likelihoods)

    def _predict_step(self, latents: Any, prompt_indices: Any, now: float, then: float) -> tuple[Any, float]:
        """Mean and standard deviation of the next latents."""
        generator, network = self.generator, self.generator.trained_network
        conditions = self.conditions[prompt_indices]
        moments = torch.full((len(latents),), now, device=latents.device)
        with generator.arithmetic():
            clean, noise = generator.parts_of(network, latents, conditions, moments)
            if self.empty_condition is not None:
                zero_indices = torch.zeros(len(latents), dtype=torch.long)
                free_clean, free_noise = generator.parts_of(
                    network, latents, self.empty_condition[zero_indices], moments
                )
                clean = free_clean + generator.guidance * (clean - free_clean)
                noise = free_noise + generator.guidance * (noise - free_noise)
        signal, level = generator.levels(then)
        return signal * clean + level * math.sqrt(1 - FRESH_NOISE_SHARE**2) * noise, level * FRESH_NOISE_SHARE

    def _update_weights(self, path: _Path, advantages: Any) -> float:
        total, clip_range = 0.0, self.settings.within
        random_steps = [step for step, (_, then) in enumerate(pairwise(self.moments)) if self.generator.levels(then)[1]]
        for step in random_steps:
            mean, spread = self._predict_step(
                path.latents[step], path.prompt_indices, self.moments[step], self.moments[step + 1]
            )  # fmt: skip
            ratio = (_step_log_likelihood(path.latents[step + 1], mean, spread) - path.log_likelihoods[step]).exp()
            clipped_ratio = ratio.clamp(1 - clip_range, 1 + clip_range)
            loss = torch.maximum(-advantages * ratio, -advantages * clipped_ratio).mean() / len(random_steps)
            loss.backward()
            total += float(loss.detach())
        norm = torch.nn.utils.clip_grad_norm_(self.weights, self.settings.clip)
        refuse_lost_gradients(norm, len(self.policy_result.losses) + 1)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    @property
    def identity(self) -> str:
        return digest([self.settings.values, list(self.prompts), self.samples, len(self.weights)])

    def save(self, state: Path) -> None:
        checkpoints.save_checkpoint(
            state, self.identity, self.weights, self.optimizer, round=self.round, losses=self.policy_result.losses,
            marks=self.policy_result.marks,
        )  # fmt: skip

    def resume(self, state: Path | None) -> None:
        checkpoint = checkpoints.resume_checkpoint(state, self.identity, self.weights, self.optimizer)
        if checkpoint is not None:
            self.round = checkpoint["round"]
            self.policy_result = PolicyResult(checkpoint["losses"], checkpoint["marks"])


def _step_log_likelihood(next_latents: Any, mean: Any, spread: float) -> Any:
    """Mean over the elements of each step, up to a constant."""
    if not spread:
        return torch.zeros(len(next_latents), device=next_latents.device)
    return -((next_latents - mean).pow(2) / (2 * spread**2)).mean(dim=(1, 2, 3))


def _picture_advantages(marks: Sequence[Sequence[float | None]]) -> list[float]:
    """Mark minus the mean of its prompt, in standard deviations of the round; 0 for a picture without a mark."""
    rows: list[float] = []
    for group in marks:
        known_marks = [mark for mark in group if mark is not None]
        mean_mark = sum(known_marks) / len(known_marks) if known_marks else 0.0
        rows += [0.0 if mark is None else mark - mean_mark for mark in group]
    deviation = math.sqrt(sum(row * row for row in rows) / max(len(rows), 1))
    return [max(-MAX_ADVANTAGE, min(MAX_ADVANTAGE, row / deviation)) if deviation else 0.0 for row in rows]
