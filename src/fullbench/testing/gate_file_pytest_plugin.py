"""Pytest plugin: `--fullbench-gates` collects every file `*gate.toml`, each threshold as a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fullbench.audit.threshold_gate import Check


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--fullbench-gates`."""
    parser.getgroup("fullbench").addoption(
        "--fullbench-gates", action="store_true", help="Check the thresholds in files called *gate.toml."
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect gate files if the option is set."""
    if file_path.name.endswith("gate.toml") and parent.config.getoption("--fullbench-gates"):
        return GateFile.from_parent(parent, path=file_path)
    return None


class GateFile(pytest.File):
    """A file of thresholds."""

    def collect(self) -> Iterator[pytest.Item]:
        from fullbench.audit.threshold_gate import run_checks

        for check in run_checks(self.path):
            yield GateItem.from_parent(self, name=check.name, check=check)


class ThresholdMissed(Exception):
    """A threshold was missed."""


class GateItem(pytest.Item):
    """One threshold."""

    def __init__(self, *, check: Check, **node_options: Any) -> None:
        super().__init__(**node_options)
        self.check = check

    def runtest(self) -> None:
        from fullbench.audit.threshold_gate import describe_check

        if not self.check.is_passed:
            raise ThresholdMissed(describe_check(self.check))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name
