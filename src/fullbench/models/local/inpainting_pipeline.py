"""An inpainter that is a pipeline of diffusers: `diffusers:FOLDER_OR_HUB_NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING

from fullbench.errors import InputError, require_packages
from fullbench.models.local.diffusers_pipeline import pipeline_from
from fullbench.models.local.transformers_model import resolve_device_and_precision

if TYPE_CHECKING:
    from PIL.Image import Image

_PIPELINE_OPTIONS = {"steps": int, "seed": int, "strength": float, "device": str, "precision": str}


def build_diffusers_inpainter(name: str, options: Mapping[str, str]) -> Callable[[Image, Image, str], Image]:
    """Build the inpainter for `diffusers:FOLDER_OR_HUB_NAME`: any pipeline that diffusers loads for inpainting."""
    if not name:
        raise InputError("the inpainter 'diffusers' needs a pipeline: diffusers:FOLDER or diffusers:OWNER/NAME")
    if unknown := [key for key in options if key not in _PIPELINE_OPTIONS]:
        raise InputError(
            f"the inpainter 'diffusers' has no option {unknown[0]!r}; known: {', '.join(_PIPELINE_OPTIONS)}"
        )
    values = {key: _PIPELINE_OPTIONS[key](value) for key, value in options.items()}
    require_packages("the inpainter 'diffusers'", "diffusers", "torch", "diffusers")
    import torch
    from diffusers import AutoPipelineForInpainting

    device, precision = resolve_device_and_precision(
        values.get("device", "auto"), values.get("precision", "auto"), f"the inpainter {name!r}"
    )
    loaded = pipeline_from(name, precision)
    if "mask_image" not in signature(loaded.__call__).parameters:
        loaded = AutoPipelineForInpainting.from_pipe(loaded)
    pipeline = loaded.to(device)
    pipeline.set_progress_bar_config(disable=True)

    def inpaint(image: Image, hole: Image, content: str) -> Image:
        given = {"num_inference_steps": values.get("steps"), "strength": values.get("strength")}
        generator = torch.Generator("cpu").manual_seed(values.get("seed", 0))
        # Pipelines work on sides that are multiples of 8.
        width, height = (max(8, side // 8 * 8) for side in image.size)
        painted = pipeline(
            prompt=content, image=image, mask_image=hole, width=width, height=height, generator=generator,
            **{key: value for key, value in given.items() if value is not None},
        ).images[0]  # fmt: skip
        resized: Image = painted.resize(image.size)
        return resized

    return inpaint
