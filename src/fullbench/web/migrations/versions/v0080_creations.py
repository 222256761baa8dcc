"""Tables of tasks that are still to be created, and indexes by which tasks are removed quickly."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0080"
down_revision = "0070"


def upgrade() -> None:
    """Add the tables and the indexes."""
    op.create_table(
        "creations",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("created", sa.Integer, nullable=False),
        sa.Column("moves", sa.Integer, nullable=False),
        sa.Column("finishing", sa.JSON, nullable=False),
        sa.CheckConstraint("state IN ('planning', 'creating', 'removing')", name="state"),
    )
    op.create_table(
        "creation_parts",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.CheckConstraint("kind IN ('nouns', 'tasks')", name="kind"),
    )
    op.create_index("leases_on", "leases", ["task"])
    op.create_index("conflicts_with", "conflicts", ["other"])
    op.create_index("kept_of", "kept", ["task"])
