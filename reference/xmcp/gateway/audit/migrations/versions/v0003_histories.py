"""What a conversation is after a run, so that it can go on in another process; conversations of a tenant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the index."""
    last = "The last message of the conversation after the run."
    op.add_column("runs", sa.Column("history_hash", sa.Text(), nullable=True, comment=last))
    number = "Number of messages of the conversation after the run."
    op.add_column("runs", sa.Column("history_count", sa.Integer(), nullable=True, comment=number))
    op.create_index("ix_conversations_tenant", "conversations", ["tenant", "last_run_at"], unique=False)
