"""Ledgers in a file and on a server: what holds for one holds for the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from fullbench.ledger.postgres.database import SPACE

Fresh = Callable[[], str]


@pytest.fixture(scope="session")
def databases() -> list[str]:
    """Those that were made so far: they are emptied and used again, for a new one costs a thousand files."""
    return []


@pytest.fixture(params=["sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path, databases: list[str]) -> Fresh:
    """Gives places where there is no ledger yet."""
    numbers = itertools.count()
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(numbers) or 'x'}.ledger")
    server = request.getfixturevalue("postgres")

    def one() -> str:
        number = next(numbers) % 3
        if number == len(databases):
            databases.append(server.database())
        with psycopg.connect(databases[number]) as connection:
            connection.execute("SET client_min_messages TO warning")
            connection.execute(f"DROP SCHEMA IF EXISTS {SPACE} CASCADE")
        return databases[number]

    return one


@pytest.fixture
def place(fresh: Fresh) -> str:
    """Where there is no ledger yet."""
    return fresh()
