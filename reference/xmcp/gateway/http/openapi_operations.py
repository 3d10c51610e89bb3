"""The operations of the gateway as a table, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from xmcp.gateway.access import key_store
from xmcp.gateway.http import admin_routes, pages
from xmcp.gateway.http import openapi_schemas as schemas
from xmcp.gateway.http import openapi_stored_schemas as stored
from xmcp.gateway.http.openapi_schemas import Schema
from xmcp.gateway.runs.retries import MAX_KEY_CHARACTERS

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_BODY: Final = {
    400: "The body, or a member of it, is wrong: `param` says which.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not JSON, or compressed.",
}
_CHAT: Final = {
    **_BODY,
    404: "No such model.",
    409: "The `Idempotency-Key` came with another body before, or a chat of the session runs.",
    429: "Too many chats, or the limit of the model, the key or the tenant: see `retry-after`.",
    499: "The chat was cancelled.",
    500: "The chat failed.",
    502: "The model does not take the gateway's key.",
    503: "The gateway is stopping, or the model cannot be reached.",
    504: "The chat took too long.",
}
_NO_RUN: Final = {404: "No such run, or it is not kept any more."}
_NO_RESPONSE: Final = {404: "No such response, or it is not kept any more."}
_NOT_ASKED: Final = "The run does not ask about this call, or has another answer."


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        method: Of HTTP, in small letters.
        path: A template, as OpenAPI writes it.
        summary: What it does, for people.
        answers: The body where it is done, by its media type; `None`: it is not JSON.
        body: What the request must have; `None`: nothing.
        done: The statuses where it is done, and what they say. 204 and 304 have no body.
        refusals: Further statuses, and when they come. Their body is that of an error.
        parameters: Of query and headers, by `query NAME` or `header NAME`.
    """

    method: str
    path: str
    summary: str
    answers: Mapping[str, Schema | None]
    body: Schema | None = None
    refusals: Mapping[int, str] = field(default_factory=dict)
    done: Mapping[int, str] = field(default_factory=lambda: {200: "Done."})
    parameters: Mapping[str, Schema] = field(default_factory=dict)


def _json(schema: Schema) -> Mapping[str, Schema | None]:
    return {JSON: schema}


_NO_BODY: Final[Mapping[str, Schema | None]] = {}
_GONE: Final = {204: "Done."}
_STREAM: Final[Mapping[str, Schema | None]] = {EVENTS: None}
_RETRIES: Final = {"header Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS}}
_TIME: Final = {"type": "string", "description": "Such as 2026-11-30 or 2026-11-30T12:00:00Z."}
_REPORT: Final = {
    400: "A parameter is wrong, or the time is too long.",
    501: "This gateway records no chats.",
    429: "A report is being read for your tenant, or too many are.",
    503: "The database cannot be read, or takes too long.",
}
_ARCHIVE: Final = {
    429: "Too many read what is recorded.",
    503: "What is recorded cannot be read or changed at the moment.",
}
_RECORDED: Final = {**_ARCHIVE, 501: "This gateway records no chats."}
_NO_SESSION: Final = {404: "No such session, or it is not remembered any more."}
_NO_CONVERSATION: Final = {404: "No such conversation."}
_KEYS: Final = {
    404: "This gateway has no database of keys.",
    503: "The database of keys does not answer.",
}
_NOT_FOUND: Final = {**_KEYS, 404: "Not found, or this gateway has no database of keys."}
_WRONG_PAGE: Final = {400: "A parameter is wrong: `param` says which."}
_PAGE: Final = {
    "query limit": {"type": "integer", "minimum": 1, "maximum": pages.MOST},
    "query cursor": {"type": "string", "maxLength": pages.MAX_CURSOR, "description": "`next` of the page before."},
}
_PAGE_AFTER: Final = {
    "query limit": {"type": "integer", "minimum": 1, "maximum": key_store.PAGE},
    "query after": {
        "type": "string",
        "maxLength": admin_routes.MAX_CURSOR,
        "description": "`next` of the page before.",
    },
}
_NO_CACHE: Final = {409: "This gateway keeps no answers of tools."}
_EVENT_ID: Final = {"type": "string", "pattern": "^run_[0-9a-f]{32}:[0-9]{1,9}:[0-9]{1,9}$"}

OPERATIONS: Final = (
    Operation(
        "post",
        "/chat",
        "One chat: the answer in one piece, or its events with `Accept: text/event-stream`.",
        {JSON: schemas.ANSWER, EVENTS: None},
        schemas.CHAT,
        _CHAT,
        parameters=_RETRIES,
    ),
    Operation("get", "/runs/{run_id}", "What has come of a run so far.", _json(schemas.RUN), refusals=_NO_RUN),
    Operation(
        "get",
        "/runs/{run_id}/events",
        "The events of a run after a place.",
        _STREAM,
        refusals={**_NO_RUN, 400: "Not the id of an event of this run.", 429: "Too many readers of this run."},
        done={200: "The events.", 204: "The run has ended, and nothing follows that place."},
        parameters={"header Last-Event-ID": _EVENT_ID, "query after": _EVENT_ID},
    ),
    Operation("post", "/runs/{run_id}/cancel", "End a run.", _json(schemas.RUN), refusals=_NO_RUN),
    Operation(
        "post",
        "/runs/{run_id}/input",
        "Answer the question of a run whether a call may be made.",
        _json(schemas.RUN),
        schemas.INPUT,
        {**_BODY, **_NO_RUN, 409: _NOT_ASKED},
    ),
    Operation(
        "get",
        "/sessions",
        "The sessions in memory; what was used last comes first.",
        _json(stored.SESSIONS),
        refusals=_WRONG_PAGE,
        parameters=_PAGE,
    ),
    Operation(
        "get",
        "/sessions/{session_id}",
        "What the model of the session's next chat will be told.",
        _json(stored.SESSION),
        refusals={**_ARCHIVE, **_NO_SESSION},
    ),
    Operation(
        "delete",
        "/sessions/{session_id}",
        "Forget a session.",
        _NO_BODY,
        refusals={**_ARCHIVE, **_NO_SESSION, 409: "A chat of the session runs."},
        done=_GONE,
    ),
    Operation(
        "get",
        "/conversations",
        "Your tenant's recorded conversations; what was used last comes first.",
        _json(stored.CONVERSATIONS),
        refusals={**_RECORDED, **_WRONG_PAGE},
        parameters=_PAGE,
    ),
    Operation(
        "get",
        "/conversations/{conversation_id}",
        "The messages of a conversation, and a page of its runs, the newest first.",
        _json(stored.CONVERSATION),
        refusals={**_RECORDED, **_WRONG_PAGE, **_NO_CONVERSATION},
        parameters=_PAGE,
    ),
    Operation(
        "delete",
        "/conversations/{conversation_id}",
        "Delete a conversation, with everything that is recorded of it.",
        _NO_BODY,
        refusals={**_RECORDED, **_NO_CONVERSATION, 409: "A run of the conversation goes on."},
        done=_GONE,
    ),
    Operation(
        "get",
        "/conversations/{conversation_id}/replay",
        "A page of a conversation's model calls, each with what it received that was new.",
        _json(stored.REPLAY),
        refusals={**_RECORDED, **_WRONG_PAGE, **_NO_CONVERSATION},
        parameters=_PAGE,
    ),
    Operation(
        "get",
        "/tools",
        "What the model is offered, and which servers are connected.",
        _json(schemas.TOOLS),
        done={200: "Done.", 304: "As `If-None-Match` says."},
        parameters={"header If-None-Match": schemas.STRING},
    ),
    Operation("post", "/tools/refresh", "List the tools again, and see what changed.", _json(schemas.TOOL_CHANGES)),
    Operation("get", "/health", "How the gateway is.", _json(schemas.HEALTH)),
    Operation("get", "/livez", "200 while the process answers.", _json(schemas.STATUS)),
    Operation(
        "get",
        "/readyz",
        "200 while new chats are taken.",
        _json(schemas.STATUS),
        refusals={503: "The gateway is stopping, or cannot record chats and `[audit] required` is set."},
    ),
    *(
        Operation(
            "get",
            f"/analytics/{name}",
            summary,
            _json(stored.report_of(row)),
            refusals=_REPORT,
            parameters={"query since": _TIME, "query until": _TIME, "query by": {"enum": ["day", "hour"]}},
        )
        for name, summary, row in (
            ("usage", "Runs, requests to models, tokens and cost, by time, tenant and model.", stored.USAGE_ROW),
            ("tools", "Calls of tools, how they ended and how long they took.", stored.TOOLS_ROW),
            ("errors", "What failed, and why.", stored.ERRORS_ROW),
        )
    ),
    Operation("get", "/cache/stats", "How often the cache had an answer.", _json(schemas.CACHE), refusals=_NO_CACHE),
    Operation(
        "delete",
        "/cache",
        "Forget your tenant's answers of tools.",
        _json(schemas.STATUS),
        refusals={**_NO_CACHE, 503: "Redis, which has them, does not answer."},
    ),
    Operation("get", "/openapi.json", "This document.", _json(schemas.OBJECT)),
    Operation(
        "post",
        "/ui/ai-sdk",
        "A chat of `useChat` of the AI SDK, as a UI message stream.",
        _STREAM,
        schemas.AI_SDK,
        {**_CHAT, 404: "No such model, or no such run.", 409: f"{_CHAT[409]} Or an answer is too late: {_NOT_ASKED}"},
        parameters=_RETRIES,
    ),
    Operation("post", "/ui/ag-ui", "A run of an AG-UI client.", _STREAM, schemas.AG_UI, _CHAT, parameters=_RETRIES),
    Operation(
        "post",
        "/v1/chat/completions",
        "OpenAI's chat completions; the tools run inside.",
        {JSON: schemas.COMPLETION, EVENTS: None},
        schemas.COMPLETION_REQUEST,
        _CHAT,
        parameters=_RETRIES,
    ),
    Operation(
        "post",
        "/v1/responses",
        "A response of OpenAI's Responses API; the tools run inside.",
        {JSON: schemas.RESPONSE, EVENTS: None},
        schemas.RESPONSE_REQUEST,
        _CHAT,
        parameters=_RETRIES,
    ),
    Operation(
        "get",
        "/v1/responses/{response_id}",
        "A response that is kept, as far as it has come.",
        _json(schemas.RESPONSE),
        refusals={**_NO_RESPONSE, 400: "It is not streamed again here."},
        parameters={"query stream": {"type": "boolean"}},
    ),
    Operation(
        "post",
        "/v1/responses/{response_id}/cancel",
        "End the run of a response.",
        _json(schemas.RESPONSE),
        refusals=_NO_RESPONSE,
    ),
    Operation("get", "/v1/models", "The models.", _json(schemas.MODELS)),
    Operation("get", "/v1/models/{model}", "One model.", _json(schemas.MODEL), refusals={404: "No such model."}),
    Operation(
        "get",
        "/admin/tenants",
        "The tenants, by name.",
        _json(stored.TENANTS),
        refusals={**_KEYS, **_WRONG_PAGE},
        parameters=_PAGE_AFTER,
    ),
    Operation(
        "post",
        "/admin/tenants",
        "Add a tenant, or set the limits of one.",
        _json(stored.TENANT),
        stored.TENANT_BODY,
        {**_BODY, **_KEYS, 409: "A tenant of this name was deleted."},
        {200: "The tenant has these limits now.", 201: "The tenant is new."},
    ),
    Operation(
        "delete",
        "/admin/tenants/{name}",
        "Delete a tenant and revoke its keys, for good.",
        _NO_BODY,
        refusals=_NOT_FOUND,
        done=_GONE,
    ),
    Operation(
        "get",
        "/admin/keys",
        "The keys, by id; never the keys themselves.",
        _json(stored.KEYS),
        refusals={**_KEYS, **_WRONG_PAGE},
        parameters={**_PAGE_AFTER, "query tenant": admin_routes.NAME_SCHEMA},
    ),
    Operation(
        "post",
        "/admin/keys",
        "Make a key. The answer is the only place where it ever stands.",
        _json(stored.NEW_KEY),
        stored.KEY_BODY,
        {**_BODY, **_NOT_FOUND, 409: "The tenant has as many keys as it can have."},
        {201: "The key."},
    ),
    Operation(
        "patch",
        "/admin/keys/{key_id}",
        "Set the limits of a key.",
        _json(stored.KEY),
        stored.LIMITS_BODY,
        {**_BODY, **_NOT_FOUND},
    ),
    Operation("delete", "/admin/keys/{key_id}", "Revoke a key.", _NO_BODY, refusals=_NOT_FOUND, done=_GONE),
    Operation(
        "get",
        "/admin/audit",
        "Which tenants and keys were changed, and by whom.",
        _json(stored.CHANGES),
        refusals={**_KEYS, **_WRONG_PAGE},
        parameters=_PAGE_AFTER,
    ),
)
