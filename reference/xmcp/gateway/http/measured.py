"""Around all routes and the doorkeeper: what became of each request, for the metrics.

A request that is handed on to another process counts in the one that it came to; there only its refusal does, since the
reason is known there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmcp.gateway.workers.connections import is_from_peer

if TYPE_CHECKING:
    from xmcp.gateway.metrics.counts import Counts


class Measured:
    """An ASGI application that counts the requests of another one."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self._counts, scope)
        begun = time.perf_counter()

        async def noting(message: Message) -> None:
            answer.note(message)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            # The application around this one answers it.
            answer.status = answer.status or 500
            raise
        finally:
            answer.ended(time.perf_counter() - begun)


class _Answer:
    def __init__(self, counts: Counts, scope: Scope) -> None:
        self._counts = counts
        self._scope = scope
        self.status = 0
        self._headers = Headers()
        self._streams = False
        self._whole = False

    def note(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._headers = Headers(raw=message.get("headers", ()))
            if self._headers.get("content-type", "").startswith("text/event-stream"):
                self._streams = True
                if not is_from_peer(self._scope):
                    self._counts.stream_begun()
        elif message["type"] == "http.response.body":
            self._whole = self._whole or not message.get("more_body", False)
            # A run that began has this header: what failed there was the model's limit, not the gateway's.
            handed_on = self._scope.get("state", {}).get("handed_on", False)
            if self.status == 429 and "xmcp-run-id" not in self._headers and not handed_on:
                self._refused(message.get("body", b""))

    def ended(self, seconds: float) -> None:
        scope = self._scope
        if is_from_peer(scope):
            return
        route = scope.get("route")
        # 499 is what is said of a client that left before its answer began.
        self._counts.request(getattr(route, "path", None), scope["method"], self.status or 499, seconds)
        if self._streams:
            reason = "slow" if scope.get("state", {}).get("stream_dropped") else "client_gone"
            self._counts.stream_ended(None if self._whole else reason)

    def _refused(self, body: bytes) -> None:
        error: Any = orjson.loads(body)["error"]
        caller = self._scope.get("state", {}).get("caller")
        self._counts.refused(None if caller is None else caller.tenant, error["code"])
