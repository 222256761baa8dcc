"""Text in a picture, in English or Chinese, read by RapidOCR."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fullbench.errors import require_packages
from fullbench.models.local import thread_count

if TYPE_CHECKING:
    from PIL.Image import Image

SURE = 0.75
"""Lines with a lower confidence are not noted."""
# Larger pictures are scaled down to this. Part of the version, since it changes what is read.
LONGEST = 1600
NARROWEST = 4
"""Pictures with a larger aspect ratio are padded: the reader enlarges the shorter side, and a strip of three
pixels would fill the memory.
"""


class Text:
    """Tool that notes text."""

    name = "text"

    def __init__(self) -> None:
        require_packages("the tool 'text'", "offline", "rapidocr", "onnxruntime")

    @property
    def version(self) -> str:
        return f"rapidocr {version('rapidocr')}, onnxruntime {version('onnxruntime')}, sure {SURE}, side {LONGEST}"

    @cached_property
    def _reader(self) -> Any:
        from rapidocr import RapidOCR

        threads = {
            f"EngineConfig.onnxruntime.{kind}_op_num_threads": thread_count.half_of_cores()
            for kind in ("intra", "inter")
        }
        return RapidOCR(params={"Global.log_level": "critical", **threads})

    def look(self, image: Image) -> list[str]:
        """Return the lines of text, from top to bottom."""
        import numpy as np

        read = self._reader(np.asarray(_fit_for_reader(image))[:, :, ::-1])  # RapidOCR expects BGR, as OpenCV does
        lines = zip(read.txts or (), read.scores or (), strict=True)
        return [line.strip() for line, sure in lines if sure >= SURE and line.strip()]


def _fit_for_reader(image: Image) -> Image:
    from PIL import Image as Images

    rgb_image = image.convert("RGB")
    rgb_image.thumbnail((LONGEST, LONGEST))
    least = max(rgb_image.size) // NARROWEST
    if min(rgb_image.size) >= least:
        return rgb_image
    sheet = Images.new("RGB", (max(rgb_image.width, least), max(rgb_image.height, least)), "white")
    sheet.paste(rgb_image, (0, 0))
    return sheet
