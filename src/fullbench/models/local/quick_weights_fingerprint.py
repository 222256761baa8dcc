"""Fingerprint of a model's weights without reading gigabytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth"}
# Both ends and the size of a weights file: reading all of it would take longer than loading it.
_END = 65536


def weights_fingerprint(path: Path) -> list[Any]:
    """Return name, size and first 64 KiB of each file, of weight files also the last 64 KiB."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    parts: list[Any] = []
    for file in files:
        size = file.stat().st_size
        with file.open("rb") as data:
            ends = data.read(_END)
            if file.suffix in _WEIGHTS and size > 2 * _END:
                data.seek(-_END, 2)
                ends += data.read()
        parts.append([file.name, size, ends.hex()])
    return parts
