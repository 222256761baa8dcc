"""The skeleton that `fullbench new` writes is a package that installs, runs and passes our own checks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench.benchmarks.synthetic.benchmark_definitions import build_synthetic_benchmark
from fullbench.cli.new_plugin import new_benchmark
from fullbench.errors import InputError
from fullbench.testing import check_benchmark


def test_the_skeleton_passes_its_own_tests(tmp_path):
    new_benchmark("my_paper", tmp_path)
    package = tmp_path / "my_paper"
    lines = (package / "src" / "my_paper" / "__init__.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 75
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package)],
        capture_output=True, text=True, cwd=package, env={"PYTHONPATH": str(package / "src"), "PATH": ""}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("name", ["My-Paper", "class", "2nd", "ünicode name"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="is not a package name"):
        new_benchmark(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="exists already"):
        new_benchmark("mine", tmp_path)


def test_our_own_benchmark_keeps_the_same_promises(tmp_path):
    check_benchmark(build_synthetic_benchmark(size=8), tmp_path)


def test_a_benchmark_that_breaks_its_promise_is_caught(tmp_path: Path):
    benchmark = build_synthetic_benchmark(size=4)
    calls = []

    def fewer_each_time(items, responses, *, trials=1):
        found = list(benchmark.cases(items, responses, trials=trials))
        calls.append(trials)
        return iter(found[: len(found) - len(calls)])

    forgetful = replace(benchmark, cases=fewer_each_time)
    with pytest.raises(AssertionError, match="the same ones in the same order"):
        check_benchmark(forgetful, tmp_path)
