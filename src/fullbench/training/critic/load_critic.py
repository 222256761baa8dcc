"""A trained critic as a folder, and the judge that it is: `trained:FOLDER`.

`critic.json` says what it is and how it is asked; it is written last, so a folder that has it is whole. `model/` holds
the weights in the layout of transformers, for other programs too; `run/` what the training kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fullbench.core.judge import Judge
from fullbench.errors import InputError
from fullbench.training.critic.critic_metadata import Critic

_OPTIONS = ("device", "precision", "batch")


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
    from fullbench.training.critic import (  # late: numpy, and torch for some, are slow to import
        critic_judge,
        light_critic,
    )

    critic = Critic.read(folder)
    if critic.kind == "light":
        return light_critic.LightJudge.read(folder, critic)
    if critic.kind == "scalar":
        return critic_judge.ScalarJudge(folder, critic, device=device, precision=precision, batch=batch)
    return critic_judge.writing(folder, critic, device=device, precision=precision, batch=batch)
