"""How a micro-batch goes through a model: the layers once, the words only at the positions that count.

A vocabulary of 150,000 words makes the scores of a few thousand positions gigabytes; they are computed in chunks, and
again on the way back instead of being kept. On a GPU the layers are compiled, and packed rows go through an attention
kernel that skips the blocks between two answers (flex attention), which no dense mask can.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from fullbench.training.critic.data.tensors import Batch
from fullbench.training.critic.fit.distributed import is_sharded

CHUNK = 1024
"""Positions whose scores over the vocabulary are held at once: 0.6 GB in single precision for 150,000 words."""
BLOCK = 128
"""Flex attention works in blocks of so many positions; rows are filled up to whole ones."""

_plain_heads: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
_compiled: WeakSet[Any] = WeakSet()


def compile_layers(model: Any) -> None:
    """Let the layers be compiled at their first batch; rows must then be filled to one width.

    Called before the first batch, since the check of the last layer would be compiled as one more shape.
    """
    import torch

    has_plain_head(model)
    model.set_attn_implementation("flex_attention")
    torch.set_float32_matmul_precision("high")
    model.base_model.compile()
    _compiled.add(model)


def inputs_of(model: Any, batch: Batch) -> dict[str, Any]:
    """What a model is given: positions only where rows hold several pieces, and never a mask for padding."""
    inputs = {"input_ids": batch.ids, "use_cache": False}
    if batch.positions is None:
        return inputs
    inputs["position_ids"] = batch.positions
    if model in _compiled:
        inputs["attention_mask"] = block_mask(batch.positions)
    return inputs


def block_mask(positions: Any, *, compiled: bool = True) -> Any:
    """Which blocks of a packed row may see each other: a piece begins where positions begin again."""
    from torch.nn.attention.flex_attention import create_block_mask

    piece = (positions == 0).cumsum(1)

    def visible(row: Any, _: Any, query: Any, key: Any) -> Any:
        return (query >= key) & (piece[row, query] == piece[row, key])

    rows, width = positions.shape
    return create_block_mask(visible, rows, None, width, width, device=positions.device, _compile=compiled)


def hidden_at_targets(model: Any, batch: Batch) -> Any:
    """What the last layer says at the positions that count."""
    return model.base_model(**inputs_of(model, batch)).last_hidden_state.flatten(0, 1)[batch.pick]


def token_losses(model: Any, batch: Batch) -> Any:
    """The cross entropy of each target token."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if not has_plain_head(model):
        return torch.nn.functional.cross_entropy(logits_of(model, batch), batch.labels, reduction="none")
    head, hidden = model.get_output_embeddings(), hidden_at_targets(model, batch)

    def losses(part: Any, labels: Any) -> Any:
        return torch.nn.functional.cross_entropy(head(part).float(), labels, reduction="none")

    parts = zip(hidden.split(CHUNK), batch.labels.split(CHUNK), strict=True)
    return torch.cat([checkpoint(losses, part, labels, use_reentrant=False) for part, labels in parts])


def log_probabilities(model: Any, batch: Batch) -> Any:
    """How likely each piece's ruling is, as the sum of the logarithms over its tokens."""
    import torch

    each = -token_losses(model, batch)
    pieces = sum(len(example.pieces) for example in batch.examples)
    return torch.zeros(pieces, device=each.device, dtype=each.dtype).index_add(0, batch.owner, each)


def has_plain_head(model: Any) -> bool:
    """Whether a model's scores are its output layer on its last hidden states, and nothing more.

    Some models scale or squash them afterwards (Gemma, Granite, Cohere). Tried on a few tokens instead of read from a
    list of names, which the next model would not be on. A sharded model's output layer is whole only inside its own
    forward pass.
    """
    import torch

    if is_sharded(model):
        return False
    if model not in _plain_heads:
        head = model.get_output_embeddings()
        _plain_heads[model] = False
        if head is not None and model.base_model is not model:
            training = model.training
            ids = torch.arange(1, 9, device=next(model.parameters()).device)[None]
            with torch.no_grad():
                model.eval()
                whole = model(input_ids=ids, use_cache=False).logits
                split = head(model.base_model(input_ids=ids, use_cache=False).last_hidden_state)
            model.train(training)
            _plain_heads[model] = torch.allclose(whole, split, rtol=1e-3, atol=1e-3)
    return _plain_heads[model]


@contextmanager
def picking(head: Any, pick: Any) -> Iterator[None]:
    """Let a model's output layer see only the positions that count, whatever the model does with its scores."""
    handle = head.register_forward_pre_hook(lambda _, inputs: (inputs[0].flatten(0, 1)[pick], *inputs[1:]))
    try:
        yield
    finally:
        handle.remove()


def logits_of(model: Any, batch: Batch) -> Any:
    """The scores over the vocabulary at the positions that count, in single precision."""
    with picking(model.get_output_embeddings(), batch.pick):
        return model(**inputs_of(model, batch)).logits.float()
