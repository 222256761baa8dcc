"""Very small generators for tests: a network of sheets, and a pipeline of diffusers, with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROMPTS = [f"one {colour} {shape}" for colour in ("red", "green", "blue", "orange", "purple", "yellow")
           for shape in ("circle", "square", "triangle", "diamond")]  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def sheets(folder: Path, steps: int = 40) -> Path:
    """A generator of sheets after a few steps: its pictures are blots, of many colours."""
    from tests.training.generator.toy.network import Shape
    from tests.training.generator.toy.sheet_generator import Lesson, train

    lesson = Lesson(Shape(width=32, depth=2, heads=2, patch=8), most=1, steps=steps, batch=16, lr=2e-3)
    generator = train(lesson, "cpu")
    generator.steps = 6
    generator.save(folder)
    return folder


def clip_words(folder: Path) -> tuple[Any, Any]:
    """A tokenizer of single letters, and the settings of a text encoder for it."""
    from transformers import CLIPTextConfig, CLIPTokenizer

    folder.mkdir(parents=True)
    vocabulary = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(vocabulary)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16)
    text = CLIPTextConfig(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=16, bos_token_id=52, eos_token_id=53, projection_dim=16,
    )  # fmt: skip
    return tokenizer, text


def _unet(**more: Any) -> Any:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, block_out_channels=(8, 16), layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        attention_head_dim=4, norm_num_groups=4, **more,
    )  # fmt: skip


def _vae(**more: Any) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(8, 8), latent_channels=4, norm_num_groups=4, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, **more,
    )  # fmt: skip


def pipeline(folder: Path) -> Path:
    """A Stable Diffusion of a few thousand weights, with a tokenizer of single letters."""
    import torch
    from diffusers import DDIMScheduler, StableDiffusionPipeline
    from transformers import CLIPTextModel

    torch.manual_seed(0)
    tokenizer, text = clip_words(folder / "words")
    made = StableDiffusionPipeline(
        vae=_vae(), text_encoder=CLIPTextModel(text), tokenizer=tokenizer, unet=_unet(cross_attention_dim=16),
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "pipe")
    return folder / "pipe"


def pipeline_xl(folder: Path) -> Path:
    """A Stable Diffusion XL of that size, with the scheduler that the published one has."""
    import torch
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(0)
    tokenizer, text = clip_words(folder / "words")
    unet = _unet(
        cross_attention_dim=32, addition_embed_type="text_time", addition_time_embed_dim=4,
        projection_class_embeddings_input_dim=16 + 6 * 4,
    )  # fmt: skip
    made = StableDiffusionXLPipeline(
        vae=_vae(), text_encoder=CLIPTextModel(text), text_encoder_2=CLIPTextModelWithProjection(text),
        tokenizer=tokenizer, tokenizer_2=tokenizer, unet=unet, scheduler=EulerDiscreteScheduler(),
    )  # fmt: skip
    made.save_pretrained(folder / "pipe")
    return folder / "pipe"


def pipeline_flux(folder: Path) -> Path:
    """A Flux of that size, told its guidance like the published one that is."""
    import torch
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel
    from transformers import CLIPTextModel, T5Config, T5EncoderModel, T5TokenizerFast

    torch.manual_seed(0)
    tokenizer, text = clip_words(folder / "words")
    pieces = [(piece, -float(place)) for place, piece in enumerate(["<pad>", "</s>", "<unk>", "▁", *LETTERS])]
    reader = T5Config(vocab_size=len(pieces), d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    made = FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(), vae=_vae(shift_factor=0.1, scaling_factor=0.4),
        text_encoder=CLIPTextModel(text), tokenizer=tokenizer,
        text_encoder_2=T5EncoderModel(reader),
        tokenizer_2=T5TokenizerFast(vocab=pieces, extra_ids=0, model_max_length=16),
        transformer=FluxTransformer2DModel(
            patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16,
            num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ),
    )  # fmt: skip
    made.save_pretrained(folder / "pipe")
    return folder / "pipe"
