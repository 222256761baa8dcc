"""What a run keeps, so that it can be killed at any moment and go on with the same losses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.writers import replacing, write_rows

Line = Mapping[str, float]


@dataclass(frozen=True)
class Kept:
    """A folder with what was asked for (`run.json`), the losses so far (`losses.jsonl`) and the last checkpoint.

    Each is written whole or not at all. The order of the data and whatever is drawn at random follow from the seed and
    the step, so weights, optimizer and step are all there is to keep.
    """

    folder: Path

    def claim(self, asked: Mapping[str, Any]) -> None:
        """Take the folder for this run, or find that it is this run's already."""
        file = self.folder / "run.json"
        if file.exists():
            known = json.loads(file.read_text(encoding="utf-8"))
            other = sorted(name for name in {*known, *asked} if known.get(name) != asked.get(name))
            if other:
                raise InputError(
                    f"another run is kept here ({', '.join(other)} differ); give another --out, or remove this folder",
                    path=self.folder,
                )
            return
        with replacing(file) as part:
            part.write_text(json.dumps(asked, ensure_ascii=False, indent=2), encoding="utf-8")

    def save(self, state: Mapping[str, Any], losses: list[Line]) -> None:
        """Keep the state after a step, then the losses up to it."""
        import torch

        with replacing(self.folder / "checkpoint.pt") as part:
            torch.save(dict(state), part)
        write_rows(self.folder / "losses.jsonl", losses)

    def load(self, device: str) -> tuple[dict[str, Any], list[Line]] | None:
        """The last state and the losses up to it; None where nothing was kept."""
        import torch

        file = self.folder / "checkpoint.pt"
        if not file.exists():
            return None
        state: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
        return state, list(state["losses"])
