"""Replace account names of raters by pseudonyms (the account's random id) on all pages of results.

Imported label files may contain names of people. Pages, the API and static copies do not show them.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, Engine, insert, select

from fullbench.core.verdict import Verdict
from fullbench.web.accounts.account_tables import users
from fullbench.web.accounts.users import Pseudonyms, fold_name, load_pseudonyms
from fullbench.web.database import engine_for, read_transaction, write_transaction
from fullbench.web.results.catalogue import catalogue_tables


def accounts_in(database: str) -> Pseudonyms:
    """Load the pseudonyms of a site from its database."""
    engine = engine_for(database)
    try:
        with read_transaction(engine) as connection:
            return load_pseudonyms(connection)
    finally:
        engine.dispose()


def copy_pseudonyms(engine: Engine, accounts: Pseudonyms) -> None:
    """Write a site's pseudonyms to the database of a copy. Nobody can sign in with such a row."""
    rows = [
        {"id": rater, "name": rater, "name_key": name, "role": "viewer", "password": "", "disabled": True, "at": 0.0,
         "rater": rater}
        for name, rater in accounts.items()
    ]  # fmt: skip
    if rows:
        with write_transaction(engine) as connection:
            connection.execute(insert(users), rows)


def with_pseudonym(verdict: Verdict, accounts: Pseudonyms) -> Verdict:
    """Return the verdict with its rater's pseudonym."""
    pseudonym = accounts.get(fold_name(verdict.rater)) if verdict.rater else None
    return verdict if pseudonym is None else replace(verdict, rater=pseudonym)


def has_account_names(connection: Connection) -> bool:
    """Return True if the catalogue shows an account's name, because it was filled before the account existed."""
    n = catalogue_tables.names.c
    rater_names = connection.execute(select(n.name).where(n.kind == "rater")).scalars()
    accounts = load_pseudonyms(connection)
    return any(name and fold_name(name) in accounts for name in rater_names)
