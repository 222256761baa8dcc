"""News for organisers' open pages: something changed in a study."""

from __future__ import annotations

from sqlalchemy import Connection

from fullbench.web.live_events import publish


def topic(study_id: str) -> str:
    return f"organiser/study/{study_id}"


def tell(connection: Connection, study_id: str) -> None:
    """Publish the news with each change, however soon after the last one.

    The page itself loads at most every two seconds. If the news of the last change were left out, a page that loaded
    before that change would never show it.
    """
    publish(connection, topic(study_id))
