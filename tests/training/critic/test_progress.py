"""What is said while a critic learns."""

from __future__ import annotations

import io

from rich.console import Console
from rich.progress import Progress, TextColumn

from fullbench.training.critic.progress import LineWatch, LiveWatch


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
