"""Pipelines of `diffusers` that are tuned: those with a UNet, one text encoder and an autoencoder."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from fullbench.errors import InputError, MissingExtra
from fullbench.models.pipelines import PipelineModel
from fullbench.nouns.picture import Picture
from fullbench.training.generator.model import pixels_of

PARTS = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")
_ADAPTED = ["to_q", "to_k", "to_v", "to_out.0"]


@dataclass(eq=False)
class TunablePipeline:
    """A pipeline's network with what is needed to learn: noise is taken out of latents by the words of a prompt."""

    pipeline: Any
    network: Any
    device: str

    @property
    def trained(self) -> Any:
        return self.network

    def conditions(self, prompts: Sequence[str]) -> Any:
        words = self.pipeline.tokenizer(
            list(prompts), padding="max_length", truncation=True, return_tensors="pt",
            max_length=self.pipeline.tokenizer.model_max_length,
        )  # fmt: skip
        with torch.no_grad():
            return self.pipeline.text_encoder(words.input_ids.to(self.device))[0].float()

    def moments(self, uniform: Any) -> Any:
        """All of them alike, as such pipelines are trained."""
        return uniform

    def errors(self, network: Any, pictures: Any, conditions: Any, noise: Any, moments: Any) -> Any:
        """How far a network is off the noise in each picture's latents (or off the velocity, where it learned that)."""
        scheduler = self.pipeline.scheduler
        steps = (moments * scheduler.config.num_train_timesteps).long()
        noisy = scheduler.add_noise(pictures, noise, steps)
        found = network(noisy, steps, encoder_hidden_states=conditions).sample.float()
        kind = scheduler.config.get("prediction_type", "epsilon")
        wanted = scheduler.get_velocity(pictures, noise, steps) if kind == "v_prediction" else noise
        return (found - wanted).pow(2).mean(dim=(1, 2, 3))

    def arithmetic(self) -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device.startswith("cuda"))


@dataclass(eq=False)
class PipelineTrainee:
    """A pipeline that is tuned: all weights of its UNet, or adapters of rank `lora`."""

    model: PipelineModel
    lora: int = 0

    @cached_property
    def _pipeline(self) -> Any:
        pipeline = self.model.load()
        lacking = [part for part in PARTS if getattr(pipeline, part, None) is None]
        if lacking or getattr(pipeline, "text_encoder_2", None) is not None:
            kind = type(pipeline).__name__
            raise InputError(f"pipelines with a UNet and one text encoder are tuned; {kind} is of another kind")
        return pipeline

    @cached_property
    def _first(self) -> Any:
        """The network as it was."""
        return deepcopy(self._pipeline.unet).float().eval().requires_grad_(requires_grad=False)

    @cached_property
    def tunable(self) -> TunablePipeline:
        network = deepcopy(self._first)
        if self.lora:
            try:
                from peft import LoraConfig
            except ImportError as error:
                raise MissingExtra("tuning with adapters", "train") from error
            network.add_adapter(LoraConfig(r=self.lora, lora_alpha=self.lora, target_modules=_ADAPTED))
        else:
            network.requires_grad_(requires_grad=True)
        return TunablePipeline(self._pipeline, network, str(self._pipeline.device))

    def base(self) -> TunablePipeline:
        return TunablePipeline(self._pipeline, self._first, str(self._pipeline.device))

    def encode(self, pictures: Sequence[Picture]) -> Any:
        """Latents, as the autoencoder gives them in the mean."""
        vae = self._pipeline.vae
        rows = []
        for picture in pictures:
            pixels = pixels_of(picture)[None].to(self._pipeline.device, vae.dtype)
            with torch.no_grad():
                rows.append(vae.encode(pixels).latent_dist.mean[0].float().cpu() * vae.config.scaling_factor)
        if len({row.shape for row in rows}) > 1:
            raise InputError("the pictures have different sizes; draw them all in one (?size=WIDTHxHEIGHT)")
        return torch.stack(rows)

    def save(self, folder: Path) -> str:
        """The whole pipeline with the tuned network; adapters are also written by themselves, in `lora`."""
        network = self.tunable.network
        if self.lora:
            from diffusers.utils import convert_state_dict_to_diffusers
            from peft.utils import get_peft_model_state_dict

            layers = convert_state_dict_to_diffusers(get_peft_model_state_dict(network))
            type(self._pipeline).save_lora_weights(folder / "lora", unet_lora_layers=layers)
            network.fuse_lora()
            network.unload_lora()
        before, self._pipeline.unet = self._pipeline.unet, network.to(self._pipeline.unet.dtype)
        self._pipeline.save_pretrained(folder)
        self._pipeline.unet = before
        return f"diffusers:{folder}"
