"""Pages made before somebody asks: the first page and the leaderboards that it leads to, whose charts take seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Engine

from fullbench.web.database import reading
from fullbench.web.results import boards
from fullbench.web.results.rows import studies
from fullbench.web.results.views import Views

MOST = 24
"""So many leaderboards are made ahead; the others when they are asked for."""
CALM = 10.0
"""Seconds after a start in which none are: whoever started the server looks at it then, and waits for other pages."""
REST = 20
"""After pages were made, none are for so many times as long as it took: verdicts that trickle in change all of them."""


class Ahead:
    """Makes pages in English when figures changed, and once after a start and its calm."""

    def __init__(self, engine: Engine, views: Callable[[], Views], *, calm: float = CALM) -> None:
        self._engine, self._views = engine, views
        self._made: dict[str, str] = {}
        self._until = time.monotonic() + calm

    def make(self, going: Callable[[], bool]) -> None:
        """Make what is new; `going` is asked before each page."""
        begun = time.monotonic()
        if begun < self._until or not going():
            return
        with reading(self._engine) as connection:
            stamps = boards.stamps(connection)
            if stamps == self._made:
                return
            before, self._made = self._made, stamps
            first = next(iter(studies(connection)), "")
            self._views().home(connection, "en")
            listed = [heading.name for heading in boards.headings(connection, first) if heading.name in stamps]
        for name in listed[:MOST]:
            if going() and before.get(name) != stamps[name]:
                with reading(self._engine) as connection:
                    self._views().board(connection, name, "en")
        self._until = time.monotonic() + REST * (time.monotonic() - begun)
