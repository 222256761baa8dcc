"""Checkpoints of a training run: it can be killed at any moment and resumes with the same losses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically, write_rows

LossRow = Mapping[str, float]


@dataclass(frozen=True)
class RunFolder:
    """Folder with the settings of the run (`run.json`), the losses so far (`losses.jsonl`) and the last checkpoint.

    Each file is written atomically. Data order and random draws follow from the seed and the step, so only weights,
    optimizer and step must be stored.
    """

    folder: Path

    def claim(self, run_settings: Mapping[str, Any]) -> None:
        """Reserve the folder for this run; raise if it belongs to a run with other settings."""
        file = self.folder / "run.json"
        if file.exists():
            stored_settings = json.loads(file.read_text(encoding="utf-8"))
            differing_keys = sorted(
                name
                for name in {*stored_settings, *run_settings}
                if stored_settings.get(name) != run_settings.get(name)
            )
            if differing_keys:
                raise InputError(
                    f"this folder has another run ({', '.join(differing_keys)} differ); give another --out, or "
                    "remove this folder",
                    path=self.folder,
                )
            return
        with replace_atomically(file) as part:
            part.write_text(json.dumps(run_settings, ensure_ascii=False, indent=2), encoding="utf-8")

    def save(self, state: Mapping[str, Any], losses: list[LossRow]) -> None:
        """Write the state after a step, then the losses up to it."""
        import torch

        with replace_atomically(self.folder / "checkpoint.pt") as part:
            torch.save(dict(state), part)
        write_rows(self.folder / "losses.jsonl", losses)

    def load(self, device: str) -> tuple[dict[str, Any], list[LossRow]] | None:
        """Return the last state and the losses up to it, or None if there is no checkpoint."""
        import torch

        file = self.folder / "checkpoint.pt"
        if not file.exists():
            return None
        state: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
        return state, list(state["losses"])
