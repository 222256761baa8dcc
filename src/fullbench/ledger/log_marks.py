"""Marks in the main file of SQLite, so that a copy of it without its write-ahead log does not pass for the ledger.

New rows are in the log, beside the main file, until a checkpoint brings them over. So before a writer's first rows, and
before each checkpoint, it adds a row that says: more of this writer follows in the log. A checkpoint brings that row
into the main file, and the writer's next commit goes to the log again. Whoever copies the main file alone gets chains
that end with such a row, which says what is missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from fullbench.ledger import schema
from fullbench.ledger.chain import Chain
from fullbench.ledger.database import Connection

LONG = 16 * 1024 * 1024
"""So many bytes may the log hold before it is brought into the main file."""

BEGUN = "log begun"
RECOVERED = "log recovered"
"""A writer was killed between its mark and its next commit, and the log was there: nothing is missing."""
MISSING = "log missing"
"""Somebody went on writing to a copy without its log."""


def ends(reader: Connection) -> list[str]:
    """The writers whose chains end with a mark that nobody explained yet."""
    sql = (
        "SELECT DISTINCT writer FROM settings AS mark WHERE name = ? AND NOT EXISTS (SELECT 1 FROM commits "
        "WHERE commits.writer = mark.writer AND commits.number > mark.number + 1) "
        "AND mark.writer NOT IN (SELECT value FROM settings WHERE name IN (?, ?))"
    )
    return [writer for (writer,) in reader.execute(sql, (BEGUN, RECOVERED, MISSING))]


def missing(reader: Connection) -> list[str]:
    """The writers whose log was missing when somebody went on writing."""
    return [writer for (writer,) in reader.execute("SELECT value FROM settings WHERE name = ?", (MISSING,))]


def add(connection: Connection, chain: Chain, name: str, writers: Iterable[str]) -> Chain:
    """Commit marks at the end of a chain; the chain as it is then."""
    longer = chain.copy()
    now = time.time()
    with connection.transaction():
        connection.insert("settings", longer.seal("settings", [(name, writer, now) for writer in writers]))
        connection.insert("commits", longer.seal("commits", [(now, schema.SEALS)]))
    return longer


def sentence(writer: str, main: str) -> str:
    return (
        f"what the writer {writer!r} wrote last is missing: this file was copied without its write-ahead log "
        f"({main}-wal); copy both, or take a live ledger's copy by `fullbench ledger backup`; where the log is lost, "
        "`fullbench ledger copy` makes a ledger of what is here"
    )
