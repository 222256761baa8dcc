"""Background thread that creates the tasks of large campaigns and resumes work that a dead process left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.errors import UserError
from fullbench.web.campaigns.create import resumable_task_creation
from fullbench.web.campaigns.create.resumable_task_creation import CreationProgress
from fullbench.web.database import read_transaction, write_transaction

log = logging.getLogger("fullbench.web")
PAUSE = 2.0
"""Seconds between two checks. A creation that made no progress in between belongs to a dead process."""
PLANNING = 60.0
"""Seconds after which an incomplete plan is removed: its sender got no answer."""


class _CreationWorker:
    def __init__(self, engine: Engine, pause: float) -> None:
        self._engine, self._pause = engine, pause
        self._stop_event, self._wake_event = threading.Event(), threading.Event()
        self._own_campaigns: set[str] = set()
        self._seen_moves: dict[str, tuple[int, float]] = {}
        self._thread = threading.Thread(target=self._run, name="fullbench-creation", daemon=True)
        self._thread.start()

    def wake(self, campaign_id: str) -> None:
        self._own_campaigns.add(campaign_id)
        self._wake_event.set()

    def stop(self) -> None:
        self._stop_event.set()
        self._wake_event.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        while not self._stop_event.is_set():
            self._wake_event.clear()
            for creation_progress in self._unfinished_creations():
                if self._stop_event.is_set():
                    return
                if self._is_ours(creation_progress):
                    self._create(creation_progress)
            self._wake_event.wait(self._pause)

    def _unfinished_creations(self) -> list[CreationProgress]:
        try:
            with read_transaction(self._engine) as connection:
                return resumable_task_creation.unfinished_creations(connection)
        except SQLAlchemyError as error:
            log.warning("The database could not be read; the next try is in %.0f seconds: %s", self._pause, error)
            return []

    def _is_ours(self, creation_progress: CreationProgress) -> bool:
        if creation_progress.campaign_id in self._own_campaigns and creation_progress.state != "planning":
            return True
        moves, since = self._seen_moves.get(creation_progress.campaign_id, (-1, 0.0))
        if moves != creation_progress.moves:
            self._seen_moves[creation_progress.campaign_id] = creation_progress.moves, time.monotonic()
            return False
        return time.monotonic() - since >= (PLANNING if creation_progress.state == "planning" else self._pause)

    def _create(self, creation_progress: CreationProgress) -> None:
        try:
            if creation_progress.state == "planning":
                with write_transaction(self._engine) as connection:
                    resumable_task_creation.cancel_creation(connection, creation_progress.campaign_id)
            resumable_task_creation.run_creation(self._engine, creation_progress.campaign_id, self._stop_event.wait)
        except (UserError, SQLAlchemyError) as error:
            log.warning(
                "Tasks of %s could not be created; they are tried again: %s", creation_progress.campaign_id, error
            )
            return
        self._own_campaigns.discard(creation_progress.campaign_id)
        self._seen_moves.pop(creation_progress.campaign_id, None)


_running: dict[Engine, _CreationWorker] = {}
_lock = threading.Lock()


@contextmanager
def creating_tasks(engine: Engine, *, pause: float = PAUSE) -> Iterator[None]:
    """Run a thread that creates tasks while the block runs; one thread for each database.

    The thread ends when any of the blocks ends, so that the database can be closed.
    """
    with _lock:
        if engine not in _running:
            _running[engine] = _CreationWorker(engine, pause)
    try:
        yield
    finally:
        with _lock:
            worker = _running.pop(engine, None)
        if worker is not None:
            worker.stop()


def wake_worker(engine: Engine, campaign_id: str) -> None:
    """Let the thread start with a campaign at once; without a thread, the next start of the app does it."""
    worker = _running.get(engine)
    if worker is not None:
        worker.wake(campaign_id)
