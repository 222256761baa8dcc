"""What a request needs to go on after a server died, panels that can be closed, and more marks on verdicts.

The marks of verdicts that are there, boards and cards are computed again.
"""

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
    for name in ("both", "again", "decided", "clear"):
        op.add_column("public_verdicts", sa.Column(name, sa.SmallInteger, nullable=False, server_default="0"))
    op.drop_index("public_verdicts_meeting", "public_verdicts")
    op.create_index("public_verdicts_meeting", "public_verdicts", ["meeting_id", "judge_id", "fault"])
    op.execute("DELETE FROM public_dirty")
    op.execute("INSERT INTO public_dirty (meeting_id) SELECT id FROM public_meetings")
    op.execute("DELETE FROM public_boards")
