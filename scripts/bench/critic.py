"""Tokens a second through the critic's training loop, beside a bare loop over the same packed rows in the same run.

On a GPU: a Qwen2 of half a billion random weights, bfloat16 arithmetic, rows of 2,048 tokens. Without one: a tiny
one. Needs torch, transformers and numpy alone: `PYTHONPATH=src python -m scripts.bench.critic`.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from fullbench.training.critic.data.encoding import Example, Piece, micro_batches, step_indices
from fullbench.training.critic.data.tensors import collate_batch
from fullbench.training.critic.fit.distributed_training import Processes
from fullbench.training.critic.fit.objectives import TokenObjective
from fullbench.training.critic.fit.training_loop import Loop
from fullbench.training.critic.training_settings import Settings
from scripts.bench import Row


@dataclass(frozen=True)
class Size:
    """What is trained, and on how much."""

    what: str
    config: dict[str, Any]
    source: int
    prompts: tuple[int, int]
    targets: tuple[int, int]
    batch: int
    micro: int
    steps: int


LARGE = Size(
    "Qwen2 0.5B, bfloat16, rows of 2,048",
    {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
     "num_key_value_heads": 2, "vocab_size": 151_936, "max_position_embeddings": 4096, "tie_word_embeddings": True},
    1920, (300, 900), (10, 120), 128, 16, 6,
)  # fmt: skip
SMALL = Size(
    "a tiny Qwen2, float32, rows of 256",
    {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
     "num_key_value_heads": 2, "vocab_size": 8_192, "max_position_embeddings": 512, "tie_word_embeddings": True},
    224, (40, 150), (4, 32), 32, 4, 4,
)  # fmt: skip


def _examples(size: Size, count: int) -> list[Example]:
    rng = random.Random(0)
    made = []
    for _ in range(count):
        start, more = rng.randint(*size.prompts), rng.randint(*size.targets)
        ids = tuple(rng.randrange(size.config["vocab_size"]) for _ in range(start + more))
        made.append(Example((Piece(ids, start),), 1.0))
    return made


def _timed(work: Callable[[int], object], steps: int, wait: Callable[[], object]) -> float:
    wait()
    started = time.perf_counter()
    for step in range(steps):
        work(step)
    wait()
    return time.perf_counter() - started


def _bare(model: Any, loop: Loop) -> Callable[[int], object]:
    """What one would write by hand: transformers' own loss over ready tensors, AdamW, clipping; no log, no masks."""
    import torch

    cuda = loop.processes.device.startswith("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.05, fused=cuda)
    ready = []
    for step in range(loop.steps):
        chosen = [loop.examples[place] for place in step_indices(step, len(loop.examples), loop.settings)]
        batches = []
        for rows in micro_batches(chosen, loop.settings):
            batch = collate_batch(chosen, rows, is_packed=True, pad=0).to(loop.processes.device)
            labels = torch.full_like(batch.ids, -100).flatten()
            labels[batch.pick + 1] = batch.labels
            batches.append((batch.ids, batch.positions, labels.view_as(batch.ids)))
        ready.append(batches)

    def step(number: int) -> None:
        for ids, positions, labels in ready[number]:
            with loop.arithmetic():
                loss = model(input_ids=ids, position_ids=positions, labels=labels, use_cache=False).loss
            (loss / len(ready[number])).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def main() -> list[Row]:
    """Tokens a second, padding not counted; larger is better."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        print("left out: training a critic, since torch is not installed (scripts/localtorch.sh)")
        return []
    import torch
    import transformers

    cuda = torch.cuda.is_available()
    size = LARGE if cuda else SMALL
    if not cuda:
        torch.set_num_threads(1)
    settings = Settings(
        epochs=1,
        batch=size.batch,
        micro=size.micro,
        source=size.source,
        target=size.targets[1] + 8,
        pack=True,
        compile="always" if cuda else "never",
    )
    examples = _examples(size, size.batch * size.steps)
    device = "cuda:0" if cuda else "cpu"
    wait = torch.cuda.synchronize if cuda else (lambda: None)

    def fresh() -> Loop:
        """A loop over a model of its own: compiling one changes it in place."""
        torch.manual_seed(0)
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**size.config)).to(device).train()
        return Loop(model, TokenObjective(), examples, settings, 0, cuda, Processes(device=device))

    def measured(name: str, step: Callable[[int], object]) -> float:
        """The best of three rounds, after one that warms up (and compiles)."""
        print(f"{name}: warm after {_timed(step, size.steps, wait):.0f} s", file=sys.stderr)
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        tokens = sum(example.tokens for example in examples)
        rates = [tokens / _timed(step, size.steps, wait) for _ in range(3)]
        peak = f", peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if cuda else ""
        print(f"{name}: {', '.join(f'{rate:,.0f}' for rate in rates)} tokens/s{peak}", file=sys.stderr)
        return max(rates)

    def compiled() -> Callable[[int], object]:
        loop = fresh()
        loop.compile()
        return lambda step: float(loop.step(step)[0])

    def by_hand() -> Callable[[int], object]:
        loop = fresh()
        return _bare(loop.model, loop)

    ours = measured("ours", compiled())
    gc.collect()  # a compiled model is held by cycles, and the bare loop needs the card's memory
    if cuda:
        torch.cuda.empty_cache()  # blocks of our sizes that nobody holds would leave the bare loop's no room
    theirs = measured("bare", by_hand())
    return [Row.of(f"train a critic, packed, {size.what}", ours, theirs, "a bare loop", "tokens/s")]


if __name__ == "__main__":
    for row in main():
        print(row)
