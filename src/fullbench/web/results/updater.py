"""Keeping the public side up to date while the app runs: a thread that fills the catalogue and computes boards."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.errors import UserError
from fullbench.ledger.ledger import Ledger
from fullbench.web import events
from fullbench.web.database import writing
from fullbench.web.results import cards, catalogue, edition, panels, refreshing
from fullbench.web.results.ahead import Ahead
from fullbench.web.results.views import Views

log = logging.getLogger("fullbench.web.results")
PAUSE = 2.0
TOPIC = "public/boards"
"""Where open pages hear that the numbers moved."""


def update(
    engine: Engine, ledger: Ledger, *, study: str | None = None, going: Callable[[], bool] = lambda: True
) -> int:
    """Bring catalogue, boards and cards, which take longest, up to date, of one study or of all; say how many verdicts
    came."""
    filled = catalogue.fill(engine, ledger, study=study, going=going)
    if panels.derive(engine, ledger, going=going):
        while going() and not catalogue.settle(engine):
            pass
    if going() and refreshing.refresh(engine, ledger, going=going):
        _announce(engine)
    if going() and cards.refresh(engine, ledger, going=going):
        _announce(engine)
    if going():
        catalogue.whole(engine)
    if going() and not filled.verdicts:
        edition.note(engine, ledger)
    return filled.verdicts


def _announce(engine: Engine) -> None:
    with writing(engine) as connection:
        events.publish(connection, TOPIC)


class _Updater:
    """The thread that looks every `pause` seconds whether verdicts came."""

    def __init__(self, engine: Engine, ledger: Ledger, pause: float, ahead: Ahead) -> None:
        self._engine, self._ledger, self._pause, self._ahead = engine, ledger, pause, ahead
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fullbench-updater", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; what it is in the middle of is done again next time."""
        self._ended.set()
        self._thread.join(timeout=60)

    def _going(self) -> bool:
        return not self._ended.is_set()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                update(self._engine, self._ledger, going=self._going)
            except (UserError, SQLAlchemyError) as error:
                log.warning("the public side could not be brought up to date: %s", error)
            self._make_ahead()
            self._ended.wait(self._pause)

    def _make_ahead(self) -> None:
        try:
            self._ahead.make(self._going)
        except Exception as error:  # noqa: BLE001 (a chart that cannot be drawn must not end the updates)
            log.warning("a page could not be made ahead: %s", error)


_running: dict[Engine, _Updater] = {}
_lock = threading.Lock()


@contextmanager
def keeping_up(
    engine: Engine, ledger: Ledger | None, views: Callable[[], Views], *, pause: float = PAUSE
) -> Iterator[None]:
    """While the block runs, a thread keeps the public side up to date; one for each database, however often begun.

    It has ended when any of the blocks ends, so that the database can be let go of.
    """
    if ledger is None:
        yield
        return
    with _lock:
        if engine not in _running:
            _running[engine] = _Updater(engine, ledger, pause, Ahead(engine, views))
    try:
        yield
    finally:
        with _lock:
            updater = _running.pop(engine, None)
        if updater is not None:
            updater.stop()
