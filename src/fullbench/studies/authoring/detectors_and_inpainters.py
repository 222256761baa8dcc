"""Detectors that find regions in a picture, and inpainters that repaint them, by their specs.

A spec is the name of a plugin (`objects`, `diffusers:FOLDER?steps=20`) or a function of the user, `MODULE:FUNCTION`.
A detector takes a Pillow image. It may return the shapes that common packages return, so that a user's function is
mostly one line (docs/pictures.md):

- `{"label" or "class", "score", "box": [x, y, width, height]}`, in pixels (NudeNet);
- `{"label", "score", "box": {"xmin", "ymin", "xmax", "ymax"}}`, in pixels (zero-shot detection of transformers);
- `(label, score, (left, top, right, bottom))`, as shares of the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

from fullbench.core.plugin_entry_points import load_plugin, plugin_names
from fullbench.errors import InputError, require_packages
from fullbench.models.local.diffusers_pipeline import pipeline_from
from fullbench.models.local.transformers_model import resolve_device_and_precision
from fullbench.plugin_specs import Spec, load_function
from fullbench.synthetic.perturb.inpainted_regions import Inpainter, Region

if TYPE_CHECKING:
    from PIL.Image import Image

Detector = Callable[["Image"], Iterable[Any]]


@dataclass(frozen=True)
class Detection:
    """A region that a detector found, with its label and confidence."""

    label: str
    score: float
    region: Region


def load_detector(spec: str) -> Detector:
    """Return the detector of a spec."""
    detector: Detector = _load(spec, "detectors")
    return detector


def load_inpainter(spec: str) -> Inpainter:
    """Return the inpainter of a spec."""
    inpainter: Inpainter = _load(spec, "inpainters")
    return inpainter


def _load(spec: str, kind: Any) -> Any:
    parsed_spec = Spec.parse(spec)
    if parsed_spec.kind in plugin_names(kind):
        return load_plugin(kind, parsed_spec.kind)(parsed_spec.name, parsed_spec.options)
    known = ", ".join(plugin_names(kind))
    return load_function(spec, form=f"MODULE:FUNCTION, or one of {known}")


def find_regions(detector: Detector, image: Image, labels: Sequence[str], least_score: float) -> list[Detection]:
    """Return the regions with one of these labels (all if none is given) that the detector is sure enough of."""
    found = [_read_detection(entry, image.size) for entry in detector(image)]
    wanted = {label.casefold() for label in labels}
    return [
        detection
        for detection in found
        if detection.score >= least_score and (not wanted or detection.label.casefold() in wanted)
    ]


def _read_detection(entry: Any, size: tuple[int, int]) -> Detection:
    try:
        if isinstance(entry, Mapping):
            label, score, box = str(entry.get("label", entry.get("class"))), float(entry["score"]), entry["box"]
            if isinstance(box, Mapping):
                sides = [float(box[side]) for side in ("xmin", "ymin", "xmax", "ymax")]
            else:
                left, top, width, height = map(float, box)
                sides = [left, top, left + width, top + height]
            sides = [side / size[place % 2] for place, side in enumerate(sides)]
        else:
            label, score = str(entry[0]), float(entry[1])
            sides = [float(side) for side in entry[2]]
        left, top, right, bottom = (min(1.0, max(0.0, side)) for side in sides)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"the detector returned {entry!r}; known are a dictionary with label, score and box, and "
            "(label, score, (left, top, right, bottom))"
        ) from error
    return Detection(label, score, Region(left, top, right, bottom))


def build_object_detector(name: str, options: Mapping[str, str]) -> Detector:
    """Build the detector `objects`: 91 everyday kinds of things, on any CPU."""
    from fullbench.models.tools.everyday_object_detector import Objects

    if name or options:
        raise InputError("the detector 'objects' takes no name and no options")
    tool = Objects()

    def detect(image: Image) -> Iterable[Any]:
        for label, score, (left, top, width, height) in tool.look(image):
            yield label, score, (left, top, left + width, top + height)

    return detect


_PIPELINE_OPTIONS = {"steps": int, "seed": int, "strength": float, "device": str, "precision": str}


def build_diffusers_inpainter(name: str, options: Mapping[str, str]) -> Inpainter:
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
