"""Command line: one file for each command."""

from __future__ import annotations

import atexit
import errno
import gc
import logging
import os
import sys
import warnings
from typing import Any

from fullbench.cli.standard_streams import NullStream, drop_unwritable_output, flush_streams, prepare_stream

MACHINE_ERRORS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP,
}  # fmt: skip
"""Errors of disks, permissions and paths: not defects of fullbench."""


def main() -> None:
    """Entry point of the `fullbench` command.

    Mistakes of users give one sentence and exit code 2. Other exceptions are defects: one sentence, exit code 70 and a
    file with the trace; `FULLBENCH_DEBUG` shows the trace at once.
    """
    try:
        code = _run_command()
    except KeyboardInterrupt:  # while the command was loaded; later, each command handles it
        code = 130
    sys.exit(flush_streams(code))


def _run_command() -> int:
    if sys.platform == "win32":
        sys.stderr.write("fullbench: Windows is not supported. Run fullbench in WSL.\n")
        return 2
    # A command ends soon: with the default of 700, the collector would scan all imports a hundred times.
    threshold = gc.get_threshold()
    gc.set_threshold(20_000)
    atexit.register(_leave_memory)
    # Our matrices are small: on a busy machine, several threads took longer than one (2.0 s instead of 0.7 s).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fullbench.cli.command_modules_and_help_panels import application_for, build_command
    from fullbench.cli.display_names_in_command_output import CURRENT
    from fullbench.cli.misplaced_and_repeated_options import refuse_misread
    from fullbench.errors import DataWarning, FullbenchError
    from fullbench.secret_masking_and_text_escapes import NeutralFormatter, NeutralStream, neutralise_text

    original_streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        NeutralStream(prepare_stream(original_streams[0])),
        NeutralStream(prepare_stream(original_streams[1])),
    )
    handler = logging.StreamHandler()
    handler.setFormatter(NeutralFormatter())
    logging.getLogger().addHandler(handler)
    default_showwarning = warnings.showwarning

    def show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            sys.stderr.write(neutralise_text(CURRENT.text(str(message))) + "\n")
        else:
            default_showwarning(message, category, *place, **more)

    CURRENT.reset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = show_warning
            command = build_command(application_for(sys.argv[1] if len(sys.argv) > 1 else ""))
            refuse_misread(command, sys.argv[1:])
            command()
        return 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        return code or 2 * isinstance(sys.stdout, NullStream)
    except FullbenchError as error:
        sys.stderr.write(neutralise_text(CURRENT.text(f"fullbench: {error}")) + "\n")
        return 2
    except BrokenPipeError:
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
            place = error.filename if isinstance(error.filename, str) else "the output"
            drop_unwritable_output()
            sys.stderr.write(
                neutralise_text(f"fullbench: {place}: cannot be read or written ({error.strerror})") + "\n"
            )
            return 2
        if os.environ.get("FULLBENCH_DEBUG"):
            raise
        sys.stderr.write(neutralise_text(f"fullbench: {_defect_message(error)}") + "\n")
        return 70
    finally:
        gc.set_threshold(*threshold)
        sys.stdout, sys.stderr = original_streams
        logging.getLogger().removeHandler(handler)


def _leave_memory() -> None:
    """Skip the last garbage collection, a tenth of the time of a short command.

    Libraries made with nanobind would then report leaks, so it runs if one is loaded.
    """
    if not any(kind.__module__ == "nanobind" for kind in type.__subclasses__(type)):
        gc.freeze()


def _defect_message(error: Exception) -> str:
    """Write the trace to a file and return a sentence that names it."""
    import tempfile
    import traceback

    error_text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    handle, trace_path = tempfile.mkstemp(".txt", "fullbench-trace-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    return f"Internal error ({error_text}). The ledger keeps its results. Please send us the trace: {trace_path}"
