"""Prompts and verdicts as tokens: targets of the loss, cuts to the window, packing of rows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fullbench.core.case import Case
from fullbench.core.model import Prompt, Reply
from fullbench.errors import InputError
from fullbench.models.local.transformers_model import tokenize_turns
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import ScoredAnswer
from fullbench.training.critic.training_settings import Settings


@dataclass(frozen=True, slots=True)
class Piece:
    """One sequence of tokens; the loss covers the tokens from `start` on."""

    ids: tuple[int, ...]
    start: int

    @property
    def targets(self) -> int:
        return len(self.ids) - self.start


@dataclass(frozen=True, slots=True)
class Example:
    """Tokens of one score, or a better and a worse sequence; `value` is the mark, `base` their initial likelihoods."""

    pieces: tuple[Piece, ...]
    value: float
    base: tuple[float, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(len(piece.ids) for piece in self.pieces)


class _SilentModel:
    """Placeholder model of a judge whose prompts alone are needed."""

    name = "training"
    settings: dict[str, Any] = {}  # noqa: RUF012
    price = None

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        raise NotImplementedError


@dataclass
class Encoder:
    """Encoder of cases as tokens, by the judge's own prompt code and the tokenizer's chat template.

    An answer that does not fit is cut at its end, so that the question, the rules and the reply format remain;
    `cut_count` counts such answers. `source` is the most tokens of a prompt.
    """

    tokenizer: Any
    asking: PromptSettings
    source: int
    target: int = 1024
    cut_count: int = 0

    def __post_init__(self) -> None:
        self._judge = self.asking.judge(_SilentModel())

    def prompt(self, case: Case) -> list[int]:
        """Return the tokens of the prompt."""
        return self._fit_prompt(case)[1]

    def fit_case(self, case: Case) -> Case:
        """Return the case with its answer cut so that the prompt fits, or the case itself if it does."""
        return self._fit_prompt(case)[0]

    def _fit_prompt(self, case: Case) -> tuple[Case, list[int]]:
        ids = self._prompt_ids(case)
        if len(ids) <= self.source:
            return case, ids
        self.cut_count += 1
        token_ids = self.tokenizer(case.responses[0].text, add_special_tokens=False)["input_ids"]
        while token_ids:
            token_ids = token_ids[: max(0, len(token_ids) - (len(ids) - self.source) - 1)]
            shorter_response = replace(case.responses[0], parts=(self.tokenizer.decode(token_ids),))
            shorter_case = replace(case, responses=(shorter_response,))
            ids = self._prompt_ids(shorter_case)
            if len(ids) <= self.source:
                return shorter_case, ids
        raise InputError(
            f"the prompt of item {case.item.id!r} has {len(ids)} tokens even without the answer, and the window is "
            f"{self.source}; raise --source, or use a shorter template"
        )

    def _prompt_ids(self, case: Case) -> list[int]:
        return tokenize_turns(self.tokenizer, self._judge.prompt(case).turns)

    def piece(self, prompt: Sequence[int], mark: float, reason: str = "") -> Piece:
        """Return a prompt with the verdict for a mark; a long reason is cut, the verdict never."""
        verdict_ids = self._verdict_ids(mark, reason)
        if len(verdict_ids) > self.target:
            self.cut_count += 1
            token_ids = self.tokenizer(reason, add_special_tokens=False)["input_ids"]
            while token_ids and len(verdict_ids) > self.target:
                token_ids = token_ids[: max(0, len(token_ids) - (len(verdict_ids) - self.target) - 1)]
                verdict_ids = self._verdict_ids(mark, self.tokenizer.decode(token_ids))
            if len(verdict_ids) > self.target:
                raise InputError(
                    f"a verdict has {len(verdict_ids)} tokens and the target {self.target}; raise --target"
                )
        return Piece((*prompt, *verdict_ids), len(prompt))

    def _verdict_ids(self, mark: float, reason: str) -> list[int]:
        ids: list[int] = self.tokenizer(self.asking.target(mark, reason), add_special_tokens=False)["input_ids"]
        end = self.tokenizer.eos_token_id
        return ids if end is None else [*ids, int(end)]


def encode_answers(encoder: Encoder, scored_answers: Iterable[ScoredAnswer], settings: Settings) -> list[Example]:
    """Encode scored answers as examples for the kind of training."""
    return [_build_example(encoder, answer, settings) for answer in scored_answers]


def _build_example(encoder: Encoder, answer: ScoredAnswer, settings: Settings) -> Example:
    prompt = encoder.prompt(answer.case)
    if settings.kind == "scalar":
        return Example((Piece(tuple(prompt), len(prompt)),), answer.mark)
    right = encoder.piece(prompt, answer.mark, answer.reason)
    if settings.kind == "sft":
        return Example((right,), answer.mark)
    wrong = encoder.piece(prompt, wrong_mark(answer, encoder.asking, settings.seed), answer.reason)
    return Example((right, wrong), answer.mark)


def wrong_mark(answer: ScoredAnswer, asking: PromptSettings, seed: int) -> float:
    """Return another mark of the scale, drawn by the seed and the case."""
    scale = asking.scale
    other_marks = [mark for mark in range(scale.low, scale.high + 1) if mark != answer.mark]
    return float(random.Random(f"{seed}/{answer.case.key}/{answer.mark}").choice(other_marks))


@lru_cache(maxsize=2)
def epoch_order(count: int, seed: int, epoch: int) -> list[int]:
    """Return the order of the examples in an epoch, the same for the same seed."""
    return random.Random(f"{seed}/{epoch}").sample(range(count), count)


def count_steps(count: int, settings: Settings) -> int:
    """Return the number of steps of the run."""
    return max(1, round(settings.epochs * count / settings.batch))


def step_indices(step: int, count: int, settings: Settings) -> list[int]:
    """Return the examples of a step: the next `batch` ones of an endless sequence of shuffled epochs."""
    indices: list[int] = []
    position = step * settings.batch
    while len(indices) < settings.batch:
        epoch, start = divmod(position + len(indices), count)
        indices += epoch_order(count, settings.seed, epoch)[start : start + settings.batch - len(indices)]
    return indices


def row_width(examples: Sequence[Example], settings: Settings) -> int:
    """Return the capacity of a packed row in tokens."""
    return max([settings.source + settings.target, *(example.tokens for example in examples)])


def micro_batches(examples: Sequence[Example], settings: Settings) -> list[list[list[int]]]:
    """Return the examples of a step, by index, as micro-batches of rows.

    Long examples come first, so that rows of a batch have similar lengths and need little padding. If packed, each
    example goes into the first row with room; the pieces of one example stay in one row. Batches have at most two
    sizes, so that compiled layers get few shapes and no batch is nearly empty.
    """
    ordered_indices = sorted(range(len(examples)), key=lambda index: (-examples[index].tokens, index))
    rows: list[list[int]] = []
    if settings.pack:
        free_tokens: list[int] = []
        row_capacity = row_width(examples, settings)
        for index in ordered_indices:
            size = examples[index].tokens
            row = next((number for number, spare in enumerate(free_tokens) if spare >= size), None)
            if row is None:
                rows.append([index])
                free_tokens.append(row_capacity - size)
            else:
                rows[row].append(index)
                free_tokens[row] -= size
    else:
        rows = [[index] for index in ordered_indices]
    parts = -(-len(rows) // settings.micro)
    return [rows[part * len(rows) // parts : (part + 1) * len(rows) // parts] for part in range(parts)]
