"""Reading TOML: studies, rubrics, gates and panels. What does not fit is named with its file and line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fullbench.errors import InputError


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], str]:
    """The table in a file, and the text it was read from; `what` it is stands in the error, such as "the study"."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{what} cannot be read ({error.strerror})", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} is not UTF-8 (byte {error.start}); save it as UTF-8{_other(path)}", path=path
        ) from error
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        # Python says the line in words alone, and none where the text ends too early.
        match = re.search(r"line (\d+)", str(error))
        line = int(match[1]) if match else text.rstrip().count("\n") + 1
        raise InputError(f"not valid TOML: {error}{_remedy(str(error))}{_other(path)}", path=path, line=line) from error
    except RecursionError as error:
        raise InputError(f"{what} is nested too deeply to be read; none needs that", path=path) from error


_REMEDIES = {
    "Illegal character '\\n'": "; is a quote missing at the end of the line?",
    "Cannot overwrite a value": "; the key stands there twice: leave one out",
    "Unclosed array": "; is a comma missing between two values, or the bracket at the end?",
    "Invalid value": "; texts stand in quotes",
}


def _remedy(complaint: str) -> str:
    """What is likely to be amiss, where Python's words do not say it."""
    return next((remedy for words, remedy in _REMEDIES.items() if complaint.startswith(words)), "")


def _other(path: Path) -> str:
    return "" if path.suffix.lower() == ".toml" else "; a .toml file is read here, such as `fullbench init` writes"
