"""Training objectives: tokens of a verdict, a preference between two verdicts, or a number.

Each objective returns the sum of its losses over a micro-batch and their number. So a step over many micro-batches and
processes weights every target token (or answer) equally.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.training.critic.data.encoding import Example
from fullbench.training.critic.data.tensors import Batch
from fullbench.training.critic.fit.forward import hidden_at_targets, log_probabilities, token_losses


class Objective(ABC):
    """Loss over a micro-batch."""

    @abstractmethod
    def count(self, examples: Sequence[Example]) -> int:
        """Return the number of losses of the examples."""

    @abstractmethod
    def total(self, model: Any, batch: Batch) -> Any:
        """Return the sum of the losses."""


class TokenObjective(Objective):
    """Supervised fine-tuning: cross entropy of the verdict's tokens."""

    def count(self, examples: Sequence[Example]) -> int:
        return sum(example.pieces[0].targets for example in examples)

    def total(self, model: Any, batch: Batch) -> Any:
        return token_losses(model, batch).sum()


@dataclass
class PreferenceObjective(Objective):
    """Direct preference optimisation (Rafailov et al. 2023, arXiv:2305.18290).

    People's verdict becomes likelier than the wrong one, relative to the base model. Alone, this lets both become
    unlikely, until the critic writes neither. So `anchor` is the weight of an added cross entropy of the right
    verdict's tokens (Pang et al. 2024, arXiv:2404.19733).
    """

    beta: float = 0.1
    anchor: float = 1.0

    def count(self, examples: Sequence[Example]) -> int:
        return len(examples)

    def total(self, model: Any, batch: Batch) -> Any:
        import torch

        now = log_probabilities(model, batch).view(-1, 2)
        before = torch.tensor([example.base for example in batch.examples], device=now.device, dtype=now.dtype)
        margin = (now - before)[:, 0] - (now - before)[:, 1]
        lengths = torch.tensor([example.pieces[0].targets for example in batch.examples], device=now.device)
        unlikely = -now[:, 0] / lengths
        return (self.anchor * unlikely - torch.nn.functional.logsigmoid(self.beta * margin)).sum()


@dataclass
class ScoreObjective(Objective):
    """Squared error of a head on the last token, which gives the mark in deviations from the training mean."""

    mean: float
    deviation: float

    def count(self, examples: Sequence[Example]) -> int:
        return len(examples)

    def values(self, model: Any, batch: Batch) -> Any:
        """Return the mark of each answer."""
        return model.score(hidden_at_targets(model, batch)).float().squeeze(-1) * self.deviation + self.mean

    def total(self, model: Any, batch: Batch) -> Any:
        import torch

        true_marks = torch.tensor([example.value for example in batch.examples], device=batch.ids.device)
        return (((self.values(model, batch) - true_marks) / self.deviation) ** 2).sum()
