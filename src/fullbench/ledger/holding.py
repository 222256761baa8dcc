"""Names held on a PostgreSQL server by advisory locks, each on a connection of its own, with which it dies."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from fullbench.errors import LedgerError
from fullbench.ledger.postgres_connection import SPACE, PostgresConnection, lock_number

PATIENCE = 3.0
"""Seconds for which a taken name is asked for again: a server notices a moment late that its holder was killed."""
_PAUSE = 0.1

Plainly = Callable[[], AbstractContextManager[None]]


class Holds:
    """The names that this process holds; they are taken anew after the server was away."""

    def __init__(self, place: str, connect: Callable[[], PostgresConnection], plainly: Plainly) -> None:
        self._place, self._connect, self._plainly = place, connect, plainly
        self._held: dict[str, PostgresConnection] = {}
        self._lock = threading.Lock()

    @contextmanager
    def sole(self, name: str) -> Iterator[None]:
        """Hold a name, or say who holds it."""
        with self._plainly():
            self._hold(name)
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(name).close()

    def _hold(self, name: str) -> None:
        key = lock_number(f"{SPACE} {name}")
        connection = self._connect()
        end = time.monotonic() + PATIENCE
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        who = f"process {os.getpid()} on {socket.gethostname()[:20]} since {since}"
        while not _taken_now(connection, key, who):
            if time.monotonic() > end:
                said = self._taken(connection, name, key)
                connection.close()
                raise LedgerError(said)
            time.sleep(_PAUSE)
        with self._lock:
            self._held[name] = connection

    def again(self) -> None:
        """Take anew what was held when the connections were lost; one sentence where another was quicker."""
        for name, connection in list(self._held.items()):
            if not connection.ping():
                connection.close()
                self._hold(name)

    def _taken(self, connection: PostgresConnection, name: str, key: int) -> str:
        found = connection.raw.execute(
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
            "AND granted AND (classid::bigint << 32) + objid::bigint = %s AND pg_locks.database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())",
            (key,),
        ).fetchone()
        by = found[0] if found and str(found[0]).startswith("process ") else "another process"
        return f"{self._place}: {name!r} is being asked by {by}; wait for it to end or stop it, then run again"


def _taken_now(connection: PostgresConnection, key: int, who: str) -> bool:
    """Whether the lock is this connection's now, which says who holds it."""
    sql = "SELECT pg_try_advisory_lock(%s), set_config('application_name', %s, false)"
    taken, _ = connection.raw.execute(sql, (key, who)).fetchone() or (False, "")
    return bool(taken)
