"""What a request needs to go on after a server died, and panels that can be closed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("public_requests", sa.Column("spec", sa.Text, nullable=False, server_default=""))
    op.add_column("public_requests", sa.Column("trial", sa.Integer))
    op.add_column("public_requests", sa.Column("beat", sa.Float))
    op.add_column("public_panels", sa.Column("closed_at", sa.Float))
    op.add_column("public_panels", sa.Column("closed_place", sa.BigInteger))
    op.add_column("public_verdicts", sa.Column("place", sa.BigInteger))
