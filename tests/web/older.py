"""A database of the web app as it was when people first worked with it (schema 0021), with several of everything."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, inspect
from sqlalchemy.engine import make_url

FIXTURES = Path(__file__).parent / "fixtures"


def older(url: str) -> None:
    """Fill an empty database with what was dumped then."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        assert parsed.database
        connection = sqlite3.connect(parsed.database)
        connection.executescript((FIXTURES / "v0021.sqlite.sql").read_text(encoding="utf-8"))
        connection.close()
        return
    import psycopg

    with psycopg.connect(url) as server:
        server.execute((FIXTURES / "v0021.postgres.sql").read_text(encoding="utf-8"))


def described(engine: Engine) -> dict[str, list[str]]:
    """Every table of ours as the database itself describes it: columns, keys, checks, indexes, triggers."""
    seen = inspect(engine)
    kinds = (
        seen.get_columns, seen.get_foreign_keys, seen.get_unique_constraints, seen.get_check_constraints,
        seen.get_indexes,
    )  # fmt: skip
    tables = [name for name in seen.get_table_names() if not name.startswith("public_search_")]
    about = {
        name: [
            str(seen.get_pk_constraint(name)["constrained_columns"]),
            *(text for kind in kinds for text in sorted(_told(part) for part in kind(name))),
        ]
        for name in tables
        if name != "public_search"
    }
    query = {
        "sqlite": "SELECT sql FROM sqlite_master WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%'",
        "postgresql": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    }[engine.dialect.name]
    with engine.connect() as connection:
        about["own kinds"] = sorted(connection.exec_driver_sql(query).scalars())
    return about


def _told(part: Any) -> str:
    """Without defaults, which code never relies on, and the names of checks, which older steps put a table before."""
    left_out = {"default", "comment", *(["name"] if "sqltext" in part else [])}
    if "sqltext" in part:  # a dump says the same check with other casts
        part = {**part, "sqltext": re.sub(r"::[a-z ]+(\[\])?|[()]", "", part["sqltext"])}
    where = {key: str(value) for key, value in (part.get("dialect_options") or {}).items()}
    return str({key: str(where if key == "dialect_options" else part[key]) for key in sorted({*part} - left_out)})
