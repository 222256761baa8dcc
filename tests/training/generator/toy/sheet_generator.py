"""A generator of sheets: trained from nothing in minutes, so that the loop of feedback can be tried without a hub."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from fullbench.errors import InputError
from fullbench.training.generator.picture_tensors import png_of
from tests.training.generator.toy.network import Denoiser, Shape, words_of
from tests.training.generator.toy.sheets import MOST, SIZE, Painter, prompts_for

FORGET = 0.1
"""The share of training pictures whose prompt is left out, so that guidance has something to lead away from."""


@dataclass
class SheetGenerator:
    """Draws sheets by prompts: noise goes to a picture in `steps`, led towards the prompt by `guidance` (1: not led).

    Without guidance a picture is a fair draw of what the network has learned, so that learning from its own pictures
    changes nothing by itself: what changes is what a judge chose.
    """

    network: Denoiser
    device: str = "cpu"
    steps: int = 24
    guidance: float = 1.0

    @property
    def trained_network(self) -> Denoiser:
        """What tuning changes."""
        return self.network

    def conditions(self, prompts: Sequence[str]) -> torch.Tensor:
        """The prompts as the network takes them."""
        return words_of(prompts).to(self.device)

    def errors(
        self, network: Any, pictures: torch.Tensor, words: torch.Tensor, noise: torch.Tensor, moments: torch.Tensor
    ) -> torch.Tensor:
        """How far a network is off the flow from each picture to its noise, as the mean square over the picture."""
        part = moments[:, None, None, None]
        flow = network((1 - part) * pictures + part * noise, moments, words)
        return (flow.float() - (noise - pictures)).pow(2).mean(dim=(1, 2, 3))

    def moments(self, uniform: torch.Tensor) -> torch.Tensor:
        """Most of them in the middle of the way, as in training from nothing (a normal draw through a sigmoid)."""
        return (math.sqrt(2) * torch.erfinv((2 * uniform - 1).clamp(-0.999999, 0.999999))).sigmoid()

    def parts_of(
        self, network: Any, noisy: torch.Tensor, words: torch.Tensor, moments: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The picture and the noise that a network sees in what is on the way between them."""
        part = moments[:, None, None, None]
        flow = network(noisy, moments, words).float()
        return noisy - part * flow, noisy + (1 - part) * flow

    def levels(self, moment: float) -> tuple[float, float]:
        """How much of the picture and of the noise is there at a moment."""
        return 1 - moment, moment

    def start(self, seeds: Sequence[int]) -> torch.Tensor:
        """What drawings begin as, each by its seed alone."""
        return torch.stack([_noise(seed) for seed in seeds]).to(self.device)

    def pictures(self, planes: torch.Tensor) -> list[bytes]:
        """Planes as files."""
        return [png_of(picture) for picture in planes.clamp(-1, 1)]

    def sample(self, prompts: Sequence[str], seeds: Sequence[int], *, rows: int = 2048) -> torch.Tensor:
        """A picture of each prompt, from -1 to 1; its seed decides alone what it starts from."""
        words = self.conditions(prompts)
        parts = []
        for start in range(0, len(prompts), rows):
            noise = self.start(seeds[start : start + rows])
            with torch.no_grad():
                parts.append(self._flow(words[start : start + rows], noise))
        return torch.cat(parts)

    def _flow(self, words: torch.Tensor, pictures: torch.Tensor) -> torch.Tensor:
        guided = self.guidance != 1.0
        both = torch.cat([words, torch.zeros_like(words)]) if guided else words
        moments = torch.linspace(1, 0, self.steps + 1, device=self.device)
        for now, then in pairwise(moments):
            noisy = pictures.repeat(2, 1, 1, 1) if guided else pictures
            with self.arithmetic():
                flow = self.network(noisy, now.expand(len(both)), both).float()
            if guided:
                asked, free = flow.chunk(2)
                flow = free + self.guidance * (asked - free)
            pictures = pictures + (then - now) * flow
        return pictures.clamp(-1, 1)

    def arithmetic(self) -> Any:
        """Half precision on a GPU."""
        return torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device.startswith("cuda"))

    def copy(self) -> SheetGenerator:
        """Another one that can be trained apart from this one."""
        return replace(self, network=deepcopy(self.network))

    def save(self, folder: Path) -> None:
        """The generator as a folder: its settings and its weights."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        weights = {name: value.contiguous() for name, value in self.network.state_dict().items()}
        save_file(weights, folder / "weights.safetensors")
        about = {"kind": "toy", "shape": self.network.shape.values, "steps": self.steps, "guidance": self.guidance}
        (folder / "generator.json").write_text(json.dumps(about, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> SheetGenerator:
        """The generator in a folder."""
        from safetensors.torch import load_file

        missing = [name for name in ("generator.json", "weights.safetensors") if not (folder / name).exists()]
        if missing:
            raise InputError(f"the generator lacks {' and '.join(missing)}; train it again", path=folder)
        about = json.loads((folder / "generator.json").read_text(encoding="utf-8"))
        network = Denoiser(Shape(**about["shape"]))
        network.load_state_dict(load_file(folder / "weights.safetensors"))
        return cls(network.to(device).eval(), device, about["steps"], about["guidance"])


def _noise(seed: int) -> torch.Tensor:
    """What a picture starts from, drawn on the processor: the same on every device and in every batch."""
    return torch.randn((3, SIZE, SIZE), generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Lesson:
    """How a generator of sheets is trained from nothing: for how long, and on how much at once."""

    shape: Shape = field(default_factory=Shape)
    most: int = MOST
    steps: int = 20_000
    seconds: float = math.inf
    batch: int = 512
    lr: float = 5e-4
    seed: int = 0


def train(lesson: Lesson, device: str, say: Callable[[str], None] = lambda _: None) -> SheetGenerator:
    """A generator that has seen `steps` batches of new sheets (or as many as fit into `seconds`), none of them with a
    prompt that is held out or new. Its weights are a running mean of those of training, which draw better than the
    last ones."""
    torch.manual_seed(lesson.seed)
    noise = torch.Generator(device).manual_seed(lesson.seed)
    painter = Painter(device)
    known = prompts_for("known", lesson.most)
    things, words = painter.things(known), words_of(known).to(device)
    # sheets of one, two and three things are met equally often, though most prompts have three
    sizes = (things[:, :, 0] >= 0).sum(1)
    chance = 1.0 / torch.bincount(sizes)[sizes].float()
    network = Denoiser(lesson.shape).to(device)
    generator = SheetGenerator(network, device)
    mean = deepcopy(network)
    running: Any = torch.compile(network) if device.startswith("cuda") else network
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=lesson.lr, weight_decay=0.01, fused=device.startswith("cuda")
    )
    started, progress, step = time.monotonic(), 0.0, 0
    while progress < 1:
        rate = min(1.0, (step + 1) / 500) * 0.5 * (1 + math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = lesson.lr * rate
        chosen = torch.multinomial(chance, lesson.batch, replacement=True, generator=noise)
        pictures = painter.draw(things[chosen], noise)
        kept = torch.rand(lesson.batch, 1, device=device, generator=noise) >= FORGET
        target = torch.randn(pictures.shape, device=device, generator=noise)
        moments = torch.randn(lesson.batch, device=device, generator=noise).sigmoid()
        with generator.arithmetic():
            loss = generator.errors(running, pictures, words[chosen] * kept, target, moments).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        decay = min(0.999, (step + 1) / (step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(mean.parameters()), list(network.parameters()), 1 - decay)
        step += 1
        progress = max(step / lesson.steps, (time.monotonic() - started) / lesson.seconds)
        if step % 1000 == 0:
            say(f"step {step:,}: loss {float(loss.detach()):.4f}, {step / (time.monotonic() - started):.1f} steps/s")
    return replace(generator, network=mean.eval())
