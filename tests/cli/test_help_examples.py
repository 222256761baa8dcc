"""Examples of every command's help can be pasted from a narrow terminal."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import pytest
from typer.main import get_command

from fullbench.cli.all_commands import app
from fullbench.cli.command_modules_and_help_panels import WIDTH, format_examples


def every(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from every(inner, f"{name} {word}")


def commands_in(text: str) -> list[list[str]]:
    """The commands of a text, as a shell takes them."""
    whole = re.sub(r"\\\s*\n", " ", text)
    return [shlex.split(line) for line in map(str.strip, whole.splitlines()) if line.startswith("fullbench ")]


HELPS = {name: command.help or "" for name, command in every(get_command(app), "fullbench")}


def test_no_example_loses_a_word_and_none_is_too_wide():
    told = 0
    for name, text in HELPS.items():
        shown = format_examples(text)
        assert commands_in(shown) == commands_in(cleandoc(text)), name
        told += len(commands_in(shown))
        blocks = re.findall(r"```console\n(.*?)\n```", shown, re.DOTALL)
        assert all(len(line) <= WIDTH for block in blocks for line in block.splitlines()), name
    assert told > 60


@pytest.mark.parametrize("name", ["judge", "import", "run"])
def test_a_terminal_of_80_columns_shows_them_whole(name):
    done = subprocess.run(
        [sys.executable, "-m", "fullbench", name, "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )  # fmt: skip
    shown = commands_in(done.stdout.partition("╭")[0])
    assert shown
    assert shown == commands_in(cleandoc(HELPS[f"fullbench {name}"]))
