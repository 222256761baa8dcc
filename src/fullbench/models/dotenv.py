"""Keys from a file `.env` in the folder where one works, for whoever keeps them there.

Only variables that somebody asks for by name are looked up, and only where the environment has none: a file that came
with somebody's data changes nothing else.
"""

from __future__ import annotations

import codecs
import os
import re
from functools import lru_cache
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")


def variable(name: str) -> str:
    """What a variable holds, in the environment or else in `.env`; nothing where neither has it."""
    if value := os.environ.get(name, "").strip():
        return value
    return _here().get(name, "")


def names() -> list[str]:
    """The variables that `.env` has, for a library that looks its keys up by itself."""
    return list(_here())


def found_here() -> bool:
    """Whether there is such a file where one works."""
    return Path(".env").exists()


def _here() -> dict[str, str]:
    file = Path(".env").absolute()
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return {}
    return _variables(file, changed)


@lru_cache(maxsize=8)
def _variables(file: Path, _changed: int) -> dict[str, str]:
    try:
        data = file.read_bytes()
        # What PowerShell writes with `>` is UTF-16.
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError):  # a file that is none of ours is no error of this user
        return {}
    return parsed(text)


def parsed(text: str) -> dict[str, str]:
    """The variables of such a file: NAME=VALUE, with or without `export` and quotes; `#` begins a remark.

    >>> parsed("# keys\\nexport A='x y' # mine\\nB = z # why\\nC=\\"1#2\\"\\nnonsense")
    {'A': 'x y', 'B': 'z', 'C': '1#2'}
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        quoted = re.match(r"""(["'])(.*?)\1""", match[2])
        values[match[1]] = quoted[2] if quoted else re.split(r"\s+#", match[2])[0].strip()
    return values
