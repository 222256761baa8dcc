"""Who came to the site for one study, and the id that another site knows them by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0040"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "arrivals",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("external_id", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("study", "external_id"),
    )
    op.create_index("arrivals_of", "arrivals", ["person"])
