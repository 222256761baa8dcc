"""Keeping the public side up to date while the app runs: a thread that fills the catalogue and computes boards."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.core.errors import UserError
from fullbench.ledger.store import Ledger
from fullbench.web import events
from fullbench.web.database import writing
from fullbench.web.public import boards, cards, catalogue

log = logging.getLogger("fullbench.web.public")
PAUSE = 2.0
TOPIC = "public/boards"
"""Where open pages hear that the numbers moved."""


def update(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Bring catalogue, boards and cards, which take longest, up to date; say how many verdicts came."""
    filled = catalogue.fill(engine, ledger, going=going)
    if going() and boards.refresh(engine, going=going):
        _announce(engine)
    if going() and cards.refresh(engine, ledger, going=going):
        _announce(engine)
    return filled.verdicts


def _announce(engine: Engine) -> None:
    with writing(engine) as connection:
        events.publish(connection, TOPIC)


@contextmanager
def keeping_up(engine: Engine, ledger: Ledger | None, *, pause: float = PAUSE) -> Iterator[None]:
    """While the block runs, a thread looks every `pause` seconds whether verdicts came.

    What it is in the middle of when the block ends is done again next time.
    """
    if ledger is None:
        yield
        return
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            try:
                update(engine, ledger, going=lambda: not ended.is_set())
            except (UserError, SQLAlchemyError) as error:
                log.warning("the public side could not be brought up to date: %s", error)
            ended.wait(pause)

    thread = threading.Thread(target=run, name="fullbench-updater", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=30)
