"""How often a critic finds the people's ruling likelier than a wrong one: what preference training is for.

The pairs are those that training would make of the answers held back: the person's mark, and another drawn by the seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.models.local.transformers_model import pad_of, place, pretrained
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.share_intervals import share
from fullbench.stats.intervals.weighted_statistics import mean
from fullbench.training.critic.data.encoding import Encoder, Example, encode, wrong_mark
from fullbench.training.critic.data.prompts import Asking
from fullbench.training.critic.data.scored_answers import Scored
from fullbench.training.critic.data.tensors import collate
from fullbench.training.critic.fit.forward import log_probabilities
from fullbench.training.critic.training_settings import Settings

Pair = tuple[float, float]
"""How likely the right and the wrong ruling are, as logarithms."""


def likelihoods(
    model: Any,
    examples: Sequence[Example],
    *,
    micro: int,
    pad: int,
    device: str,
    arithmetic: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[Pair]:
    """How likely a model finds the two rulings of each example."""
    import torch

    model.eval()
    pairs: list[Pair] = []
    for start in range(0, len(examples), micro):
        some = examples[start : start + micro]
        batch = collate(some, [[place] for place in range(len(some))], packed=False, pad=pad)
        with torch.no_grad(), arithmetic():
            pairs += [
                (right, wrong) for right, wrong in log_probabilities(model, batch.to(device)).view(-1, 2).tolist()
            ]
    return pairs


@dataclass(frozen=True)
class Preferences:
    """Pairs of a right and a wrong ruling on answers that were held back."""

    held: Sequence[Scored]
    asking: Asking
    settings: Settings
    device: str = "auto"
    chat_template: str = ""

    def preferred(self, source: str) -> list[float]:
        """For each pair 1 where the model in a folder, or of a hub, finds the right ruling likelier; equal is 0.5."""
        device, _ = place(self.device, "auto", f"the model {source!r}")
        model, tokenizer = pretrained(source, "AutoModelForCausalLM", "float32")
        if self.chat_template:
            tokenizer.chat_template = self.chat_template
        encoder = Encoder(tokenizer, self.asking, self.settings.source, self.settings.target)
        examples = encode(encoder, self.held, self.settings)
        pairs = likelihoods(
            model.to(device), examples, micro=self.settings.micro, pad=pad_of(tokenizer), device=device
        )  # fmt: skip
        return [_won(right, wrong) for right, wrong in pairs]

    def usual(self, learned: Sequence[Scored]) -> list[float]:
        """The same for one that knows nothing but how often people gave each mark."""
        often = Counter(answer.mark for answer in learned)
        drawn = [(answer, wrong_mark(answer, self.asking, self.settings.seed)) for answer in self.held]
        return [_won(often[answer.mark], often[wrong]) for answer, wrong in drawn]

    def table(self, rows: dict[str, Sequence[float]]) -> Table:
        """Each with its share of pairs, and how far it is from the first."""
        items = [answer.case.item.id for answer in self.held]
        seed, (first, *_) = self.settings.seed, rows.values()
        table_rows: list[list[Cell]] = []
        for name, won in rows.items():
            less = (
                None
                if won is first
                else bootstrap(_difference, won, first, cluster=items, seed=seed, within=(-1.0, 1.0))
            )
            table_rows.append([name, share(list(won), cluster=items), less])
        notes = (
            Note(
                "training.critic.preferences.pairs-of-answers-held-back",
                "Pairs of answers held back: the person's mark and another mark of the scale, drawn by the seed.",
            ),
            Note(
                "training.critic.preferences.half-is-chance-by-frequency",
                "Half is chance. By frequency: the mark that people gave more often in training is preferred.",
            ),
        )
        columns = headings("who", "preferred", "beside the first")
        return Table(
            "preferences",
            Note(
                "training.critic.preferences.title.how-often-the-right-ruling", "How often the right ruling is likelier"
            ),
            columns,
            table_rows,
            notes,
            {"seed": seed},
        )


def _won(right: float, wrong: float) -> float:
    return 1.0 if right > wrong else 0.5 if right == wrong else 0.0


def _difference(weights: Any, first: Any, second: Any) -> Any:
    return mean(weights, first) - mean(weights, second)
