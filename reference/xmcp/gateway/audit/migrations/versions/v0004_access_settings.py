"""What the keys of a database have in common, such as the pepper with which they were made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "access_settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False, comment="Of `pepper`: an HMAC by which it is known again."),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_access_settings")),
    )
