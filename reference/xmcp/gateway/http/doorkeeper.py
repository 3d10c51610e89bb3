"""Before every route: whose request it is. What is not open on purpose needs a key, if there are keys."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from xmcp.gateway.hosts import names_this_machine
from xmcp.gateway.http.refusals import Refused
from xmcp.gateway.keys import Keys

OPEN_PATHS: Final = frozenset({"/livez", "/readyz"})
"""For load balancers, which have no key. They say nothing but yes or no."""


class Doorkeeper:
    """An ASGI application that lets requests with a key through, and says in `scope["state"]["caller"]` whose it is."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            request = Request(scope)
            if (refusal := self._refusal(request)) is not None:
                await refusal.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> Refused | None:
        headers = request.headers
        if not self._keys.needed and not names_this_machine(headers.get("host", "")):
            # Without keys, a web page could otherwise reach the gateway by a name of its own that leads here.
            told = "A gateway without keys answers only to localhost. Configure [[keys]] for other names."
            return Refused(421, told, "misdirected_request")
        caller = self._keys.caller(headers.get("authorization"))
        if caller is None:
            told = "Send a key of this gateway: Authorization: Bearer KEY."
            return Refused(401, told, "invalid_api_key", headers={"www-authenticate": "Bearer"})
        request.state.caller = caller
        return None
