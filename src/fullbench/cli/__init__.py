"""The command line: one file a command."""

from __future__ import annotations

import atexit
import errno
import gc
import logging
import os
import sys
import warnings
from typing import Any

from fullbench.cli.standard_streams import Nowhere, flushed, ready

OF_THE_MACHINE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP,
}  # fmt: skip
"""What a disk, its permissions and its paths refuse is no defect of ours, wherever it is met."""


def main() -> None:
    """Entry point of the `fullbench` command.

    User mistakes become one sentence and exit code 2. What nobody foresaw is a defect of ours: one sentence and exit
    code 70, with the trace in a file to be sent to us; `FULLBENCH_DEBUG` shows it at once.
    """
    try:
        code = _called()
    except KeyboardInterrupt:  # while the command was still being loaded: later each command says what is kept
        code = 130
    sys.exit(flushed(code))


def _called() -> int:
    """Run the command that the words name, and give its exit code."""
    if sys.platform == "win32":
        sys.stderr.write(
            "fullbench: it was made for Linux and macOS and never tried on Windows itself; run it in WSL there\n"
        )
        return 2
    # A command ends soon: with the usual 700 the collector would look through what is imported a hundred times.
    threshold = gc.get_threshold()
    gc.set_threshold(20_000)
    atexit.register(_leave_memory)
    # Our matrices are small: on a busy machine threads that wait for each other took longer than one (2.0 s, not 0.7).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fullbench.cli.application import command_of
    from fullbench.cli.argument_mistakes import refuse_misread
    from fullbench.cli.command_loading import application_for
    from fullbench.errors import DataWarning, FullbenchError
    from fullbench.text_safety import Neutral, NeutralFormatter, neutral

    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Neutral(ready(before[0])), Neutral(ready(before[1]))
    handler = logging.StreamHandler()
    handler.setFormatter(NeutralFormatter())
    logging.getLogger().addHandler(handler)
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            sys.stderr.write(neutral(str(message)) + "\n")
        else:
            usual(message, category, *place, **more)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = show
            command = command_of(application_for(sys.argv[1] if len(sys.argv) > 1 else ""))
            refuse_misread(command, sys.argv[1:])
            command()
        return 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        return code or 2 * isinstance(sys.stdout, Nowhere)
    except FullbenchError as error:
        sys.stderr.write(neutral(f"fullbench: {error}") + "\n")
        return 2
    except BrokenPipeError:
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
            place = error.filename if isinstance(error.filename, str) else "the output"
            sys.stderr.write(neutral(f"fullbench: {place}: it cannot be read or written ({error.strerror})") + "\n")
            return 2
        if os.environ.get("FULLBENCH_DEBUG"):
            raise
        sys.stderr.write(neutral(f"fullbench: {_unforeseen(error)}") + "\n")
        return 70
    finally:
        gc.set_threshold(*threshold)
        sys.stdout, sys.stderr = before
        logging.getLogger().removeHandler(handler)


def _leave_memory() -> None:
    """Python looks for cycles in all that is left when it ends, a tenth of a short command; the system takes that
    memory back at once anyway. Libraries made with nanobind count what was not let go of, and tell the user."""
    if not any(kind.__module__ == "nanobind" for kind in type.__subclasses__(type)):
        gc.freeze()


def _unforeseen(error: Exception) -> str:
    """A sentence about a defect of ours, and where its trace is."""
    import tempfile
    import traceback

    what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    handle, place = tempfile.mkstemp(".txt", "fullbench-trace-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    return f"something went wrong inside ({what}); what the ledger holds is kept. Please send us the trace: {place}"
