"""A command in a process of its own, forked from one that has imported the web app already.

Python and the imports of a server take a second of CPU time, and the tests start about sixty servers.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

PRELOADED = [
    "pytest", "alembic.command", "uvicorn", "psycopg", "scipy.stats", "fullbench.cli.all_commands",
    "fullbench.cli.serve", "fullbench.models.chat_model", "fullbench.studies.run.judge_cases", "fullbench.web.app",
]  # fmt: skip
"""All that use this way of starting name the same modules: there is one process to fork from, and it loads once."""


class ForkedCommand:
    """Starts `fullbench` with words. Its methods are those of `subprocess.Popen`."""

    def __init__(self, words: list[str], log: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        started = Path.cwd(), dict(os.environ)
        self._process = context.Process(target=_run, args=(words, log, *started), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

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


def _run(words: list[str], log: Path, folder: Path, environment: dict[str, str]) -> None:
    # The server of forks was started earlier: its folder and variables may be those of another test.
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    multiprocessing.current_process()._config["daemon"] = False
    with log.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    sys.argv = ["fullbench", *words]
    from fullbench.cli import main

    main()
