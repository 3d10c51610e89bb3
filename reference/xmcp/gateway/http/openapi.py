"""`GET /openapi.json`: the routes as a document. `OPERATIONS` is a table; a test holds it against the routes there are,
and another one sends the running gateway what the document allows, and what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import xmcp
from xmcp.gateway.http import openapi_schemas as schemas
from xmcp.gateway.http.openapi_schemas import Schema
from xmcp.gateway.runs.retries import MAX_KEY_CHARACTERS

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_NO_KEY: Final = {401: "No key of this gateway."}
_DOOR: Final = {**_NO_KEY, 421: "Without keys: not a name of this machine."}
_BODY: Final = {
    400: "The body, or a member of it, is wrong: `param` says which.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not JSON, or compressed.",
}
_CHAT: Final = {
    **_BODY,
    404: "No such model.",
    409: "The `Idempotency-Key` came with another body before.",
    429: "Too many chats, or the limit of the model: see `retry-after`.",
    499: "The chat was cancelled.",
    500: "The chat failed.",
    502: "The model does not take the gateway's key.",
    503: "The gateway is stopping, or the model cannot be reached.",
    504: "The chat took too long.",
}
_NO_RUN: Final = {404: "No such run, or it is not kept any more."}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        method: Of HTTP, in small letters.
        path: A template, as OpenAPI writes it.
        summary: What it does, for people.
        answers: The body of an answer with the status 200, by its media type; `None`: it is not JSON.
        body: What the request must have; `None`: nothing.
        refusals: Further statuses, and when they come. A body, if any, is that of an error.
        empty: Statuses of answers without a body.
        parameters: Of query and headers, by `query NAME` or `header NAME`.
        is_open: Whether it needs no key.
    """

    method: str
    path: str
    summary: str
    answers: Mapping[str, Schema | None]
    body: Schema | None = None
    refusals: Mapping[int, str] = field(default_factory=dict)
    empty: Mapping[int, str] = field(default_factory=dict)
    parameters: Mapping[str, Schema] = field(default_factory=dict)
    is_open: bool = False


def _json(schema: Schema) -> Mapping[str, Schema | None]:
    return {JSON: schema}


_STREAM: Final[Mapping[str, Schema | None]] = {EVENTS: None}
_RETRIES: Final = {"header Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS}}
_TIME: Final = {"type": "string", "description": "Such as 2026-11-30 or 2026-11-30T12:00:00Z."}
_REPORT: Final = {
    400: "A parameter is wrong, or the time is too long.",
    409: "This gateway records no chats.",
    429: "A report is being read for your tenant, or too many are.",
    503: "The database cannot be read, or takes too long.",
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
        empty={204: "The run has ended, and nothing follows that place."},
        parameters={"header Last-Event-ID": _EVENT_ID, "query after": _EVENT_ID},
    ),
    Operation("post", "/runs/{run_id}/cancel", "End a run.", _json(schemas.RUN), refusals=_NO_RUN),
    Operation(
        "get",
        "/tools",
        "What the model is offered, and which servers are connected.",
        _json(schemas.TOOLS),
        empty={304: "As `If-None-Match` says."},
        parameters={"header If-None-Match": schemas.STRING},
    ),
    Operation("post", "/tools/refresh", "List the tools again, and see what changed.", _json(schemas.TOOL_CHANGES)),
    Operation("get", "/health", "How the gateway is.", _json(schemas.HEALTH)),
    Operation("get", "/livez", "200 while the process answers.", _json(schemas.STATUS), is_open=True),
    Operation(
        "get",
        "/readyz",
        "200 while new chats are taken.",
        _json(schemas.STATUS),
        refusals={503: "The gateway is stopping."},
        is_open=True,
    ),
    *(
        Operation(
            "get",
            f"/analytics/{name}",
            summary,
            _json(schemas.report_of(row)),
            refusals=_REPORT,
            parameters={"query since": _TIME, "query until": _TIME, "query by": {"enum": ["day", "hour"]}},
        )
        for name, summary, row in (
            ("usage", "Runs, requests to models, tokens and cost, by time, tenant and model.", schemas.USAGE_ROW),
            ("tools", "Calls of tools, how they ended and how long they took.", schemas.TOOLS_ROW),
            ("errors", "What failed, and why.", schemas.ERRORS_ROW),
        )
    ),
    Operation("get", "/cache/stats", "How often the cache had an answer.", _json(schemas.CACHE), refusals=_NO_CACHE),
    Operation("delete", "/cache", "Forget your tenant's answers of tools.", _json(schemas.STATUS), refusals=_NO_CACHE),
    Operation("get", "/openapi.json", "This document.", _json(schemas.OBJECT)),
    Operation(
        "post",
        "/ui/ai-sdk",
        "A chat of `useChat` of the AI SDK, as a UI message stream.",
        _STREAM,
        schemas.AI_SDK,
        _CHAT,
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
    Operation("get", "/v1/models", "The models.", _json(schemas.MODELS)),
    Operation("get", "/v1/models/{model}", "One model.", _json(schemas.MODEL), refusals={404: "No such model."}),
)


def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "XMCP gateway",
            "version": xmcp.__version__,
            "description": "A model together with the tools of your servers. Errors have the shape of OpenAI's.",
        },
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": {"Error": schemas.ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    refusals = {**({} if operation.is_open else _DOOR), **operation.refusals}
    content = {kind: {} if schema is None else {"schema": schema} for kind, schema in operation.answers.items()}
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    for status, when in operation.empty.items():
        answers[str(status)] = {"description": when}
    error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    # `/readyz` says in its own words that the gateway stops.
    failed = {JSON: {"schema": schemas.STATUS}} if operation.is_open else error
    for status, when in refusals.items():
        answers[str(status)] = {"description": when, "content": failed}
    told: dict[str, Any] = {"summary": operation.summary, "responses": dict(sorted(answers.items()))}
    in_path = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path]
    for place, schema in operation.parameters.items():
        where, _, name = place.partition(" ")
        parameters.append({"name": name, "in": where, "required": False, "schema": schema})
    if parameters:
        told["parameters"] = parameters
    if operation.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": operation.body}}}
    if operation.is_open:
        told["security"] = []
    return told
