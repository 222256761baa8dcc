"""Pages made before somebody asks: the first page and the leaderboards that it leads to, whose charts take seconds."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine

from fullbench.web.database import reading
from fullbench.web.results import boards
from fullbench.web.results.rows import studies
from fullbench.web.results.views import Views

MOST = 24
"""So many leaderboards are made ahead; the others when they are asked for."""


class Ahead:
    """Makes pages in English when figures changed, and once after a start."""

    def __init__(self, engine: Engine, views: Callable[[], Views]) -> None:
        self._engine, self._views = engine, views
        self._made: dict[str, str] = {}

    def make(self, going: Callable[[], bool]) -> None:
        """Make what is new; `going` is asked before each page."""
        with reading(self._engine) as connection:
            stamps = boards.stamps(connection)
            if stamps == self._made or not going():
                return
            first = next(iter(studies(connection)), "")
            self._views().home(connection, "en")
            listed = [heading.name for heading in boards.headings(connection, first) if heading.name in stamps]
        for name in listed[:MOST]:
            if not going():
                return
            if self._made.get(name) != stamps[name]:
                with reading(self._engine) as connection:
                    self._views().board(connection, name, "en")
        self._made = stamps
