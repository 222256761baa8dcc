"""The command line: one file a command."""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Entry point of the `fullbench` command.

    User mistakes become one sentence and exit code 2; a traceback means a defect of ours.
    """
    from fullbench.cli.starting import application_for
    from fullbench.errors import FullbenchError
    from fullbench.hygiene import Neutral, NeutralFormatter, neutral

    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Neutral(sys.stdout), Neutral(sys.stderr)
    handler = logging.StreamHandler()
    handler.setFormatter(NeutralFormatter())
    logging.getLogger().addHandler(handler)
    try:
        application_for(sys.argv[1] if len(sys.argv) > 1 else "")()
    except FullbenchError as error:
        sys.stderr.write(neutral(f"fullbench: {error}") + "\n")
        sys.exit(2)
    finally:
        sys.stdout, sys.stderr = before
        logging.getLogger().removeHandler(handler)
