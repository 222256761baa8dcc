"""Edition of the ledger that pages show: the ledger digest, and the date of a study's last verdict.

A digest reads all verdicts. It is computed when no verdicts arrived for a while, and shown only while it is current.
While verdicts keep arriving, computing it takes at most a fiftieth of the time.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import catalogue_version, get_state, set_state

STATE = "edition"
REST_FACTOR = 50
"""After a digest was computed, pause for this many times as long as it took."""


@dataclass(frozen=True)
class Edition:
    """Ledger digest and date of the last verdict; empty if not computed."""

    digest: str = ""
    date: str = ""


def store_edition(engine: Engine, ledger: Ledger) -> None:
    """Compute and store the edition, unless the stored one is current."""
    with read_transaction(engine) as connection:
        current_version, stored_edition = catalogue_version(connection), _stored_edition(connection)
    if stored_edition and (stored_edition["version"] == current_version or time.time() < stored_edition["until"]):
        return
    started_at = time.monotonic()
    new_edition = {"version": current_version, "digest": ledger.digest(), "at": ledger.last_verdicts()}
    new_edition["until"] = time.time() + REST_FACTOR * (time.monotonic() - started_at)
    with fill_catalogue.exclusive_transaction(engine) as connection:
        set_state(connection, STATE, json.dumps(new_edition))


def edition_of(connection: Connection, study: str) -> Edition:
    """Return the edition for pages of a study. The digest is empty while verdicts arrive."""
    stored_edition = _stored_edition(connection)
    if not stored_edition:
        return Edition()
    at = stored_edition["at"].get(study, 0)
    date = time.strftime("%Y-%m-%d", time.gmtime(at)) if at > 0 else ""
    return Edition(stored_edition["digest"] if stored_edition["version"] == catalogue_version(connection) else "", date)


def _stored_edition(connection: Connection) -> dict[str, Any]:
    return dict(json.loads(get_state(connection, STATE) or "{}"))
