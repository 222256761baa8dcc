"""A trained critic as a folder, and the judge that it is: `trained:FOLDER`.

`critic.json` says what it is and how it is asked; it is written last, so a folder that has it is whole. `model/` holds
the weights in the layout of transformers, for other programs too; `run/` what the training kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from fullbench.errors import InputError
from fullbench.files.writers import replacing
from fullbench.nouns.judge import Judge
from fullbench.training.critic.asking import Asking
from fullbench.training.critic.settings import Kind

_OPTIONS = ("device", "precision", "batch")


@dataclass(frozen=True)
class Critic:
    """What is known of a trained critic. `mean` and `deviation` are those of the marks it was trained on."""

    kind: Kind
    asking: Asking
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
        with replacing(folder / "critic.json") as part:
            part.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Critic:
        file = folder / "critic.json"
        if not file.exists():
            begun = (folder / "run" / "run.json").exists()
            hint = "its training has not ended: run the same command again" if begun else "it holds no critic"
            raise InputError(f"there is no critic.json in the folder; {hint}", path=folder)
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            asking = Asking.of(values.pop("asking"))
            critic = cls(asking=asking, **values)
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"this is not the description of a critic ({error!r})", path=file) from error
        if critic.kind not in get_args(Kind):
            raise InputError(f"unknown kind {critic.kind!r}; known: {', '.join(get_args(Kind))}", path=file)
        return critic


def trained(name: str, options: Mapping[str, str]) -> Judge:
    """The judge that `trained:FOLDER` names, asked as it was trained."""
    if not name:
        raise InputError("'trained' names no folder; write trained:FOLDER, as fullbench critic train wrote it")
    for option in options:
        if option not in _OPTIONS:
            raise InputError(f"a trained critic has no option {option!r}; known: {', '.join(_OPTIONS)}")
    batch = options.get("batch", "8")
    if not batch.isdecimal() or not int(batch):
        raise InputError(f"the option batch is a whole number above 0; found {batch!r}")
    return judge_in(
        Path(name), device=options.get("device", "auto"), precision=options.get("precision", "auto"), batch=int(batch)
    )


def judge_in(folder: Path, *, device: str = "auto", precision: str = "auto", batch: int = 8) -> Judge:
    """The judge in a folder. Weights are loaded when the first case is heard."""
    from fullbench.training.critic import light, ruling

    critic = Critic.read(folder)
    if critic.kind == "light":
        return light.LightJudge.read(folder, critic)
    if critic.kind == "scalar":
        return ruling.ScalarJudge(folder, critic, device=device, precision=precision, batch=batch)
    return ruling.writing(folder, critic, device=device, precision=precision, batch=batch)
