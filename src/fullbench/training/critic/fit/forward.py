"""Forward pass of a micro-batch: all layers once, vocabulary logits only at target positions.

With a vocabulary of 150,000 words, the logits of a few thousand positions take gigabytes. They are computed in chunks,
and again in the backward pass instead of being stored. On a GPU the layers are compiled. Packed rows use an attention
kernel that skips the blocks between two answers (flex attention), which no dense mask can.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from fullbench.training.critic.data.tensors import Batch
from fullbench.training.critic.fit.distributed_training import is_sharded

CHUNK = 1024
"""Positions whose logits are held at once: 0.6 GB in single precision for 150,000 words."""
BLOCK = 128
"""Block size of flex attention; rows are padded to whole blocks."""
SMALLEST_HEAD = 16
"""Fewest dimensions of a head that flex attention's kernel for GPUs takes."""

_plain_heads: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
_compiled_models: WeakSet[Any] = WeakSet()


def attention_head_width(model: Any) -> int:
    """Return the number of dimensions of one attention head."""
    config = model.config.get_text_config()
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def compile_layers(model: Any) -> None:
    """Compile the layers at their first batch; rows must then be padded to one width.

    Call it before the first batch. Otherwise the check of the last layer would be compiled as another shape.
    """
    import torch

    has_plain_head(model)
    model.set_attn_implementation("flex_attention")
    torch.set_float32_matmul_precision("high")
    model.base_model.compile()
    _compiled_models.add(model)


def model_inputs(model: Any, batch: Batch) -> dict[str, Any]:
    """Return the inputs of a model: positions only for packed rows, and never a mask for padding."""
    inputs = {"input_ids": batch.ids, "use_cache": False}
    if batch.positions is None:
        return inputs
    inputs["position_ids"] = batch.positions
    if model in _compiled_models:
        inputs["attention_mask"] = block_mask(batch.positions)
    return inputs


def block_mask(positions: Any, *, is_compiled: bool = True) -> Any:
    """Return which blocks of a packed row may attend to each other; a piece starts at position 0."""
    from torch.nn.attention.flex_attention import create_block_mask

    piece = (positions == 0).cumsum(1)

    def visible(row: Any, _: Any, query: Any, key: Any) -> Any:
        return (query >= key) & (piece[row, query] == piece[row, key])

    rows, width = positions.shape
    return create_block_mask(visible, rows, None, width, width, device=positions.device, _compile=is_compiled)


def hidden_at_targets(model: Any, batch: Batch) -> Any:
    """Return the last hidden states at the target positions."""
    return model.base_model(**model_inputs(model, batch)).last_hidden_state.flatten(0, 1)[batch.pick]


def token_losses(model: Any, batch: Batch) -> Any:
    """Return the cross entropy of each target token."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if not has_plain_head(model):
        return torch.nn.functional.cross_entropy(target_logits(model, batch), batch.labels, reduction="none")
    head, hidden_states = model.get_output_embeddings(), hidden_at_targets(model, batch)

    def losses(part: Any, labels: Any) -> Any:
        return torch.nn.functional.cross_entropy(head(part).float(), labels, reduction="none")

    parts = zip(hidden_states.split(CHUNK), batch.labels.split(CHUNK), strict=True)
    return torch.cat([checkpoint(losses, part, labels, use_reentrant=False) for part, labels in parts])


def log_probabilities(model: Any, batch: Batch) -> Any:
    """Return the log likelihood of each piece's verdict, summed over its tokens."""
    import torch

    token_log_probabilities = -token_losses(model, batch)
    pieces = sum(len(example.pieces) for example in batch.examples)
    return torch.zeros(pieces, device=token_log_probabilities.device, dtype=token_log_probabilities.dtype).index_add(
        0, batch.owner, token_log_probabilities
    )


def has_plain_head(model: Any) -> bool:
    """True if a model's logits are its output layer applied to its last hidden states, and nothing more.

    Some models scale or squash them afterwards (Gemma, Granite, Cohere). The check runs a few tokens instead of using a
    list of names, which would lack the next model. A sharded model's output layer is complete only inside its own
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
                full_logits = model(input_ids=ids, use_cache=False).logits
                split_logits = head(model.base_model(input_ids=ids, use_cache=False).last_hidden_state)
            model.train(training)
            _plain_heads[model] = torch.allclose(full_logits, split_logits, rtol=1e-3, atol=1e-3)
    return _plain_heads[model]


@contextmanager
def pick_positions(head: Any, pick: Any) -> Iterator[None]:
    """Restrict a model's output layer to the target positions, whatever the model does with the logits."""
    handle = head.register_forward_pre_hook(lambda _, inputs: (inputs[0].flatten(0, 1)[pick], *inputs[1:]))
    try:
        yield
    finally:
        handle.remove()


def target_logits(model: Any, batch: Batch) -> Any:
    """Return the vocabulary logits at the target positions, in single precision."""
    with pick_positions(model.get_output_embeddings(), batch.pick):
        return model(**model_inputs(model, batch)).logits.float()
