"""The tables of a gateway's database, as SQLAlchemy Core metadata; `migrations` creates them.

Every time is an integer: milliseconds since 1970 in UTC. Every hash is SHA-256 in hexadecimal. Ids that the store makes
are UUIDs of version 7, which sort by time. There are no foreign keys, because rows may arrive in any order: what was
spilled to the disk comes later than what was written after it.

A conversation's messages are kept once. `contents` has the JSON of each, and a row of `messages` is one message after
all those before it: its hash is of the parent's hash and the content's. So one hash names everything that a model call
received, and a turn adds only its new messages.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, SmallInteger, Table, Text, text

METADATA: Final = MetaData(naming_convention={"pk": "pk_%(table_name)s"})

Table(
    "conversations",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("tenant", Text),
    Column("session", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("last_run_at", BigInteger, nullable=False),
    Index("ix_conversations_last_run_at", "last_run_at"),
    Index("ix_conversations_tenant", "tenant", "last_run_at"),
)

Table(
    "runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, nullable=False),
    Column("tenant", Text),
    Column("session", Text),
    Column("api_key", Text, comment="The id of the key, never the key."),
    Column("surface", Text, comment="Where the run was asked for, such as `chat` or `v1`."),
    Column("model", Text),
    Column("status", Text, nullable=False, comment="running, finished, error, cancelled or interrupted."),
    Column("finish_reason", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("idempotency_key", Text),
    Column("request_hash", Text),
    Column("catalog_hash", Text),
    Column("config_hash", Text),
    Column("trace_id", Text),
    Column("owner", Text, nullable=False, comment="The executor that runs it."),
    Column("started_at", BigInteger, nullable=False),
    Column("first_event_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("history_hash", Text, comment="The last message of the conversation after the run."),
    Column("history_count", Integer, comment="Number of messages of the conversation after the run."),
    Index("ix_runs_conversation_id", "conversation_id", "started_at"),
    Index("ix_runs_started_at", "started_at"),
    Index("ix_runs_tenant", "tenant", "started_at"),
    Index(
        "ix_runs_running",
        "owner",
        sqlite_where=text("status = 'running'"),
        postgresql_where=text("status = 'running'"),
    ),
)

Table(
    "contents",
    METADATA,
    Column("conversation_id", Text, primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("content", Text, nullable=False, comment="The JSON of one message, byte for byte."),
)

Table(
    "messages",
    METADATA,
    Column("conversation_id", Text, primary_key=True),
    Column("hash", Text, primary_key=True, comment="Of the parent's hash and the content's."),
    Column("parent", Text, comment="The message before it; NULL for the first."),
    Column("place", Integer, nullable=False, comment="Number of messages before it."),
    Column("content_hash", Text, nullable=False),
)

Table(
    "tool_lists",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("tools", Text, nullable=False, comment="The JSON array of the tools that a model was offered."),
    Column("last_used_at", BigInteger, nullable=False),
    Index("ix_tool_lists_last_used_at", "last_used_at"),
)

Table(
    "model_requests",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False, comment="From 1, in the run's attempt."),
    Column("conversation_id", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("provider", Text),
    Column("model", Text),
    Column("messages_hash", Text, comment="The last message; NULL if there is none, or it was lost."),
    Column("message_count", Integer, comment="NULL if the request was lost."),
    Column("tools_hash", Text),
    Column("altered", SmallInteger, comment="1: a secret, or what JSON cannot hold, was replaced."),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("finish_reason", Text),
    Column("answer", Text, comment="JSON with the text and the calls that the model wrote."),
    Column("error_code", Text),
    Column("error_message", Text),
    Index("ix_model_requests_conversation_id", "conversation_id"),
)

Table(
    "events",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("last_seq", BigInteger, nullable=False, comment="Higher than seq where pieces of text were joined."),
    Column("at", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("payload", Text, nullable=False, comment="The JSON of the event."),
)

Table(
    "tool_invocations",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("call_id", Text, primary_key=True),
    Column("turn", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("server", Text),
    Column("arguments", Text, comment="JSON; without the parameters of the application."),
    Column("read_only", SmallInteger, nullable=False),
    Column("status", Text, nullable=False, comment="intent, ok, error or cancelled; intent at the end: unknown."),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("attempts", Integer),
    Column("cached", SmallInteger),
    Column("result_size", BigInteger, comment="Characters of the text for the model."),
    Column("displays", Integer, comment="Number of displays."),
    Column("intent_at", BigInteger),
    Column("finished_at", BigInteger),
)

Table(
    "usage",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False, comment="That of the model request."),
    Column("turn", Integer, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cost_micros", BigInteger, comment="Millionths of a US dollar; NULL if not known."),
    Column("estimated", SmallInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
    "executors",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("lease_until", BigInteger, nullable=False, comment="After it, its runs count as interrupted."),
)

Table(
    "writer_gaps",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("from_at", BigInteger, nullable=False),
    Column("to_at", BigInteger, nullable=False),
    Column("dropped", BigInteger, nullable=False, comment="Number of records that were lost."),
    Column("reason", Text, nullable=False),
    Index("ix_writer_gaps_to_at", "to_at"),
)

Table(
    "tenants",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("limits", Text, nullable=False, comment="JSON: what all its keys together may use."),
    Column("created_at", BigInteger, nullable=False),
)

Table(
    "api_keys",
    METADATA,
    Column("id", Text, primary_key=True, comment="The part of the key by which it is found; no secret."),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("hmac", Text, nullable=False, comment="HMAC-SHA256 of the key, with the pepper, which is not here."),
    Column("terms", Text, nullable=False, comment="JSON: scopes, models, tools, limits, events."),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Index("ix_api_keys_tenant", "tenant"),
)

Table(
    "access_settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False, comment="Of `pepper`: an HMAC by which it is known again."),
)

Table(
    "quota_ledger",
    METADATA,
    Column("id", Text, primary_key=True, comment="Of a request and an account, or of an account's hour."),
    Column("account", Text, nullable=False, comment="key:NAME or tenant:NAME."),
    Column("hour", BigInteger, nullable=False, comment="Hours since 1970."),
    Column("tokens", BigInteger, nullable=False),
    Column("cost_micros", BigInteger, nullable=False, comment="Millionths of a US dollar."),
    Column("state", SmallInteger, nullable=False, comment="0: reserved, 1: settled, 2: sum of an hour."),
    Column("expires_at", BigInteger, nullable=False, comment="When what is reserved and not settled counts no more."),
    Index("ix_quota_ledger_account", "account", "hour"),
)

Table(
    "admin_audit",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False, comment="The name of the key, or the person at the command line."),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="The id of a key, or the name of a tenant."),
    Column("details", Text, nullable=False, comment="JSON without secrets."),
)
