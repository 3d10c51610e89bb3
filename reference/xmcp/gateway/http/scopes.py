"""Which scope of a key each route needs. A route that is not in the table needs `admin`.

A method stands before a path where it needs another scope than the path's other methods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.routing import Route

from xmcp.gateway.grants import Scope
from xmcp.gateway.http.chats import caller_of
from xmcp.gateway.http.doorkeeper import OPEN_PATHS
from xmcp.gateway.http.refusals import Refused

Handler: TypeAlias = Callable[[Request], Awaitable[Any]]

SCOPE_OF: Final[Mapping[str, Scope]] = {
    "/chat": "chat",
    "/v1/chat/completions": "chat",
    "/v1/responses": "chat",
    "/v1/responses/{response_id}": "chat",
    "/v1/responses/{response_id}/cancel": "chat",
    "/ui/ai-sdk": "chat",
    "/ui/ag-ui": "chat",
    # Whoever may chat can follow and stop what it began, and see what it can choose.
    "/runs/{run_id}": "chat",
    "/runs/{run_id}/events": "chat",
    "/runs/{run_id}/cancel": "chat",
    "/runs/{run_id}/input": "chat",
    "/sessions": "chat",
    "/sessions/{session_id:path}": "chat",
    "/v1/models": "chat",
    "/v1/models/{model:path}": "chat",
    "/conversations": "read",
    "/conversations/{conversation_id}": "read",
    # Who only reads deletes nothing: a conversation is what its session goes on from.
    "DELETE /conversations/{conversation_id}": "chat",
    "/conversations/{conversation_id}/replay": "read",
    "/tools": "read",
    "/tools/refresh": "read",
    "/health": "read",
    "/analytics/usage": "read",
    "/analytics/tools": "read",
    "/analytics/errors": "read",
    "/cache/stats": "read",
    "/cache": "chat",
    "/openapi.json": "read",
    "/admin/tenants": "admin",
    "/admin/tenants/{name}": "admin",
    "/admin/keys": "admin",
    "/admin/keys/{key_id}": "admin",
    "/admin/audit": "admin",
}


def scope_of(method: str, path: str) -> Scope:
    """Return the scope that a method of a route needs."""
    return SCOPE_OF.get(f"{method} {path}", SCOPE_OF.get(path, "admin"))


def guarded(route: Route) -> Route:
    """Return a route that refuses callers whose keys do not have its scope."""
    if route.path in OPEN_PATHS:
        return route
    handler: Handler = route.endpoint

    async def guard(request: Request) -> Any:
        scope = scope_of(request.method, route.path)
        if scope not in caller_of(request).grant.scopes:
            told = f"This key does not have the scope {scope!r}, which {request.url.path[:200]} needs."
            raise Refused(403, told, "missing_scope", scope)
        return await handler(request)

    return Route(route.path, guard, methods=list(route.methods or ()), name=route.name)
