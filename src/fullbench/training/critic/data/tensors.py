"""Examples as tensors. Padding stands at the right end, where a causal model cannot look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from fullbench.training.critic.data.encoding import Example, Piece


@dataclass
class Batch:
    """Rows of tokens, and what is wanted of them.

    `pick` marks the positions whose next token counts, flattened over rows; `labels` are these tokens, `owner` the
    piece that each belongs to; pieces are numbered in the order of `examples`. `positions` is None where each row is
    one piece: then the plain causal mask is right, which is the fastest. `tokens` counts what is not padding.
    """

    ids: Any
    positions: Any | None
    pick: Any
    labels: Any
    owner: Any
    examples: list[Example]
    tokens: int

    def to(self, device: Any) -> Batch:
        """The same on a device."""
        moved = {
            name: None if value is None else value.to(device, non_blocking=True)
            for name in ("ids", "positions", "pick", "labels", "owner")
            for value in (getattr(self, name),)
        }
        return Batch(**moved, examples=self.examples, tokens=self.tokens)


def collate(
    examples: Sequence[Example], rows: Sequence[Sequence[int]], *, packed: bool, pad: int, width: int = 0
) -> Batch:
    """A micro-batch: `rows` name the examples of each row by their place; rows are at least `width` long."""
    import torch

    batch_examples = [examples[place] for row in rows for place in row]
    lines = _lines(examples, rows, packed=packed)
    width = max(width, *(sum(len(piece.ids) for _, piece in line) for line in lines))
    ids = np.full((len(lines), width), pad, dtype=np.int64)
    positions = np.zeros_like(ids)
    picked: list[Any] = []
    labels: list[Any] = []
    owner: list[Any] = []
    for number, line in enumerate(lines):
        at = 0
        for place, piece in line:
            size = len(piece.ids)
            ids[number, at : at + size] = piece.ids
            positions[number, at : at + size] = np.arange(size)
            # the token before a target foretells it; without targets the last token speaks for the sequence
            wanted = np.arange(piece.start - 1, size - 1) if piece.targets else np.array([size - 1])
            picked.append(number * width + at + wanted)
            labels.append(piece.ids[piece.start :] if piece.targets else (0,))
            owner.append(np.full(len(wanted), place))
            at += size
        positions[number, at:] = np.arange(width - at)
    pick, label, owned = (torch.from_numpy(np.concatenate(part)) for part in (picked, labels, owner))
    turns = torch.from_numpy(positions) if packed else None
    return Batch(
        torch.from_numpy(ids),
        turns,
        pick,
        label,
        owned,
        batch_examples,
        sum(example.tokens for example in batch_examples),
    )


def _lines(
    examples: Sequence[Example], rows: Sequence[Sequence[int]], *, packed: bool
) -> list[list[tuple[int, Piece]]]:
    """The pieces of each line, numbered through; apart from packing each piece has a line of its own."""
    numbers = count()
    lines = [[(next(numbers), piece) for place in row for piece in examples[place].pieces] for row in rows]
    return lines if packed else [[numbered] for line in lines for numbered in line]
