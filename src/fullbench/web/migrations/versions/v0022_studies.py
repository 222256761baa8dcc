"""People have ids that stand for them in ledgers; the catalogue knows studies, raters, revisions and its ledger.

The catalogue is emptied: it is filled again from the ledger.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

from fullbench.web.migrations.versions.v0010_work import COUNTER
from fullbench.web.migrations.versions.v0020_public import SEARCH

revision = "0022"
down_revision = "0021"

EMPTIED = ("names", "tags", "meetings", "dirty", "shown", "state", "boards")
MADE_ANEW = ("items", "cases", "verdicts", "counts")
PANEL = ("name", "rule", "judges", "closed_at", "closed_place")


def upgrade() -> None:
    """Add the columns, and make the catalogue's tables anew."""
    _raters()
    _kept()
    for name in EMPTIED:
        op.execute(sa.delete(sa.table(f"public_{name}")))
    for name in MADE_ANEW:
        op.drop_table(f"public_{name}")
    op.drop_table("public_search")
    for statement in SEARCH[op.get_bind().dialect.name]:
        op.execute(statement)
    _things()
    _verdicts()
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
        sa.Column("task", COUNTER, sa.ForeignKey("tasks.id"), primary_key=True),
    )
    if earlier:
        op.bulk_insert(kept, earlier)


def _number(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=key, autoincrement=False, nullable=False)


def _small(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.SmallInteger, primary_key=key, autoincrement=False, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _things() -> None:
    op.create_table(
        "public_items",
        _number("id", key=True),
        sa.Column("place", sa.String(32), nullable=False),
        _number("study_id"),
        _text("name"),
        _text("title"),
        sa.UniqueConstraint("place", name="uq_public_items_place"),
    )
    op.create_table(
        "public_cases",
        _number("id", key=True),
        sa.Column("place", sa.String(32), nullable=False),
        _number("study_id"),
        sa.Column("key", sa.String(64), nullable=False),
        _number("item_id"),
        sa.UniqueConstraint("place", name="uq_public_cases_place"),
    )
    op.create_index("public_cases_key", "public_cases", ["key"])


def _verdicts() -> None:
    op.create_table(
        "public_verdicts",
        _number("id", key=True),
        *map(_number, ("study_id", "case_id", "judge_id", "trial", "rater_id", "revision", "item_id", "meeting_id")),
        *map(_number, ("ballot_id", "criterion_id")),
        *map(_small, ("fault", "shape")),
        _text("shown"),
        _text("samples"),
        sa.Column("marks", sa.Text),
        *map(_small, ("split", "swapped", "met", "opposed", "both", "again", "decided", "clear")),
        sa.Column("place", sa.BigInteger),
        sa.UniqueConstraint("case_id", "judge_id", "trial", "rater_id", name="public_verdicts_once"),
    )
    for name in ("judge", "item", "study"):
        op.create_index(f"public_verdicts_{name}", "public_verdicts", [f"{name}_id", "id"])
    for name in ("fault", "split", "swapped"):
        op.create_index(f"public_verdicts_{name}", "public_verdicts", [name, "id"])
    op.create_index("public_verdicts_meeting", "public_verdicts", ["meeting_id", "judge_id", "fault"])
    op.create_index("public_verdicts_met", "public_verdicts", ["met", "opposed", "id"])
    op.create_table(
        "public_counts",
        *(_number(name, key=True) for name in ("study_id", "judge_id", "contestant_id", "ballot_id", "criterion_id")),
        *(_small(name, key=True) for name in ("fault", "shape")),
        _number("n"),
        _number("last"),
    )


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
        _text("judges"),
        sa.Column("closed_at", sa.Float),
        sa.Column("closed_place", sa.BigInteger),
    )
    if earlier:
        op.bulk_insert(panels, earlier)
    with op.batch_alter_table("public_requests") as batch:
        batch.add_column(ledger)
        batch.drop_constraint("public_requests_once", type_="unique")
        batch.create_unique_constraint("public_requests_once", ["ledger", "case_key", "judge", "asked_by"])
