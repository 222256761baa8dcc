"""Pictures of pages for the docs, taken only where `FULLBENCH_SCREENSHOTS` is set: tests leave the tree alone."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "web"


def asked_for() -> bool:
    """Whether pictures are to be taken."""
    return bool(os.environ.get("FULLBENCH_SCREENSHOTS"))


def shoot(page, name: str, *, width: int = 1120, height: int = 900, scheme: str = "light") -> None:
    """`docs/images/web/NAME.png`, as wide and high as asked for, in few colours so that it stays small."""
    if asked_for():
        from PIL import Image

        FOLDER.mkdir(parents=True, exist_ok=True)
        before = page.viewport_size
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_load_state("networkidle")
        path = FOLDER / f"{name}.png"
        page.screenshot(path=path)
        with Image.open(path) as image:
            image.convert("RGB").quantize(96).save(path, optimize=True)
        page.set_viewport_size(before)
        page.emulate_media(color_scheme="light")
