"""Pictures drawn and pairs learned a second, beside a bare loop over the same pipeline in the same run.

Ours draws, writes each picture as a file and hands over a reply; the bare loop draws alone. Ours learns by
Diffusion-DPO with its running mean of the weights; the bare loop learns alone. On a GPU: a Stable Diffusion of the
published size with random weights. Without one: a tiny one. Needs torch, transformers and diffusers.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.models.local.diffusers_pipeline import PipelineModel
from scripts.bench import Row, Target, per_second

DRAWING, LEARNING = Target(0.95, least=True), Target(0.9, least=True)


@dataclass(frozen=True)
class Size:
    """What draws and learns, and how much of it."""

    what: str
    widths: tuple[int, ...]
    side: int
    batch: int
    batches: int
    steps: int
    pairs: int
    learned: int


LARGE = Size("Stable Diffusion 1.5's size, 512 x 512", (320, 640, 1280, 1280), 512, 16, 8, 20, 16, 30)
SMALL = Size("a tiny Stable Diffusion, 16 x 16", (8, 16), 16, 4, 4, 4, 4, 30)


def _pipeline(folder: Path, size: Size) -> Path:
    tiny = import_module("tests.training.generator.tiny")
    return Path(tiny.pipeline(folder)) if size is SMALL else _large(folder, size, tiny)


def _large(folder: Path, size: Size, tiny: Any) -> Path:
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    tokenizer, small = tiny.clip_words(folder / "words")
    text = CLIPTextConfig(**{**small.to_dict(), "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                             "num_attention_heads": 12})  # fmt: skip
    with torch.device("cuda"):
        unet = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, block_out_channels=size.widths)
        vae = AutoencoderKL(
            block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4, sample_size=size.side,
            down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        )  # fmt: skip
        encoder = CLIPTextModel(text)
    made = StableDiffusionPipeline(
        vae=vae.half(), text_encoder=encoder.half(), tokenizer=tokenizer, unet=unet.half(),
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained(folder / "pipe")
    return folder / "pipe"


def _drawing(folder: Path, size: Size) -> Row:
    import torch

    count = size.batch * size.batches
    words = [f"picture {number}" for number in range(count)]
    model = PipelineModel(str(folder), batch=size.batch, steps=size.steps, size=f"{size.side}x{size.side}")
    pipeline = model.load()

    def bare() -> None:
        with torch.inference_mode():
            for start in range(0, count, size.batch):
                pipeline(words[start : start + size.batch], num_inference_steps=size.steps, width=size.side,
                         height=size.side)  # fmt: skip

    def ours() -> None:
        prompts = [Prompt((Turn("user", (word,)),), seed=number) for number, word in enumerate(words)]
        assert all(reply.pictures for reply in model.answer(prompts))

    pipeline(words[: size.batch], num_inference_steps=size.steps)
    ours_a_second, bare_a_second = per_second(ours, count, 2), per_second(bare, count, 2)
    return Row.of(
        f"draw with {size.what}", ours_a_second, bare_a_second, "a bare loop of diffusers", "/s", target=DRAWING
    )


@contextmanager
def _learner(folder: Path, size: Size) -> Iterator[tuple[Any, Any, Any]]:
    """What is tuned, what it began as, and feedback of random latents."""
    import torch

    from fullbench.training.generator.judge_preference_tuning_methods import Feedback
    from fullbench.training.generator.trainable_diffusers_pipeline import PipelineTrainee

    trainee = PipelineTrainee(PipelineModel(str(folder), size=f"{size.side}x{size.side}"))
    side = size.side // trainee.tunable.pipeline.vae_scale_factor
    rows = 4 * size.pairs
    shape = (rows, 4, side, side)
    feedback = Feedback(["a picture"] * rows, torch.randn(shape), None, torch.randn(shape))
    yield trainee.tunable, trainee.base(), feedback


def _learning(folder: Path, size: Size) -> Row:
    import torch

    from fullbench.training.generator.judge_preference_tuning_methods import TuningSettings, tune_weights

    def ours(learned: int) -> None:
        with _learner(folder, size) as (tunable, base, feedback):
            manner = TuningSettings(way="dpo", batch=size.pairs, steps=learned)
            settle()
            started = time.perf_counter()
            tune_weights(tunable, base, feedback, manner)
            settle()
            spent.append(time.perf_counter() - started)

    def settle() -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    spent: list[float] = []
    ours(3)
    spent.clear()
    ours(size.learned)
    alone = _bare_learning(folder, size, settle)
    what = f"tune {size.what} by pairs, all weights"
    return Row.of(what, size.pairs * size.learned / spent[0], alone, "a bare loop", "/s", target=LEARNING)


def _bare_learning(folder: Path, size: Size, settle: Callable[[], None]) -> float:
    """Diffusion-DPO over the same network in the fewest lines."""
    import torch

    with _learner(folder, size) as (tunable, base, feedback):
        device, network = tunable.device, tunable.network.train()
        weights = list(network.parameters())
        optimizer = torch.optim.AdamW(weights, lr=1e-5, weight_decay=0.0, fused=device.startswith("cuda"))
        words = tunable.conditions(feedback.prompts[: size.pairs]).parts[0]
        words = torch.cat([words, words])
        kept = tunable.pipeline.scheduler.alphas_cumprod.to(device)
        rows = torch.stack([feedback.better, feedback.worse]).to(device)
        started = 0.0
        for step in range(size.learned + 3):
            if step == 3:
                settle()
                started = time.perf_counter()
            places = torch.randint(0, len(feedback), (size.pairs,), device=device)
            moments = torch.randint(0, len(kept), (size.pairs,), device=device).repeat(2)
            clean = rows[:, places].flatten(0, 1)
            noise = torch.randn(clean[: size.pairs].shape, device=device).repeat(2, 1, 1, 1)
            part = kept[moments][:, None, None, None]
            noisy = part.sqrt() * clean + (1 - part).sqrt() * noise
            with tunable.arithmetic():
                now = network(noisy, moments, encoder_hidden_states=words).sample
                with torch.no_grad():
                    before = base.network(noisy, moments, encoder_hidden_states=words).sample
            errors = (now.float() - noise).pow(2).mean(dim=(1, 2, 3)).view(2, -1)
            errors_before = (before.float() - noise).pow(2).mean(dim=(1, 2, 3)).view(2, -1)
            margin = (errors[1] - errors_before[1]) - (errors[0] - errors_before[0])
            loss = -torch.nn.functional.logsigmoid(1000.0 * margin).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
        settle()
        return size.pairs * size.learned / (time.perf_counter() - started)


def main() -> list[Row]:
    """Pictures and pairs a second; larger is better."""
    if find_spec("torch") is None or find_spec("diffusers") is None:
        print("left out: generators, since torch and diffusers are not installed")
        return []
    import torch

    size = LARGE if torch.cuda.is_available() else SMALL
    with tempfile.TemporaryDirectory() as name:
        folder = _pipeline(Path(name), size)
        return [_drawing(folder, size), _learning(folder, size)]


if __name__ == "__main__":
    for row in main():
        print(row)
