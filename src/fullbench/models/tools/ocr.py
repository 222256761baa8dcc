"""What is written in a picture, in English or Chinese, by RapidOCR."""

from __future__ import annotations

import importlib.util
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fullbench.errors import MissingExtra
from fullbench.models.local import thread_count

if TYPE_CHECKING:
    from PIL.Image import Image

SURE = 0.75
"""A line that the reader is less sure of than this is not noted."""
LONGEST = 1600
NARROWEST = 4
"""A picture more than so many times longer than wide is put on a wider sheet: the reader blows up the shorter side,
and a strip of three pixels would fill the memory."""


class Text:
    """The tool that notes writing."""

    name = "text"

    def __init__(self) -> None:
        if importlib.util.find_spec("rapidocr") is None or importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtra("the tool 'text'", "offline")

    @property
    def version(self) -> str:
        return f"rapidocr {version('rapidocr')}, onnxruntime {version('onnxruntime')}, sure {SURE}, side {LONGEST}"

    @cached_property
    def _reader(self) -> Any:
        from rapidocr import RapidOCR

        threads = {
            f"EngineConfig.onnxruntime.{kind}_op_num_threads": thread_count.half() for kind in ("intra", "inter")
        }
        return RapidOCR(params={"Global.log_level": "critical", **threads})

    def look(self, image: Image) -> list[str]:
        """The lines, as they stand from top to bottom."""
        import numpy as np

        read = self._reader(np.asarray(_bounded(image))[:, :, ::-1])
        lines = zip(read.txts or (), read.scores or (), strict=True)
        return [line.strip() for line, sure in lines if sure >= SURE and line.strip()]


def _bounded(image: Image) -> Image:
    """The picture within sizes that the reader can take."""
    from PIL import Image as Images

    fitted = image.convert("RGB")
    fitted.thumbnail((LONGEST, LONGEST))
    least = max(fitted.size) // NARROWEST
    if min(fitted.size) >= least:
        return fitted
    sheet = Images.new("RGB", (max(fitted.width, least), max(fitted.height, least)), "white")
    sheet.paste(fitted, (0, 0))
    return sheet
