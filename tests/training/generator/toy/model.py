"""Toy generator as a contestant, `toy:FOLDER?steps=24`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.local.quick_weights_fingerprint import weights_fingerprint
from fullbench.models.local.transformers_model import resolve_device_and_precision
from fullbench.training.generator.picture_tensors import png_of

if TYPE_CHECKING:
    from tests.training.generator.toy.sheet_generator import SheetGenerator

FILES = ("generator.json", "weights.safetensors")
OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "device": str, "batch": int, "steps": int, "guidance": float, "seed": int, "label": str,
}  # fmt: skip


@dataclass(eq=False)
class SheetModel:
    """A generator of sheets that was trained here. What a picture starts from depends on its prompt and its seed."""

    folder: Path
    device: str = "auto"
    batch: int = 256
    steps: int | None = None
    guidance: float | None = None
    seed: int = 0
    label: str = ""
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)
    _loaded: SheetGenerator | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        lacking = [name for name in FILES if not (self.folder / name).is_file()]
        if lacking:
            raise InputError(f"the folder contains no toy generator: it lacks {', '.join(lacking)}", path=self.folder)

    @cached_property
    def _weights(self) -> str:
        return digest([weights_fingerprint(self.folder / name) for name in FILES])

    @cached_property
    def name(self) -> str:
        plain = f"toy:{self.folder.resolve().name}@{self._weights[:8]}"
        return f"{self.label or plain}#{digest(self.settings)[:8]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"weights": self._weights, "steps": self.steps, "guidance": self.guidance, "seed": self.seed}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        waiting = iter(prompts)
        while group := list(islice(waiting, self.batch)):
            yield from self._drawn(group)

    def _drawn(self, group: Sequence[Prompt]) -> Iterator[Reply]:
        generator, started = self.load(), time.perf_counter()
        words = [prompt.turns[-1].text for prompt in group]
        seeds = [self.seed + (prompt.seed or 0) for prompt in group]
        starts = [int(digest([text, seed])[:12], 16) for text, seed in zip(words, seeds, strict=True)]
        pictures = generator.sample(words, starts)
        spent = (time.perf_counter() - started) / len(group)
        tags = {"steps": str(generator.steps)}
        for prompt, seed, pixels in zip(group, seeds, pictures, strict=True):
            used = Usage(calls=1, seconds=spent)
            drawn = (Picture.from_bytes(png_of(pixels)),)
            yield Reply(prompt, usage=used, stop="stop", pictures=drawn, tags={**tags, "seed": str(seed)})

    def load(self) -> SheetGenerator:
        """The generator, ready to draw; loaded once."""
        if self._loaded is None:
            device, _ = resolve_device_and_precision(self.device, "auto", self.name)
            from tests.training.generator.toy.sheet_generator import SheetGenerator

            self._loaded = SheetGenerator.load(self.folder, device)
            self._loaded.steps = self.steps or self._loaded.steps
            self._loaded.guidance = self._loaded.guidance if self.guidance is None else self.guidance
        return self._loaded
