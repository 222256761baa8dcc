"""API keys from a `.env` file in the working directory.

Only variables requested by name are read, and only if the environment does not set them. A `.env` file that came with
somebody's data therefore changes nothing else.
"""

from __future__ import annotations

import codecs
import os
import re
from functools import lru_cache
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")


def read_variable(name: str) -> str:
    """Return a variable from the environment or else from `.env`; empty if neither has it."""
    if value := os.environ.get(name, "").strip():
        return value
    return current_variables().get(name, "")


def current_variables() -> dict[str, str]:
    """Return all variables in `.env`, also for libraries that look up their keys themselves."""
    file = Path(".env").absolute()
    try:
        modified_at = file.stat().st_mtime_ns
    except OSError:
        return {}
    return _read_variables(file, modified_at)


# `_modified_at` is only part of the cache key: an edited file is read again.
@lru_cache(maxsize=8)
def _read_variables(file: Path, _modified_at: int) -> dict[str, str]:
    try:
        data = file.read_bytes()
        # PowerShell's `>` writes UTF-16.
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError):  # such a file may belong to another program, so it is no error
        return {}
    return parse_dotenv(text)


def parse_dotenv(text: str) -> dict[str, str]:
    r"""Parse `NAME=VALUE` lines, with or without `export` and quotes; `#` starts a comment.

    >>> parse_dotenv("# keys\nexport A='x y' # mine\nB = z # why\nC=\"1#2\"\nnonsense")
    {'A': 'x y', 'B': 'z', 'C': '1#2'}
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        quote_match = re.match(r"""(["'])(.*?)\1""", match[2])
        values[match[1]] = quote_match[2] if quote_match else re.split(r"\s+#", match[2])[0].strip()
    return values
