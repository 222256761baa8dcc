"""`diffusers` pipelines in tuning: all weights of the network, or adapters."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from fullbench.core.picture import Picture
from fullbench.errors import InputError, require_extra
from fullbench.models.local.diffusers_pipeline import PipelineModel
from fullbench.training.generator.diffusers_families import TunablePipeline, family_of
from fullbench.training.generator.picture_tensors import pixels_of

_ADAPTED_LAYERS = ["to_q", "to_k", "to_v", "to_out.0"]


class _WithoutAdapters:
    """Network without its adapters, without a second copy of its weights."""

    def __init__(self, network: Any) -> None:
        self._network, self.config = network, network.config

    def __call__(self, *args: Any, **more: Any) -> Any:
        self._network.disable_adapters()
        try:
            return self._network(*args, **more)
        finally:
            self._network.enable_adapters()


@dataclass(eq=False)
class PipelineTrainee:
    """Pipeline in tuning: all weights of its network, or adapters of rank `lora`."""

    model: PipelineModel
    lora: int = 0

    @cached_property
    def _pipeline(self) -> Any:
        pipeline = self.model.load()
        family_of(pipeline)
        return pipeline

    @property
    def _part(self) -> str:
        return family_of(self._pipeline).part

    def _tunable(self, network: Any) -> TunablePipeline:
        family = family_of(self._pipeline)
        return family(self.model, self._pipeline, network, self._vae, str(self._pipeline.device))

    @cached_property
    def _vae(self) -> Any:
        """In single precision: the autoencoder of Stable Diffusion XL overflows in half precision."""
        return deepcopy(self._pipeline.vae).float().eval().requires_grad_(requires_grad=False)

    def _copy_network(self) -> Any:
        network = deepcopy(getattr(self._pipeline, self._part))
        return network.float().eval().requires_grad_(requires_grad=False)

    @cached_property
    def tunable(self) -> TunablePipeline:
        network = self._copy_network()
        if self.lora:
            with require_extra("tuning with adapters", "train"):
                from peft import LoraConfig
            # Adapters start at the same numbers in every process, so that a killed run resumes as it began.
            with torch.random.fork_rng():
                torch.manual_seed(0)
                network.add_adapter(LoraConfig(r=self.lora, lora_alpha=self.lora, target_modules=_ADAPTED_LAYERS))
        else:
            network.requires_grad_(requires_grad=True)
        return self._tunable(network)

    def base(self) -> TunablePipeline:
        return self._tunable(_WithoutAdapters(self.tunable.network) if self.lora else self._copy_network())

    def encode(self, pictures: Sequence[Picture]) -> Any:
        """Return the pictures as latents: the mean of the autoencoder's distribution."""
        rows = [self.tunable.latents(pixels_of(picture)[None])[0].cpu() for picture in pictures]
        if len({row.shape for row in rows}) > 1:
            raise InputError("the pictures have different sizes; draw them all in one size (?size=WIDTHxHEIGHT)")
        return torch.stack(rows)

    def save(self, folder: Path) -> str:
        """Save the whole pipeline with the tuned network; adapters are also saved separately, in `lora`."""
        network, part = self.tunable.network, self._part
        if self.lora:
            from diffusers.utils import convert_state_dict_to_diffusers
            from peft.utils import get_peft_model_state_dict

            layers = convert_state_dict_to_diffusers(get_peft_model_state_dict(network))
            type(self._pipeline).save_lora_weights(folder / "lora", **{f"{part}_lora_layers": layers})
            network.fuse_lora()
            network.unload_lora()
        before = getattr(self._pipeline, part)
        setattr(self._pipeline, part, network.to(before.dtype))
        self._pipeline.save_pretrained(folder)
        setattr(self._pipeline, part, before)
        return f"diffusers:{folder}"
