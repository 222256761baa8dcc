"""Leads' rulings on splits; the chance that a task had of being chosen; who wrote what a task shows; the account
that an invitation will make, so that somebody can be assigned before they come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from fullbench.web.database import Counter

revision = "0040"
down_revision = "0030"


def upgrade() -> None:
    """Add the tables and the columns."""
    op.create_table(
        "task_authors",
        sa.Column("task", Counter, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("author", sa.Text, primary_key=True),
    )
    op.create_table(
        "adjudications",
        sa.Column("id", Counter, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), nullable=False),
        sa.Column("task", Counter, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("answer", sa.JSON, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("task", "revision"),
    )
    op.create_index("adjudications_of", "adjudications", ["study"])
    op.add_column("tasks", sa.Column("probability", sa.Double))
    op.add_column("invitations", sa.Column("account", sa.String(32)))
