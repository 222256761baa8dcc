"""From scored answers to a folder with a critic."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any

from fullbench.core.digests import digest
from fullbench.core.judge import Judge
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.files.writers import write_rows
from fullbench.models.local.transformers_model import TransformersModel, pad_of
from fullbench.training.critic.critic_judge import CutJudge
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.encoding import Encoder, Example, encode, steps_of
from fullbench.training.critic.data.prompts import Asking
from fullbench.training.critic.data.scored_answers import Scored
from fullbench.training.critic.fit.checkpoints import Kept
from fullbench.training.critic.fit.distributed import Processes, shard, whole_weights
from fullbench.training.critic.fit.objectives import Number, Objective, Preference, Words
from fullbench.training.critic.fit.training_loop import Loop, Watch, never
from fullbench.training.critic.preference_accuracy import Preferences, likelihoods
from fullbench.training.critic.training_settings import Settings
from fullbench.version import __version__

Say = Callable[[str], None]
BRIEF = 256
"""How long a base model may talk before it counts as having given no ruling."""


def _silent(_: str) -> None: ...


@dataclass
class Training:
    """A training run: what it learns from, with what, and where to.

    `say` gets sentences for the person; `stop` is asked after every step.
    """

    scored: Sequence[Scored]
    asking: Asking
    settings: Settings
    base: str
    out: Path
    chat_template: str = ""
    device: str = "auto"
    watch: Watch | None = None
    say: Say = _silent
    stop: Callable[[], bool] = never

    def run(self) -> bool:
        """Train and write the folder; False where it was stopped before the end. A finished folder is left alone."""
        if not self.learned:
            raise InputError("nothing is left to train on; give more scores, or hold back less with --share")
        if (self.out / "critic.json").exists():
            self.kept.claim(self._asked())
            self.say(f"The critic in {self.out} is trained already.")
            return True
        return self._light() if self.settings.kind == "light" else self._deep()

    @property
    def kept(self) -> Kept:
        return Kept(self.out / "run")

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return os.environ.get("RANK", "0") == "0"

    def untrained(self) -> Judge | None:
        """The base model asked in the same way, to compare with; None where there is nothing to ask it."""
        if self.settings.kind not in {"sft", "dpo"}:
            return None
        most = min(self.settings.target, BRIEF)
        model = TransformersModel(
            self.base, device=self.device, max_tokens=most, label="base", chat_template=self.chat_template
        )
        asked = Critic("sft", self.asking, self.settings.source, self.settings.target, 0.0, 1.0)
        return CutJudge(self.asking.judge(model), model, asked)

    def preferences(self) -> Table | None:
        """How often the people's ruling is likelier than a wrong one, before and after; None where none was learned."""
        held = [answer for answer in self.scored if answer.split != "train"]
        if self.settings.kind != "dpo" or not held:
            return None
        pairs = Preferences(held, self.asking, self.settings, self.device, self.chat_template)
        return pairs.table({
            "before": pairs.preferred(self.base), "after": pairs.preferred(str(self.out / "model")),
            "by frequency": pairs.usual(self.learned),
        })  # fmt: skip

    @property
    def learned(self) -> list[Scored]:
        return [answer for answer in self.scored if answer.split == "train"]

    def _asked(self) -> dict[str, Any]:
        """All that a run depends on: where it differs, it is another run."""
        data = digest([[answer.case.key, answer.mark, answer.reason, answer.split] for answer in self.scored])
        return {
            "base": self.base, "chat_template": self.chat_template, "data": data,
            "asking": dict(self.asking.values), **self.settings.values,
        }  # fmt: skip

    def _light(self) -> bool:
        from fullbench.training.critic.light_critic import fit, write_weights

        self._claim()
        fitted = fit(self.learned, self.settings.seed, reference=self.asking.reference)
        write_weights(fitted, self.out / "model")
        self._describe(fitted.mean, fitted.deviation, {"strength": fitted.strength})
        return True

    def _deep(self) -> bool:
        from fullbench.training.critic.fit.base_models import base_model, check_machine

        half = check_machine(self.settings)
        if not self.base:
            raise InputError("a critic of this kind begins with a model: give --base FOLDER or HUB_NAME")
        processes = Processes.join(self.device)
        trainee = base_model(self.base, self.settings, processes.device, chat_template=self.chat_template)
        encoder = Encoder(trainee.tokenizer, self.asking, self.settings.source, self.settings.target)
        examples = encode(encoder, self.learned, self.settings)
        self._claim()
        if self.settings.shard:
            shard(trainee.model, processes)
        if processes.first:
            self._tell(examples, encoder.cut)
        marks = [answer.mark for answer in self.learned]
        mean, deviation = fmean(marks), pstdev(marks) or 1.0
        loop = Loop(
            trainee.model, self._objective(mean, deviation), examples, self.settings, pad_of(trainee.tokenizer), half,
            processes, self.kept, self.watch, self.stop,
        )  # fmt: skip
        if self.settings.kind == "dpo":
            loop.examples = before(loop)
        ended = loop.run()
        weights = whole_weights(trainee.model) if loop.sharded else None
        processes.leave()
        if ended and processes.first:
            if weights is not None:
                trainee = base_model(self.base, self.settings, "cpu", chat_template=self.chat_template)
                trainee.model.load_state_dict(weights)
            trainee.write(self.out / "model")
            steps = {"steps": loop.steps, "cut": encoder.cut, "loss": loop.losses[-1]["loss"]}
            self._describe(mean, deviation, steps)
        return ended

    def _objective(self, mean: float, deviation: float) -> Objective:
        if self.settings.kind == "dpo":
            return Preference(self.settings.beta, self.settings.anchor)
        return Number(mean, deviation) if self.settings.kind == "scalar" else Words()

    def _claim(self) -> None:
        self.kept.claim(self._asked())
        if not self.first:
            return
        rows = (
            {"item": answer.case.item.id, "contestant": answer.case.contestants[0], "split": answer.split}
            for answer in self.scored
        )
        write_rows(self.out / "run" / "split.jsonl", {tuple(row.values()): row for row in rows}.values())

    def _tell(self, examples: Sequence[Example], cut: int) -> None:
        tokens = sum(example.tokens for example in examples)
        steps = steps_of(len(examples), self.settings)
        self.say(
            f"{len(examples):,} scores to learn from, {tokens:,} tokens, {steps:,} steps of {self.settings.batch}."
        )
        if cut:
            self.say(f"{cut:,} answers or reasons were longer than the window and were cut at their end.")

    def _describe(self, mean: float, deviation: float, more: dict[str, Any]) -> None:
        counts = Counter(answer.split for answer in self.scored)
        middle = median(answer.mark for answer in self.learned)
        about = {"fullbench": __version__, "base": self.base, "scores": dict(counts), "median": middle, **more}
        source, target = self.settings.source, self.settings.target
        Critic(self.settings.kind, self.asking, source, target, mean, deviation, about).write(self.out)


def before(loop: Loop) -> list[Example]:
    """Every example with what the model says of its two rulings before it has learned anything."""
    likely = likelihoods(
        loop.model, loop.examples, micro=loop.settings.micro, pad=loop.pad, device=loop.processes.device,
        arithmetic=loop.arithmetic,
    )  # fmt: skip
    return [replace(example, base=pair) for example, pair in zip(loop.examples, likely, strict=True)]
