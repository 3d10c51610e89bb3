"""JSON Schemas of the bodies that the routes take and give, for the OpenAPI document. A caller may send `null` for any
member that need not be there."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, get_args

from xmcp.chat.messages import ROLES
from xmcp.chat.sampler_config import ReasoningEffort
from xmcp.chat.tool_schemas import MAX_NAME
from xmcp.client.tools.external import MAX_TOOLS
from xmcp.gateway.decoders.fields import MAX_REASON
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
    tool_calls={"description": "Of the assistant: calls of your own tools; each needs its result after it."},
    tool_call_id={"description": "Of a result: the call that it is of."},
)
_LAST: Final = "In OpenAI's format; the last one is the user's, or the result of a tool of yours."
_MESSAGES: Final = list_of(_MESSAGE, minItems=1, description=_LAST)
_NAME_OF_TOOL: Final[Schema] = {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{1,{MAX_NAME}}}$"}
_TOOL: Final = {"description": optional("string"), "parameters": optional("object", description="A JSON Schema.")}
_OWN_TOOLS: Final = optional(
    "array",
    items=open_({"function": open_({"name": _NAME_OF_TOOL}, strict={}, **_TOOL)}, type={}),
    maxItems=MAX_TOOLS,
    description="Your own tools, in OpenAI's format: the chat ends with the calls, and you make them.",
)
_SESSION: Final = optional("string", maxLength=MAX_SESSION_ID, description="Your id of the conversation.")
_GOES_ON: Final = "Your id of the conversation; without `messages`, the chat goes on from what was said in it."
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
        client_tools=_OWN_TOOLS,
        max_turns=optional("integer", minimum=1),
        session_id=optional("string", minLength=1, maxLength=MAX_SESSION_ID, description=_GOES_ON),
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
        metadata=optional("object", properties={"conversation_id": {"description": "Your id of the conversation."}}),
        logprobs=optional("boolean", enum=[False]),
        functions=optional("array", maxItems=0, description="Use `tools`."),
        response_format=optional("object"),
        tools=_OWN_TOOLS,
        tool_choice={"description": "none, auto, required, or one of `tools`: which of them are called."},
        parallel_tool_calls=optional("boolean", description="false: at most one call of `tools` is left to you."),
        **_SAMPLER,
    ),
    "example": {"model": "assistant", "messages": [{"role": "user", "content": "How much was sold?"}]},
}

_ITEM: Final = open_({}, type=optional("string"), role={}, content={}, id={}, call_id={}, output={})
RESPONSE_REQUEST: Final = {
    **open_(
        {
            "model": STRING,
            "input": {"oneOf": [STRING, list_of(_ITEM)], "description": "What the user says, or all items so far."},
        },
        instructions=optional("string", description="Before the input; of this response only."),
        stream=optional("boolean"),
        store=optional("boolean", description="false: no request can go on from the response by its id."),
        previous_response_id=optional("string", description="The response from which the conversation goes on."),
        conversation={"description": "Your id of a conversation that the gateway remembers, or an object with it."},
        max_output_tokens=optional("integer", minimum=1),
        temperature=_SAMPLER["temperature"],
        top_p=_SAMPLER["top_p"],
        reasoning=optional("object", properties={"effort": _SAMPLER["reasoning_effort"]}),
        text=optional("object", properties={"format": optional("object")}),
        metadata=optional("object", properties={"conversation_id": {"description": "Your id of the conversation."}}),
        include=optional("array"),
        background={"description": "Cannot be true."},
        tools=optional(
            "array",
            items=open_({"type": {"const": "function"}, "name": _NAME_OF_TOOL}, strict={}, **_TOOL),
            maxItems=MAX_TOOLS,
            description="Your own tools: the response ends with the calls, and you make them.",
        ),
        tool_choice={"description": "none, auto, required, or one of `tools`: which of them are called."},
        parallel_tool_calls=optional("boolean", description="false: at most one call of `tools` is left to you."),
    ),
    "example": {"model": "assistant", "input": "How much was sold?"},
}

AI_SDK: Final = {
    **open_(
        {"messages": list_of(open_({"role": STRING, "parts": list_of(OBJECT)}), minItems=1)},
        id=_SESSION,
        model=optional("string"),
        tools=optional(
            "object",
            propertyNames=_NAME_OF_TOOL,
            additionalProperties=open_({}, inputSchema={"description": "In place of `parameters`."}, **_TOOL),
            maxProperties=MAX_TOOLS,
            description="The page's own tools, by their names.",
        ),
    ),
    "example": {"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
}

AG_UI: Final = {
    **open_(
        {"threadId": {**STRING, "maxLength": MAX_SESSION_ID}, "runId": STRING, "messages": list_of(OBJECT, minItems=1)},
        tools=optional("array", items=open_({"name": _NAME_OF_TOOL}, **_TOOL), maxItems=MAX_TOOLS),
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

INPUT: Final = {
    **open_({"call_id": STRING, "approve": BOOLEAN}, reason=optional("string", maxLength=MAX_REASON)),
    "example": {"call_id": "call_1", "approve": True},
}

_TOOL_USED: Final = open_(
    {"call_id": STRING, "tool": STRING, "status": {"enum": ["running", "ok", "error"]}},
    server=STRING,
    ms=NUMBER,
    cached=BOOLEAN,
    code=STRING,
)
_TOOL_CALLS: Final = list_of(
    closed({"call_id": STRING, "tool": STRING, "arguments": {}, "text": STRING}),
    description="The calls that are left to you, if `stop_reason` is tool_calls.",
)
_APPROVALS: Final = list_of(
    closed({"call_id": STRING, "tool": STRING, "arguments": {}, "reason": STRING}, server=STRING),
    description="The calls for which a person is asked at the moment.",
)
COUNT: Final = optional("integer", minimum=0)
_USAGE: Final = open_({"input_tokens": COUNT, "output_tokens": COUNT}, cost_usd=optional("number"))
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
        "tool_calls": _TOOL_CALLS,
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
        "approvals": _APPROVALS,
        "usage": _USAGE_OR_NONE,
        "stop_reason": optional("string"),
        "tool_calls": _TOOL_CALLS,
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

_CALL_OF_COMPLETION: Final = closed(
    {"id": STRING, "type": {"const": "function"}, "function": closed({"name": STRING, "arguments": STRING})}
)
_MESSAGE_OF_COMPLETION: Final = open_(
    {"role": {"const": "assistant"}, "content": optional("string")}, tool_calls=list_of(_CALL_OF_COMPLETION)
)
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
                    "message": _MESSAGE_OF_COMPLETION,
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

_OUTPUT_ITEM: Final = open_({"type": {"enum": ["message", "function_call"]}, "id": STRING, "status": STRING})
RESPONSE: Final = open_(
    {
        "id": STRING,
        "object": {"const": "response"},
        "created_at": INTEGER,
        "model": STRING,
        "status": {"enum": ["in_progress", "completed", "incomplete", "failed"]},
        "output": list_of(_OUTPUT_ITEM),
        "error": optional("object"),
        "incomplete_details": optional("object"),
        "usage": {
            "oneOf": [
                open_({"input_tokens": INTEGER, "output_tokens": INTEGER, "total_tokens": INTEGER}),
                {"type": "null"},
            ]
        },
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
        "backends": OBJECT,
    },
    audit=OBJECT,
    workers=closed({"count": INTEGER, "answering": INTEGER}),
)
STATUS: Final = closed({"status": STRING})
CACHE: Final = closed({"hits": INTEGER, "misses": INTEGER, "writes": INTEGER, "hit_rate": NUMBER})
