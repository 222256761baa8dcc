"""Trained critics as judges: one writes its verdict, the other gives a number by a regression head."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from fullbench.core.ballot import Ballot, Real, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Kind
from fullbench.core.model import Model, Prompt
from fullbench.core.verdict import Failure, Verdict
from fullbench.judges.baselines import marks_from
from fullbench.judges.prompted_judge import PromptedJudge
from fullbench.models.local.quick_weights_fingerprint import weights_fingerprint
from fullbench.models.local.transformers_model import (
    TransformersModel,
    load_pretrained,
    padding_token,
    resolve_device_and_precision,
)
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.encoding import Encoder, Example, Piece
from fullbench.training.critic.data.prompt_settings import PromptSettings

CUT = "the answer was cut to fit the window"


def writing_judge(folder: Path, critic: Critic, *, device: str, precision: str, batch: int) -> CutJudge:
    """Return the critic that writes its verdict."""
    folder = folder.resolve()
    model_label = f"{folder.name}@{digest(weights_fingerprint(folder / 'model'))[:8]}"
    model = TransformersModel(
        str(folder / "model"),
        device=device,
        precision=precision,
        batch=batch,
        max_tokens=critic.target,
        label=model_label,
    )
    return CutJudge(critic.asking.judge(model), model, critic)


@dataclass(frozen=True, eq=False)
class CutJudge:
    """Judge that gets long answers as in the critic's training: cut at their end. The verdict says so."""

    kind: ClassVar[Kind] = "model"

    inner: PromptedJudge
    model: TransformersModel
    critic: Critic

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """Return the prompts for a case; a long answer is cut as in training."""
        is_whole = len(case.responses) > 1 or bool(self.inner.abstention_reason(case))
        return self.inner.prompts(case if is_whole else self._encoder.fit_case(case))

    @property
    def answers_first(self) -> bool:
        """Return True if this judge answers the question before it sees the responses."""
        return self.inner.answers_first

    def answer_request(self, case: Case) -> Item | None:
        """Return the request for the judge's own answer, if it answers first."""
        return self.inner.answer_request(case)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {**self.inner.settings, "source": self.critic.source, "target": self.critic.target}

    @cached_property
    def name(self) -> str:
        return f"{self.inner.name.split('#')[0]}#{digest([self.inner.name, self.settings])[:8]}"

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.model.load()[1], self.critic.asking, self.critic.source, self.critic.target)

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """Yield the verdicts, each with the key of the original case."""
        original_keys: dict[str, str] = {}

        def cut_cases() -> Iterator[Case]:
            for case in cases:
                is_whole = len(case.responses) > 1 or bool(self.inner.abstention_reason(case))
                cut_case = case if is_whole else self._encoder.fit_case(case)
                if cut_case is not case:
                    original_keys[cut_case.key] = case.key
                yield cut_case

        for outcome in self.inner.judge(cut_cases()):
            own_outcome = replace(outcome, judge=self.name, case=original_keys.get(outcome.case, outcome.case))
            if isinstance(own_outcome, Verdict) and outcome.case in original_keys:
                own_outcome = replace(own_outcome, earlier=(*own_outcome.earlier, CUT))
            yield own_outcome


@dataclass(eq=False)
class ScalarJudge(CallsNoModel):
    """Critic whose head gives each answer a number: no text, one pass, no sampling.

    A `score` is the nearest whole number on its scale. `real` with the same ends uses the number unchanged. On other
    ballots the higher number wins.
    """

    kind: ClassVar[Kind] = "scorer"

    folder: Path
    critic: Critic
    device: str = "auto"
    precision: str = "auto"
    batch: int = 8
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded_model: tuple[Any, Any] | None = field(default=None, init=False, repr=False)

    @cached_property
    def name(self) -> str:
        return f"{self.folder.resolve().name}+scalar#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {
            "model": digest(weights_fingerprint(self.folder / "model")), "asking": self.critic.asking.values,
            "source": self.critic.source, "mean": self.critic.mean, "deviation": self.critic.deviation,
            "precision": self.precision,
        }  # fmt: skip

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """Yield one verdict per case, in order, one batch of answers at a time."""
        remaining_cases = iter(cases)
        while group := list(islice(remaining_cases, self.batch)):
            yield from self._judge_group(group)

    def _judge_group(self, group: Sequence[Case]) -> Iterator[Verdict]:
        asking = self.critic.asking
        encoder = Encoder(self._load()[1], asking, self.critic.source)
        judgeable_cases = [case for case in group if not abstention_reason(case, asking)]
        prompts: list[list[int]] = []
        shortened_keys: set[str] = set()
        for case in judgeable_cases:
            before = encoder.cut_count
            prompts += [encoder.prompt(single_case) for single_case in single_answer_cases(case, asking.scale)]
            if encoder.cut_count > before:
                shortened_keys.add(case.key)
        numbers = iter(self._values(prompts))
        for case in group:
            if reason := abstention_reason(case, asking):
                yield Verdict.from_case(case, self.name, "abstained", text=reason)
                continue
            values = [next(numbers) for _ in case.responses]
            yield verdict_from_scores(
                case, self.name, values, asking.scale, (CUT,) if case.key in shortened_keys else ()
            )

    def _values(self, prompts: Sequence[Sequence[int]]) -> list[float]:
        import torch

        from fullbench.training.critic.data.tensors import collate_batch
        from fullbench.training.critic.fit.objectives import ScoreObjective

        model, tokenizer = self._load()
        examples = [Example((Piece(tuple(ids), len(ids)),), 0.0) for ids in prompts]
        number = ScoreObjective(self.critic.mean, self.critic.deviation)
        values: list[float] = []
        for start in range(0, len(examples), self.batch):
            batch_examples = examples[start : start + self.batch]
            batch = collate_batch(
                batch_examples,
                [[index] for index in range(len(batch_examples))],
                is_packed=False,
                pad=padding_token(tokenizer),
            )
            with torch.inference_mode():
                values += number.values(model, batch.to(model.device)).tolist()
        return values

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded_model is None:
                device, precision = resolve_device_and_precision(self.device, self.precision, self.name)
                source = str(self.folder / "model")
                model, tokenizer = load_pretrained(source, "AutoModelForSequenceClassification", precision)
                self._loaded_model = model.to(device).eval(), tokenizer
            return self._loaded_model


def abstention_reason(case: Case, asking: PromptSettings) -> str:
    """Return why a critic that gives numbers cannot judge a case, or an empty string if it can."""
    if any(response.pictures for response in case.responses):
        return "the responses are pictures, and this critic reads words"
    if asking.reference and not case.item.reference:
        return "the item has no reference answer"
    return ""


def single_answer_cases(case: Case, scale: Score) -> Iterator[Case]:
    """Yield a case for each answer alone, on the scale that the critic was trained on."""
    for response in case.responses:
        yield replace(case, responses=(response,), ballot=scale)


def verdict_from_scores(
    case: Case, judge: str, values: Sequence[float], scale: Score, earlier: tuple[str, ...] = ()
) -> Verdict:
    """Return the verdict on the case's ballot from numbers on the critic's scale."""
    marks = _ballot_marks(case.ballot, values, scale)
    text = " ".join(f"{value:.3f}" for value in values)
    return Verdict.from_case(case, judge, "abstained" if marks is None else marks, text=text, earlier=earlier)


def _ballot_marks(ballot: Ballot, values: Sequence[float], scale: Score) -> tuple[float, ...] | None:
    worths = [min(1.0, max(0.0, (value - scale.low) / (scale.high - scale.low))) for value in values]
    if isinstance(ballot, Real):
        return tuple(ballot.low + worth * (ballot.high - ballot.low) for worth in worths)
    return marks_from(ballot, worths)
