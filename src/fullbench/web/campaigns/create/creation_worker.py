"""The thread of the web app that creates the tasks of large studies, and resumes what an ended process left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.errors import UserError
from fullbench.web.campaigns.create import task_creation
from fullbench.web.campaigns.create.task_creation import Progress
from fullbench.web.database import reading, writing

log = logging.getLogger("fullbench.web")
PAUSE = 2.0
"""Seconds between two looks. A creation that did not move in between belongs to no process that is alive."""
PLANNING = 60.0
"""Seconds after which a plan that nobody completed is removed: who sent it got no answer."""


class _Worker:
    """Looks every `pause` seconds, or when it is woken, whether there are tasks to create."""

    def __init__(self, engine: Engine, pause: float) -> None:
        self._engine, self._pause = engine, pause
        self._ended, self._woken = threading.Event(), threading.Event()
        self._own: set[str] = set()
        self._seen: dict[str, tuple[int, float]] = {}
        self._thread = threading.Thread(target=self._run, name="fullbench-creation", daemon=True)
        self._thread.start()

    def wake(self, study: str) -> None:
        """Begin with a study whose plan this process stored."""
        self._own.add(study)
        self._woken.set()

    def stop(self) -> None:
        """End after the step at hand; the next start resumes."""
        self._ended.set()
        self._woken.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._woken.clear()
            for far in self._unfinished():
                if self._ended.is_set():
                    return
                if self._is_ours(far):
                    self._create(far)
            self._woken.wait(self._pause)

    def _unfinished(self) -> list[Progress]:
        try:
            with reading(self._engine) as connection:
                return task_creation.unfinished(connection)
        except SQLAlchemyError as error:
            log.warning("The database could not be read; the next try is in %.0f seconds: %s", self._pause, error)
            return []

    def _is_ours(self, far: Progress) -> bool:
        """Return whether this process must act: it was woken for this study, or no other process moves it."""
        if far.study in self._own and far.state != "planning":
            return True
        moves, since = self._seen.get(far.study, (-1, 0.0))
        if moves != far.moves:
            self._seen[far.study] = far.moves, time.monotonic()
            return False
        return time.monotonic() - since >= (PLANNING if far.state == "planning" else self._pause)

    def _create(self, far: Progress) -> None:
        try:
            if far.state == "planning":
                with writing(self._engine) as connection:
                    task_creation.cancel(connection, far.study)
            task_creation.run(self._engine, far.study, self._ended.wait)
        except (UserError, SQLAlchemyError) as error:
            log.warning("Tasks of %s could not be created; they are tried again: %s", far.study, error)
            return
        self._own.discard(far.study)
        self._seen.pop(far.study, None)


_running: dict[Engine, _Worker] = {}
_lock = threading.Lock()


@contextmanager
def creating_tasks(engine: Engine, *, pause: float = PAUSE) -> Iterator[None]:
    """While the block runs, a thread creates tasks; one for each database.

    It has ended when any of the blocks ends, so that the database can be closed.
    """
    with _lock:
        if engine not in _running:
            _running[engine] = _Worker(engine, pause)
    try:
        yield
    finally:
        with _lock:
            worker = _running.pop(engine, None)
        if worker is not None:
            worker.stop()


def wake(engine: Engine, study: str) -> None:
    """Let the thread begin with a study at once; without a thread, the next start of the app does."""
    worker = _running.get(engine)
    if worker is not None:
        worker.wake(study)
