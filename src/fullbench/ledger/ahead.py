"""Connections to a server that are opened before they are asked for, side by side: each takes several ways there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from fullbench.ledger.postgres_connection import PostgresConnection


class Ahead:
    """Connections on their way, each for whoever asks for one next."""

    def __init__(self, connect: Callable[[], PostgresConnection]) -> None:
        self._connect = connect
        self._coming: list[Future[PostgresConnection]] = []

    def expect(self, count: int) -> None:
        """Begin to open so many."""
        pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="fullbench-connect")
        self._coming += [pool.submit(self._connect) for _ in range(count)]
        pool.shutdown(wait=False)

    def taken(self) -> PostgresConnection:
        """One that is open: it was expected, or is opened now. What went wrong meanwhile is raised here."""
        try:
            while self._coming:
                connection = self._coming.pop().result()
                if connection.ping():
                    return connection
                connection.close()
        except BaseException:
            self.close()
            raise
        return self._connect()

    def close(self) -> None:
        """Let go of those that nobody asked for."""
        while self._coming:
            coming = self._coming.pop()
            if coming.exception() is None:
                coming.result().close()
