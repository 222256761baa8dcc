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


def bert_words(folder: Path) -> Path:
    """A folder with nothing but a vocabulary, as BERT's authors release theirs."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join([*WORDS, "猫"]) + "\n", encoding="utf-8")
    return folder


def reward_blip(heads: int = 1, seed: int = 5):
    """BLIP's two encoders in transformers, in the proportions of ImageReward: the picture's side is the wider one."""
    torch.manual_seed(seed)
    text = {**SMALL, "hidden_size": 64, "vocab_size": len(WORDS) + 3, "max_position_embeddings": 40,
            "num_attention_heads": heads, "pad_token_id": 0, "bos_token_id": 2, "sep_token_id": 3,
            "eos_token_id": 3}  # fmt: skip
    vision = {**SMALL, "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 3, "image_size": 48,
              "patch_size": 16, "layer_norm_eps": 1e-6}  # fmt: skip
    config = transformers.BlipConfig(text_config=text, vision_config=vision, image_text_hidden_size=16)
    model = transformers.BlipForImageTextRetrieval(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)  # biases and norms too, so that each one counts
    return model


def reward_head(width: int = 64):
    """ImageReward's head and that of the aesthetics predictor: five layers, with nothing between but dropout."""
    torch.manual_seed(6)
    linear, dropout = torch.nn.Linear, torch.nn.Dropout
    head = torch.nn.Sequential(
        linear(width, 1024), dropout(0.2), linear(1024, 128), dropout(0.2), linear(128, 64), dropout(0.1),
        linear(64, 16), linear(16, 1),
    )  # fmt: skip
    for layer in filter(lambda layer: isinstance(layer, linear), head):
        torch.nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
    return head.eval()


def released(model, head) -> dict:
    """A model of transformers under the names that ImageReward's authors give its tensors."""
    found = {
        "blip.text_encoder.embeddings.position_ids": torch.arange(40)[None],
        **{f"mlp.layers.{name}": value for name, value in head.state_dict().items()},
    }
    for name, value in model.state_dict().items():
        side, _, rest = name.partition(".")
        match side, rest.split("."):
            case "vision_model", ["embeddings", "class_embedding"]:
                found["blip.visual_encoder.cls_token"] = value
            case "vision_model", ["embeddings", "position_embedding"]:
                found["blip.visual_encoder.pos_embed"] = value
            case "vision_model", ["embeddings", "patch_embedding", part]:
                found[f"blip.visual_encoder.patch_embed.proj.{part}"] = value
            case "vision_model", ["post_layernorm", part]:
                found[f"blip.visual_encoder.norm.{part}"] = value
            case "vision_model", ["encoder", "layers", place, *inner, part]:
                known = {"self_attn.qkv": "attn.qkv", "self_attn.projection": "attn.proj", "layer_norm1": "norm1",
                         "layer_norm2": "norm2", "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"}  # fmt: skip
                found[f"blip.visual_encoder.blocks.{place}.{known['.'.join(inner)]}.{part}"] = value
            case "text_encoder" | "vision_proj" | "text_proj", _:
                found[f"blip.{name}"] = value
            case "itm_head", _:
                pass
            case _:
                raise AssertionError(name)
    return found
