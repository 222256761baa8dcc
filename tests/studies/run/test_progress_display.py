from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections import Counter
from pathlib import Path

from fullbench import Usage
from fullbench.studies.engines import JobCounts
from fullbench.studies.run.progress_display import LineWatch


def test_a_line_says_rate_faults_money_and_time_left():
    out = io.StringIO()
    watch = LineWatch("verdicts", 100, out, every=0.0)
    tally = JobCounts(
        "j",
        stored_count=10,
        started_count=30,
        finished_count=25,
        faults=Counter(refused=2),
        usage=Usage(calls=25, dollars=0.5),
    )
    tally.failures["reset"] = 1
    watch.step(tally)
    assert "/s" not in out.getvalue(), "nobody knows how fast the first one was"
    watch._start_time -= 1.0
    out.seek(0)
    watch.step(tally)
    line = out.getvalue()
    assert line.startswith("verdicts: 35 of 100, ")
    assert "/s, 2 unusable (2 refused), 1 failed, $0.5000, about " in line
    assert line.endswith(" left\n")


def test_a_price_that_is_not_known_is_said():
    out = io.StringIO()
    LineWatch("verdicts", None, out, every=0.0).step(
        JobCounts("j", finished_count=1, usage=Usage(calls=1, dollars=None))
    )
    assert "price unknown" in out.getvalue()


def test_on_a_terminal_each_judge_has_a_bar_that_ends_full(tmp_path: Path):
    (tmp_path / "items.csv").write_text("id,question\n" + "".join(f"i{i},q\n" for i in range(20)), encoding="utf-8")
    rows = "".join(f"i{i},{name},{name * 3}\n" for i in range(20) for name in "ab")
    (tmp_path / "answers.csv").write_text("item,contestant,text\n" + rows, encoding="utf-8")
    words = [
        "judge",
        "--items",
        "items.csv",
        "--responses",
        "answers.csv",
        "--judge",
        "length",
        "--judge",
        "chance",
        "--ballot",
        "choice",
    ]
    terminal, end = pty.openpty()
    command = [sys.executable, "-c", "from fullbench.cli import main; main()", *words]
    env = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=end) as process:
        os.close(end)
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(terminal)
    assert process.returncode == 0
    text = shown.decode()
    assert text.count("40/40") >= 2
    assert "length" in text
    assert "0 unusable" in text
    assert "$0.00" in text
