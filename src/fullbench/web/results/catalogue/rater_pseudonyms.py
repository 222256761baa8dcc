"""Nobody's account name is on a page of results: a rater who goes by one is shown under the account's random id.

Files of labels may name people; the pages, the API and their copies do not.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, Engine, insert, select

from fullbench.core.verdict import Verdict
from fullbench.web.accounts.account_tables import users
from fullbench.web.accounts.users import Pseudonyms, folded, pseudonyms
from fullbench.web.database import engine_for, reading, writing
from fullbench.web.results.catalogue import catalogue_tables


def accounts_in(database: str) -> Pseudonyms:
    """The pseudonyms of a site, by its database."""
    engine = engine_for(database)
    try:
        with reading(engine) as connection:
            return pseudonyms(connection)
    finally:
        engine.dispose()


def lend(engine: Engine, known: Pseudonyms) -> None:
    """Note a site's pseudonyms in the database of a copy; nobody can sign in by such a row."""
    rows = [
        {"id": rater, "name": rater, "name_key": name, "role": "viewer", "password": "", "disabled": True, "at": 0.0,
         "rater": rater}
        for name, rater in known.items()
    ]  # fmt: skip
    if rows:
        with writing(engine) as connection:
            connection.execute(insert(users), rows)


def unnamed(verdict: Verdict, known: Pseudonyms) -> Verdict:
    """The verdict under its rater's pseudonym."""
    shown = known.get(folded(verdict.rater)) if verdict.rater else None
    return verdict if shown is None else replace(verdict, rater=shown)


def any_named(connection: Connection) -> bool:
    """Whether the catalogue shows a rater by an account's name, as one that was filled before the account was made."""
    n = catalogue_tables.names.c
    there = connection.execute(select(n.name).where(n.kind == "rater")).scalars()
    known = pseudonyms(connection)
    return any(name and folded(name) in known for name in there)
