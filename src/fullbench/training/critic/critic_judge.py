"""Trained critics as judges: one that writes its ruling, one whose head gives a number."""

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
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.model import Model, Prompt
from fullbench.core.verdict import Failure, Verdict
from fullbench.judges.baselines import marks_from
from fullbench.judges.prompted import PromptedJudge
from fullbench.models.local.transformers_model import TransformersModel, pad_of, place, pretrained
from fullbench.models.local.weights_digest import fingerprint
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.encoding import Encoder, Example, Piece
from fullbench.training.critic.data.prompts import Asking

CUT = "the answer was cut to fit the window"


def writing(folder: Path, critic: Critic, *, device: str, precision: str, batch: int) -> CutJudge:
    """The critic that writes its ruling."""
    folder = folder.resolve()
    named = f"{folder.name}@{digest(fingerprint(folder / 'model'))[:8]}"
    model = TransformersModel(
        str(folder / "model"), device=device, precision=precision, batch=batch, max_tokens=critic.target, label=named
    )
    return CutJudge(critic.asking.judge(model), model, critic)


@dataclass(frozen=True, eq=False)
class CutJudge:
    """A judge that is shown long answers as the critic was in training: cut at their end, and the verdict says so."""

    kind: ClassVar[Kind] = "model"

    judge: PromptedJudge
    model: TransformersModel
    critic: Critic

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.model,)

    def prompts(self, case: Case) -> tuple[Prompt, ...]:
        """What the critic is asked, a long answer cut as in training."""
        whole = len(case.responses) > 1 or bool(self.judge.recuses(case))
        return self.judge.prompts(case if whole else self._encoder.fitted(case))

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {**self.judge.settings, "source": self.critic.source, "target": self.critic.target}

    @cached_property
    def name(self) -> str:
        return f"{self.judge.name.split('#')[0]}#{digest([self.judge.name, self.settings])[:8]}"

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.model.load()[1], self.critic.asking, self.critic.source, self.critic.target)

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        """The judge's verdicts, each under the key of the case as it was brought."""
        brought: dict[str, str] = {}

        def shown() -> Iterator[Case]:
            for case in cases:
                whole = len(case.responses) > 1 or bool(self.judge.recuses(case))
                cut = case if whole else self._encoder.fitted(case)
                if cut is not case:
                    brought[cut.key] = case.key
                yield cut

        for outcome in self.judge.hear(shown()):
            renamed = replace(outcome, judge=self.name, case=brought.get(outcome.case, outcome.case))
            if isinstance(renamed, Verdict) and outcome.case in brought:
                renamed = replace(renamed, earlier=(*renamed.earlier, CUT))
            yield renamed


@dataclass(eq=False)
class ScalarJudge(AsksNobody):
    """A critic whose head gives each answer a number: no words, one pass, no sampling.

    A score is the nearest whole one of its scale; `real` on the same ends takes the number as it is. On other ballots
    the higher number wins.
    """

    kind: ClassVar[Kind] = "scorer"

    folder: Path
    critic: Critic
    device: str = "auto"
    precision: str = "auto"
    batch: int = 8
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _loaded: tuple[Any, Any] | None = field(default=None, init=False, repr=False)

    @cached_property
    def name(self) -> str:
        return f"{self.folder.resolve().name}+scalar#{digest(self.settings)[:8]}"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        return {
            "model": digest(fingerprint(self.folder / "model")), "asking": self.critic.asking.values,
            "source": self.critic.source, "mean": self.critic.mean, "deviation": self.critic.deviation,
            "precision": self.precision,
        }  # fmt: skip

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """One verdict a case, in order, a batch of answers at a time."""
        waiting = iter(cases)
        while group := list(islice(waiting, self.batch)):
            yield from self._ruled(group)

    def _ruled(self, group: Sequence[Case]) -> Iterator[Verdict]:
        asking = self.critic.asking
        encoder = Encoder(self._load()[1], asking, self.critic.source)
        heard = [case for case in group if not recuses(case, asking)]
        prompts: list[list[int]] = []
        shortened: set[str] = set()
        for case in heard:
            before = encoder.cut
            prompts += [encoder.prompt(single) for single in alone(case, asking.scale)]
            if encoder.cut > before:
                shortened.add(case.key)
        numbers = iter(self._values(prompts))
        for case in group:
            if reason := recuses(case, asking):
                yield Verdict.of(case, self.name, "recused", text=reason)
                continue
            values = [next(numbers) for _ in case.responses]
            yield numbered(case, self.name, values, asking.scale, (CUT,) if case.key in shortened else ())

    def _values(self, prompts: Sequence[Sequence[int]]) -> list[float]:
        import torch

        from fullbench.training.critic.data.tensors import collate
        from fullbench.training.critic.fit.objectives import Number

        model, tokenizer = self._load()
        examples = [Example((Piece(tuple(ids), len(ids)),), 0.0) for ids in prompts]
        number = Number(self.critic.mean, self.critic.deviation)
        values: list[float] = []
        for start in range(0, len(examples), self.batch):
            some = examples[start : start + self.batch]
            batch = collate(some, [[place] for place in range(len(some))], packed=False, pad=pad_of(tokenizer))
            with torch.inference_mode():
                values += number.values(model, batch.to(model.device)).tolist()
        return values

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                device, precision = place(self.device, self.precision, self.name)
                source = str(self.folder / "model")
                model, tokenizer = pretrained(source, "AutoModelForSequenceClassification", precision)
                self._loaded = model.to(device).eval(), tokenizer
            return self._loaded


def recuses(case: Case, asking: Asking) -> str:
    """Why a critic that gives numbers cannot rule in a case; empty when it can."""
    if any(response.pictures for response in case.responses):
        return "the responses are pictures, and this critic reads words"
    if asking.reference and not case.item.reference:
        return "the item has no reference answer"
    return ""


def alone(case: Case, scale: Score) -> Iterator[Case]:
    """The case as one of each answer by itself, on the critic's own scale, which is what it knows."""
    for response in case.responses:
        yield replace(case, responses=(response,), ballot=scale)


def numbered(case: Case, judge: str, values: Sequence[float], scale: Score, earlier: tuple[str, ...] = ()) -> Verdict:
    """The verdict that numbers on the critic's scale make on the ballot of the case."""
    marks = _marks(case.ballot, values, scale)
    text = " ".join(f"{value:.3f}" for value in values)
    return Verdict.of(case, judge, "recused" if marks is None else marks, text=text, earlier=earlier)


def _marks(ballot: Ballot, values: Sequence[float], scale: Score) -> tuple[float, ...] | None:
    worths = [min(1.0, max(0.0, (value - scale.low) / (scale.high - scale.low))) for value in values]
    if isinstance(ballot, Real):
        return tuple(ballot.low + worth * (ballot.high - ballot.low) for worth in worths)
    return marks_from(ballot, worths)
