"""Studies for people: tasks, slots, votes, drafts, members."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0001"

COUNTER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of people's work."""
    _studies()
    _slots()
    _votes()
    _rest()


def _study() -> sa.Column[Any]:
    return sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), nullable=False)


def _studies() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("ballot", sa.Text, nullable=False),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("guidelines", sa.Text, nullable=False),
        sa.Column("options", sa.JSON, nullable=False),
        sa.Column("votes", sa.Integer, nullable=False),
        sa.Column("most", sa.Integer, nullable=False),
        sa.Column("settled_by", sa.Text, nullable=False),
        sa.Column("lease_seconds", sa.Integer, nullable=False),
        sa.Column("gold_every", sa.Integer, nullable=False),
        sa.Column("pass_share", sa.Double, nullable=False),
        sa.Column("conflicted", sa.Boolean, nullable=False),
        sa.Column("qualifies", sa.Integer, nullable=False),
        sa.Column("golds", sa.Integer, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed')", "ck_studies_state"),
        sa.CheckConstraint("votes >= 1 AND most >= votes", "ck_studies_votes"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", COUNTER, primary_key=True, autoincrement=True),
        _study(),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("known", sa.JSON),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("voted", sa.Integer, nullable=False),
        sa.UniqueConstraint("study", "place"),
        sa.CheckConstraint("role IN ('work', 'gold', 'qualify')", "ck_tasks_role"),
        sa.CheckConstraint("(role = 'work') = (known IS NULL)", "ck_tasks_known"),
    )
    op.create_index("tasks_role_of", "tasks", ["study", "role"])


def _slots() -> None:
    op.create_table(
        "slots",
        sa.Column("id", COUNTER, primary_key=True, autoincrement=True),
        _study(),
        sa.Column("task", COUNTER, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("lot", sa.Double),
        sa.Column("person", sa.Text),
        sa.Column("lease", sa.Text, unique=True),
        sa.Column("leased_at", sa.Double, nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    unfilled = sa.text("revision = 0")
    where: dict[str, Any] = {"sqlite_where": unfilled, "postgresql_where": unfilled}
    op.create_index("slots_free", "slots", ["study", "lot"], **where)
    op.create_index("slots_held", "slots", ["person", "study"], **where)
    op.create_index("slots_once", "slots", ["task", "person"], unique=True)


def _votes() -> None:
    op.create_table(
        "votes",
        sa.Column("id", COUNTER, primary_key=True, autoincrement=True),
        sa.Column("slot", COUNTER, sa.ForeignKey("slots.id"), nullable=False),
        _study(),
        sa.Column("task", COUNTER, nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("answer", sa.JSON, nullable=False),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("right", sa.Boolean),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("slot", "revision"),
        sa.UniqueConstraint("person", "key"),
    )
    op.create_index("votes_of", "votes", ["study", "person"])
    op.create_index("votes_on", "votes", ["task"])


def _rest() -> None:
    op.create_table(
        "members",
        sa.Column("study", sa.Text, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.CheckConstraint("standing IN ('new', 'qualified', 'failed')", "ck_members_standing"),
    )
    op.create_table(
        "drafts",
        sa.Column("slot", COUNTER, sa.ForeignKey("slots.id"), primary_key=True),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("fields", sa.JSON, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_table(
        "conflicts",
        sa.Column("task", COUNTER, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("other", COUNTER, sa.ForeignKey("tasks.id"), primary_key=True),
    )
    op.create_table(
        "kept",
        sa.Column("case_key", sa.Text, primary_key=True),
        sa.Column("judge", sa.Text, primary_key=True),
        sa.Column("task", COUNTER, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("vote", COUNTER, nullable=False),
    )
