"""Metadata of a trained critic: `critic.json`, written last, so that a folder with this file is complete."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.training_settings import Kind


@dataclass(frozen=True)
class Critic:
    """Metadata of a trained critic. `mean` and `deviation` are those of the training marks."""

    kind: Kind
    asking: PromptSettings
    source: int
    target: int
    mean: float
    deviation: float
    trained: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        values = {
            "kind": self.kind, "asking": self.asking.values, "source": self.source, "target": self.target,
            "mean": self.mean, "deviation": self.deviation, "trained": dict(self.trained),
        }  # fmt: skip
        with replace_atomically(folder / "critic.json") as part:
            part.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Critic:
        file = folder / "critic.json"
        if not file.exists():
            has_begun = (folder / "run" / "run.json").exists()
            hint = "its training has not ended: run the same command again" if has_begun else "it holds no critic"
            raise InputError(f"there is no critic.json in the folder; {hint}", path=folder)
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            asking = PromptSettings(**values.pop("asking"))
            critic = cls(asking=asking, **values)
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"this does not describe a critic ({error!r})", path=file) from error
        if critic.kind not in get_args(Kind):
            raise InputError(f"unknown kind {critic.kind!r}; known: {', '.join(get_args(Kind))}", path=file)
        return critic
