"""What a training run is told. The defaults are those of AlignMMBench's critic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fullbench.errors import InputError

Kind = Literal["sft", "dpo", "scalar", "light"]
Schedule = Literal["linear", "cosine", "constant"]
Precision = Literal["auto", "float32", "bfloat16"]
Compile = Literal["auto", "always", "never"]


WORTH_COMPILING = 50_000_000
"""Tokens of a run from which on compiling pays: it took four minutes on an H200, and saves 5 microseconds a token."""


@dataclass(frozen=True)
class Settings:
    """How a critic is trained.

    `kind` is what it becomes: `sft` writes its ruling, `dpo` prefers the people's mark to a wrong one, `scalar` has a
    head that gives a number, `light` is a linear head without a language model. `batch` is how many answers one step
    learns from, over all processes; `micro` how many rows go through the model at once. `pack` puts several answers
    into one row, none of which sees another. `lora` is the rank of the adapters, 0 to train all weights. `source` and
    `target` are the most tokens of a prompt and of a ruling. In `bfloat16` arithmetic is half precision and weights
    are not. `beta` is how close a preference stays to the base, `anchor` how much the right ruling's own likelihood
    counts beside it. `save_memory` computes activations twice instead of keeping them. `compile` says whether packed
    rows go through compiled layers: `auto` where there is a GPU and the run is long enough to gain by it. `shard`
    splits the model over all processes, for one that does not fit on a card.
    """

    kind: Kind = "sft"
    epochs: float = 3.0
    batch: int = 128
    micro: int = 4
    lr: float = 1e-5
    weight_decay: float = 0.05
    warmup: float = 0.01
    schedule: Schedule = "linear"
    clip: float = 1.0
    source: int = 4096
    target: int = 1024
    pack: bool = False
    lora: int = 0
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    beta: float = 0.1
    anchor: float = 1.0
    precision: Precision = "auto"
    save_every: int = 50
    save_memory: bool = False
    compile: Compile = "auto"
    shard: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, str, Any], ...] = (
            ("kind", self.kind, Kind), ("schedule", self.schedule, Schedule),
            ("precision", self.precision, Precision), ("compile", self.compile, Compile),
        )  # fmt: skip
        for name, value, known in choices:
            if value not in get_args(known):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(known))}")
        for name in ("batch", "micro", "source", "target", "save_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; found {getattr(self, name)}")
        for name in ("epochs", "lr", "clip", "beta"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0; found {getattr(self, name)}")
        if self.compile == "always" and (self.shard or not self.pack):
            raise InputError(
                "--compile always is for packed rows of a model that is not sharded; add --pack, drop --shard"
            )
        if not 0 <= self.warmup < 1:
            raise InputError(f"warmup is the share of steps from 0 to below 1; found {self.warmup}")
        if self.anchor < 0:
            raise InputError(f"anchor must be 0 or more; found {self.anchor}")
        if self.lora < 0:
            raise InputError(f"lora is the rank of the adapters, 0 to train all weights; found {self.lora}")

    @property
    def values(self) -> Mapping[str, Any]:
        """As a JSON value."""
        return asdict(self)

    def compiled(self, cuda: bool, tokens: int) -> bool:
        """Whether the layers are compiled for a run of so many tokens, on a machine with or without a GPU."""
        fit = self.pack and not self.shard
        return fit and (self.compile == "always" or (self.compile == "auto" and cuda and tokens >= WORTH_COMPILING))

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0: up from nothing, then down as the schedule says.

        >>> few = Settings(lr=1.0, warmup=0.2)
        >>> [round(few.rate(step, 10), 2) for step in range(10)]
        [0.5, 1.0, 1.0, 0.88, 0.75, 0.62, 0.5, 0.38, 0.25, 0.12]
        """
        from math import ceil, cos, pi

        up = ceil(self.warmup * steps)
        if step < up:
            return self.lr * (step + 1) / up
        done = (step - up) / max(1, steps - up)
        if self.schedule == "cosine":
            return self.lr * (1 + cos(pi * done)) / 2
        return self.lr * (1 - done) if self.schedule == "linear" else self.lr
