"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "contents",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False, comment="The JSON of one message, byte for byte."),
        sa.PrimaryKeyConstraint("conversation_id", "hash", name=op.f("pk_contents")),
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_run_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
    )
    op.create_index("ix_conversations_last_run_at", "conversations", ["last_run_at"], unique=False)
    op.create_table(
        "events",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "last_seq", sa.BigInteger(), nullable=False, comment="Higher than seq where pieces of text were joined."
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False, comment="The JSON of the event."),
        sa.PrimaryKeyConstraint("run_id", "attempt", "seq", name=op.f("pk_events")),
    )
    op.create_table(
        "executors",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False, comment="After it, its runs count as interrupted."),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_executors")),
    )
    op.create_table(
        "messages",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False, comment="Of the parent's hash and the content's."),
        sa.Column("parent", sa.Text(), nullable=True, comment="The message before it; NULL for the first."),
        sa.Column("place", sa.Integer(), nullable=False, comment="Number of messages before it."),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "hash", name=op.f("pk_messages")),
    )
    op.create_table(
        "model_requests",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False, comment="From 1, in the run's attempt."),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column(
            "messages_hash",
            sa.Text(),
            nullable=True,
            comment="The last message; NULL if there is none, or it was lost.",
        ),
        sa.Column("message_count", sa.Integer(), nullable=True, comment="NULL if the request was lost."),
        sa.Column("tools_hash", sa.Text(), nullable=True),
        sa.Column(
            "altered", sa.SmallInteger(), nullable=True, comment="1: a secret, or what JSON cannot hold, was replaced."
        ),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True, comment="JSON with the text and the calls that the model wrote."),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "attempt", "number", name=op.f("pk_model_requests")),
    )
    op.create_index("ix_model_requests_conversation_id", "model_requests", ["conversation_id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=True),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("api_key", sa.Text(), nullable=True, comment="The id of the key, never the key."),
        sa.Column("surface", sa.Text(), nullable=True, comment="Where the run was asked for, such as `chat` or `v1`."),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False, comment="running, finished, error, cancelled or interrupted."),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_hash", sa.Text(), nullable=True),
        sa.Column("catalog_hash", sa.Text(), nullable=True),
        sa.Column("config_hash", sa.Text(), nullable=True),
        sa.Column("trace_id", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False, comment="The executor that runs it."),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("first_event_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_conversation_id", "runs", ["conversation_id", "started_at"], unique=False)
    op.create_index(
        "ix_runs_running",
        "runs",
        ["owner"],
        unique=False,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_index("ix_runs_started_at", "runs", ["started_at"], unique=False)
    op.create_index("ix_runs_tenant", "runs", ["tenant", "started_at"], unique=False)
    op.create_table(
        "tool_invocations",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=True),
        sa.Column("arguments", sa.Text(), nullable=True, comment="JSON; without the parameters of the application."),
        sa.Column("read_only", sa.SmallInteger(), nullable=False),
        sa.Column(
            "status", sa.Text(), nullable=False, comment="intent, ok, error or cancelled; intent at the end: unknown."
        ),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=True),
        sa.Column("cached", sa.SmallInteger(), nullable=True),
        sa.Column("result_size", sa.BigInteger(), nullable=True, comment="Characters of the text for the model."),
        sa.Column("displays", sa.Integer(), nullable=True, comment="Number of displays."),
        sa.Column("intent_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "attempt", "call_id", name=op.f("pk_tool_invocations")),
    )
    op.create_table(
        "tool_lists",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tools", sa.Text(), nullable=False, comment="The JSON array of the tools that a model was offered."),
        sa.Column("last_used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_tool_lists")),
    )
    op.create_index("ix_tool_lists_last_used_at", "tool_lists", ["last_used_at"], unique=False)
    op.create_table(
        "usage",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False, comment="That of the model request."),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column(
            "cost_micros", sa.BigInteger(), nullable=True, comment="Millionths of a US dollar; NULL if not known."
        ),
        sa.Column("estimated", sa.SmallInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "attempt", "number", name=op.f("pk_usage")),
    )
    op.create_table(
        "writer_gaps",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("from_at", sa.BigInteger(), nullable=False),
        sa.Column("to_at", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False, comment="Number of records that were lost."),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_writer_gaps")),
    )
    op.create_index("ix_writer_gaps_to_at", "writer_gaps", ["to_at"], unique=False)
