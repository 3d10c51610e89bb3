"""JSON Schemas of the bodies that the routes take and give, for the OpenAPI document. A caller may send `null` for any
member that need not be there."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, get_args

from xmcp.chat.messages import ROLES
from xmcp.chat.sampler_config import ReasoningEffort
from xmcp.gateway.http.chats import MAX_SESSION_ID

Schema: TypeAlias = dict[str, Any]


def optional(kind: str, **more: Any) -> Schema:
    """Return a schema of a type or `null`."""
    if "enum" in more:
        more["enum"] = [*more["enum"], None]
    return {"type": [kind, "null"], **more}


def closed(needed: Schema, **others: Schema) -> Schema:
    """Return a schema of an object that has `needed`, may have `others`, and has nothing else."""
    return {**open_(needed, **others), "additionalProperties": False}


def open_(needed: Schema, **others: Schema) -> Schema:
    """Return a schema of an object that has `needed`, may have `others`, and may have more."""
    return {"type": "object", "required": [*needed], "properties": {**needed, **others}}


def list_of(items: Schema, **more: Any) -> Schema:
    """Return a schema of a list."""
    return {"type": "array", "items": items, **more}


STRING: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
INTEGER: Final[Schema] = {"type": "integer"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object"}

ERROR: Final = closed(
    {"error": closed({"message": STRING, "type": STRING, "param": optional("string"), "code": optional("string")})}
)
"""That of OpenAI, with every error status of every route."""

_PARTS: Final = list_of(OBJECT)
_MESSAGE: Final = open_(
    {"role": {"enum": sorted(ROLES)}},
    content={"oneOf": [STRING, _PARTS, {"type": "null"}]},
)
_MESSAGES: Final = list_of(_MESSAGE, minItems=1, description="In OpenAI's format; the last one is the user's.")
_SESSION: Final = optional("string", maxLength=MAX_SESSION_ID, description="Your id of the conversation.")
_SAMPLER: Final = {
    "temperature": optional("number", minimum=0, maximum=2),
    "top_p": optional("number", minimum=0, maximum=1),
    "max_tokens": optional("integer", minimum=1),
    "stop": {"oneOf": [{"type": ["string", "null"], "minLength": 1}, list_of({**STRING, "minLength": 1})]},
    "seed": optional("integer"),
    "reasoning_effort": optional("string", enum=[*get_args(ReasoningEffort)]),
}

CHAT: Final = {
    **closed(
        {},
        input=optional("string", description="What the user says: short for a last message of the user."),
        messages={**_MESSAGES, "type": ["array", "null"], "minItems": 0},
        model=optional("string", description="One of GET /v1/models; left out: the first."),
        system=optional("string", description="Instructions, before the messages."),
        tools={"type": ["array", "null"], "items": STRING, "description": "Those that may be called; left out: all."},
        max_turns=optional("integer", minimum=1),
        session_id=_SESSION,
        deadline_ms=optional("integer", minimum=1),
        history=optional("boolean", description="Whether the answer has all messages."),
        **_SAMPLER,
    ),
    "example": {"input": "How much was sold?"},
}

COMPLETION_REQUEST: Final = {
    **open_(
        {"model": STRING, "messages": _MESSAGES},
        stream=optional("boolean"),
        stream_options=optional("object", properties={"include_usage": optional("boolean")}),
        max_completion_tokens=optional("integer", minimum=1),
        n=optional("integer", enum=[1]),
        metadata=optional("object"),
        response_format=optional("object"),
        tool_choice={"description": '"none": no tools are called.'},
        **_SAMPLER,
    ),
    "example": {"model": "assistant", "messages": [{"role": "user", "content": "How much was sold?"}]},
}

AI_SDK: Final = {
    **open_(
        {"messages": list_of(open_({"role": STRING, "parts": list_of(OBJECT)}), minItems=1)},
        id=_SESSION,
        model=optional("string"),
    ),
    "example": {"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
}

AG_UI: Final = {
    **open_(
        {"threadId": {**STRING, "maxLength": MAX_SESSION_ID}, "runId": STRING, "messages": list_of(OBJECT, minItems=1)},
        tools=optional("array", maxItems=0),
        forwardedProps={},
    ),
    "example": {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "1", "role": "user", "content": "hi"}],
        "tools": [],
        "state": {},
        "context": [],
        "forwardedProps": {},
    },
}

_TOOL_USED: Final = open_(
    {"call_id": STRING, "tool": STRING, "status": {"enum": ["running", "ok", "error"]}},
    server=STRING,
    ms=NUMBER,
    cached=BOOLEAN,
    code=STRING,
)
_COUNT: Final = optional("integer", minimum=0)
_USAGE: Final = open_({"input_tokens": _COUNT, "output_tokens": _COUNT}, cost_usd=optional("number"))
_USAGE_OR_NONE: Final = {"oneOf": [_USAGE, {"type": "null"}]}

ANSWER: Final = closed(
    {
        "run_id": STRING,
        "model": STRING,
        "status": {"const": "finished"},
        "answer": optional("string"),
        "displays": list_of(OBJECT),
        "tools_used": list_of(_TOOL_USED),
        "usage": _USAGE_OR_NONE,
        "stop_reason": optional("string"),
        "latency_ms": NUMBER,
    },
    history=list_of(_MESSAGE),
)

RUN: Final = closed(
    {
        "run_id": STRING,
        "model": STRING,
        "created": INTEGER,
        "status": {"enum": ["running", "finished", "error", "cancelled", "interrupted"]},
        "step": INTEGER,
        "segments": list_of({"oneOf": [closed({"text": STRING}), closed({"display": OBJECT})]}),
        "answer": optional("string"),
        "tools_used": list_of(_TOOL_USED),
        "usage": _USAGE_OR_NONE,
        "stop_reason": optional("string"),
        "error": optional("object"),
        "latency_ms": optional("number"),
        "last_event_id": STRING,
    }
)

_MODEL: Final = closed(
    {"id": STRING, "object": {"const": "model"}, "created": INTEGER, "owned_by": STRING},
)
MODEL: Final = _MODEL
MODELS: Final = closed({"object": {"const": "list"}, "data": list_of(_MODEL)})

COMPLETION: Final = open_(
    {
        "id": STRING,
        "object": {"const": "chat.completion"},
        "created": INTEGER,
        "model": STRING,
        "choices": list_of(
            closed(
                {
                    "index": INTEGER,
                    "message": open_({"role": {"const": "assistant"}, "content": optional("string")}),
                    "finish_reason": STRING,
                    "logprobs": {"type": "null"},
                }
            ),
            minItems=1,
            maxItems=1,
        ),
        "usage": open_({"prompt_tokens": INTEGER, "completion_tokens": INTEGER, "total_tokens": INTEGER}),
    },
    xmcp=OBJECT,
)

_SERVERS: Final = list_of(closed({"name": STRING, "connected": BOOLEAN, "tools": INTEGER}))
TOOLS: Final = closed({"tools": list_of(open_({"name": STRING})), "servers": _SERVERS, "hash": STRING})
TOOL_CHANGES: Final = closed(
    {
        "added": list_of(STRING),
        "removed": list_of(STRING),
        "changed": list_of(STRING),
        "total": INTEGER,
        "servers": _SERVERS,
    }
)
HEALTH: Final = open_(
    {
        "status": {"enum": ["ok", "degraded", "draining"]},
        "uptime_seconds": NUMBER,
        "runs": closed({"running": INTEGER, "waiting": INTEGER}),
        "servers": _SERVERS,
        "models": list_of(STRING),
    },
    audit=OBJECT,
)
STATUS: Final = closed({"status": STRING})

_AT: Final[Schema] = {"type": "string", "description": "A time in UTC, by ISO 8601."}
USAGE_ROW: Final = closed(
    {
        "begins_at": _AT,
        "tenant": optional("string"),
        "model": optional("string"),
        "runs": INTEGER,
        "model_calls": INTEGER,
        "input_tokens": _COUNT,
        "output_tokens": _COUNT,
        "cached_tokens": _COUNT,
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
CACHE: Final = closed({"hits": INTEGER, "misses": INTEGER, "writes": INTEGER, "hit_rate": NUMBER})


def report_of(row: Schema) -> Schema:
    """Return the schema of a report."""
    by: Schema = {"enum": ["day", "hour"]}
    return closed({"since": _AT, "until": _AT, "by": by, "rows": list_of(row), "truncated": BOOLEAN})
