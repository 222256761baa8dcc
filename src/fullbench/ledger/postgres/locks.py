"""Names held on a PostgreSQL server by advisory locks, each on a connection of its own, with which it dies."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

from fullbench.errors import LedgerError
from fullbench.ledger.postgres.connection import LET_GO, SIGNS_OF_LIFE, SPACE, PostgresConnection, lock_number

PATIENCE = 3.0
"""Seconds for which a taken name is asked for again: a server notices a moment late that its holder was killed."""
_PAUSE = 0.1
AT_ONCE = 16
"""So many connections are opened side by side."""

Plainly = Callable[[], AbstractContextManager[None]]


class Holds:
    """The names that this process holds; they are taken anew after the server was away."""

    def __init__(self, place: str, connect: Callable[[], PostgresConnection], plainly: Plainly) -> None:
        self._place, self._connect, self._plainly = place, connect, plainly
        self._held: dict[str, PostgresConnection] = {}
        self._soon: dict[str, Future[PostgresConnection]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def sole(self, name: str) -> Iterator[None]:
        """Hold a name, or say who holds it."""
        with self._plainly():
            begun = self._soon.pop(name, None)
            connection = self._hold(name) if begun is None else begun.result()
        with self._lock:
            self._held[name] = connection
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(name).close()

    @contextmanager
    def soon(self, names: Sequence[str]) -> Iterator[None]:
        """Begin to hold names, side by side; those that nobody asked for by `sole` are let go in the end."""
        with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="fullbench-hold") as pool:
            begun = {name: pool.submit(self._hold, name) for name in dict.fromkeys(names) if name not in self._soon}
            self._soon.update(begun)
            try:
                yield
            finally:
                for name, holding in begun.items():
                    if self._soon.get(name) is holding:
                        del self._soon[name]
                        if holding.exception() is None:
                            holding.result().close()

    def _hold(self, name: str) -> PostgresConnection:
        """The connection by which a name is held."""
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
        return connection

    def again(self) -> None:
        """Take anew what was held when the connections were lost; one sentence where another was quicker."""
        for name, connection in list(self._held.items()):
            if not connection.ping():
                connection.close()
                held = self._hold(name)
                with self._lock:
                    self._held[name] = held

    def _taken(self, connection: PostgresConnection, name: str, key: int) -> str:
        found = connection.raw.execute(
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
            "AND granted AND (classid::bigint << 32) + objid::bigint = %s AND pg_locks.database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())",
            (key,),
        ).fetchone()
        by = found[0] if found and str(found[0]).startswith("process ") else "another process"
        return (
            f"{self._place}: {name!r} is being asked by {by}; wait for it to end or stop it (a machine that was lost "
            f"lets go after {LET_GO} s), then run again"
        )


def _taken_now(connection: PostgresConnection, key: int, who: str) -> bool:
    """Whether the lock is this connection's now, which says who holds it."""
    settings = {"application_name": who, **SIGNS_OF_LIFE}
    told = ", ".join(["set_config(%s, %s, false)"] * len(settings))
    values = [word for setting in settings.items() for word in setting]
    row = connection.raw.execute(f"SELECT pg_try_advisory_lock(%s), {told}", [key, *values]).fetchone()
    return bool(row and row[0])
