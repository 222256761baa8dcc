"""The command line: one file a command."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `fullbench` command.

    User mistakes become one sentence and exit code 2; a traceback means a defect of ours.
    """
    import click

    from fullbench.cli.app import app
    from fullbench.core.errors import FullbenchError

    try:
        code = app(standalone_mode=False)
    except FullbenchError as error:
        sys.exit(_fail(str(error), 2))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(_fail("interrupted; the same command goes on from here", 130))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(sentence: str, code: int) -> int:
    sys.stderr.write(f"fullbench: {sentence}\n")
    return code
