"""A command in a process of its own, forked from one that has imported the web app already.

Python and the imports of a command take a second of CPU time, and the tests start hundreds of commands.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from tests.support.commands import Done

PRELOADED = [
    "pytest", "alembic.command", "uvicorn", "psycopg", "scipy.stats", "fullbench.cli.all_commands",
    "fullbench.cli.serve", "fullbench.models.chat_model", "fullbench.studies.run.judge_cases", "fullbench.web.app",
]  # fmt: skip
"""All that use this way of starting name the same modules: there is one process to fork from, and it loads once."""


class ForkedCommand:
    """Starts `fullbench` with words. Its methods are those of `subprocess.Popen`.

    Its output goes to the file `log`, or to `stdout` and `stderr`, which can be read as text.

    Args:
        folder: the command's current folder; the caller's if None.
        environment: the command's variables; the caller's if None.
        prepare: called before the command. It must be importable without the tests, such as a partial of
            `signal.signal`.
    """

    def __init__(
        self, words: list[str], log: Path | None = None, *, folder: Path | None = None,
        environment: Mapping[str, str] | None = None, prepare: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        started = folder or Path.cwd(), dict(os.environ if environment is None else environment), prepare
        pipes = [] if log else [context.Pipe(duplex=False) for _ in range(2)]
        outputs: Path | list[Connection] = log or [writing for _, writing in pipes]
        self._process = context.Process(target=_run, args=(words, outputs, *started), daemon=True)
        self._process.start()
        for _, writing in pipes:
            writing.close()
        self._streams = [os.fdopen(os.dup(reading.fileno()), encoding="utf-8") for reading, _ in pipes]
        for reading, _ in pipes:
            reading.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def stdout(self) -> io.TextIOWrapper:
        return self._streams[0]

    @property
    def stderr(self) -> io.TextIOWrapper:
        return self._streams[1]

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        texts = ["", ""]

        def read(number: int) -> None:
            with self._streams[number] as stream:
                texts[number] = stream.read()

        readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(2)]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        return texts[0], texts[1]

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("fullbench", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_forked(
    folder: Path, *words: object, environment: Mapping[str, str] | None = None, seconds: float = 300.0
) -> Done:
    """Run a command to its end in a process and a folder of its own."""
    process = ForkedCommand([str(word) for word in words], folder=folder, environment=environment)
    try:
        out, err = process.communicate(seconds)
    finally:
        process.kill()
    return Done(out, err, process.wait())


def _run(
    words: list[str], outputs: Path | list[Connection], folder: Path, environment: dict[str, str],
    prepare: Callable[[], object] | None,
) -> None:  # fmt: skip
    # The server of forks was started earlier: its folder and variables may be those of another test.
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    multiprocessing.current_process()._config["daemon"] = False
    if isinstance(outputs, Path):
        with outputs.open("ab") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
    else:
        for stream, pipe in enumerate(outputs, 1):
            os.dup2(pipe.fileno(), stream)
            pipe.close()
    # The streams that Python made know what the server of forks wrote to, and seek if that was a file.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    if prepare:
        prepare()
    sys.argv = ["fullbench", *words]
    from fullbench.cli import main

    main()
