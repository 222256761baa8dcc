"""What is learned: the words of a ruling, a preference between two rulings, or a number.

Each objective gives the sum of its losses over a micro-batch and says how many there are, so that a step over many
micro-batches and processes weighs every target token (or answer) the same.
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
    """A loss over a micro-batch."""

    @abstractmethod
    def count(self, examples: Sequence[Example]) -> int:
        """How many losses the examples have."""

    @abstractmethod
    def total(self, model: Any, batch: Batch) -> Any:
        """The sum of the losses."""


class Words(Objective):
    """Supervised fine-tuning: the cross entropy of the ruling's tokens."""

    def count(self, examples: Sequence[Example]) -> int:
        return sum(example.pieces[0].targets for example in examples)

    def total(self, model: Any, batch: Batch) -> Any:
        return token_losses(model, batch).sum()


@dataclass
class Preference(Objective):
    """Direct preference optimisation (Rafailov et al. 2023, arXiv:2305.18290).

    The people's ruling is to become likelier than the wrong one, measured from where the model began. That alone lets
    both become unlikely, until the critic writes neither; so `anchor` adds the cross entropy of the right ruling's
    tokens, so many times (Pang et al. 2024, arXiv:2404.19733).
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
class Number(Objective):
    """A head on the last token gives the mark, in deviations from the mean of those trained on; squared error."""

    mean: float
    deviation: float

    def count(self, examples: Sequence[Example]) -> int:
        return len(examples)

    def values(self, model: Any, batch: Batch) -> Any:
        """The mark of each answer."""
        return model.score(hidden_at_targets(model, batch)).float().squeeze(-1) * self.deviation + self.mean

    def total(self, model: Any, batch: Batch) -> Any:
        import torch

        wanted = torch.tensor([example.value for example in batch.examples], device=batch.ids.device)
        return (((self.values(model, batch) - wanted) / self.deviation) ** 2).sum()
