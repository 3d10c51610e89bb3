"""What the processes of a gateway ask each other beside the requests of callers: how often an account asks, and that
keys were changed. These routes are there for no connection from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from xmcp.gateway.access.access import Access
from xmcp.gateway.access.rates import Rate, TooFast
from xmcp.gateway.http.gathering import TELLING
from xmcp.gateway.http.refusals import json_response
from xmcp.gateway.runs.request import Caller
from xmcp.gateway.workers.connections import headers_as_they_came, is_from_peer
from xmcp.gateway.workers.peers import PeerGone, Peers

PREFIX: Final = "/_workers/"
_RATES: Final = f"{PREFIX}rates"
_KEYS: Final = f"{PREFIX}keys"

RATE_SECONDS: Final = 0.5
"""How long the process that counts an account may take; then a request is counted in the one that it came to."""


async def count_request(request: Request, access: Access, caller: Caller) -> TooFast | None:
    """Count a request of a caller; return why it is one too many.

    All processes together count exactly: those of a tenant, and of its keys, are counted by one of them.
    """
    rates, peers = access.rates_of(caller), request.app.state.peers
    if rates and peers is not None:
        home = peers.place.home_of(f"tenant:{caller.tenant}")
        if home != peers.place.number:
            try:
                return await _counted_by(peers, home, rates)
            except PeerGone:
                pass  # whoever is asked next says so
    return access.count_request(rates)


async def forget_keys(request: Request, **which: str) -> None:
    """Have the next request of a key (`key_id`), or of a `tenant`'s keys, see what was changed, in all processes."""
    _access_of(request).forget(**which)
    peers: Peers | None = request.app.state.peers
    if peers is not None:
        await peers.values_of_all("POST", _KEYS, body=orjson.dumps(which), seconds=TELLING)


class ForWorkers:
    """An ASGI application before another one, which answers the other processes, and reads what they hand on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: ASGIApp = app
        self._routes: ASGIApp = Router(
            [Route(_RATES, _count, methods=["POST"]), Route(_KEYS, _forget, methods=["POST"])]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        app = self._app
        if scope["type"] == "http" and is_from_peer(scope):
            scope["headers"] = headers_as_they_came(scope)
            app = self._routes if scope["path"].startswith(PREFIX) else app
        await app(scope, receive, send)


async def _counted_by(peers: Peers, home: int, rates: Sequence[Rate]) -> TooFast | None:
    body = orjson.dumps([astuple(rate) for rate in rates])
    found: Any = await peers.value_of(home, "POST", _RATES, body=body, seconds=RATE_SECONDS)
    return None if found is None else TooFast(Rate(*found["rate"]), found["wait"])


async def _count(request: Request) -> Response:
    rates = [Rate(*one) for one in orjson.loads(await request.body())]
    found = _access_of(request).count_request(rates)
    return json_response(None if found is None else {"rate": astuple(found.rate), "wait": found.wait})


async def _forget(request: Request) -> Response:
    _access_of(request).forget(**orjson.loads(await request.body()))
    return json_response({})


def _access_of(request: Request) -> Access:
    access: Access = request.app.state.gateway.access
    return access
