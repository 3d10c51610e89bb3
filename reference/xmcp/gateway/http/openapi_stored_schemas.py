"""JSON Schemas of what the gateway's databases have, and of what administrators send: for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, get_args

from pydantic import BaseModel

from xmcp.gateway.grants import SCOPES, Limits, Profile
from xmcp.gateway.http.admin_routes import KeyBody, LimitsBody, TenantBody
from xmcp.gateway.http.openapi_schemas import (
    BOOLEAN,
    COUNT,
    INTEGER,
    OBJECT,
    STRING,
    Schema,
    closed,
    list_of,
    optional,
)

_IN_DOCUMENT: Final = "#/components/schemas/{model}"

_AT: Final[Schema] = {"type": "string", "description": "A time in UTC, by ISO 8601."}
USAGE_ROW: Final = closed(
    {
        "begins_at": _AT,
        "tenant": optional("string"),
        "model": optional("string"),
        "runs": INTEGER,
        "model_calls": INTEGER,
        "input_tokens": COUNT,
        "output_tokens": COUNT,
        "cached_tokens": COUNT,
        "cost_micros": optional("integer", description="Millionths of a US dollar; null if not known."),
    }
)
TOOLS_ROW: Final = closed(
    {
        "begins_at": _AT,
        "server": optional("string"),
        "tool": STRING,
        "calls": INTEGER,
        "ok": INTEGER,
        "errors": INTEGER,
        "cancelled": INTEGER,
        "cached": INTEGER,
        "mean_ms": optional("number"),
        "longest_ms": optional("integer"),
    }
)
ERRORS_ROW: Final = closed(
    {
        "begins_at": _AT,
        "what": {"enum": ["chat", "tool"]},
        "name": optional("string"),
        "code": STRING,
        "number": INTEGER,
        "last_at": _AT,
    }
)


def report_of(row: Schema) -> Schema:
    """Return the schema of a report."""
    by: Schema = {"enum": ["day", "hour"]}
    return closed({"since": _AT, "until": _AT, "by": by, "rows": list_of(row), "truncated": BOOLEAN})


_NEXT: Final = optional("string", description="Where the next page begins; null: this is the last one.")

_SESSION: Final = {"id": STRING, "message_count": INTEGER, "bytes": INTEGER, "used_at": _AT, "busy": BOOLEAN}
SESSIONS: Final = closed({"sessions": list_of(closed(_SESSION)), "next": _NEXT})
SESSION: Final = closed({**_SESSION, "messages": list_of(OBJECT)})

_AT_OR_NONE: Final = optional("string")
_CONVERSATION: Final = {"id": STRING, "session": optional("string"), "created_at": _AT, "last_run_at": _AT}
CONVERSATIONS: Final = closed(
    {"conversations": list_of(closed({**_CONVERSATION, "run_count": INTEGER})), "next": _NEXT}
)
_RUN: Final = closed(
    {
        "id": STRING,
        "status": STRING,
        "surface": optional("string"),
        "model": optional("string"),
        "finish_reason": optional("string"),
        "error_code": optional("string"),
        "error_message": optional("string"),
        "started_at": _AT,
        "first_event_at": _AT_OR_NONE,
        "finished_at": _AT_OR_NONE,
    }
)
CONVERSATION: Final = closed({**_CONVERSATION, "messages": list_of(OBJECT), "runs": list_of(_RUN), "next": _NEXT})
_MODEL_CALL: Final = closed(
    {
        "run_id": STRING,
        "attempt": INTEGER,
        "number": INTEGER,
        "turn": INTEGER,
        "provider": optional("string"),
        "model": optional("string"),
        "started_at": _AT_OR_NONE,
        "finished_at": _AT_OR_NONE,
        "complete": BOOLEAN,
        "altered": BOOLEAN,
        "same_messages": {**INTEGER, "description": "How many of the call before it are its first ones."},
        "messages": list_of(OBJECT),
        "answer": optional("object"),
        "finish_reason": optional("string"),
        "error_code": optional("string"),
        "error_message": optional("string"),
    },
    tools=optional("array", description="Left out: those of the call before it."),
)
REPLAY: Final = closed({"conversation": STRING, "model_calls": list_of(_MODEL_CALL), "next": _NEXT})


def _sent(kind: type[BaseModel], example: Any) -> Schema:
    schema = kind.model_json_schema(ref_template=_IN_DOCUMENT)
    schema.pop("$defs")  # `Limits`, which is a component of the document
    return {**schema, "example": example}


LIMITS: Final = Limits.model_json_schema()
TENANT_BODY: Final = _sent(TenantBody, {"name": "acme", "limits": {"requests_per_minute": 60}})
KEY_BODY: Final = _sent(KeyBody, {"tenant": "acme", "name": "front-end", "expires_in_days": 90})
LIMITS_BODY: Final = _sent(LimitsBody, {"limits": {"usd_per_month": 20}})

_LIMITS: Final = {"$ref": _IN_DOCUMENT.format(model="Limits")}
_TENANT: Final = {"name": STRING, "limits": _LIMITS}
TENANT: Final = closed(_TENANT)
TENANTS: Final = closed({"tenants": list_of(closed({**_TENANT, "created_at": _AT, "keys": INTEGER})), "next": _NEXT})
_KEY: Final = {
    "id": STRING,
    "tenant": STRING,
    "name": STRING,
    "scopes": list_of({"enum": [*SCOPES]}),
    "models": optional("array", items=STRING, description="null: all."),
    "tools": optional("array", items=STRING, description="null: all."),
    "limits": _LIMITS,
    "events": optional("string", enum=[*get_args(Profile)]),
    "created_at": _AT,
    "expires_at": _AT_OR_NONE,
    "revoked_at": _AT_OR_NONE,
}
KEY: Final = closed(_KEY)
NEW_KEY: Final = closed({"key": {**STRING, "description": "The key: it is shown here only."}, **_KEY})
KEYS: Final = closed({"keys": list_of(KEY), "next": _NEXT})
_CHANGE: Final = closed(
    {"id": STRING, "at": _AT, "actor": STRING, "action": STRING, "subject": STRING, "details": OBJECT}
)
CHANGES: Final = closed({"changes": list_of(_CHANGE), "next": _NEXT})
