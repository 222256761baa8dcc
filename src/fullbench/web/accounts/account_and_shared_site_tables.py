"""Database tables of accounts, and tables shared by all parts of the web app. Times are seconds since 1970."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from fullbench.web.database import RowId, execute_after_create, metadata

site = Table(
    "site",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""Values drawn once for this site, such as the secret."""

users = Table(
    "users",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("name_key", String(240), nullable=False, unique=True),
    Column("role", String(16), CheckConstraint("role IN ('viewer', 'annotator', 'organiser')", "role"), nullable=False),
    Column("password", String(200), nullable=False),
    Column("disabled", Boolean, nullable=False, default=False),
    Column("at", Float, nullable=False),
    Column("rater", String(32), nullable=False),
    Index("users_rater", "rater", unique=True),
)
"""`name_key` is the folded name: `Ann` and `ann` are one account. `rater` identifies the person in ledgers."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("address", String(80), nullable=False),
    Column("agent", String(200), nullable=False),
)
"""`digest` is that of the cookie: nobody can sign in with the content of this table."""

invitations = Table(
    "invitations",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("note", String(200), nullable=False),
    Column("made_by", ForeignKey("users.id", ondelete="SET NULL")),
    Column("at", Float, nullable=False),
    Column("until", Float, nullable=False),
    Column("used_by", ForeignKey("users.id", ondelete="SET NULL")),
    Column("ended", Float),
    Column("account", String(32)),
)
"""`ended` is when the link was used or revoked; it works once. `account` is the id that the account will have."""

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(80), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scope", String(16), CheckConstraint("scope IN ('read', 'write')", "scope"), nullable=False),
    Column("at", Float, nullable=False),
    Column("until", Float),
    Column("used", Float),
    Column("revoked", Float),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_attempts_key_at", "key", "at"),
)
"""Failed attempts to sign in, under the digest of a name or an address."""

audit = Table(
    "audit",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False, index=True),
    Column("user_id", String(32), index=True),
    Column("name", String(80), nullable=False),
    Column("action", String(40), nullable=False, index=True),
    Column("target", String(200), nullable=False),
    Column("detail", Text, nullable=False),
    Column("address", String(80), nullable=False),
    sqlite_autoincrement=True,
)
"""Rows are only ever added."""

_APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER audit_{change.lower()} BEFORE {change} ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END"
        for change in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$",
        "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_append_only()",
    ],
}
execute_after_create(audit, _APPEND_ONLY)

events = Table(
    "events",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=True),
    Column("topic", String(120), nullable=False),
    Column("payload", Text, nullable=False),
    Column("at", Float, nullable=False, index=True),
    sqlite_autoincrement=True,
)
"""Events for open pages; rows older than a day are deleted."""

uploads = Table(
    "uploads",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("media", String(40), nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("at", Float, nullable=False),
)
"""The bytes are in the data folder, by digest."""
