"""The command line: one file a command."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `fullbench` command.

    User mistakes become one sentence and exit code 2; a traceback means a defect of ours.
    """
    from fullbench.cli.app import app
    from fullbench.errors import FullbenchError

    try:
        app()
    except FullbenchError as error:
        sys.stderr.write(f"fullbench: {error}\n")
        sys.exit(2)
