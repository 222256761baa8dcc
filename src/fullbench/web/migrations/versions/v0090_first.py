"""First migration step: create all tables."""

from __future__ import annotations

from alembic import op

from fullbench.web.database import metadata

revision = "0090"
down_revision = None


def upgrade() -> None:
    """Create all tables of the web app's metadata."""
    # An existing table of the same name belongs to another program: fail instead of using it.
    metadata.create_all(op.get_bind(), checkfirst=False)
