"""What is said while a critic learns."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from fullbench.reports.charts.chart_specification_and_rendering import build_chart
from fullbench.training.critic.fit.training_progress import LineWatch, LiveWatch, loss_table


def test_lines_tell_loss_speed_and_time_left_from_the_steps_alone():
    out = io.StringIO()
    watch = LineWatch(out, every=0.0)
    watch.step(11, 20, 1.25, 3000, 2.0)
    watch.step(20, 20, 0.5, 5000, 2.0)
    assert out.getvalue().splitlines() == [
        "training: 11 of 20 steps, loss 1.2500, 1,500 tokens/s, about 18 s left",
        "training: 20 of 20 steps, loss 0.5000, 2,000 tokens/s, about 0 s left",
    ]


def test_a_quiet_stretch_has_no_line_but_the_end_has_one():
    out = io.StringIO()
    watch = LineWatch(out, every=3600.0)
    for step in range(1, 4):
        watch.step(step, 3, 1.0, 10, 1.0)
    assert len(out.getvalue().splitlines()) == 1


def test_the_bar_shows_the_same():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    columns = [TextColumn(f"{{task.fields[{name}]}}") for name in ("loss", "speed", "left")]
    with Progress(*columns, console=console) as progress:
        LiveWatch(progress).step(1, 4, 0.75, 100, 2.0)
        assert progress.tasks[0].fields == {"loss": "loss 0.7500", "speed": "50 tokens/s", "left": "6 s left"}
        assert progress.tasks[0].completed == 1


def test_the_losses_of_a_run_are_a_table_and_a_curve(tmp_path):
    losses = [{"step": n, "loss": 3.8 / (n + 1), "lr": 1e-5, "tokens": 100 + n, "seconds": 0.5} for n in range(90)]
    (tmp_path / "run").mkdir()
    assert loss_table(tmp_path) is None
    (tmp_path / "run" / "losses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in losses))
    table = loss_table(tmp_path)
    ends = table.column("step number")
    assert (len(ends), ends[-1]) == (40, 90)
    for start, end, mean, rate in zip(
        [0, *ends],
        ends,
        table.column("mean loss"),
        table.column("tokens a second"),
        strict=False,
    ):
        part = losses[start:end]
        assert mean == pytest.approx(sum(line["loss"] for line in part) / len(part))
        assert rate == pytest.approx(sum(line["tokens"] for line in part) / (0.5 * len(part)))
    assert "90 steps in 40 rows" in table.notes[0]
    drawn = build_chart(table)
    assert len(drawn.spec["data"]["values"]) == 40
