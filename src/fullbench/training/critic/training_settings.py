"""Settings of a critic's training. The defaults are those of AlignMMBench's critic."""

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
"""Tokens of a run from which compiling pays: it took four minutes on an H200 and saves 5 microseconds per token."""


@dataclass(frozen=True)
class Settings:
    """Settings of a critic's training.

    `kind`: `sft` writes its verdict, `dpo` prefers people's mark to a wrong one, `scalar` has a head that gives a
    number, `light` is a linear head without a language model. `batch` is the number of answers per step, over all
    processes; `micro` the number of rows per forward pass. `pack` puts several answers into one row; none of them sees
    another. `lora` is the rank of the adapters, 0 to train all weights. `source` and `target` are the most tokens of a
    prompt and of a verdict. With `bfloat16`, arithmetic has half precision and weights have single precision. `beta` is
    how close a preference stays to the base, `anchor` the weight of the right verdict's own likelihood. `save_memory`
    computes activations twice instead of storing them. `compile` decides if packed rows use compiled layers; `auto`
    needs a GPU and a run that is long enough to gain by it. `shard` splits a model that does not fit on one GPU over
    all processes.
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
        for name, value, allowed_values in choices:
            if value not in get_args(allowed_values):
                raise InputError(f"unknown {name} {value!r}; known: {', '.join(get_args(allowed_values))}")
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
        """Return all fields as a JSON object."""
        return asdict(self)

    def should_compile(self, cuda: bool, tokens: int) -> bool:
        """True if the layers are compiled for a run of this many tokens, with or without a GPU."""
        is_eligible = self.pack and not self.shard
        return is_eligible and (
            self.compile == "always" or (self.compile == "auto" and cuda and tokens >= WORTH_COMPILING)
        )

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, counted from 0: warmup from zero, then decay by the schedule.

        >>> few = Settings(lr=1.0, warmup=0.2)
        >>> [round(few.rate(step, 10), 2) for step in range(10)]
        [0.5, 1.0, 1.0, 0.88, 0.75, 0.62, 0.5, 0.38, 0.25, 0.12]
        """
        from math import ceil, cos, pi

        warmup_steps = ceil(self.warmup * steps)
        if step < warmup_steps:
            return self.lr * (step + 1) / warmup_steps
        progress = (step - warmup_steps) / max(1, steps - warmup_steps)
        if self.schedule == "cosine":
            return self.lr * (1 + cos(pi * progress)) / 2
        return self.lr * (1 - progress) if self.schedule == "linear" else self.lr
