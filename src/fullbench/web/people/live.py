"""Telling organisers' open pages that something changed: at most once a second for a study, from each worker."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from fullbench.web.events import publish

_told: dict[str, float] = {}


def topic(study_id: str) -> str:
    return f"organiser/study/{study_id}"


def tell(connection: Connection, study_id: str) -> None:
    """Publish the news, unless it was published within the last second; pages look a little later anyway."""
    now = time.monotonic()
    if now - _told.get(study_id, -60.0) >= 1:
        _told[study_id] = now
        publish(connection, topic(study_id))
