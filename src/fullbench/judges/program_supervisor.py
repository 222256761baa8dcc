"""Supervisor of one program: limits its time and output, and ends every process that it leaves.

Runs as a script of its own, with the standard library only, so that it starts fast:

    python -I -S program_supervisor.py PARENT SECONDS BYTES PROGRAM ARGUMENT...

PARENT is the process that starts it. The program gets the supervisor's standard input. The supervisor prints one JSON
object: the exit `code`, the `ended` reason (`time`, `output` or empty), `out` and the last bytes of `err` (base64), and
the number of processes `left`. It ends the program and deletes the current folder, which is the case's own, if the
process that started it is gone.
"""

# No pathlib, which would double the time to start.
# ruff: noqa: PTH109, PTH112, PTH123, PTH208
import base64
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time

ERROR_BYTES = 4096
"""Bytes of standard error that are kept, from its end."""
# A signal that arrives between two waits is noticed after this many seconds.
_TICK = 0.2
# Children of the program that ignore signals must not hold up the end of a run.
_CLEANUP_SECONDS = 5.0
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: orphans below this process become its children, so they can be found."""


def supervise(parent: int, seconds: float, limit: int, command: list[str]) -> dict[str, object]:
    """Run a program within the limits and return what the module docstring lists."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    deadline = time.monotonic() + seconds
    try:
        process = subprocess.Popen(  # noqa: S603 (the user named this program)
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return {"code": None, "ended": f"start: {error.strerror}", "out": "", "err": "", "left": 0}
    output: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as selector:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, name)
        ended = _read_output(process, selector, output, (deadline, limit, parent))
    code = process.poll()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = _end_children()
    if ended == "parent":
        import shutil

        shutil.rmtree(os.getcwd(), ignore_errors=True)  # the case's private folder, which nobody else will delete
    encoded = {name: base64.b64encode(data).decode() for name, data in output.items()}
    return {"code": code, "ended": ended, **encoded, "left": 0 if ended else left}


def _read_output(
    process: subprocess.Popen[bytes],
    selector: selectors.BaseSelector,
    output: dict[str, bytearray],
    bounds: tuple[float, int, int],
) -> str:
    """Read until the program ends; return the reason if it has to be ended."""
    deadline, limit, parent = bounds
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return "time"
        if os.getppid() != parent:
            return "parent"
        if not selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left, _TICK))
                return ""
            continue
        events = selector.select(min(left, _TICK))
        for key, _ in events:
            data = os.read(key.fd, 65_536)
            if not data:
                selector.unregister(key.fileobj)
            output[key.data] += data
        del output["err"][:-ERROR_BYTES]
        if len(output["out"]) > limit:
            del output["out"][limit:]
            return "output"
        # A process that stays may hold the pipes open, so the end of the program counts, not that of its output.
        if not events and process.poll() is not None:
            return ""


def _end_children() -> int:
    """End all processes below this one and return their number."""
    ended: set[int] = set()
    deadline = time.monotonic() + _CLEANUP_SECONDS
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            ended.add(pid)
            continue
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    return len(ended)


def _children() -> list[int]:
    """Return the direct children of this process; empty without /proc."""
    children = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
                if int(fields[1]) == os.getpid():
                    children.append(int(name))
    return children


if __name__ == "__main__":
    result = supervise(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    sys.stdout.write(json.dumps(result))
