"""Keeping the public side up to date while the app runs: a thread that fills the catalogue and computes boards."""

from __future__ import annotations

import logging
import threading

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.core.errors import UserError
from fullbench.ledger.store import Ledger
from fullbench.web.public import boards, catalogue

log = logging.getLogger("fullbench.web.public")
PAUSE = 2.0


def update(engine: Engine, ledger: Ledger) -> int:
    """Bring catalogue and boards up to date; say how many verdicts came."""
    filled = catalogue.fill(engine, ledger)
    made = boards.refresh(engine)
    if made:
        announce(engine)
    return filled.verdicts


def announce(engine: Engine) -> None:
    """Tell open pages that the numbers moved."""
    from fullbench.web import events
    from fullbench.web.database import writing

    with writing(engine) as connection:
        events.publish(connection, "public/boards")


class Updater:
    """The thread. `stop` ends it; what it was in the middle of is done again next time."""

    def __init__(self, engine: Engine, ledger: Ledger, *, pause: float = PAUSE) -> None:
        self._engine, self._ledger, self._pause = engine, ledger, pause
        self._ended, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="fullbench-updater", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look now instead of after the pause."""
        self._woken.set()

    def stop(self) -> None:
        self._ended.set()
        self._woken.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                update(self._engine, self._ledger)
            except (UserError, SQLAlchemyError) as error:
                log.warning("the public side could not be brought up to date: %s", error)
            self._woken.wait(self._pause)
            self._woken.clear()
