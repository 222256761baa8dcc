"""How many threads to give a library whose threads wait for each other in a tight loop."""

from __future__ import annotations

import os


def half() -> int:
    """Half of the cores, one at least: where something else runs too, one for each is several times slower."""
    return max(1, (os.cpu_count() or 1) // 2)
