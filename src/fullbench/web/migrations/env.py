"""Alembic environment: run the steps on the connection of `database.upgrade_schema`, with our constraint names."""

from __future__ import annotations

from alembic import context

from fullbench.web.database import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
