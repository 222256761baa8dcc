"""What lets somebody who came by a group link back to their work, as a digest."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0070"
down_revision = "0060"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "ways_back",
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("digest"),
    )
