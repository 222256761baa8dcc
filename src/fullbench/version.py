"""The version, where every room can have it without the package's front door, and a digest of what changes rulings."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

__version__ = "0.1.0"

SHOWING = frozenset({"analysis", "cli", "columns", "ledger", "reports", "stats", "testing", "web"})
"""Rooms that only keep rulings, compute with them or show them."""
SAMPLES = frozenset({"sample", "__pycache__"})
"""Folders of data that cases are made of before a worker is sent them, and of what Python makes of the code."""


@cache
def code_digest() -> str:
    """Stands for the code, prompts and word lists of this very installation that can change a ruling.

    A version number is the same for two commits; this is not.
    """
    root = Path(__file__).parent
    whole = hashlib.sha256()
    for folder, inner, names in os.walk(root):
        place = Path(folder).relative_to(root)
        inner[:] = sorted(name for name in inner if name not in (SAMPLES if place.parts else SAMPLES | SHOWING))
        for name in sorted(names):
            if not name.startswith("."):
                data = (Path(folder) / name).read_bytes()
                whole.update(f"{(place / name).as_posix()} {len(data)}\n".encode())
                whole.update(data)
    return whole.hexdigest()


def build() -> str:
    """The version with the beginning of that digest."""
    return f"{__version__} ({code_digest()[:12]})"
