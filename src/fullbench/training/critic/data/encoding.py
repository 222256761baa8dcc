"""Prompts and rulings as tokens: what is learned, what is cut, what is packed together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fullbench.core.case import Case
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError
from fullbench.models.local.transformers_model import tokenize
from fullbench.training.critic.data.prompts import Asking
from fullbench.training.critic.data.scored_answers import Scored
from fullbench.training.critic.training_settings import Settings


@dataclass(frozen=True, slots=True)
class Piece:
    """One sequence of tokens; the loss is on those from `start` on."""

    ids: tuple[int, ...]
    start: int

    @property
    def targets(self) -> int:
        return len(self.ids) - self.start


@dataclass(frozen=True, slots=True)
class Example:
    """What is learned from one score: a sequence, or for a preference the better and the worse one.

    `value` is the mark. `base` holds what the model said of the two before training, filled in when that is known.
    """

    pieces: tuple[Piece, ...]
    value: float
    base: tuple[float, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(len(piece.ids) for piece in self.pieces)


class _Mute:
    """Stands where a judge needs a model, while only its prompts are wanted."""

    name = "training"
    settings: dict[str, Any] = {}  # noqa: RUF012
    price = None

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        raise NotImplementedError


@dataclass
class Encoder:
    """Cases as tokens, by the judge's own prompt code and the tokenizer's chat template.

    An answer that does not fit is cut at its end, so that the question, the rules and the way to reply all stay;
    `cut` counts them. `source` is the most tokens of a prompt.
    """

    tokenizer: Any
    asking: Asking
    source: int
    target: int = 1024
    cut: int = 0

    def __post_init__(self) -> None:
        self._judge = self.asking.judge(_Mute())

    def prompt(self, case: Case) -> list[int]:
        """The prompt's tokens, after which the critic speaks."""
        return self._fit(case)[1]

    def fitted(self, case: Case) -> Case:
        """The case with its answer cut so that the prompt fits; the case itself where it does."""
        return self._fit(case)[0]

    def _fit(self, case: Case) -> tuple[Case, list[int]]:
        ids = self._ids(case)
        if len(ids) <= self.source:
            return case, ids
        self.cut += 1
        words = self.tokenizer(case.responses[0].text, add_special_tokens=False)["input_ids"]
        while words:
            words = words[: max(0, len(words) - (len(ids) - self.source) - 1)]
            shorter = replace(case.responses[0], parts=(self.tokenizer.decode(words),))
            trial = replace(case, responses=(shorter,))
            ids = self._ids(trial)
            if len(ids) <= self.source:
                return trial, ids
        raise InputError(
            f"the prompt of item {case.item.id!r} has {len(ids)} tokens even without the answer, and the window is "
            f"{self.source}; raise --source, or take a shorter wording"
        )

    def _ids(self, case: Case) -> list[int]:
        return tokenize(self.tokenizer, self._judge.prompt(case).turns)

    def piece(self, prompt: Sequence[int], mark: float, reason: str = "") -> Piece:
        """A prompt with the ruling for a mark; a reason that is too long is cut, and the ruling stays whole."""
        ruling = self._ruling(mark, reason)
        if len(ruling) > self.target:
            self.cut += 1
            words = self.tokenizer(reason, add_special_tokens=False)["input_ids"]
            while words and len(ruling) > self.target:
                words = words[: max(0, len(words) - (len(ruling) - self.target) - 1)]
                ruling = self._ruling(mark, self.tokenizer.decode(words))
            if len(ruling) > self.target:
                raise InputError(f"a ruling has {len(ruling)} tokens and the target {self.target}; raise --target")
        return Piece((*prompt, *ruling), len(prompt))

    def _ruling(self, mark: float, reason: str) -> list[int]:
        ids: list[int] = self.tokenizer(self.asking.target(mark, reason), add_special_tokens=False)["input_ids"]
        end = self.tokenizer.eos_token_id
        return ids if end is None else [*ids, int(end)]


def encode(encoder: Encoder, scored: Iterable[Scored], settings: Settings) -> list[Example]:
    """Scores as examples of the kind that is trained."""
    return [_example(encoder, answer, settings) for answer in scored]


def _example(encoder: Encoder, answer: Scored, settings: Settings) -> Example:
    prompt = encoder.prompt(answer.case)
    if settings.kind == "scalar":
        return Example((Piece(tuple(prompt), len(prompt)),), answer.mark)
    right = encoder.piece(prompt, answer.mark, answer.reason)
    if settings.kind == "sft":
        return Example((right,), answer.mark)
    wrong = encoder.piece(prompt, wrong_mark(answer, encoder.asking, settings.seed), answer.reason)
    return Example((right, wrong), answer.mark)


def wrong_mark(answer: Scored, asking: Asking, seed: int) -> float:
    """Another mark of the scale, drawn by the seed and the case."""
    scale = asking.scale
    others = [mark for mark in range(scale.low, scale.high + 1) if mark != answer.mark]
    return float(random.Random(f"{seed}/{answer.case.key}/{answer.mark}").choice(others))


@lru_cache(maxsize=2)
def order(count: int, seed: int, epoch: int) -> list[int]:
    """The order of the examples in an epoch, the same for the same seed."""
    return random.Random(f"{seed}/{epoch}").sample(range(count), count)


def steps_of(count: int, settings: Settings) -> int:
    """How many steps the run has."""
    return max(1, round(settings.epochs * count / settings.batch))


def members(step: int, count: int, settings: Settings) -> list[int]:
    """The examples of a step: the next `batch` ones of an endless line of shuffled epochs."""
    places: list[int] = []
    place = step * settings.batch
    while len(places) < settings.batch:
        epoch, start = divmod(place + len(places), count)
        places += order(count, settings.seed, epoch)[start : start + settings.batch - len(places)]
    return places


def row_width(examples: Sequence[Example], settings: Settings) -> int:
    """How many tokens a packed row has room for."""
    return max([settings.source + settings.target, *(example.tokens for example in examples)])


def micro_batches(examples: Sequence[Example], settings: Settings) -> list[list[list[int]]]:
    """The examples of a step, by their place, as micro-batches of rows.

    Long ones first, so that rows of a batch are about alike and little is filled up. Packed, each example goes into
    the first row with room; the pieces of one example stay in one row. Batches are of one size or two, so that
    compiled layers meet few shapes and none is nearly empty.
    """
    placed = sorted(range(len(examples)), key=lambda place: (-examples[place].tokens, place))
    rows: list[list[int]] = []
    if settings.pack:
        room: list[int] = []
        most = row_width(examples, settings)
        for place in placed:
            size = examples[place].tokens
            row = next((number for number, spare in enumerate(room) if spare >= size), None)
            if row is None:
                rows.append([place])
                room.append(most - size)
            else:
                rows[row].append(place)
                room[row] -= size
    else:
        rows = [[place] for place in placed]
    parts = -(-len(rows) // settings.micro)
    return [rows[part * len(rows) // parts : (part + 1) * len(rows) // parts] for part in range(parts)]
