"""A request without a token learns how to get one, whichever HTTP method it has.

Without sessions FastMCP serves no GET at the endpoint and answers 405 before it asks for a token. Clients that look for
the authorization server with a GET would never see the `WWW-Authenticate` header (RFC 9728 section 5.1).
"""

from __future__ import annotations

import copy

from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import StarletteWithLifespan
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


def challenge_every_method(app: StarletteWithLifespan) -> None:
    """Ask for a token also where the method is refused; the answer with a token stays 405."""
    for route in list(app.router.routes):
        if isinstance(route, Route) and route.methods and isinstance(route.endpoint, RequireAuthMiddleware):
            challenge = copy.copy(route.endpoint)
            challenge.app = _refusing(", ".join(sorted(route.methods)))
            app.router.routes.append(Route(route.path, challenge))  # last: a route of the author comes first


def _refusing(methods: str) -> ASGIApp:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("Method Not Allowed", 405, {"Allow": methods})(scope, receive, send)

    return refuse
