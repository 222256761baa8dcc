"""Families of pipelines of `diffusers` that are tuned: Stable Diffusion 1 and 2, Stable Diffusion XL, and Flux.

Each says how its prompts become conditions, what its network foretells of a noisy picture, and how much of the picture
and of the noise is there at a moment (0 the picture, 1 the noise). All else is the same for all.
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
class Words:
    """Prompts as a network takes them: several tensors with a row for each prompt."""

    parts: Tensors

    def __getitem__(self, places: Any) -> Words:
        return Words(tuple(part[places] for part in self.parts))


@dataclass(eq=False)
class TunablePipeline(ABC):
    """A pipeline's network with what is needed to learn: noise is taken out of latents by the words of a prompt."""

    model: PipelineModel
    pipeline: Any
    network: Any
    vae: Any
    device: str
    part: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    @property
    def trained(self) -> Any:
        return self.network

    @property
    def guidance(self) -> float:
        """How far a drawing is led away from the empty prompt; 1: not at all."""
        return 1.0

    @property
    def steps(self) -> int:
        return self.model.steps or int(self._usual("num_inference_steps"))

    def _usual(self, argument: str) -> Any:
        return signature(type(self.pipeline).__call__).parameters[argument].default

    @abstractmethod
    def conditions(self, prompts: Sequence[str]) -> Words: ...

    @abstractmethod
    def moments(self, uniform: Any) -> Any: ...

    @abstractmethod
    def errors(self, network: Any, pictures: Any, conditions: Words, noise: Any, moments: Any) -> Any: ...

    @abstractmethod
    def parts_of(self, network: Any, noisy: Any, conditions: Words, moments: Any) -> tuple[Any, Any]: ...

    @abstractmethod
    def levels(self, moment: float) -> tuple[float, float]: ...

    @property
    @abstractmethod
    def channels(self) -> int: ...

    @abstractmethod
    def _usual_side(self) -> int:
        """Pixels of a side where no size is named."""

    def start(self, seeds: Sequence[int]) -> Any:
        """What drawings begin as, each by its seed alone."""
        sides = [int(side) for side in self.model.size.split("x")] if self.model.size else [self._usual_side()] * 2
        width, height = (side // self.pipeline.vae_scale_factor for side in sides)
        rows = [
            torch.randn((self.channels, height, width), generator=torch.Generator().manual_seed(seed)) for seed in seeds
        ]
        return torch.stack(rows).to(self.device)

    def latents(self, pixels: Any) -> Any:
        """Pixels from -1 to 1 as the network's latents, as the autoencoder gives them in the mean."""
        with torch.no_grad():
            mean = self.vae.encode(pixels.to(self.device).float()).latent_dist.mean
        return (mean - self._shift) * self.vae.config.scaling_factor

    def pictures(self, latents: Any) -> list[bytes]:
        """Latents as files."""
        with torch.no_grad():
            pixels = self.vae.decode(latents.float() / self.vae.config.scaling_factor + self._shift).sample
        return [png_of(planes) for planes in pixels]

    @property
    def _shift(self) -> float:
        return float(self.vae.config.get("shift_factor") or 0.0)

    def arithmetic(self) -> Any:
        return torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device.startswith("cuda"))


class StableDiffusion(TunablePipeline):
    """A UNet that foretells noise (or velocity), and one text encoder."""

    part = "unet"
    needs: ClassVar[tuple[str, ...]] = ("unet", "vae", "text_encoder", "tokenizer", "scheduler")

    @property
    def guidance(self) -> float:
        asked = self.model.guidance
        return float(self._usual("guidance_scale") if asked is None else asked)

    def conditions(self, prompts: Sequence[str]) -> Words:
        with torch.no_grad():
            words, _ = self.pipeline.encode_prompt(list(prompts), self.device, 1, False)
        return Words((words.float(),))

    def moments(self, uniform: Any) -> Any:
        """All of them alike, as such pipelines are trained."""
        return uniform

    @property
    def channels(self) -> int:
        return int(self.network.config.in_channels)

    def _usual_side(self) -> int:
        return int(self.network.config.sample_size * self.pipeline.vae_scale_factor)

    @cached_property
    def _kept(self) -> Any:
        """How much of the picture is there at each step of training. Schedulers that draw in other units (Euler's) have
        it too, while what they add noise by is made for drawing."""
        return self.pipeline.scheduler.alphas_cumprod.float().to(self.device)

    def _step(self, moments: Any) -> Any:
        return (moments * len(self._kept)).long().clamp(0, len(self._kept) - 1)

    def levels(self, moment: float) -> tuple[float, float]:
        if moment <= 0:
            return 1.0, 0.0
        kept = float(self._kept[self._step(torch.tensor(moment))])
        return math.sqrt(kept), math.sqrt(1 - kept)

    def _at(self, moments: Any) -> tuple[Any, Any]:
        kept = self._kept[self._step(moments)][:, None, None, None]
        return kept.sqrt(), (1 - kept).sqrt()

    def _foretold(self, network: Any, noisy: Any, conditions: Words, moments: Any) -> Any:
        more = self._more(noisy, conditions)
        steps = self._step(moments)
        return network(noisy, steps, encoder_hidden_states=conditions.parts[0], **more).sample.float()

    def _more(self, noisy: Any, conditions: Words) -> dict[str, Any]:
        """What else this family's network is told."""
        return {}

    @property
    def _by_velocity(self) -> bool:
        return bool(self.pipeline.scheduler.config.get("prediction_type", "epsilon") == "v_prediction")

    def errors(self, network: Any, pictures: Any, conditions: Words, noise: Any, moments: Any) -> Any:
        """How far a network is off the noise in each picture's latents (or off the velocity, where it learned that)."""
        signal, spread = self._at(moments)
        foretold = self._foretold(network, signal * pictures + spread * noise, conditions, moments)
        wanted = signal * noise - spread * pictures if self._by_velocity else noise
        return (foretold - wanted).pow(2).mean(dim=(1, 2, 3))

    def parts_of(self, network: Any, noisy: Any, conditions: Words, moments: Any) -> tuple[Any, Any]:
        signal, spread = self._at(moments)
        foretold = self._foretold(network, noisy, conditions, moments)
        if self._by_velocity:
            return signal * noisy - spread * foretold, signal * foretold + spread * noisy
        return (noisy - spread * foretold) / signal, foretold


_TWO_ENCODERS = ("vae", "text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "scheduler")
"""What a pipeline with two text encoders holds beside its network."""


class StableDiffusionXL(StableDiffusion):
    """The same with two text encoders, and a network that is told the size of the picture."""

    needs: ClassVar[tuple[str, ...]] = ("unet", *_TWO_ENCODERS)

    def conditions(self, prompts: Sequence[str]) -> Words:
        with torch.no_grad():
            words, _, pooled, _ = self.pipeline.encode_prompt(
                list(prompts), device=self.device, num_images_per_prompt=1, do_classifier_free_guidance=False
            )
        return Words((words.float(), pooled.float()))

    def _more(self, noisy: Any, conditions: Words) -> dict[str, Any]:
        height, width = (side * self.pipeline.vae_scale_factor for side in noisy.shape[2:])
        sizes = torch.tensor([height, width, 0, 0, height, width], device=noisy.device, dtype=noisy.dtype)
        told = {"text_embeds": conditions.parts[1], "time_ids": sizes.expand(len(noisy), -1)}
        return {"added_cond_kwargs": told}


class Flux(TunablePipeline):
    """A transformer that foretells the way from the picture to the noise; guidance is one of the things it is told."""

    part = "transformer"
    needs: ClassVar[tuple[str, ...]] = ("transformer", *_TWO_ENCODERS)

    def conditions(self, prompts: Sequence[str]) -> Words:
        with torch.no_grad():
            words, pooled, _ = self.pipeline.encode_prompt(list(prompts), None, device=self.device)
        return Words((words.float(), pooled.float()))

    def moments(self, uniform: Any) -> Any:
        """Most of them in the middle of the way: a normal draw through a sigmoid, as flows of this size are trained."""
        return (math.sqrt(2) * torch.erfinv((2 * uniform - 1).clamp(-0.999999, 0.999999))).sigmoid()

    @property
    def channels(self) -> int:
        return int(self.network.config.in_channels) // 4

    def _usual_side(self) -> int:
        return int(self.pipeline.default_sample_size * self.pipeline.vae_scale_factor)

    def levels(self, moment: float) -> tuple[float, float]:
        return 1 - moment, moment

    def _foretold(self, network: Any, noisy: Any, conditions: Words, moments: Any) -> Any:
        rows, channels, height, width = noisy.shape
        words, pooled = conditions.parts
        guidance = None
        if self.network.config.guidance_embeds:
            asked = self.model.guidance
            told = float(self._usual("guidance_scale") if asked is None else asked)
            guidance = torch.full((rows,), told, device=noisy.device)
        high, wide = height // 2, width // 2
        # The network takes every 2x2 patch as a row of its own, with its place.
        packed = noisy.view(rows, channels, high, 2, wide, 2).permute(0, 2, 4, 1, 3, 5).reshape(rows, high * wide, -1)
        places = torch.cartesian_prod(torch.arange(1), torch.arange(high), torch.arange(wide))
        flow = network(
            hidden_states=packed, timestep=moments.to(noisy.dtype), guidance=guidance, pooled_projections=pooled,
            encoder_hidden_states=words, return_dict=False,
            txt_ids=torch.zeros(words.shape[1], 3, device=noisy.device, dtype=noisy.dtype),
            img_ids=places.to(noisy.device, noisy.dtype),
        )[0].float()  # fmt: skip
        return (
            flow.view(rows, high, wide, channels, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(rows, channels, height, width)
        )

    def errors(self, network: Any, pictures: Any, conditions: Words, noise: Any, moments: Any) -> Any:
        """How far a network is off the way from each picture's latents to the noise."""
        part = moments[:, None, None, None]
        flow = self._foretold(network, (1 - part) * pictures + part * noise, conditions, moments)
        return (flow - (noise - pictures)).pow(2).mean(dim=(1, 2, 3))

    def parts_of(self, network: Any, noisy: Any, conditions: Words, moments: Any) -> tuple[Any, Any]:
        part = moments[:, None, None, None]
        flow = self._foretold(network, noisy, conditions, moments)
        return noisy - part * flow, noisy + (1 - part) * flow


FAMILIES: dict[str, type[TunablePipeline]] = {
    "StableDiffusionPipeline": StableDiffusion,
    "StableDiffusionXLPipeline": StableDiffusionXL,
    "FluxPipeline": Flux,
}


def family_of(pipeline: Any) -> type[TunablePipeline]:
    """The family that a pipeline belongs to; others are refused by name, and so is one that lacks a part."""
    kind = type(pipeline).__name__
    family = FAMILIES.get(kind)
    if family is None:
        raise InputError(f"tuned are pipelines of the kinds {', '.join(FAMILIES)}; {kind} is of another kind")
    lacking = [name for name in family.needs if getattr(pipeline, name, None) is None]
    if lacking:
        raise InputError(f"the pipeline lacks what tuning needs: {', '.join(lacking)}; fetch the folder again")
    if issubclass(family, StableDiffusion):
        foretells = pipeline.scheduler.config.get("prediction_type", "epsilon")
        if foretells not in {"epsilon", "v_prediction"} or not hasattr(pipeline.scheduler, "alphas_cumprod"):
            name = type(pipeline.scheduler).__name__
            raise InputError(f"networks that foretell noise or velocity are tuned; {name} is made for {foretells!r}")
    return family
