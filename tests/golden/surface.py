"""What users see first: the help of every command, and the description of the web app's API."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.golden.command import TERMINAL, fullbench, unversioned
from tests.golden.internals import app, build_command, openapi
from tests.golden.layout import written

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def help_texts(_folder: Path) -> str:
    """The help of every command and sub-command, one after another, 100 columns wide."""
    parts = []
    # Made once: for each command anew, as the runner of tests does it, takes four times as long.
    whole = build_command(app)
    for words in _commands(whole, ()):
        printed = StringIO()
        with redirect_stdout(printed), patch.dict(os.environ, TERMINAL):
            whole.main([*words, "--help"], prog_name="fullbench", standalone_mode=False)
        # Colours are forced where the environment of the first import said so; the words are what counts.
        text = _STYLE.sub("", printed.getvalue())
        lines = [line.rstrip() for line in text.strip("\n").splitlines()]
        parts.append("\n".join([f"$ fullbench {' '.join((*words, '--help'))}", *lines, ""]))
    return "\n".join(parts)


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(inner, (*words, name))


def web_api(folder: Path) -> str:
    return written(unversioned(openapi(folder)))


def listed(_folder: Path) -> str:
    """The plug-ins that are installed: ours alone, in the environment in which the suite runs."""
    return fullbench("list", "--json")
