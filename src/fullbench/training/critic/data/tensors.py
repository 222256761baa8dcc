"""Examples as tensors. Padding is on the right, where a causal model ignores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from fullbench.training.critic.data.encoding import Example, Piece


@dataclass
class Batch:
    """Rows of tokens and their targets.

    `pick` marks the positions whose next token counts, flattened over rows. `labels` are these tokens, `owner` the
    piece of each; pieces are numbered in the order of `examples`. `positions` is None if each row is one piece: then
    the plain causal mask is correct and fastest. `tokens` counts tokens without padding.
    """

    ids: Any
    positions: Any | None
    pick: Any
    labels: Any
    owner: Any
    examples: list[Example]
    tokens: int

    def to(self, device: Any) -> Batch:
        """Return the batch on a device."""
        moved_tensors = {
            name: None if value is None else value.to(device, non_blocking=True)
            for name in ("ids", "positions", "pick", "labels", "owner")
            for value in (getattr(self, name),)
        }
        return Batch(**moved_tensors, examples=self.examples, tokens=self.tokens)


def collate_batch(
    examples: Sequence[Example], rows: Sequence[Sequence[int]], *, is_packed: bool, pad: int, width: int = 0
) -> Batch:
    """Build a micro-batch: `rows` lists the examples of each row by index; rows are at least `width` long."""
    import torch

    batch_examples = [examples[place] for row in rows for place in row]
    lines = _batch_lines(examples, rows, is_packed=is_packed)
    width = max(width, *(sum(len(piece.ids) for _, piece in line) for line in lines))
    ids = np.full((len(lines), width), pad, dtype=np.int64)
    positions = np.zeros_like(ids)
    picked_positions: list[Any] = []
    labels: list[Any] = []
    owner: list[Any] = []
    for number, line in enumerate(lines):
        offset = 0
        for place, piece in line:
            size = len(piece.ids)
            ids[number, offset : offset + size] = piece.ids
            positions[number, offset : offset + size] = np.arange(size)
            # The token before a target predicts it; without targets the last token represents the sequence.
            target_positions = np.arange(piece.start - 1, size - 1) if piece.targets else np.array([size - 1])
            picked_positions.append(number * width + offset + target_positions)
            labels.append(piece.ids[piece.start :] if piece.targets else (0,))
            owner.append(np.full(len(target_positions), place))
            offset += size
        positions[number, offset:] = np.arange(width - offset)
    pick, label, owners = (torch.from_numpy(np.concatenate(part)) for part in (picked_positions, labels, owner))
    row_positions = torch.from_numpy(positions) if is_packed else None
    return Batch(
        torch.from_numpy(ids),
        row_positions,
        pick,
        label,
        owners,
        batch_examples,
        sum(example.tokens for example in batch_examples),
    )


def _batch_lines(
    examples: Sequence[Example], rows: Sequence[Sequence[int]], *, is_packed: bool
) -> list[list[tuple[int, Piece]]]:
    numbers = count()
    lines = [[(next(numbers), piece) for place in row for piece in examples[place].pieces] for row in rows]
    return lines if is_packed else [[numbered_piece] for line in lines for numbered_piece in line]
