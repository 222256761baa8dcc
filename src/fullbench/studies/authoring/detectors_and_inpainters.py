"""Detectors that find regions in a picture, and inpainters that repaint them, by their specs.

A spec is the name of a plugin (`objects`, `diffusers:FOLDER?steps=20`) or a function of the user, `MODULE:FUNCTION`.
A detector takes a Pillow image. It may return the shapes that common packages return, so that a user's function is
mostly one line (docs/how-to/pictures.md):

- `{"label" or "class", "score", "box": [x, y, width, height]}`, in pixels (NudeNet);
- `{"label", "score", "box": {"xmin", "ymin", "xmax", "ymax"}}`, in pixels (zero-shot detection of transformers);
- `(label, score, (left, top, right, bottom))`, as shares of the sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullbench.core.plugin_entry_points import load_plugin, plugin_names
from fullbench.errors import InputError
from fullbench.plugin_specs import Spec, load_function
from fullbench.synthetic.perturb.inpainted_regions import Inpainter, Region

if TYPE_CHECKING:
    from PIL.Image import Image

Detector = Callable[["Image"], Iterable[Any]]
_LARGEST_SHARE = 1.5
"""Sides above this are pixels."""


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
    installed_names = ", ".join(plugin_names(kind))
    function = load_function(spec, form=f"MODULE:FUNCTION, or one of {installed_names}")

    def call_function(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # whatever a user's function raises is the user's to fix
            taken = "a picture" if kind == "detectors" else "a picture, a mask and a text"
            raise InputError(
                f"the function {spec} failed ({type(error).__name__}: {error}); it gets {taken}"
            ) from error

    return call_function


def find_regions(detector: Detector, image: Image, labels: Sequence[str], least_score: float) -> list[Detection]:
    """Return the regions with one of these labels (all if none is given) that the detector is sure enough of."""
    detections = [_read_detection(entry, image.size) for entry in detector(image)]
    wanted = {label.casefold() for label in labels}
    return [
        detection
        for detection in detections
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
            # A detector's box may end just outside of the picture; pixels end far outside.
            if len(sides) == 4 and max(sides) > _LARGEST_SHARE:
                raise InputError(
                    f"the detector returned {entry!r}: these sides are shares of the picture, from 0 to 1. Divide them "
                    "by its width and height, or return a dictionary, whose box is in pixels"
                )
        left, top, right, bottom = (min(1.0, max(0.0, side)) for side in sides)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"the detector returned {entry!r}; it must return a dictionary with label, score and box, and "
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
