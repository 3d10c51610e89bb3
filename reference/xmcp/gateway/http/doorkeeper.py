"""Before every route: whose request it is, and whether it is one too many in a minute.

What is not open on purpose needs a key, if there are keys.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from xmcp.gateway.access.access import Access
from xmcp.gateway.access.database_thread import DatabaseDown
from xmcp.gateway.access.stored_keys import KeyRefused
from xmcp.gateway.hosts import names_this_machine
from xmcp.gateway.http.refusals import Refused, wait_headers
from xmcp.gateway.http.worker_routes import count_request
from xmcp.gateway.workers.connections import is_from_peer

OPEN_PATHS: Final = frozenset({"/livez", "/readyz"})
"""For load balancers, which have no key. They say nothing but yes or no."""


_ONCE: Final = frozenset({b"authorization", b"content-type", b"host", b"idempotency-key", b"last-event-id"})
_ONCE_IN_WORDS: Final = ", ".join(sorted(name.decode() for name in _ONCE))


class Doorkeeper:
    """An ASGI application that lets requests with a key through, and says in `scope["state"]["caller"]` whose it is."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            request = Request(scope)
            if (refusal := await self._refusal(request)) is not None:
                await refusal.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, request: Request) -> Refused | None:
        headers = request.headers
        names = [name for name, _ in headers.raw if name in _ONCE]
        if len(names) > len({*names}):
            # A proxy that reads the first and a gateway that reads the last would take one request for two.
            told = f"One of these headers is there twice, and must be there once: {_ONCE_IN_WORDS}."
            return Refused(400, told, "repeated_header")
        if not self._access.key_needed and not names_this_machine(headers.get("host", "")):
            # Without keys, a web page could otherwise reach the gateway by a name of its own that leads here.
            told = "A gateway without keys answers only to localhost. Configure [[keys]] for other names."
            return Refused(421, told, "misdirected_request")
        try:
            caller = await self._access.caller(headers.get("authorization"))
        except KeyRefused as error:
            return Refused(401, str(error), "invalid_api_key", headers={"www-authenticate": "Bearer"})
        except DatabaseDown as error:
            told = "Whose key this is cannot be found out at the moment. Try again."
            return Refused(503, told, "auth_unavailable", headers=wait_headers(error.retry_after))
        request.state.caller = caller
        if is_from_peer(request.scope):  # the process that handed it on has counted it
            return None
        too_fast = await count_request(request, self._access, caller)
        if too_fast is not None:
            rate = too_fast.rate
            told = f"More than {rate.per_minute:,} requests in a minute, which is the limit of {rate.whose}."
            return Refused(429, told, "rate_limit_exceeded", headers=wait_headers(too_fast.wait))
        return None
