"""Preference accuracy: how often a critic finds people's verdict likelier than a wrong one.

The pairs are those that preference training would make of the held-out answers: the person's mark, and another drawn by
the seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.models.local.transformers_model import load_pretrained, padding_token, resolve_device_and_precision
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.share_intervals import share_estimate
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
from fullbench.training.critic.data.encoding import Encoder, Example, encode_answers, wrong_mark
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import ScoredAnswer
from fullbench.training.critic.data.tensors import collate_batch
from fullbench.training.critic.fit.forward import log_probabilities
from fullbench.training.critic.training_settings import Settings

Pair = tuple[float, float]
"""Log likelihoods of the right and of the wrong verdict."""


def verdict_likelihoods(
    model: Any,
    examples: Sequence[Example],
    *,
    micro: int,
    pad: int,
    device: str,
    arithmetic: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[Pair]:
    """Return a model's log likelihoods of the two verdicts of each example.

    Args:
        model: The model.
        examples: The examples.
        micro: Examples in one batch.
        pad: Token that fills shorter rows.
        device: Device of the batches.
        arithmetic: Context of the computation, such as mixed precision.
    """
    import torch

    model.eval()
    pairs: list[Pair] = []
    for start in range(0, len(examples), micro):
        batch_examples = examples[start : start + micro]
        batch = collate_batch(
            batch_examples, [[index] for index in range(len(batch_examples))], is_packed=False, pad=pad
        )
        with torch.no_grad(), arithmetic():
            pairs += [
                (right, wrong) for right, wrong in log_probabilities(model, batch.to(device)).view(-1, 2).tolist()
            ]
    return pairs


@dataclass(frozen=True)
class Preferences:
    """Pairs of a right and a wrong verdict on held-out answers."""

    held_out_answers: Sequence[ScoredAnswer]
    asking: PromptSettings
    settings: Settings
    device: str = "auto"
    chat_template: str = ""

    def preference_scores(self, source: str) -> list[float]:
        """Return 1 for each pair whose right verdict is likelier by the model (folder or hub name), 0.5 if equal."""
        device, _ = resolve_device_and_precision(self.device, "auto", f"the model {source!r}")
        model, tokenizer = load_pretrained(source, "AutoModelForCausalLM", "float32")
        if self.chat_template:
            tokenizer.chat_template = self.chat_template
        encoder = Encoder(tokenizer, self.asking, self.settings.source, self.settings.target)
        examples = encode_answers(encoder, self.held_out_answers, self.settings)
        pairs = verdict_likelihoods(
            model.to(device), examples, micro=self.settings.micro, pad=padding_token(tokenizer), device=device
        )  # fmt: skip
        return [_pair_score(right, wrong) for right, wrong in pairs]

    def frequency_scores(self, training_answers: Sequence[ScoredAnswer]) -> list[float]:
        """Return the same for a baseline that prefers the mark that people gave more often in training."""
        mark_counts = Counter(answer.mark for answer in training_answers)
        answers_and_wrong_marks = [
            (answer, wrong_mark(answer, self.asking, self.settings.seed)) for answer in self.held_out_answers
        ]
        return [_pair_score(mark_counts[answer.mark], mark_counts[wrong]) for answer, wrong in answers_and_wrong_marks]

    def table(self, rows: dict[str, Sequence[float]]) -> Table:
        """Return each row's share of pairs, and its difference from the first row."""
        items = [answer.case.item.id for answer in self.held_out_answers]
        seed, (first, *_) = self.settings.seed, rows.values()
        table_rows: list[list[Cell]] = []
        for name, scores in rows.items():
            gap = (
                None
                if scores is first
                else bootstrap(_mean_difference, scores, first, cluster=items, seed=seed, within=(-1.0, 1.0))
            )
            table_rows.append([name, share_estimate(list(scores), cluster=items), gap])
        notes = (
            Note("training.critic.preferences.pairs-of-answers-held-back"),
            Note("training.critic.preferences.half-is-chance-by-frequency"),
        )
        columns = table_columns("who", "preferred", "compared with the first")
        return Table(
            "preferences",
            Note("training.critic.preferences.title.how-often-the-right-ruling"),
            columns,
            table_rows,
            notes,
            {"seed": seed},
        )


def _pair_score(right: float, wrong: float) -> float:
    return 1.0 if right > wrong else 0.5 if right == wrong else 0.0


def _mean_difference(weights: Any, first: Any, second: Any) -> Any:
    return weighted_mean(weights, first) - weighted_mean(weights, second)
