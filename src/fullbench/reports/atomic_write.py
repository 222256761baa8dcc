"""Writing a file so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

from pathlib import Path

from fullbench.errors import InputError
from fullbench.files.writers import replacing


def check_page(path: Path) -> None:
    """Refuse a name under which nobody's browser would open a page."""
    if path.suffix.lower() not in {".html", ".htm"} or path.is_dir():
        raise InputError("a page is HTML: give it a name that ends in .html", path=path)


def write_file(path: str | Path, data: bytes | str) -> Path:
    """Write a whole file at once; folders on the way are made."""
    path = Path(path)
    with replacing(path) as part:
        part.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
