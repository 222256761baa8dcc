"""What is learned: the words of a ruling, a preference between two rulings, or a number.

Each objective gives the sum of its losses over a micro-batch and says how many there are, so that a step over many
micro-batches and processes weighs every target token (or answer) the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fullbench.training.critic.batches import Batch
from fullbench.training.critic.encoding import Example


class Objective(ABC):
    """A loss over a micro-batch."""

    @abstractmethod
    def count(self, examples: Sequence[Example]) -> int:
        """How many losses the examples have."""

    @abstractmethod
    def total(self, model: Any, batch: Batch) -> Any:
        """The sum of the losses."""


def forward(batch: Batch) -> dict[str, Any]:
    """What a model is given: positions only where rows hold several pieces, and never a mask for padding."""
    inputs = {"input_ids": batch.ids, "use_cache": False}
    return inputs if batch.positions is None else {**inputs, "position_ids": batch.positions}


@contextmanager
def picking(head: Any, pick: Any) -> Iterator[None]:
    """Let a model's last layer see only the positions that count.

    Most tokens are the prompt's, and the layer over the vocabulary is a large part of the work.
    """
    handle = head.register_forward_pre_hook(lambda _, inputs: (inputs[0].flatten(0, 1)[pick], *inputs[1:]))
    try:
        yield
    finally:
        handle.remove()


def logits_of(model: Any, batch: Batch) -> Any:
    """The scores over the vocabulary at the positions that count, in single precision."""
    with picking(model.get_output_embeddings(), batch.pick):
        return model(**forward(batch)).logits.float()


def log_probabilities(model: Any, batch: Batch) -> Any:
    """How likely each piece's ruling is, as the sum of the logarithms over its tokens."""
    import torch

    logits = logits_of(model, batch)
    each = -torch.nn.functional.cross_entropy(logits, batch.labels, reduction="none")
    pieces = sum(len(example.pieces) for example in batch.examples)
    return torch.zeros(pieces, device=each.device, dtype=each.dtype).index_add(0, batch.owner, each)


class Words(Objective):
    """Supervised fine-tuning: the cross entropy of the ruling's tokens."""

    def count(self, examples: Sequence[Example]) -> int:
        return sum(example.pieces[0].targets for example in examples)

    def total(self, model: Any, batch: Batch) -> Any:
        import torch

        return torch.nn.functional.cross_entropy(logits_of(model, batch), batch.labels, reduction="sum")


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
        hidden = model.base_model(**forward(batch)).last_hidden_state
        return model.score(hidden.flatten(0, 1)[batch.pick]).float().squeeze(-1) * self.deviation + self.mean

    def total(self, model: Any, batch: Batch) -> Any:
        import torch

        wanted = torch.tensor([example.value for example in batch.examples], device=batch.ids.device)
        return (((self.values(model, batch) - wanted) / self.deviation) ** 2).sum()
