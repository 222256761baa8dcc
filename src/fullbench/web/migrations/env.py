"""Run by Alembic: every step on the connection that `database.upgrade` opened, with its names for constraints."""

from __future__ import annotations

from alembic import context

from fullbench.web.database import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
