"""Small language models with a tokenizer of their own, and small files of scored answers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
transformers = pytest.importorskip("transformers", reason="transformers is not installed; see scripts/localtorch.sh")
torch.set_num_threads(1)  # small matrices; threads would only wait for each other

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WORDING = "=== user\n{question}\n--- case\n{responses}\n{verdict}\n--- direct\nScore:\n--- analyze\n{text}\n"
"""A wording of a few words, for models that are small."""
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
WORDS = ["good right answer", "bad wrong answer", "what colour is square", "the red one", *"好坏红蓝图片"]


def tokenizer(texts: Iterable[str], size: int = 600):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>")
    fast.chat_template = CHAT
    return fast


def model(
    folder: Path, texts: Iterable[str] = WORDS, *, size: int = 600, window: int = 1024, seed: int = 0, **more: int
) -> Path:
    """A Llama with random weights in a folder, as a hub would hold it."""
    words = tokenizer(texts, size)
    torch.manual_seed(seed)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, **more}
    config = transformers.LlamaConfig(
        vocab_size=len(words), max_position_embeddings=window, num_key_value_heads=shape["num_attention_heads"],
        pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id, bos_token_id=None,
        tie_word_embeddings=True, **shape,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
