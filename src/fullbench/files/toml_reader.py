"""TOML reader for studies, rubrics, gates and panels; errors name file and line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fullbench.errors import InputError


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], str]:
    """Return the table of a file and its text; `what` describes the file in errors, such as "the study"."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{what} cannot be read ({error.strerror}){_path_hint(path, what)}", path=path) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} is not UTF-8 (byte {error.start}); save it as UTF-8{_suffix_hint(path)}", path=path
        ) from error
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        # Python names the line only in the message, and not at all if the text ends too early.
        match = re.search(r"line (\d+)", str(error))
        line = int(match[1]) if match else text.rstrip().count("\n") + 1
        raise InputError(
            f"not valid TOML: {error}{_find_remedy(str(error))}{_suffix_hint(path)}", path=path, line=line
        ) from error
    except RecursionError as error:
        raise InputError(f"{what} is nested too deeply; write it with fewer levels", path=path) from error


_REMEDIES = {
    "Illegal character '\\n'": "; is a quote missing at the end of the line?",
    "Cannot overwrite a value": "; the key stands there twice: leave one out",
    "Unclosed array": "; is a comma missing between two values, or the bracket at the end?",
    "Invalid value": "; texts stand in quotes",
}


def _find_remedy(complaint: str) -> str:
    return next((remedy for words, remedy in _REMEDIES.items() if complaint.startswith(words)), "")


_WRITERS = {"the study": "fullbench init", "the gate": "fullbench gate --init"}


def _path_hint(path: Path, what: str) -> str:
    """Return what to do about a file that cannot be read: another file, or a command that writes one."""
    if (with_suffix := path.with_name(f"{path.name}.toml")).is_file():
        return f"; did you mean {with_suffix}?"
    folder = path if path.is_dir() else path.parent
    names = sorted(entry.name for entry in folder.glob("*.toml"))[:5] if folder.is_dir() else []
    if names:
        return f"; this folder has {', '.join(names)}"
    return f"; `{_WRITERS[what]}` writes one" if what in _WRITERS else ""


def _suffix_hint(path: Path) -> str:
    return "" if path.suffix.lower() == ".toml" else "; a .toml file is read here, such as `fullbench init` writes"
