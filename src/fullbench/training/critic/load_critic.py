"""Loader of a trained critic's folder as a judge: `trained:FOLDER`.

`critic.json` describes the critic and its prompt. It is written last, so a folder with it is complete. `model/` holds
the weights in the layout of transformers, also for other programs. `run/` holds the files of the training run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fullbench.core.judge import Judge
from fullbench.errors import InputError
from fullbench.training.critic.critic_metadata import Critic

_OPTIONS = ("device", "precision", "batch")


def trained_judge(name: str, options: Mapping[str, str]) -> Judge:
    """Return the judge for `trained:FOLDER`, prompted as in its training."""
    if not name:
        raise InputError("'trained' names no folder; write trained:FOLDER, as fullbench critic train wrote it")
    for option in options:
        if option not in _OPTIONS:
            raise InputError(f"a trained critic has no option {option!r}; known: {', '.join(_OPTIONS)}")
    batch = options.get("batch", "8")
    if not batch.isdecimal() or not int(batch):
        raise InputError(f"the option batch is a whole number above 0; found {batch!r}")
    return load_judge(
        Path(name), device=options.get("device", "auto"), precision=options.get("precision", "auto"), batch=int(batch)
    )


def load_judge(folder: Path, *, device: str = "auto", precision: str = "auto", batch: int = 8) -> Judge:
    """Return the judge in a folder. Weights are loaded at the first case."""
    from fullbench.training.critic import (  # late: numpy, and torch for some, are slow to import
        critic_judge,
        light_critic,
    )

    critic = Critic.read(folder)
    if critic.kind == "light":
        return light_critic.LightJudge.read(folder, critic)
    if critic.kind == "scalar":
        return critic_judge.ScalarJudge(folder, critic, device=device, precision=precision, batch=batch)
    return critic_judge.writing_judge(folder, critic, device=device, precision=precision, batch=batch)
