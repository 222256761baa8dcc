"""What `export dpo` writes, trained on for one step by TRL itself, on a tiny model with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench import Choice, Item, Picture, Response, panels
from fullbench.judges.rules import LengthJudge
from fullbench.ledger.store import Ledger
from fullbench.studies.dpo import export_dpo
from fullbench.studies.hear import hear
from tests.making import png

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
trl = pytest.importorskip("trl", reason="trl is not installed; scripts/localtorch.sh installs it")
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def exported(folder: Path, *, seen: bool) -> Path:
    items = [
        Item.ask(f"q{n}", f"What is {n}, 几个?", *([Picture.of(png((n, 30, 30)))] if seen else [])) for n in range(6)
    ]
    responses = [
        Response.say(item.id, who, words) for item in items for who, words in (("a", "six"), ("b", "it is six 六"))
    ]
    with Ledger(folder / "mine.ledger") as ledger:
        hear([LengthJudge()], lambda _: panels(items, responses, Choice(), size=2), ledger)
        out = folder / "pairs.jsonl"
        assert export_dpo(ledger.record(), LengthJudge().name, out) == (len(items), 0)
    return out


def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: place for place, letter in enumerate([*alphabet, "<pad>", "<eos>"])}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
    made.chat_template = TEMPLATE
    return made


def test_trl_trains_on_what_was_exported(tmp_path: Path):
    from datasets import load_dataset
    from transformers import LlamaConfig, LlamaForCausalLM

    rows = load_dataset("json", data_files=str(exported(tmp_path, seen=False)), cache_dir=str(tmp_path / "c"))["train"]
    words = tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **sizes, pad_token_id=words.pad_token_id))
    model.save_pretrained(tmp_path / "base")
    words.save_pretrained(tmp_path / "base")
    how = trl.DPOConfig(
        str(tmp_path / "run"), max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, bf16=False,
        save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = trl.DPOTrainer(str(tmp_path / "base"), args=how, train_dataset=rows, processing_class=words)
    assert trainer.train().training_loss == pytest.approx(0.6931, abs=0.01), "log 2 at the first step"


def test_rows_with_pictures_have_the_shape_that_trl_knows(tmp_path: Path):
    from datasets import load_dataset

    rows = load_dataset("json", data_files=str(exported(tmp_path, seen=True)), cache_dir=str(tmp_path / "c"))["train"]
    assert trl.is_conversational(rows[0])
    assert all((tmp_path / path).is_file() for row in rows for path in row["images"])
    placed = [part["type"] for turn in rows[0]["prompt"] for part in turn["content"]]
    assert placed.count("image") == len(rows[0]["images"]) == 1
