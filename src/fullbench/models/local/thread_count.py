"""Number of threads for libraries whose threads busy-wait for each other."""

from __future__ import annotations

import os


def half_of_cores() -> int:
    """Return half of the cores, at least 1. One thread per core is several times slower if anything else runs."""
    return max(1, (os.cpu_count() or 1) // 2)
