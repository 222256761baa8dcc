"""People have ids that stand for them in ledgers; the catalogue knows studies, raters, revisions and its ledger.

The catalogue goes: its tables are made anew as the code says, and filled again from the ledger.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

from fullbench.web.database import Counter

revision = "0022"
down_revision = "0021"

CATALOGUE = (
    "names", "items", "tags", "cases", "meetings", "dirty", "verdicts", "shown", "counts", "state", "boards", "search",
)  # fmt: skip
PANEL = ("name", "rule", "judges", "closed_at", "closed_place")


def upgrade() -> None:
    """Add the columns, and drop the catalogue's tables."""
    _raters()
    _kept()
    for name in CATALOGUE:
        op.drop_table(f"public_{name}")
    _bound()


def _raters() -> None:
    with op.batch_alter_table("users") as batch:
        batch.add_column(sa.Column("rater", sa.String(32), nullable=False, server_default=""))
    connection = op.get_bind()
    users = sa.table("users", sa.column("id"), sa.column("rater"))
    for person in list(connection.execute(sa.select(users.c.id)).scalars()):
        connection.execute(sa.update(users).where(users.c.id == person).values(rater=uuid.uuid4().hex))
    op.create_index("users_rater", "users", ["rater"], unique=True)


def _kept() -> None:
    """What was kept is known by case and task; which vote it was, the ledger knows."""
    kept = sa.table("kept", sa.column("case_key"), sa.column("task"))
    earlier = [dict(row) for row in op.get_bind().execute(sa.select(kept).distinct()).mappings()]
    op.drop_table("kept")
    op.create_table(
        "kept",
        sa.Column("case_key", sa.Text, primary_key=True),
        sa.Column("task", Counter, sa.ForeignKey("tasks.id"), primary_key=True),
    )
    if earlier:
        op.bulk_insert(kept, earlier)


def _bound() -> None:
    """Panels and requests belong to a ledger; those of before to the first that is shown from now on."""
    ledger = sa.Column("ledger", sa.String(64), nullable=False, server_default="")
    panels = sa.table("public_panels", *(sa.column(name) for name in PANEL))
    connection = op.get_bind()
    earlier = [dict(row) for row in connection.execute(sa.select(panels)).mappings()]
    op.drop_table("public_panels")
    op.create_table(
        "public_panels",
        sa.Column("ledger", sa.String(64), primary_key=True, server_default=""),
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("rule", sa.String(12), nullable=False),
        sa.Column("judges", sa.Text, nullable=False),
        sa.Column("closed_at", sa.Float),
        sa.Column("closed_place", sa.BigInteger),
    )
    if earlier:
        op.bulk_insert(panels, earlier)
    with op.batch_alter_table("public_requests") as batch:
        batch.add_column(ledger)
        batch.drop_constraint("public_requests_once", type_="unique")
        batch.create_unique_constraint("public_requests_once", ["ledger", "case_key", "judge", "asked_by"])
