"""Families of `diffusers` pipelines that can be tuned: Stable Diffusion 1 and 2, Stable Diffusion XL, Flux.

Each defines how prompts become conditions, what the network predicts for a noisy picture, and the levels of picture and
noise at a moment (0: picture, 1: noise). Everything else is shared.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar

import torch

from fullbench.errors import InputError
from fullbench.models.local.diffusers_pipeline import PipelineModel
from fullbench.training.generator.picture_tensors import png_of

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True, eq=False)
class PromptEmbeddings:
    """Prompts as input of a network: several tensors with a row per prompt."""

    parts: Tensors

    def __getitem__(self, places: Any) -> PromptEmbeddings:
        return PromptEmbeddings(tuple(part[places] for part in self.parts))


@dataclass(eq=False)
class TunablePipeline(ABC):
    """Network of a pipeline, prepared for training: it removes noise from latents, given a prompt."""

    model: PipelineModel
    pipeline: Any
    network: Any
    vae: Any
    device: str
    part: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    @property
    def trained_network(self) -> Any:
        return self.network

    @property
    def guidance(self) -> float:
        """Guidance scale away from the empty prompt; 1 means none."""
        return 1.0

    @property
    def steps(self) -> int:
        return self.model.steps or int(self._pipeline_default("num_inference_steps"))

    def _pipeline_default(self, argument: str) -> Any:
        return signature(type(self.pipeline).__call__).parameters[argument].default

    @abstractmethod
    def conditions(self, prompts: Sequence[str]) -> PromptEmbeddings: ...

    @abstractmethod
    def moments(self, uniform: Any) -> Any: ...

    @abstractmethod
    def errors(self, network: Any, pictures: Any, conditions: PromptEmbeddings, noise: Any, moments: Any) -> Any: ...

    @abstractmethod
    def parts_of(self, network: Any, noisy: Any, conditions: PromptEmbeddings, moments: Any) -> tuple[Any, Any]: ...

    @abstractmethod
    def levels(self, moment: float) -> tuple[float, float]: ...

    @property
    @abstractmethod
    def channels(self) -> int: ...

    @abstractmethod
    def _default_side(self) -> int:
        """Default side length in pixels."""

    def start(self, seeds: Sequence[int]) -> Any:
        """Return the initial latents of drawings, each from its seed alone."""
        sides = [int(side) for side in self.model.size.split("x")] if self.model.size else [self._default_side()] * 2
        width, height = (side // self.pipeline.vae_scale_factor for side in sides)
        rows = [
            torch.randn((self.channels, height, width), generator=torch.Generator().manual_seed(seed)) for seed in seeds
        ]
        return torch.stack(rows).to(self.device)

    def latents(self, pixels: Any) -> Any:
        """Return pixels from -1 to 1 as latents: the mean of the autoencoder's distribution."""
        with torch.no_grad():
            mean = self.vae.encode(pixels.to(self.device).float()).latent_dist.mean
        return (mean - self._shift) * self.vae.config.scaling_factor

    def pictures(self, latents: Any) -> list[bytes]:
        """Return latents as PNG files."""
        with torch.no_grad():
            pixels = self.vae.decode(latents.float() / self.vae.config.scaling_factor + self._shift).sample
        return [png_of(planes) for planes in pixels]

    @property
    def _shift(self) -> float:
        return float(self.vae.config.get("shift_factor") or 0.0)

    def arithmetic(self) -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device.startswith("cuda"))


class StableDiffusion(TunablePipeline):
    """UNet that predicts noise (or velocity), with one text encoder."""

    part = "unet"
    needs: ClassVar[tuple[str, ...]] = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")

    @property
    def guidance(self) -> float:
        requested_guidance = self.model.guidance
        return float(self._pipeline_default("guidance_scale") if requested_guidance is None else requested_guidance)

    def conditions(self, prompts: Sequence[str]) -> PromptEmbeddings:
        with torch.no_grad():
            words, _ = self.pipeline.encode_prompt(list(prompts), self.device, 1, False)
        return PromptEmbeddings((words.float(),))

    def moments(self, uniform: Any) -> Any:
        """Return uniform moments, as such pipelines are trained."""
        return uniform

    @property
    def channels(self) -> int:
        return int(self.network.config.in_channels)

    def _default_side(self) -> int:
        return int(self.network.config.sample_size * self.pipeline.vae_scale_factor)

    @cached_property
    def _signal_shares(self) -> Any:
        """Signal share per training step: all schedulers have it, while their noise units (Euler's) are for drawing."""
        return self.pipeline.scheduler.alphas_cumprod.float().to(self.device)

    def _step_number(self, moments: Any) -> Any:
        return (moments * len(self._signal_shares)).long().clamp(0, len(self._signal_shares) - 1)

    def levels(self, moment: float) -> tuple[float, float]:
        if moment <= 0:
            return 1.0, 0.0
        signal_share = float(self._signal_shares[self._step_number(torch.tensor(moment))])
        return math.sqrt(signal_share), math.sqrt(1 - signal_share)

    def _levels_at(self, moments: Any) -> tuple[Any, Any]:
        signal_share = self._signal_shares[self._step_number(moments)][:, None, None, None]
        return signal_share.sqrt(), (1 - signal_share).sqrt()

    def _network_output(self, network: Any, noisy: Any, conditions: PromptEmbeddings, moments: Any) -> Any:
        extra_inputs = self._extra_inputs(noisy, conditions)
        steps = self._step_number(moments)
        return network(noisy, steps, encoder_hidden_states=conditions.parts[0], **extra_inputs).sample.float()

    def _extra_inputs(self, noisy: Any, conditions: PromptEmbeddings) -> dict[str, Any]:
        return {}

    @property
    def _predicts_velocity(self) -> bool:
        return bool(self.pipeline.scheduler.config.get("prediction_type", "epsilon") == "v_prediction")

    def errors(self, network: Any, pictures: Any, conditions: PromptEmbeddings, noise: Any, moments: Any) -> Any:
        """Return the squared error of the predicted noise (or velocity) in each picture's latents."""
        signal, spread = self._levels_at(moments)
        prediction = self._network_output(network, signal * pictures + spread * noise, conditions, moments)
        target = signal * noise - spread * pictures if self._predicts_velocity else noise
        return (prediction - target).pow(2).mean(dim=(1, 2, 3))

    def parts_of(self, network: Any, noisy: Any, conditions: PromptEmbeddings, moments: Any) -> tuple[Any, Any]:
        signal, spread = self._levels_at(moments)
        prediction = self._network_output(network, noisy, conditions, moments)
        if self._predicts_velocity:
            return signal * noisy - spread * prediction, signal * prediction + spread * noisy
        return (noisy - spread * prediction) / signal, prediction


_TWO_ENCODERS = ("vae", "text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "scheduler")
"""Parts of a pipeline with two text encoders, besides its network."""


class StableDiffusionXL(StableDiffusion):
    """Stable Diffusion with two text encoders; the network also gets the picture size."""

    needs: ClassVar[tuple[str, ...]] = ("unet", *_TWO_ENCODERS)

    def conditions(self, prompts: Sequence[str]) -> PromptEmbeddings:
        with torch.no_grad():
            words, _, pooled_embeddings, _ = self.pipeline.encode_prompt(
                list(prompts), device=self.device, num_images_per_prompt=1, do_classifier_free_guidance=False
            )
        return PromptEmbeddings((words.float(), pooled_embeddings.float()))

    def _extra_inputs(self, noisy: Any, conditions: PromptEmbeddings) -> dict[str, Any]:
        height, width = (side * self.pipeline.vae_scale_factor for side in noisy.shape[2:])
        sizes = torch.tensor([height, width, 0, 0, height, width], device=noisy.device, dtype=noisy.dtype)
        size_conditions = {"text_embeds": conditions.parts[1], "time_ids": sizes.expand(len(noisy), -1)}
        return {"added_cond_kwargs": size_conditions}


class Flux(TunablePipeline):
    """Transformer that predicts the direction from the picture to the noise; guidance is an input of the network."""

    part = "transformer"
    needs: ClassVar[tuple[str, ...]] = ("transformer", *_TWO_ENCODERS)

    def conditions(self, prompts: Sequence[str]) -> PromptEmbeddings:
        with torch.no_grad():
            words, pooled_embeddings, _ = self.pipeline.encode_prompt(list(prompts), None, device=self.device)
        return PromptEmbeddings((words.float(), pooled_embeddings.float()))

    def moments(self, uniform: Any) -> Any:
        """Return moments mostly in the middle: a normal draw through a sigmoid, as flows of this size are trained."""
        return (math.sqrt(2) * torch.erfinv((2 * uniform - 1).clamp(-0.999999, 0.999999))).sigmoid()

    @property
    def channels(self) -> int:
        return int(self.network.config.in_channels) // 4

    def _default_side(self) -> int:
        return int(self.pipeline.default_sample_size * self.pipeline.vae_scale_factor)

    def levels(self, moment: float) -> tuple[float, float]:
        return 1 - moment, moment

    def _network_output(self, network: Any, noisy: Any, conditions: PromptEmbeddings, moments: Any) -> Any:
        rows, channels, height, width = noisy.shape
        words, pooled_embeddings = conditions.parts
        guidance = None
        if self.network.config.guidance_embeds:
            requested_guidance = self.model.guidance
            guidance_scale = float(
                self._pipeline_default("guidance_scale") if requested_guidance is None else requested_guidance
            )
            guidance = torch.full((rows,), guidance_scale, device=noisy.device)
        high, wide = height // 2, width // 2
        # The network takes every 2x2 patch as a row, with its position.
        patches = noisy.view(rows, channels, high, 2, wide, 2).permute(0, 2, 4, 1, 3, 5).reshape(rows, high * wide, -1)
        patch_positions = torch.cartesian_prod(torch.arange(1), torch.arange(high), torch.arange(wide))
        flow = network(
            hidden_states=patches,
            timestep=moments.to(noisy.dtype),
            guidance=guidance,
            pooled_projections=pooled_embeddings,
            encoder_hidden_states=words,
            return_dict=False,
            txt_ids=torch.zeros(words.shape[1], 3, device=noisy.device, dtype=noisy.dtype),
            img_ids=patch_positions.to(noisy.device, noisy.dtype),
        )[0].float()
        return (
            flow.view(rows, high, wide, channels, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(rows, channels, height, width)
        )

    def errors(self, network: Any, pictures: Any, conditions: PromptEmbeddings, noise: Any, moments: Any) -> Any:
        """Return the squared error of the predicted direction from each picture's latents to the noise."""
        part = moments[:, None, None, None]
        flow = self._network_output(network, (1 - part) * pictures + part * noise, conditions, moments)
        return (flow - (noise - pictures)).pow(2).mean(dim=(1, 2, 3))

    def parts_of(self, network: Any, noisy: Any, conditions: PromptEmbeddings, moments: Any) -> tuple[Any, Any]:
        part = moments[:, None, None, None]
        flow = self._network_output(network, noisy, conditions, moments)
        return noisy - part * flow, noisy + (1 - part) * flow


FAMILIES: dict[str, type[TunablePipeline]] = {
    "StableDiffusionPipeline": StableDiffusion,
    "StableDiffusionXLPipeline": StableDiffusionXL,
    "FluxPipeline": Flux,
}


def family_of(pipeline: Any) -> type[TunablePipeline]:
    """Return the family of a pipeline; raise if the kind is unknown or a part is missing."""
    kind = type(pipeline).__name__
    family = FAMILIES.get(kind)
    if family is None:
        raise InputError(f"{kind} cannot be tuned; supported pipelines: {', '.join(FAMILIES)}")
    missing_parts = [name for name in family.needs if getattr(pipeline, name, None) is None]
    if missing_parts:
        raise InputError(f"the pipeline lacks what tuning needs: {', '.join(missing_parts)}; fetch the folder again")
    if issubclass(family, StableDiffusion):
        prediction_type = pipeline.scheduler.config.get("prediction_type", "epsilon")
        if prediction_type not in {"epsilon", "v_prediction"} or not hasattr(pipeline.scheduler, "alphas_cumprod"):
            name = type(pipeline.scheduler).__name__
            raise InputError(
                f"only networks that predict noise or velocity can be tuned; {name} predicts {prediction_type!r}"
            )
    return family
