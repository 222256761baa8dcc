"""Where what can be made or fetched again is kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`FULLBENCH_CACHE`, or the user's cache folder."""
    if folder := os.environ.get("FULLBENCH_CACHE"):
        return Path(folder)
    from platformdirs import user_cache_path

    return user_cache_path("fullbench")
