"""Live updates: notify leads' open pages that a campaign changed."""

from __future__ import annotations

from sqlalchemy import Connection

from fullbench.web.live_events import publish_event


def campaign_topic(study_id: str) -> str:
    return f"organiser/study/{study_id}"


def publish_change(connection: Connection, study_id: str) -> None:
    """Publish an event for every change, even if the last one was moments ago.

    The page reloads at most every two seconds. If the event of the last change were dropped, a page that loaded before
    that change would never show it.
    """
    publish_event(connection, campaign_topic(study_id))
