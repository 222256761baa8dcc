"""Location of the cache folder, which holds only files that can be computed or downloaded again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder in `FULLBENCH_CACHE`, or else the cache folder of the user."""
    if folder := os.environ.get("FULLBENCH_CACHE"):
        return Path(folder)
    from platformdirs import user_cache_path

    return user_cache_path("fullbench")
