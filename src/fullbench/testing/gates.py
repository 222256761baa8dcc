"""A plugin for pytest: with `--fullbench-gates`, every file `*gate.toml` is collected, each threshold as a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fullbench.audit.threshold_gate import Check


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("fullbench").addoption(
        "--fullbench-gates", action="store_true", help="Check the thresholds in files called *gate.toml."
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take gates up, where they are asked for."""
    if file_path.name.endswith("gate.toml") and parent.config.getoption("--fullbench-gates"):
        return GateFile.from_parent(parent, path=file_path)
    return None


class GateFile(pytest.File):
    """A file of thresholds."""

    def collect(self) -> Iterator[pytest.Item]:
        from fullbench.audit.threshold_gate import checks

        for check in checks(self.path):
            yield GateItem.from_parent(self, name=check.name, check=check)


class Missed(Exception):
    """A threshold was missed."""


class GateItem(pytest.Item):
    """One threshold."""

    def __init__(self, *, check: Check, **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check

    def runtest(self) -> None:
        from fullbench.audit.threshold_gate import says

        if not self.check.passed:
            raise Missed(says(self.check))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name
