"""Leases are remembered, so that a late vote finds its task; guidelines have versions, and votes know theirs; what an
open study is about is known by its items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from fullbench.web.database import Counter

revision = "0030"
down_revision = "0022"


def upgrade() -> None:
    """Add the tables and the column."""
    op.create_table(
        "leases",
        sa.Column("lease", sa.Text, primary_key=True),
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), nullable=False),
        sa.Column("task", Counter, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "guidelines",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.execute(
        "INSERT INTO guidelines (study, version, text, at) "
        "SELECT id, 1, guidelines, at FROM studies WHERE guidelines <> ''"
    )
    op.create_table(
        "campaign_items",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("item", sa.Text, primary_key=True),
    )
    op.create_index("campaign_items_of", "campaign_items", ["item"])
    _items()
    op.add_column("votes", sa.Column("guideline", sa.Text, nullable=False, server_default=""))


def _items() -> None:
    """What the tasks that are there are about."""
    tasks = sa.table("tasks", sa.column("study"), sa.column("content", sa.JSON))
    items = sa.table("campaign_items", sa.column("study"), sa.column("item"))
    about = {(row.study, row.content["item"]["id"]) for row in op.get_bind().execute(sa.select(tasks))}
    if about:
        op.bulk_insert(items, [{"study": study, "item": item} for study, item in sorted(about)])
