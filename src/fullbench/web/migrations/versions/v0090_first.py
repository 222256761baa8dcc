"""The first step: it creates all tables."""

from __future__ import annotations

from alembic import op

from fullbench.web.database import metadata

revision = "0090"
down_revision = None


def upgrade() -> None:
    """Create the tables as `tables.py` of each part defines them."""
    # A table of the same name that exists already belongs to somebody else: fail, do not use it.
    metadata.create_all(op.get_bind(), checkfirst=False)
