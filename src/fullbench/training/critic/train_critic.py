"""Training of a critic from scored answers, written to a folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.files.row_writers import write_rows
from fullbench.models.local.transformers_model import TransformersModel, padding_token
from fullbench.training.critic.critic_judge import CutJudge
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.encoding import Encoder, Example, count_steps, encode_answers
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import ScoredAnswer
from fullbench.training.critic.fit.checkpoints import RunFolder
from fullbench.training.critic.fit.distributed_training import Processes, gather_weights, shard_model
from fullbench.training.critic.fit.objectives import Objective, PreferenceObjective, ScoreObjective, TokenObjective
from fullbench.training.critic.fit.training_loop import Loop, Watch, never_stop
from fullbench.training.critic.preference_accuracy_of_verdicts import Preferences, verdict_likelihoods
from fullbench.training.critic.training_settings import Settings
from fullbench.version_and_code_digest import __version__

Say = Callable[[str], None]
MAX_BASE_TOKENS = 256
"""Most tokens of a base model's reply; without a verdict by then it counts as unreadable."""


def _say_nothing(_: str) -> None: ...


@dataclass
class Training:
    """A training run; `say` gets messages for the user, `stop` is called after every step."""

    scored_answers: Sequence[ScoredAnswer]
    asking: PromptSettings
    settings: Settings
    base: str
    out: Path
    chat_template: str = ""
    device: str = "auto"
    watch: Watch | None = None
    say: Say = _say_nothing
    stop: Callable[[], bool] = never_stop

    def run(self) -> bool:
        """Train and write the folder; return False if stopped before the end. A finished folder is left unchanged."""
        if not self.training_answers:
            raise InputError("nothing is left for training; give more scores, or hold out less with --share")
        if (self.out / "critic.json").exists():
            self.run_folder.claim(self._run_settings())
            self.say(f"The critic in {self.out} is trained already.")
            return True
        return self._train_light() if self.settings.kind == "light" else self._train_deep()

    @property
    def run_folder(self) -> RunFolder:
        return RunFolder(self.out / "run")

    @property
    def is_first(self) -> bool:
        """True if this process writes files and messages."""
        return os.environ.get("RANK", "0") == "0"

    def base_judge(self) -> Judge | None:
        """Return the base model as a judge with the same prompt, or None if this kind of critic writes no verdict."""
        if self.settings.kind not in {"sft", "dpo"}:
            return None
        max_tokens = min(self.settings.target, MAX_BASE_TOKENS)
        model = TransformersModel(
            self.base, device=self.device, max_tokens=max_tokens, label="base", chat_template=self.chat_template
        )
        base_critic = Critic("sft", self.asking, self.settings.source, self.settings.target, 0.0, 1.0)
        return CutJudge(self.asking.judge(model), model, base_critic)

    def preference_table(self) -> Table | None:
        """Return how often people's verdict is likelier than a wrong one, before and after; None if not `dpo`."""
        held_out_answers = [answer for answer in self.scored_answers if answer.split != "train"]
        if self.settings.kind != "dpo" or not held_out_answers:
            return None
        preferences = Preferences(held_out_answers, self.asking, self.settings, self.device, self.chat_template)
        return preferences.table(
            {
                "before": preferences.preference_scores(self.base),
                "after": preferences.preference_scores(str(self.out / "model")),
                "by frequency": preferences.frequency_scores(self.training_answers),
            }
        )

    @property
    def training_answers(self) -> list[ScoredAnswer]:
        return [answer for answer in self.scored_answers if answer.split == "train"]

    def _run_settings(self) -> dict[str, Any]:
        """All that a run depends on: if it differs, it is another run."""
        data = digest([[answer.case.key, answer.mark, answer.reason, answer.split] for answer in self.scored_answers])
        return {
            "base": self.base, "chat_template": self.chat_template, "data": data,
            "asking": dict(self.asking.values), **self.settings.values,
        }  # fmt: skip

    def _train_light(self) -> bool:
        from fullbench.training.critic.light_critic import fit_head, write_weights

        self._claim_folder()
        head = fit_head(self.training_answers, self.settings.seed, reference=self.asking.reference)
        write_weights(head, self.out / "model")
        self._write_description(head.mean, head.deviation, {"strength": head.strength})
        return True

    def _train_deep(self) -> bool:
        from fullbench.training.critic.fit.base_models import base_model, check_machine

        half = check_machine(self.settings, self.device)
        if not self.base:
            raise InputError("this kind of critic needs a base model: add --base FOLDER or HUB_NAME")
        processes = Processes.join(self.device)
        trainee = base_model(self.base, self.settings, processes.device, chat_template=self.chat_template)
        encoder = Encoder(trainee.tokenizer, self.asking, self.settings.source, self.settings.target)
        examples = encode_answers(encoder, self.training_answers, self.settings)
        self._claim_folder()
        if self.settings.shard:
            shard_model(trainee.model, processes)
        if processes.is_first:
            self._announce_run(examples, encoder.cut_count)
        marks = [answer.mark for answer in self.training_answers]
        mean, deviation = fmean(marks), pstdev(marks) or 1.0
        loop = Loop(
            trainee.model,
            self._objective(mean, deviation),
            examples,
            self.settings,
            padding_token(trainee.tokenizer),
            half,
            processes,
            self.run_folder,
            self.watch,
            self.stop,
        )
        if self.settings.kind == "dpo":
            loop.examples = with_base_likelihoods(loop)
        has_ended = loop.run()
        weights = gather_weights(trainee.model) if loop.is_sharded else None
        processes.leave_group()
        if has_ended and processes.is_first:
            if weights is not None:
                trainee = base_model(self.base, self.settings, "cpu", chat_template=self.chat_template)
                trainee.model.load_state_dict(weights)
            trainee.write(self.out / "model")
            steps = {"steps": loop.steps, "cut": encoder.cut_count, "loss": loop.losses[-1]["loss"]}
            self._write_description(mean, deviation, steps)
        return has_ended

    def _objective(self, mean: float, deviation: float) -> Objective:
        if self.settings.kind == "dpo":
            return PreferenceObjective(self.settings.beta, self.settings.anchor)
        return ScoreObjective(mean, deviation) if self.settings.kind == "scalar" else TokenObjective()

    def _claim_folder(self) -> None:
        self.run_folder.claim(self._run_settings())
        if not self.is_first:
            return
        rows = (
            {"item": answer.case.item.id, "contestant": answer.case.contestants[0], "split": answer.split}
            for answer in self.scored_answers
        )
        write_rows(self.out / "run" / "split.jsonl", {tuple(row.values()): row for row in rows}.values())

    def _announce_run(self, examples: Sequence[Example], cut: int) -> None:
        tokens = sum(example.tokens for example in examples)
        steps = count_steps(len(examples), self.settings)
        self.say(
            f"{len(examples):,} scores to learn from, {tokens:,} tokens, {steps:,} steps of {self.settings.batch}."
        )
        if cut:
            self.say(f"{cut:,} answers or reasons were longer than the window and were cut at their end.")

    def _write_description(self, mean: float, deviation: float, more: dict[str, Any]) -> None:
        counts = Counter(answer.split for answer in self.scored_answers)
        middle = median(answer.mark for answer in self.training_answers)
        about = {"fullbench": __version__, "base": self.base, "scores": dict(counts), "median": middle, **more}
        source, target = self.settings.source, self.settings.target
        Critic(self.settings.kind, self.asking, source, target, mean, deviation, about).write(self.out)


def with_base_likelihoods(loop: Loop) -> list[Example]:
    """Return every example with the log likelihoods of its two verdicts before training."""
    likelihoods = verdict_likelihoods(
        loop.model, loop.examples, micro=loop.settings.micro, pad=loop.pad, device=loop.processes.device,
        arithmetic=loop.arithmetic,
    )  # fmt: skip
    return [replace(example, base=pair) for example, pair in zip(loop.examples, likelihoods, strict=True)]
