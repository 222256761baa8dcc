"""Which edition of a ledger the pages show: the digest of all that is in it, and the day of its last verdict.

A digest takes a pass over all verdicts. It is noted when nothing came for a while, and said only while it holds.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from fullbench.ledger.store import Ledger
from fullbench.web.database import reading
from fullbench.web.results import catalogue
from fullbench.web.results.rows import get_state, set_state, version

STATE = "edition"


@dataclass(frozen=True)
class Edition:
    """What is known of it; empty where it is not."""

    digest: str = ""
    date: str = ""


def note(engine: Engine, ledger: Ledger) -> None:
    """Note the edition, unless it is noted already."""
    with reading(engine) as connection:
        now = version(connection)
        if _noted(connection).get("version") == now:
            return
    noted = {"version": now, "digest": ledger.digest(), "at": ledger.last_verdict_at()}
    with catalogue.sole(engine) as connection:
        set_state(connection, STATE, json.dumps(noted))


def edition_of(connection: Connection) -> Edition:
    """The edition that pages show now; its digest is left out while verdicts are coming."""
    noted = _noted(connection)
    if not noted:
        return Edition()
    date = time.strftime("%Y-%m-%d", time.gmtime(noted["at"])) if noted["at"] > 0 else ""
    return Edition(noted["digest"] if noted["version"] == version(connection) else "", date)


def _noted(connection: Connection) -> dict[str, Any]:
    return dict(json.loads(get_state(connection, STATE) or "{}"))
