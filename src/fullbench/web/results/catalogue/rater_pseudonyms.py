"""Replace ids of raters by pseudonyms on all pages of results, in the API and in static copies.

A rater with an account of the site is shown by the account's random id. Imported votes may contain names, addresses or
ids of other sites, so their raters are shown by a keyed digest. The key is in the site's database and nowhere else, and
each static copy without a database has its own.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field, replace

import numpy as np
from sqlalchemy import Connection, Engine, insert, select

from fullbench.columns.verdict_columns import Columns
from fullbench.core.verdict import ADJUDICATION, PILOT, Verdict
from fullbench.web.accounts.account_and_shared_site_tables import users
from fullbench.web.accounts.users import Pseudonyms, fold_name, load_pseudonyms
from fullbench.web.database import engine_for, read_transaction, write_transaction
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state, set_state

RATER_KEY = "rater key"


@dataclass(frozen=True)
class RaterNames:
    """Names under which pages show the raters of verdicts."""

    accounts: Pseudonyms
    key: bytes = field(repr=False)
    _shown: dict[str, str] = field(default_factory=dict, repr=False)

    def shown_name(self, rater: str) -> str:
        """Return the pseudonym of a rater. Accounts' random ids, leads' decisions and pilots keep theirs."""
        if not self._shown:
            self._shown.update({account: account for account in self.accounts.values()})
            self._shown.update({"": "", ADJUDICATION: ADJUDICATION})
        if rater not in self._shown:
            account = self.accounts.get(fold_name(rater))
            imported = hmac.digest(self.key, rater.encode(errors="replace"), "sha256").hex()[:12]
            self._shown[rater] = rater if rater.startswith(PILOT) else account or imported
        return self._shown[rater]

    def rename_verdict(self, verdict: Verdict) -> Verdict:
        shown_name = self.shown_name(verdict.rater)
        return verdict if shown_name == verdict.rater else replace(verdict, rater=shown_name)

    def rename_columns(self, columns: Columns) -> Columns:
        """Return the columns with the raters' pseudonyms, in their sorted order."""
        shown_names = [self.shown_name(rater) for rater in columns.names["rater"]]
        names = tuple(sorted(set(shown_names)))
        places = {name: place for place, name in enumerate(names)}
        codes = np.array([places[name] for name in shown_names] or [0], dtype=columns.rater.dtype)
        return replace(columns, names={**columns.names, "rater": names}, rater=codes[columns.rater])


def rater_names_in(database: str) -> RaterNames:
    """Load the names under which a site shows raters, from its database."""
    engine = engine_for(database)
    try:
        with read_transaction(engine) as connection:
            return load_rater_names(connection)
    finally:
        engine.dispose()


def copy_pseudonyms(engine: Engine, accounts: Pseudonyms, rater_key: bytes = b"") -> None:
    """Write a site's pseudonyms to the database of a copy. Nobody can sign in with such a row."""
    rows = [
        {"id": rater, "name": rater, "name_key": name, "role": "viewer", "password": "", "disabled": True, "at": 0.0,
         "rater": rater}
        for name, rater in accounts.items()
    ]  # fmt: skip
    with write_transaction(engine) as connection:
        if rows:
            connection.execute(insert(users), rows)
        if rater_key:
            set_state(connection, RATER_KEY, rater_key.hex())


def load_rater_names(connection: Connection) -> RaterNames:
    """Load accounts and key of a site; a catalogue that was never filled gets a key that is used once."""
    key = get_state(connection, RATER_KEY) or secrets.token_hex(32)
    return RaterNames(load_pseudonyms(connection), bytes.fromhex(key))


def ensure_rater_key(connection: Connection) -> None:
    """Create the key of a catalogue that has none."""
    if get_state(connection, RATER_KEY) is None:
        set_state(connection, RATER_KEY, secrets.token_hex(32))


def has_other_names(connection: Connection) -> bool:
    """Return True if the catalogue shows raters by other names than now: filled before an account existed, or raw."""
    if get_state(connection, RATER_KEY) is None:
        return True
    n, names = catalogue_tables.names.c, load_rater_names(connection)
    rater_names = set(connection.execute(select(n.name).where(n.kind == "rater")).scalars())
    account_names = {name for row in connection.execute(select(users.c.name, users.c.name_key)) for name in row}
    without_accounts = RaterNames({}, names.key)
    return any(without_accounts.shown_name(name) in rater_names for name in account_names if name not in rater_names)
