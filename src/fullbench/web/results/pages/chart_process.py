"""Draw charts in a separate process.

The chart library blocks every thread of its process for seconds if a chart has many marks. In the server process, one
chart would block all visitors. The child process reads one specification per line and writes one SVG per line. It exits
when its input closes, so it never outlives the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from typing import IO

from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.charts.chart_specification_and_rendering import Chart


class ChartDrawer:
    """Draws charts one after another in a child process, which the first chart starts."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def svg(self, chart: Chart) -> str:
        """Return the chart as SVG. A dead process is restarted once."""
        with self._lock:
            for _ in range(2):
                answer = self._request_svg(json.dumps(dict(chart.spec)))
                if answer:
                    return str(json.loads(answer))
        return chart_specification_and_rendering.render_svg(chart)  # raises the chart's error in this process

    def _request_svg(self, spec: str) -> str:
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
            # Also end the process if the drawer is garbage-collected without `close`.
            self._ending = weakref.finalize(self, _end_process, self._process)
        try:
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None
            assert stdout is not None
            stdin.write(f"{spec}\n")
            stdin.flush()
            answer = stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            self._release_process()
        return answer

    def _release_process(self) -> None:
        if self._process is not None:
            self._process = None
            self._ending()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._release_process()


def _end_process(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def serve_charts(input_stream: IO[str], output_stream: IO[str]) -> None:
    """Draw one chart per input line until the input ends. A chart that cannot be drawn ends the process."""
    for line in input_stream:
        output_stream.write(
            json.dumps(chart_specification_and_rendering.render_svg(Chart(json.loads(line), ""))) + "\n"
        )
        output_stream.flush()


if __name__ == "__main__":
    serve_charts(sys.stdin, sys.stdout)
