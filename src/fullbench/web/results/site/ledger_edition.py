"""Which edition of a ledger the pages show: the digest of all that is in it, and the day of a study's last verdict.

A digest takes a pass over all verdicts. It is noted when nothing came for a while, and said only while it holds. While
verdicts trickle in, noting it takes at most a fiftieth of the time.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import reading
from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.results.catalogue.row_helpers import get_state, set_state, version

STATE = "edition"
REST = 50
"""After a digest was taken, none is for so many times as long as it took."""


@dataclass(frozen=True)
class Edition:
    """What is known of it; empty where it is not."""

    digest: str = ""
    date: str = ""


def note(engine: Engine, ledger: Ledger) -> None:
    """Note the edition, unless it is noted already."""
    with reading(engine) as connection:
        now, before = version(connection), _noted(connection)
    if before and (before["version"] == now or time.time() < before["until"]):
        return
    begun = time.monotonic()
    noted = {"version": now, "digest": ledger.digest(), "at": ledger.last_verdicts()}
    noted["until"] = time.time() + REST * (time.monotonic() - begun)
    with fill_catalogue.sole(engine) as connection:
        set_state(connection, STATE, json.dumps(noted))


def edition_of(connection: Connection, study: str) -> Edition:
    """The edition that pages of a study show now; its digest is left out while verdicts are coming."""
    noted = _noted(connection)
    if not noted:
        return Edition()
    at = noted["at"].get(study, 0)
    date = time.strftime("%Y-%m-%d", time.gmtime(at)) if at > 0 else ""
    return Edition(noted["digest"] if noted["version"] == version(connection) else "", date)


def _noted(connection: Connection) -> dict[str, Any]:
    return dict(json.loads(get_state(connection, STATE) or "{}"))
