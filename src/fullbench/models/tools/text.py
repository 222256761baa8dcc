"""What is written in a picture, in English or Chinese, by RapidOCR."""

from __future__ import annotations

import importlib.util
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fullbench.core.errors import MissingExtra

if TYPE_CHECKING:
    from PIL.Image import Image

SURE = 0.75
"""A line that the reader is less sure of than this is not noted."""


class Text:
    """The tool that notes writing."""

    name = "text"

    def __init__(self) -> None:
        if importlib.util.find_spec("rapidocr") is None or importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtra("the tool 'text'", "offline")

    @property
    def version(self) -> str:
        return f"rapidocr {version('rapidocr')}, onnxruntime {version('onnxruntime')}, sure {SURE}"

    @cached_property
    def _reader(self) -> Any:
        from rapidocr import RapidOCR

        return RapidOCR(params={"Global.log_level": "critical"})

    def look(self, image: Image) -> list[str]:
        """The lines, as they stand from top to bottom."""
        import numpy as np

        read = self._reader(np.asarray(image.convert("RGB"))[:, :, ::-1])
        lines = zip(read.txts or (), read.scores or (), strict=True)
        return [line.strip() for line, sure in lines if sure >= SURE and line.strip()]
