"""What `export dpo` writes, trained on for one step by TRL itself, on a tiny model with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench import Choice, Item, Picture, Response
from fullbench.core.case import cases as cases_of
from fullbench.judges.baselines import LengthJudge
from fullbench.ledger.ledger import Ledger
from fullbench.studies.exchange.dpo_pairs import export_dpo
from fullbench.studies.run.judge_cases import judge_cases
from tests.support.data_builders import png

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
trl = pytest.importorskip("trl", reason="trl is not installed; scripts/localtorch.sh installs it")
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"


def exported(folder: Path, *, seen: bool) -> Path:
    items = [
        Item.ask(f"q{n}", f"What is {n}, 几个?", *([Picture.from_bytes(png((n, 30, 30)))] if seen else []))
        for n in range(6)
    ]
    responses = [
        Response.say(item.id, who, words) for item in items for who, words in (("a", "six"), ("b", "it is six 六"))
    ]
    with Ledger(folder / "mine.ledger") as ledger:
        judge_cases([LengthJudge()], lambda _: cases_of(items, responses, Choice(), size=2), ledger)
        out = folder / "pairs.jsonl"
        assert export_dpo(ledger.record(), LengthJudge().name, out) == (len(items), 0, 0)
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


# TRL uses names that Transformers has replaced.
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")
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


def test_diffusers_learns_from_pictures_that_were_exported(tmp_path: Path):
    """The columns of Pick-a-Pic, read as the Diffusion-DPO example reads them, and one step on a tiny pipeline."""
    import copy
    from io import BytesIO

    import numpy as np
    from datasets import load_dataset
    from PIL import Image

    pytest.importorskip("diffusers", reason="diffusers is not installed; pip install fullbench[diffusers]")
    from diffusers import DiffusionPipeline

    from fullbench.judges.scorers.scorer_judge import CallableScorer, ScorerJudge
    from tests.training.generator import tiny

    items = [Item.ask(f"q{n}", f"a cat {n}") for n in range(4)]
    drawn = [
        Response(item.id, who, (Picture.from_bytes(png((60 * place + n, 30, 30))),))
        for n, item in enumerate(items) for place, who in enumerate(("dark", "light"))
    ]  # fmt: skip
    judge = ScorerJudge(CallableScorer("redder", lambda _, image: image.getpixel((0, 0))[0]))
    with Ledger(tmp_path / "mine.ledger") as ledger:
        judge_cases([judge], lambda _: cases_of(items, drawn, Choice(), size=2), ledger)
        out = tmp_path / "pairs.parquet"
        assert export_dpo(ledger.record(), judge.name, out) == (len(items), 0, 0)
    rows = load_dataset("parquet", data_files=str(out), cache_dir=str(tmp_path / "c"))["train"]
    assert {row["chosen"].getpixel((0, 0))[0] for row in rows} == {60, 61, 62, 63}
    pipeline = DiffusionPipeline.from_pretrained(tiny.pipeline(tmp_path))
    unet, reference = pipeline.unet, copy.deepcopy(pipeline.unet)
    pictures = []
    for row in rows:
        both = [Image.open(BytesIO(row[name])).convert("RGB").resize((16, 16)) for name in ("jpg_0", "jpg_1")]
        pictures.append([torch.from_numpy(np.array(one) / 127.5 - 1).permute(2, 0, 1).float()
                         for one in (both if row["label_0"] else both[::-1])])  # fmt: skip
    latents = torch.cat([torch.stack(side) for side in zip(*pictures, strict=True)])
    latents = pipeline.vae.encode(latents).latent_dist.mean.detach()
    words = pipeline.tokenizer([row["caption"] for row in rows], padding="max_length", return_tensors="pt").input_ids
    meaning = pipeline.text_encoder(words)[0].detach().repeat(2, 1, 1)
    noise = torch.randn_like(latents[:4]).repeat(2, 1, 1, 1)
    steps = torch.randint(0, 1000, (4,)).repeat(2)
    noisy = pipeline.scheduler.add_noise(latents, noise, steps)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        ours, theirs = (
            (net(noisy, steps, encoder_hidden_states=meaning).sample - noise).pow(2).mean(dim=(1, 2, 3)).chunk(2)
            for net in (unet, reference)
        )
        margin = (ours[0] - ours[1]) - (theirs[0] - theirs[1])
        loss = -torch.nn.functional.logsigmoid(-2500 * margin).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[0] == pytest.approx(np.log(2), abs=1e-4), "it begins as the reference"
    assert losses[-1] < losses[0]
