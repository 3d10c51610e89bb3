"""Tenants, their keys, what they have used, and who changed that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "tenants",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False, comment="JSON: what all its keys together may use."),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tenants")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False, comment="The part of the key by which it is found; no secret."),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "hmac", sa.Text(), nullable=False, comment="HMAC-SHA256 of the key, with the pepper, which is not here."
        ),
        sa.Column("terms", sa.Text(), nullable=False, comment="JSON: scopes, models, tools, limits, events."),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
    op.create_index("ix_api_keys_tenant", "api_keys", ["tenant"], unique=False)
    op.create_table(
        "quota_ledger",
        sa.Column(
            "id",
            sa.Text(),
            nullable=False,
            comment="Of a request and an account, or of an account's hour.",
        ),
        sa.Column("account", sa.Text(), nullable=False, comment="key:NAME or tenant:NAME."),
        sa.Column("hour", sa.BigInteger(), nullable=False, comment="Hours since 1970."),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), nullable=False, comment="Millionths of a US dollar."),
        sa.Column("state", sa.SmallInteger(), nullable=False, comment="0: reserved, 1: settled, 2: sum of an hour."),
        sa.Column(
            "expires_at",
            sa.BigInteger(),
            nullable=False,
            comment="When what is reserved and not settled counts no more.",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quota_ledger")),
    )
    op.create_index("ix_quota_ledger_account", "quota_ledger", ["account", "hour"], unique=False)
    op.create_table(
        "admin_audit",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column(
            "actor", sa.Text(), nullable=False, comment="The name of the key, or the person at the command line."
        ),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="The id of a key, or the name of a tenant."),
        sa.Column("details", sa.Text(), nullable=False, comment="JSON without secrets."),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_admin_audit")),
    )
