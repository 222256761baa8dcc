"""Locks on judge and contestant names by PostgreSQL advisory locks.

Each lock has its own connection and is released when that connection ends.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

from fullbench.errors import LedgerInUse
from fullbench.ledger.postgres.connection_with_sqlite_interface import (
    KEEPALIVE_SECONDS,
    KEEPALIVE_SETTINGS,
    SPACE,
    PostgresConnection,
    lock_number,
)

PATIENCE = 3.0
"""Seconds to retry a lock that is taken: a server notices a killed holder with a delay."""
_PAUSE = 0.1
AT_ONCE = 16
"""Number of connections that are opened in parallel."""

ErrorTranslator = Callable[[], AbstractContextManager[None]]


class NameLocks:
    """Locks that this process holds; they are acquired again after the server was unreachable."""

    def __init__(
        self, place: str, connect: Callable[[], PostgresConnection], translate_errors: ErrorTranslator
    ) -> None:
        self._place, self._connect, self._translate_errors = place, connect, translate_errors
        self._held: dict[str, PostgresConnection] = {}
        self._soon: dict[str, Future[PostgresConnection]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def hold_lock(self, name: str) -> Iterator[None]:
        """Hold the lock of a name; raise an error that names the holder if it is taken."""
        with self._translate_errors():
            pending_lock = self._soon.pop(name, None)
            connection = self._acquire_lock(name) if pending_lock is None else pending_lock.result()
        with self._lock:
            self._held[name] = connection
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(name).close()

    @contextmanager
    def request_locks(self, names: Sequence[str]) -> Iterator[None]:
        """Start acquiring locks in parallel; those not taken by `hold_lock` are released at the end."""
        with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="fullbench-hold") as pool:
            pending_locks = {
                name: pool.submit(self._acquire_lock, name) for name in dict.fromkeys(names) if name not in self._soon
            }
            self._soon.update(pending_locks)
            try:
                yield
            finally:
                for name, holding in pending_locks.items():
                    if self._soon.get(name) is holding:
                        del self._soon[name]
                        if holding.exception() is None:
                            holding.result().close()

    def _acquire_lock(self, name: str) -> PostgresConnection:
        key = lock_number(f"{SPACE} {name}")
        connection = self._connect()
        end = time.monotonic() + PATIENCE
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        # Cut, since PostgreSQL truncates `application_name` at 63 bytes.
        who = f"process {os.getpid()} on {socket.gethostname()[:20]} since {since}"
        while not _try_lock(connection, key, who):
            if time.monotonic() > end:
                message = self._holder_message(connection, name, key)
                connection.close()
                raise LedgerInUse(message)
            time.sleep(_PAUSE)
        return connection

    def renew_locks(self) -> None:
        """Acquire again the locks of lost connections; raise if another process was faster."""
        for name, connection in list(self._held.items()):
            if not connection.ping():
                connection.close()
                new_connection = self._acquire_lock(name)
                with self._lock:
                    self._held[name] = new_connection

    def _holder_message(self, connection: PostgresConnection, name: str, key: int) -> str:
        holder_row = connection.raw.execute(
            # pg_locks splits the 64-bit key of an advisory lock into classid and objid.
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
            "AND granted AND (classid::bigint << 32) + objid::bigint = %s AND pg_locks.database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())",
            (key,),
        ).fetchone()
        by = holder_row[0] if holder_row and str(holder_row[0]).startswith("process ") else "another process"
        return (
            f"{self._place}: {name!r} is being asked by {by}; wait for it to end or stop it (a machine that was lost "
            f"lets go after {KEEPALIVE_SECONDS} s), then run again"
        )


def _try_lock(connection: PostgresConnection, key: int, who: str) -> bool:
    settings = {"application_name": who, **KEEPALIVE_SETTINGS}
    config_calls = ", ".join(["set_config(%s, %s, false)"] * len(settings))
    values = [word for setting in settings.items() for word in setting]
    row = connection.raw.execute(f"SELECT pg_try_advisory_lock(%s), {config_calls}", [key, *values]).fetchone()
    return bool(row and row[0])
