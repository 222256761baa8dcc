"""The tables as they were when people first worked with them: no step makes these any more, since a new database is
made as the code says (`database.upgrade`); databases of that time go on from here."""

from __future__ import annotations

revision = "0021"
down_revision = None


def upgrade() -> None:
    """Nothing: the tables are there."""
