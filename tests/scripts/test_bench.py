"""The bench's memory: runs are kept, and what has grown worse beyond the noise is named."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.bench import Row, Target, history
from scripts.bench import __main__ as bench_command
from scripts.bench.rewards import rewards_and_bare_calls

ROOT = Path(__file__).parents[2]


def run(ratio: float, *, more: bool = False, name: str = "a call, CPU") -> dict[str, object]:
    row = {"part": "calls", "name": name, "ratio": ratio, "more": more}
    return {"at": "2030-01-01T00:00:00Z", "commit": "abc", "machine": {}, "rows": [row]}


def noisy(count: int, around: float, noise: float, seed: int = 0) -> list[dict[str, object]]:
    draw = random.Random(seed)
    return [run(around * (1 + draw.gauss(0, noise))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_regression_and_a_third_more_is_one(seed):
    before = noisy(10, 5.0, 0.02, seed)
    assert history.worse([*before, run(5.0 * 1.03)]) == []
    (found,) = history.worse([*before, run(5.0 * 1.33)])
    assert str(found).startswith("calls: a call, CPU: 6.65 times the other, usually ")


def test_a_figure_that_always_jumped_about_may_go_on_doing_so():
    before = [run(ratio) for ratio in (4, 6, 5, 7, 3, 5, 6, 4)]
    assert history.worse([*before, run(8.0)]) == []
    assert len(history.worse([*before, run(20.0)])) == 1


def test_where_more_is_better_less_is_worse():
    before = [run(0.9, more=True) for _ in range(6)]
    assert history.worse([*before, run(1.5, more=True)]) == []
    assert len(history.worse([*before, run(0.7, more=True)])) == 1


def test_little_history_other_rows_and_counts_of_nothing_are_not_judged():
    assert history.worse([]) == []
    assert history.worse([*(run(1.0) for _ in range(3)), run(9.0)]) == []
    assert history.worse([*(run(1.0, name="another") for _ in range(9)), run(9.0)]) == []
    assert history.worse([*(run(0.0) for _ in range(9)), run(9.0)]) == []


def test_only_the_last_runs_count():
    before = [*(run(1.0) for _ in range(30)), *(run(2.0) for _ in range(10))]
    assert history.worse([*before, run(2.1)]) == []


@given(st.lists(st.floats(0.01, 100), min_size=4, max_size=12), st.floats(0.01, 100))
def test_a_better_figure_is_never_worse(before, scale):
    history_ = [run(ratio * scale) for ratio in before]
    assert history.worse([*history_, run(min(before) * scale)]) == []


def test_runs_are_kept_and_a_torn_line_costs_only_itself(tmp_path):
    path = tmp_path / "deep" / "m.jsonl"
    rows = {
        "calls": [Row.of("a call, CPU", 2.0, 1.0, "bare", "ms", target=Target(3.0)), Row.of("x", 1.0, 0.0, "y", "ms")]
    }
    history.keep(path, rows)
    with path.open("a") as file:
        file.write('{"at": "20')
    with path.open("a") as file:
        file.write("\n")
    history.keep(path, rows)
    kept = history.runs(path)
    assert len(kept) == 2
    assert kept[0]["machine"] == history.machine()
    assert kept[0]["commit"]
    assert kept[1]["rows"][0]["name"] == "a call, CPU | bare"
    assert history.worse(kept) == []


def test_targets():
    row = Row.of("a", 2.0, 4.0, "b", "ms")
    assert [Target(0.5).met(row), Target(0.4).met(row), Target(1.9, "ours").met(row)] == [True, False, False]
    assert [Target(0.5, least=True).met(row), str(Target(2.0, "ours")), str(Target(0.9, least=True))] == [
        True, "<= 2", ">= 0.9 times",
    ]  # fmt: skip
    assert Row.of("verdicts", 1.0, 1.0, "b", "1/s").more
    assert Row.of("pictures", 1.0, 1.0, "b", "/s").more
    assert not row.more


@pytest.mark.parametrize(("newest", "code"), [(5.1, 0), (9.0, 1)])
def test_the_command_names_the_row_and_exits_with_one(tmp_path, newest, code):
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(map(json.dumps, [*noisy(8, 5.0, 0.01), run(newest)])))
    command = [sys.executable, "-m", "scripts.bench", "--check", "--last", "--history", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("worse: calls: a call, CPU: 9 times" in done.stdout) == bool(code)


def test_rewards_of_a_real_server_are_measured():
    (row,) = rewards_and_bare_calls(128)
    assert row.ours > 0
    assert row.other > 0
    assert row.target == Target(0.9, least=True)


def test_a_part_that_takes_too_long_is_stopped_and_the_next_one_measured(capsys, monkeypatch):
    monkeypatch.setattr(bench_command, "REPORT_EVERY", 0.05)
    row = Row.of("one", 1.0, 2.0, "another", "s")

    def run(part: str) -> list[Row]:
        if part == "slow":
            threading.Event().wait(600)
        return [row]

    assert bench_command.measure_parts(["slow", "quick"], 0.5, run) == ({"quick": [row]}, ["slow"])
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("slow has been running for ") for line in lines)
    assert "slow was stopped after 0.00833 minutes; --minutes gives it more" in lines
    assert any(line.startswith("measured quick in ") for line in lines)
