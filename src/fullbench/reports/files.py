"""Writing a file so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

from pathlib import Path

from fullbench.files.writers import replacing


def write_file(path: str | Path, data: bytes | str) -> Path:
    """Write a whole file at once; folders on the way are made."""
    path = Path(path)
    with replacing(path) as part:
        part.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
