"""Charts drawn in a process of their own.

The library that draws holds up every thread of its process for seconds where a chart has many marks: drawn in the
server itself, one chart made all visitors wait. The process reads a specification a line and writes an SVG a line; it
ends with its input, so that nothing is left of it however the server ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from typing import IO

from fullbench.reports.charts import vega_lite
from fullbench.reports.charts.vega_lite import Chart


class Drawer:
    """Draws charts elsewhere, one after the other; the process is started by the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def svg(self, drawn: Chart) -> str:
        """The chart as SVG. Where the process has died it is started again, once."""
        with self._lock:
            for _ in range(2):
                answer = self._asked(json.dumps(dict(drawn.spec)))
                if answer:
                    return str(json.loads(answer))
        return vega_lite.svg(drawn)  # what is wrong with it is raised here

    def _asked(self, spec: str) -> str:
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
            # Whoever lets go of a drawer without closing it leaves no process behind either.
            self._ending = weakref.finalize(self, _end, self._process)
        try:
            written, read = self._process.stdin, self._process.stdout
            assert written is not None
            assert read is not None
            written.write(f"{spec}\n")
            written.flush()
            answer = read.readline()
        except OSError:
            answer = ""
        if not answer:
            self._let_go()
        return answer

    def _let_go(self) -> None:
        if self._process is not None:
            self._process = None
            self._ending()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._let_go()


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def serve(asked: IO[str], answered: IO[str]) -> None:
    """Draw what is asked for, a line each, until there is no more; the first that cannot be drawn ends it."""
    for line in asked:
        answered.write(json.dumps(vega_lite.svg(Chart(json.loads(line), ""))) + "\n")
        answered.flush()


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
