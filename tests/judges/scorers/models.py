"""Tiny models of the real architectures with random weights, saved as a hub would hold them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
transformers = pytest.importorskip("transformers", reason="transformers is not installed; see scripts/localtorch.sh")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cat", "dog", "picture", "of", "##s"]
SMALL = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "initializer_range": 0.3,
}  # fmt: skip


def _clip_tokenizer(folder: Path):
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16)


def clip(folder: Path, **larger: int) -> Path:
    """A CLIP; `larger` are sizes of its picture side, for timing."""
    torch.manual_seed(0)
    folder.mkdir()
    tokenizer = _clip_tokenizer(folder)
    text = {**SMALL, "vocab_size": len(tokenizer), "max_position_embeddings": 16,
            "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}  # fmt: skip
    vision = {**SMALL, "image_size": 32, "patch_size": 8, **larger}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    side = vision["image_size"]
    crop = {"height": side, "width": side}
    images = transformers.CLIPImageProcessor(size={"shortest_edge": side}, crop_size=crop)
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def siglip(folder: Path) -> Path:
    torch.manual_seed(1)
    folder.mkdir()
    tokenizer = bert_tokenizer(folder)
    text = {**SMALL, "vocab_size": len(WORDS), "max_position_embeddings": 16, "projection_size": 32}
    config = transformers.SiglipConfig(text_config=text, vision_config={**SMALL, "image_size": 32, "patch_size": 8})
    transformers.SiglipModel(config).save_pretrained(folder)
    images = transformers.SiglipImageProcessor(size={"height": 32, "width": 32})
    images.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def bert_tokenizer(folder: Path):
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=16)


def blip(folder: Path) -> Path:
    torch.manual_seed(2)
    folder.mkdir()
    tokenizer = bert_tokenizer(folder)
    text = {**SMALL, "vocab_size": len(WORDS), "encoder_hidden_size": 32, "max_position_embeddings": 16,
            "pad_token_id": 0, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}  # fmt: skip
    vision = {**SMALL, "image_size": 32, "patch_size": 8}
    config = transformers.BlipConfig(text_config=text, vision_config=vision, image_text_hidden_size=16)
    transformers.BlipForImageTextRetrieval(config).save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def blip2(folder: Path) -> Path:
    torch.manual_seed(3)
    folder.mkdir()
    tokenizer = bert_tokenizer(folder)
    former = {**SMALL, "vocab_size": len(WORDS), "encoder_hidden_size": 32, "use_qformer_text_input": True,
              "max_position_embeddings": 16}  # fmt: skip
    config = transformers.Blip2Config(
        vision_config={**SMALL, "image_size": 32, "patch_size": 8},
        qformer_config=former,
        num_query_tokens=4,
        image_text_hidden_size=16,
        image_token_index=None,
    )
    transformers.Blip2ForImageTextRetrieval(config).save_pretrained(folder)
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.Blip2Processor(images, tokenizer).save_pretrained(folder)
    return folder


def head(path: Path, width: int) -> Path:
    """Two linear layers in the layout that aesthetics predictors and ImageReward release."""
    from safetensors.torch import save_file

    torch.manual_seed(4)
    save_file(
        {
            "layers.0.weight": torch.randn(8, width),
            "layers.0.bias": torch.randn(8),
            "layers.2.weight": torch.randn(1, 8),
            "layers.2.bias": torch.randn(1),
        },
        path,
    )
    return path
