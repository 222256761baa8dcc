"""Atomic writing of files: readers get the old file or the new one, never a partial one."""

from __future__ import annotations

from pathlib import Path

from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically


def check_page(path: Path) -> None:
    """Raise if the path has no HTML suffix, because browsers would not open it as a page."""
    if path.suffix.lower() not in {".html", ".htm"} or path.is_dir():
        raise InputError("a page is HTML: give it a name that ends in .html", path=path)


def write_file(path: str | Path, data: bytes | str) -> Path:
    """Write a whole file atomically and create missing folders."""
    path = Path(path)
    with replace_atomically(path) as part:
        part.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
