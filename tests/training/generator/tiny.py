"""Very small generators for tests: a network of sheets, and a pipeline of diffusers, with random weights."""

from __future__ import annotations

import json
from pathlib import Path

PROMPTS = [f"one {colour} {shape}" for colour in ("red", "green", "blue", "orange", "purple", "yellow")
           for shape in ("circle", "square", "triangle", "diamond")]  # fmt: skip


def sheets(folder: Path, steps: int = 40) -> Path:
    """A generator of sheets after a few steps: its pictures are blots, of many colours."""
    from fullbench.training.generator.network import Shape
    from fullbench.training.generator.sheet_generator import Lesson, train

    lesson = Lesson(Shape(width=32, depth=2, heads=2, patch=8), most=1, steps=steps, batch=16, lr=2e-3)
    generator = train(lesson, "cpu")
    generator.steps = 6
    generator.save(folder)
    return folder


def pipeline(folder: Path) -> Path:
    """A Stable Diffusion of a few thousand weights, with a tokenizer of single letters."""
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    words = folder / "words"
    words.mkdir(parents=True)
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (words / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(vocabulary)}))
    (words / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(words / "vocab.json"), str(words / "merges.txt"), model_max_length=16)
    text = CLIPTextConfig(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=16, bos_token_id=52, eos_token_id=53,
    )  # fmt: skip
    unet = UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(8, 16), layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=16, attention_head_dim=4, norm_num_groups=4,
    )  # fmt: skip
    vae = AutoencoderKL(
        block_out_channels=(8, 8), latent_channels=4, norm_num_groups=4, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    made = StableDiffusionPipeline(
        vae=vae, text_encoder=CLIPTextModel(text), tokenizer=tokenizer, unet=unet,
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "pipe")
    return folder / "pipe"
