"""News of a study for the pages that leads have open."""

from __future__ import annotations

from fullbench.web.campaigns import campaigns
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.live_events import events_since


def test_every_change_is_news_however_soon_it_follows_another(engine):
    """The news of a change within a second of the last one was left out: a page that had loaded in between kept the
    old numbers for ever."""
    last = 0
    for _ in range(3):
        with write_transaction(engine) as connection:
            campaigns.publish_change(connection, "study")
        with read_transaction(engine) as connection:
            news = events_since(connection, last, [campaigns.campaign_topic("study")])
        assert len(news) == 1
        last = news[-1].id
