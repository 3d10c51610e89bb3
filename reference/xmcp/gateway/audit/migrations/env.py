"""What Alembic runs for every command: it migrates over the connection that `schema` hands it."""

from __future__ import annotations

from alembic import context

from xmcp.gateway.audit.tables import METADATA

# SQLite rolls back DDL, too; Alembic does not say so by default.
context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
