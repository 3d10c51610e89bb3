"""`GET /openapi.json`: the routes as a document, from the table of the operations.

A test holds it against the routes there are, and another one sends the running gateway what the document allows, and
what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import xmcp
from xmcp.gateway.http import openapi_schemas as schemas
from xmcp.gateway.http import openapi_stored_schemas as stored
from xmcp.gateway.http.doorkeeper import OPEN_PATHS
from xmcp.gateway.http.openapi_operations import JSON, OPERATIONS, Operation
from xmcp.gateway.http.scopes import SCOPE_OF, scope_of

_DOOR: Final = {
    401: "No key of this gateway, or it is not valid any more.",
    403: "The key does not have the scope: `missing_scope`.",
    421: "Without keys: not a name of this machine.",
    429: "More requests in a minute than the key, or its tenant, may make: see `retry-after`.",
    503: "Whose key it is cannot be found out now: `auth_unavailable`. Or the process that the request is for "
    "does not answer: `worker_unavailable`.",
}
_BODILESS: Final = (204, 304)
_ROUTES: Final = {path.replace(":path", ""): path for path in SCOPE_OF}
"""The paths as routes have them, by how OpenAPI writes them."""


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
        "paths": paths,
        "components": {
            "schemas": {"Error": schemas.ERROR, "Limits": stored.LIMITS},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    is_open = operation.path in OPEN_PATHS
    content = {kind: {} if schema is None else {"schema": schema} for kind, schema in operation.answers.items()}
    answers: dict[int, Any] = {}
    for status, when in operation.done.items():
        answers[status] = {"description": when, **({} if status in _BODILESS else {"content": content})}
    error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    # `/readyz` says in its own words that the gateway stops.
    failed = {JSON: {"schema": schemas.STATUS}} if is_open else error
    for status, when in _refusals(operation, {} if is_open else _DOOR).items():
        answers[status] = {"description": when, "content": failed}
    responses = {str(status): answer for status, answer in sorted(answers.items())}
    scope = scope_of(operation.method.upper(), _ROUTES.get(operation.path, operation.path))
    needs = [] if is_open else [{"key": [scope]}, {}]
    told: dict[str, Any] = {"summary": operation.summary, "responses": responses, "security": needs}
    in_path = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path]
    for place, schema in operation.parameters.items():
        where, _, name = place.partition(" ")
        parameters.append({"name": name, "in": where, "required": False, "schema": schema})
    if parameters:
        told["parameters"] = parameters
    if operation.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": operation.body}}}
    return told


def _refusals(operation: Operation, door: Mapping[int, str]) -> dict[int, str]:
    """Return the statuses of refusals: the operation's own, and those of what is before it, which may be the same."""
    statuses = {**door, **operation.refusals}
    return {
        status: " ".join(whose[status] for whose in (operation.refusals, door) if status in whose)
        for status in statuses
    }
