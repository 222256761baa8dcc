"""News of a study for the pages that leads have open."""

from __future__ import annotations

from fullbench.web.campaigns import live_updates
from fullbench.web.database import reading, writing
from fullbench.web.live_events import since


def test_every_change_is_news_however_soon_it_follows_another(engine):
    """The news of a change within a second of the last one was left out: a page that had loaded in between kept the
    old numbers for ever."""
    last = 0
    for _ in range(3):
        with writing(engine) as connection:
            live_updates.tell(connection, "study")
        with reading(engine) as connection:
            news = since(connection, last, [live_updates.topic("study")])
        assert len(news) == 1
        last = news[-1].id
