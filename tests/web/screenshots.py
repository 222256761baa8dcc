"""Pictures of pages for the docs, taken only where `FULLBENCH_SCREENSHOTS` is set: tests leave the tree alone."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "web"


def asked_for() -> bool:
    """Whether pictures are to be taken."""
    return bool(os.environ.get("FULLBENCH_SCREENSHOTS"))


def shoot(page, name: str, *, height: int = 900) -> None:
    """`docs/images/web/NAME.png`, as high as asked for."""
    if asked_for():
        FOLDER.mkdir(parents=True, exist_ok=True)
        before = page.viewport_size
        page.set_viewport_size({"width": 1120, "height": height})
        page.wait_for_load_state("networkidle")
        page.screenshot(path=FOLDER / f"{name}.png")
        page.set_viewport_size(before)
