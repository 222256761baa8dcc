"""Marks in SQLite's main file that reveal a copy made without its write-ahead log.

New rows are in the log, next to the main file, until a checkpoint copies them into the main file. Before its first rows
and before each checkpoint, a writer adds a row, the mark: more of this writer follows in the log. A checkpoint copies
the mark into the main file, and the writer's next commit goes to the log again. So in a copy of the main file alone, a
chain ends with a mark, which shows that rows are missing.

Any process can run a checkpoint (`ledger vacuum`, a `sqlite3` shell), which copies rows after the mark as well. So a
writer checks the main file before and after each commit, and adds a new mark if no chain there ends with one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.integrity.row_chain import Chain

MAX_LOG_BYTES = 16 * 1024 * 1024
"""Bytes of the log after which a checkpoint copies it into the main file."""

RETRY = 0.25
"""Seconds until the next attempt if a long read prevented a checkpoint from copying the whole log."""

LOG_BEGUN = "log begun"
LOG_RECOVERED = "log recovered"
"""A writer was killed between its mark and its next commit, but the log was there: nothing is missing."""
LOG_MISSING = "log missing"
"""Another writer continued in a copy without its log."""


def open_marks(reader: Connection) -> list[str]:
    """Return the unexplained marks at the end of a chain, each as `WRITER NUMBER`."""
    sql = (
        # As bytes: a damaged writer may not be text, and opening must not fail before `verify` can name the row.
        "SELECT CAST(mark.writer || ' ' || mark.number AS BLOB) FROM settings AS mark WHERE name = ? "
        "AND NOT EXISTS (SELECT 1 FROM commits AS later WHERE later.writer = mark.writer "
        "AND later.number > mark.number + 1) "
        "AND NOT EXISTS (SELECT 1 FROM settings AS note WHERE note.name IN (?, ?) "
        "AND note.value = mark.writer || ' ' || mark.number)"
    )
    rows = reader.execute(sql, (LOG_BEGUN, LOG_RECOVERED, LOG_MISSING))
    return [mark.decode("utf-8", "replace") for (mark,) in rows]


def missing_writers(reader: Connection) -> list[str]:
    """Return the writers whose log was missing when another writer continued."""
    return [writer_of(mark) for (mark,) in reader.execute("SELECT value FROM settings WHERE name = ?", (LOG_MISSING,))]


def writer_of(mark: str) -> str:
    """Return the writer of a mark.

    >>> writer_of("3f5a 12")
    '3f5a'
    """
    return mark.partition(" ")[0]


def add_marks(connection: Connection, chain: Chain, name: str, values: Iterable[str]) -> Chain:
    """Commit rows about marks at the end of a chain and return the longer chain."""
    longer = chain.copy()
    now = time.time()
    with connection.transaction():
        connection.insert("settings", longer.seal("settings", [(name, value, now) for value in values]))
        connection.insert("commits", longer.seal("commits", [(now, schema.SEALS)]))
    return longer


def missing_rows_message(writer: str, main: str) -> str:
    return (
        f"what the writer {writer!r} wrote last is missing: this file was copied without its write-ahead log "
        f"({main}-wal); copy both, or take a live ledger's copy by `fullbench ledger backup`; where the log is lost, "
        "`fullbench ledger copy` makes a ledger of what is here"
    )
