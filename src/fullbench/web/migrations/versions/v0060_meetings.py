"""The catalogue knows of each meeting its study, its item, whose answers it is about and how much its verdicts differ.

The catalogue goes: its tables are made anew as the code says, and filled again from the ledger.
"""

from __future__ import annotations

from alembic import op

revision = "0060"
down_revision = "0050"

CATALOGUE = (
    "names", "items", "tags", "cases", "meetings", "dirty", "verdicts", "shown", "counts", "state", "boards", "search",
)  # fmt: skip


def upgrade() -> None:
    """Drop the catalogue's tables, where an earlier step has not done so."""
    for name in CATALOGUE:
        op.execute(f"DROP TABLE IF EXISTS public_{name}")
