"""`ddpo`: drawing as a policy that is rewarded (DDPO, Black et al. 2023, arXiv:2305.13301).

In every round the generator draws, the judge marks what was drawn, and each step of each drawing becomes likelier where
its picture was better than the others of its prompt. A step is random because part of the noise that the network sees
is replaced by fresh noise: the level of noise stays that of its moment, as the sampler of Song et al. 2021
(arXiv:2010.02502, equation 12) allows for networks of noise, and likewise for flows. The ratio is clipped as in PPO.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from fullbench.core.digests import digest
from fullbench.training.generator import checkpoints
from fullbench.training.generator.preference_tuning import Manner, Step, Tunable

FRESH = 0.7
"""The share of the noise that is fresh in every step: less explores too little, more blurs what few steps draw."""
FURTHEST = 5.0
"""Advantages are cut here, so that one lucky picture does not decide a round."""

Reward = Callable[[int, Sequence[int], Sequence[Sequence[bytes]]], "list[list[float | None]] | None"]
"""Told the round, the places of its prompts and their pictures; gives a mark for each, or None where it was stopped."""


@dataclass
class Learned:
    """The loss of each step, and the mean mark of each round; `whole` where it was not stopped."""

    losses: list[float] = field(default_factory=list)
    marks: list[float] = field(default_factory=list)
    whole: bool = False


@dataclass(frozen=True)
class _Path:
    """One drawing after the other: what was there at each moment, and how likely each step was."""

    places: torch.Tensor
    stops: Any
    likely: Any


def improve(
    generator: Tunable,
    prompts: Sequence[str],
    samples: int,
    reward: Reward,
    manner: Manner,
    *,
    state: Path | None = None,
    say: Step = lambda *_: None,
) -> Learned:
    """Let a generator draw, be marked and learn, round after round, in place. With `state`, a file, it goes on from the
    last round that was learned; a round that was cut off is drawn again from the same seeds, pixel for pixel."""
    run = _Policy(generator, prompts, samples, manner)
    run.resume(state)
    generator.trained.eval()
    while run.round < manner.rounds:
        if not run.learn(reward):
            return run.learned
        say(run.round, manner.rounds, run.learned.marks[-1])
        if state is not None:
            run.save(state)
    run.learned.whole = True
    return run.learned


class _Policy:
    """One run: all that a checkpoint must hold."""

    def __init__(self, generator: Tunable, prompts: Sequence[str], samples: int, manner: Manner) -> None:
        self.generator, self.prompts, self.samples, self.manner = generator, prompts, samples, manner
        self.weights = [weight for weight in generator.trained.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=manner.lr, weight_decay=0.0)
        self.round, self.learned = 0, Learned()
        self.words = generator.conditions(prompts)
        self.free = generator.conditions([""]) if generator.guidance != 1.0 else None
        self.moments = [1 - step / generator.steps for step in range(generator.steps + 1)]

    def chosen(self) -> list[int]:
        """The prompts of this round: all in turn, in an order of their own in every pass."""
        count, size = len(self.prompts), min(self.manner.round_prompts, len(self.prompts))
        places: list[int] = []
        for place in range(self.round * size, (self.round + 1) * size):
            order = torch.randperm(count, generator=self._seeded("order", place // count))
            places.append(int(order[place % count]))
        return sorted(set(places))

    def _seeded(self, *what: Any) -> torch.Generator:
        return torch.Generator().manual_seed(int(digest([self.manner.seed, *what])[:12], 16))

    def learn(self, reward: Reward) -> bool:
        """One round; False where marking was stopped."""
        chosen = self.chosen()
        rows = [(place, sample) for place in chosen for sample in range(self.samples)]
        size = self.manner.batch
        paths, drawn = [], []
        for start in range(0, len(rows), size):
            path = self._drawn(rows[start : start + size])
            paths.append(path)
            drawn += self.generator.pictures(path.stops[-1])
        groups = [drawn[start : start + self.samples] for start in range(0, len(drawn), self.samples)]
        marks = reward(self.round, chosen, groups)
        if marks is None:
            return False
        advantages = torch.tensor(_advantages(marks))
        known = [mark for group in marks for mark in group if mark is not None]
        order = torch.randperm(len(paths), generator=self._seeded("batches", self.round)).tolist()
        for place in order:
            ahead = advantages[place * size : (place + 1) * size]
            if bool((ahead != 0).any()):
                self.learned.losses.append(self._step(paths[place], ahead.to(self.generator.device)))
        self.learned.marks.append(sum(known) / len(known) if known else math.nan)
        self.round += 1
        return True

    def _drawn(self, rows: Sequence[tuple[int, int]]) -> _Path:
        """Pictures drawn step by step; everything random comes from a seed of the round, the prompt and the sample."""
        seeds = [int(digest([self.manner.seed, self.round, self.prompts[p], s])[:12], 16) for p, s in rows]
        noises = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
        places = torch.tensor([place for place, _ in rows])
        latents = self.generator.start(seeds)
        stops, likely = [latents], []
        with torch.no_grad():
            for now, then in pairwise(self.moments):
                mean, spread = self._foreseen(latents, places, now, then)
                fresh = torch.stack([torch.randn(latents.shape[1:], generator=noise) for noise in noises])
                latents = mean + spread * fresh.to(mean.device)
                stops.append(latents)
                likely.append(_likely(latents, mean, spread))
        return _Path(places, stops, likely)

    def _foreseen(self, latents: Any, places: Any, now: float, then: float) -> tuple[Any, float]:
        """The mean of what the next step gives, and how far it is spread."""
        generator, network = self.generator, self.generator.trained
        words = self.words[places]
        moments = torch.full((len(latents),), now, device=latents.device)
        with generator.arithmetic():
            clean, noise = generator.parts_of(network, latents, words, moments)
            if self.free is not None:
                none = torch.zeros(len(latents), dtype=torch.long)
                free_clean, free_noise = generator.parts_of(network, latents, self.free[none], moments)
                clean = free_clean + generator.guidance * (clean - free_clean)
                noise = free_noise + generator.guidance * (noise - free_noise)
        signal, level = generator.levels(then)
        return signal * clean + level * math.sqrt(1 - FRESH**2) * noise, level * FRESH

    def _step(self, path: _Path, ahead: Any) -> float:
        """Learn from a batch of drawings, all their steps, and move the weights once."""
        total, within = 0.0, self.manner.within
        random_steps = [step for step, (_, then) in enumerate(pairwise(self.moments)) if self.generator.levels(then)[1]]
        for step in random_steps:
            mean, spread = self._foreseen(
                path.stops[step], path.places, self.moments[step], self.moments[step + 1]
            )  # fmt: skip
            ratio = (_likely(path.stops[step + 1], mean, spread) - path.likely[step]).exp()
            kept = ratio.clamp(1 - within, 1 + within)
            loss = torch.maximum(-ahead * ratio, -ahead * kept).mean() / len(random_steps)
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.weights, self.manner.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    @property
    def identity(self) -> str:
        return digest([self.manner.values, list(self.prompts), self.samples, len(self.weights)])

    def save(self, state: Path) -> None:
        """All that the run needs to go on."""
        checkpoints.save(
            state, self.identity, self.weights, self.optimizer, round=self.round, losses=self.learned.losses,
            marks=self.learned.marks,
        )  # fmt: skip

    def resume(self, state: Path | None) -> None:
        """Go on from a checkpoint of the same run, where there is one."""
        saved = checkpoints.resumed(state, self.identity, self.weights, self.optimizer)
        if saved is not None:
            self.round = saved["round"]
            self.learned = Learned(saved["losses"], saved["marks"])


def _likely(stop: Any, mean: Any, spread: float) -> Any:
    """The logarithm of how likely each step was, as a mean over its numbers, up to a constant."""
    if not spread:
        return torch.zeros(len(stop), device=stop.device)
    return -((stop - mean).pow(2) / (2 * spread**2)).mean(dim=(1, 2, 3))


def _advantages(marks: Sequence[Sequence[float | None]]) -> list[float]:
    """How far each picture is ahead of the others of its prompt, in deviations of the round; 0 for one without mark."""
    rows: list[float] = []
    for group in marks:
        known = [mark for mark in group if mark is not None]
        middle = sum(known) / len(known) if known else 0.0
        rows += [0.0 if mark is None else mark - middle for mark in group]
    deviation = math.sqrt(sum(row * row for row in rows) / max(len(rows), 1))
    return [max(-FURTHEST, min(FURTHEST, row / deviation)) if deviation else 0.0 for row in rows]
