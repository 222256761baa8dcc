"""A network that takes noise out of small pictures by the words of a prompt: a transformer over patches and words.

As in Peebles and Xie 2023 (arXiv:2212.09748), with the words as further tokens. It foretells the way from the picture
to the noise (rectified flow, Liu et al. 2023, arXiv:2209.03003).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from fullbench.synthetic.vocabulary import COLOURS, NUMBERS_EN
from tests.training.generator.toy.sheets import DRAWN, MOST, SIZE

WORDS = ("", *NUMBERS_EN[1 : MOST + 1], *COLOURS, *DRAWN)
"""The words that are read; the first stands where there is none."""
LONGEST = 3 * MOST
"""A prompt names at most so many words: a number, a colour and a shape for each thing."""


@dataclass(frozen=True)
class Shape:
    """How large the network is."""

    width: int = 384
    depth: int = 8
    heads: int = 6
    patch: int = 4

    @property
    def values(self) -> dict[str, int]:
        return asdict(self)


def words_of(prompts: Sequence[str]) -> torch.Tensor:
    """The known words of each prompt by their number, filled up with 0. An empty prompt has none."""
    number = {word: place for place, word in enumerate(WORDS)}
    rows = [
        [
            number[word]
            for word in (part.removesuffix("s") for part in prompt.replace(",", "").split())
            if word in number
        ]
        for prompt in prompts
    ]
    return torch.tensor([[*row[:LONGEST], *[0] * (LONGEST - len(row))] for row in rows])


class Block(nn.Module):
    """Attention and two layers, each shifted and scaled by how noisy the picture is."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.attend, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.shift = nn.Linear(width, 6 * width)
        nn.init.zeros_(self.shift.weight)
        nn.init.zeros_(self.shift.bias)

    def forward(self, tokens: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        move, scale, gate, move2, scale2, gate2 = self.shift(noise)[:, None].chunk(6, dim=-1)
        rows, count, width = tokens.shape
        mixed = self.attend(self.before(tokens) * (1 + scale) + move)
        query, key, value = mixed.view(rows, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(query, key, value)
        tokens = tokens + gate * self.joined(seen.transpose(1, 2).reshape(rows, count, width))
        deep = self.wide(self.between(tokens) * (1 + scale2) + move2)
        return tokens + gate2 * self.narrow(nn.functional.gelu(deep, approximate="tanh"))


class Denoiser(nn.Module):
    """Foretells the flow at a moment (0 the picture, 1 the noise) from noisy pictures and their prompts' words."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        side = SIZE // shape.patch
        self.cut = nn.Conv2d(3, shape.width, shape.patch, shape.patch)
        self.words = nn.Embedding(len(WORDS), shape.width)
        self.places = nn.Parameter(0.02 * torch.randn(1, side * side + LONGEST, shape.width))
        self.moment = nn.Sequential(nn.Linear(256, shape.width), nn.SiLU(), nn.Linear(shape.width, shape.width))
        self.blocks = nn.ModuleList(Block(shape.width, shape.heads) for _ in range(shape.depth))
        self.last = nn.LayerNorm(shape.width)
        self.out = nn.Linear(shape.width, 3 * shape.patch**2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, pictures: torch.Tensor, moments: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        patches = self.cut(pictures).flatten(2).transpose(1, 2)
        named = self.words(words)
        tokens = torch.cat([patches, named], dim=1) + self.places
        # what is asked for also moves every block, as the moment does: the sum of its words
        noise = nn.functional.silu(self.moment(_waves(moments)) + named.sum(1))
        for block in self.blocks:
            tokens = block(tokens, noise)
        drawn = self.out(self.last(tokens[:, : patches.shape[1]]))
        side = SIZE // self.shape.patch
        squares = drawn.view(len(pictures), side, side, 3, self.shape.patch, self.shape.patch)
        return squares.permute(0, 3, 1, 4, 2, 5).reshape(pictures.shape)


def _waves(moments: torch.Tensor) -> torch.Tensor:
    """A moment as waves of many lengths, which a network can tell apart."""
    lengths = torch.exp(-math.log(10_000) * torch.arange(128, device=moments.device) / 128)
    turns: Any = 1000 * moments[:, None] * lengths
    return torch.cat([turns.cos(), turns.sin()], dim=1)
