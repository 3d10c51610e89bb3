"""What Alembic runs for every command: it migrates over the connection that `schema` hands it."""

from __future__ import annotations

from alembic import context

from xmcp.gateway.audit.tables import METADATA

# The connection is in a transaction already, which is rolled back as a whole if a migration fails.
context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
