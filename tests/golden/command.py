"""The command line, as a user types it, in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from fullbench import __version__
from tests.golden.internals import app

TERMINAL = {"COLUMNS": "100", "LINES": "40", "NO_COLOR": "1", "TERM": "dumb"}
"""What a terminal would tell a command."""


def fullbench(*words: str) -> str:
    """What `fullbench WORDS` prints on standard output; a command that fails is an error."""
    done = CliRunner(env=TERMINAL).invoke(app, list(words), catch_exceptions=False)
    useless = done.exit_code == 1 and "has no usable verdict" in done.stderr  # on purpose in some of the samples
    if done.exit_code and not useless:
        raise AssertionError(f"fullbench {' '.join(words)} left with {done.exit_code}: {done.stderr[-2000:]}")
    return done.stdout


def unversioned(value: Any) -> Any:
    """The value without the package's own version: a release changes it and nothing else."""
    if isinstance(value, dict):
        return {key: unversioned(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [unversioned(entry) for entry in value]
    return "VERSION" if value == __version__ else value
