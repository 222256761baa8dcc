"""The tables of accounts and of what all parts of the web app share. Times are seconds since 1970."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from fullbench.web.database import Counter, made_with, metadata

site = Table(
    "site",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""What is drawn once for this site, such as the secret."""

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
"""`name_key` is the name folded, so that `Ann` and `ann` are one. `rater` stands for the person in ledgers."""

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
"""`digest` is that of the cookie: who reads this table cannot sign in with it."""

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
"""`ended` is when the link was used or taken back; it works once. `account` is the id that the account will have."""

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
    Column("id", Counter, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Index("ix_attempts_key_at", "key", "at"),
)
"""Failed attempts to sign in, under the digest of a name or an address."""

audit = Table(
    "audit",
    metadata,
    Column("id", Counter, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False, index=True),
    Column("user_id", String(32), index=True),
    Column("name", String(80), nullable=False),
    Column("action", String(40), nullable=False, index=True),
    Column("target", String(200), nullable=False),
    Column("detail", Text, nullable=False),
    Column("address", String(80), nullable=False),
    sqlite_autoincrement=True,
)
"""Who did what when. Rows are only ever added, whoever holds the connection."""

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
made_with(audit, _APPEND_ONLY)

events = Table(
    "events",
    metadata,
    Column("id", Counter, primary_key=True, autoincrement=True),
    Column("topic", String(120), nullable=False),
    Column("payload", Text, nullable=False),
    Column("at", Float, nullable=False, index=True),
    sqlite_autoincrement=True,
)
"""What open pages are told; rows older than a day are dropped."""

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
"""Who brought which picture; the bytes lie in the data folder by digest."""
