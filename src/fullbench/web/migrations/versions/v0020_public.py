"""The public side: a catalogue of the ledger's verdicts, boards, panels, and requests to judge again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0010"

SEARCH = {
    "sqlite": (
        "CREATE VIRTUAL TABLE public_search USING fts5(words, content='', detail='none', columnsize=0, "
        "tokenize='ascii')",
    ),
    "postgresql": (
        "CREATE TABLE public_search (id integer PRIMARY KEY, words tsvector NOT NULL)",
        "CREATE INDEX public_search_words ON public_search USING gin (words)",
    ),
}


def upgrade() -> None:
    """Make the tables."""
    _things()
    _verdicts()
    _made()
    for statement in SEARCH[op.get_bind().dialect.name]:
        op.execute(statement)


def _number(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=key, autoincrement=False, nullable=False)


def _small(name: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.SmallInteger, primary_key=key, autoincrement=False, nullable=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _things() -> None:
    op.create_table(
        "public_names",
        _number("id", key=True),
        sa.Column("kind", sa.String(12), nullable=False),
        _text("name"),
        sa.UniqueConstraint("kind", "name", name="public_names_once"),
    )
    op.create_table(
        "public_items",
        _number("id", key=True),
        _text("name"),
        _text("title"),
        sa.UniqueConstraint("name", name="uq_public_items_name"),
    )
    op.create_table(
        "public_tags",
        _number("item_id", key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        _text("value"),
    )
    op.create_index("public_tags_value", "public_tags", ["name", "value", "item_id"])
    for name, key, columns in (("cases", 64, [_number("item_id")]), ("meetings", 32, [])):
        op.create_table(
            f"public_{name}",
            _number("id", key=True),
            sa.Column("key", sa.String(key), nullable=False),
            *columns,
            sa.UniqueConstraint("key", name=f"uq_public_{name}_key"),
        )
    op.create_table("public_dirty", _number("meeting_id", key=True))


def _verdicts() -> None:
    op.create_table(
        "public_verdicts",
        _number("id", key=True),
        *map(_number, ("case_id", "judge_id", "trial", "item_id", "meeting_id", "ballot_id", "criterion_id")),
        *map(_small, ("fault", "shape")),
        _text("shown"),
        sa.Column("marks", sa.Text),
        sa.Column("first_id", sa.Integer),
        sa.Column("second_id", sa.Integer),
        sa.Column("value", sa.Float),
        *map(_small, ("split", "swapped", "met", "opposed")),
        sa.UniqueConstraint("case_id", "judge_id", "trial", name="public_verdicts_once"),
    )
    for name in ("judge", "item"):
        op.create_index(f"public_verdicts_{name}", "public_verdicts", [f"{name}_id", "id"])
    for name in ("fault", "split", "swapped"):
        op.create_index(f"public_verdicts_{name}", "public_verdicts", [name, "id"])
    op.create_index("public_verdicts_meeting", "public_verdicts", ["meeting_id"])
    op.create_index("public_verdicts_met", "public_verdicts", ["met", "opposed", "id"])
    op.create_table(
        "public_shown",
        *(_number(name, key=True) for name in ("contestant_id", "judge_id", "verdict_id")),
        sqlite_with_rowid=False,
    )
    op.create_index("public_shown_verdict", "public_shown", ["contestant_id", "verdict_id"])
    op.create_table(
        "public_counts",
        *(_number(name, key=True) for name in ("judge_id", "contestant_id", "ballot_id", "criterion_id")),
        *(_small(name, key=True) for name in ("fault", "shape")),
        _number("n"),
    )


def _made() -> None:
    op.create_table("public_state", sa.Column("name", sa.String(40), primary_key=True), _text("value"))
    op.create_table(
        "public_boards",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("stamp", sa.String(40), nullable=False),
        _text("body"),
    )
    op.create_table(
        "public_panels",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("rule", sa.String(12), nullable=False),
        _text("judges"),
    )
    op.create_table(
        "public_requests",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("case_key", sa.String(64), nullable=False),
        _text("judge"),
        sa.Column("asked_by", sa.String(120), nullable=False),
        _text("reason"),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        _text("cost"),
        _text("answer"),
        sa.UniqueConstraint("case_key", "judge", "asked_by", name="public_requests_once"),
    )
    op.create_index("public_requests_state", "public_requests", ["state", "at"])
