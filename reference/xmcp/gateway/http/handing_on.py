"""Answers a request that belongs to another process with the answer of that one, byte for byte as it comes."""

from __future__ import annotations

import asyncio
import logging
import string
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from xmcp.client.loop.time_limit import TimeLimit
from xmcp.gateway.http.bodies import received
from xmcp.gateway.http.chats import gateway_of
from xmcp.gateway.http.event_stream import Abort, ClientGone, unless_gone
from xmcp.gateway.http.homes import Elsewhere, peers_of
from xmcp.gateway.http.refusals import Refused, wait_headers
from xmcp.gateway.http.traced import carried
from xmcp.gateway.workers.peers import PeerAnswer, PeerGone, Peers

_OF_A_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_ASKED_WITH: Final = _OF_A_CONNECTION | {b"content-length", b"expect", b"origin"}
"""What a web page may read is decided by the process that it called."""

_NOT_ANSWERED_WITH: Final = _OF_A_CONNECTION | {b"date", b"vary"}
"""Every process adds them to every answer."""

_AS_THEY_CAME: Final = string.punctuation.replace("#", "")

_log: Final = logging.getLogger("xmcp.gateway")


async def hand_on(request: Request, error: Exception) -> Any:
    """Return the response to a request that belongs to another process: a `HandedOn`.

    Raises:
        Refused: the body of the request cannot be read.
    """
    peers = peers_of(request)
    if not isinstance(error, Elsewhere) or peers is None:
        raise TypeError(f"{error!r} is not an Elsewhere")
    listen, body = gateway_of(request).config.listen, error.body
    # The error is kept until the response has ended, and with it all that was read and decoded: as long as a stream.
    error.body, error.__traceback__ = None, None
    if body is None:
        body = await received(request, listen.max_body_bytes, listen.body_seconds)
    return HandedOn(peers, error.worker, body, listen.send_seconds, request.app.state.abort)


def target_of(scope: Scope) -> str:
    """Return the path and the query of a request as they came."""
    path, query = quote(scope["raw_path"], _AS_THEY_CAME), quote(scope["query_string"], _AS_THEY_CAME)
    return f"{path}?{query}" if query else path


def headers_of(scope: Scope) -> list[tuple[str, str]]:
    """Return the headers with which a request is handed on; `workers.connections` reads them there."""
    kept = [(name, value) for name, value in scope["headers"] if name not in _NOT_ASKED_WITH]
    return carried([(name.decode("latin-1"), value.decode("latin-1")) for name, value in kept])


class HandedOn:
    """An ASGI response with the answer of another process.

    Args:
        peers: The processes.
        worker: The one that is asked.
        body: Of the request.
        send_timeout: Seconds after which a client that takes nothing is dropped.
        abort: Cuts the connection of a client that is dropped, or whose answer broke off: clients take a clean end for
            success.
    """

    def __init__(
        self,
        peers: Peers,
        worker: int,
        body: bytes,
        send_timeout: float,
        abort: Abort,
    ) -> None:
        self._peers = peers
        self._worker = worker
        self._body = body
        self._send_timeout = send_timeout
        self._abort = abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; `scope["state"]` says that the request was handed on, and of a stream whether the client
        took nothing. When the client leaves, the other process sees its client leave."""
        scope.setdefault("state", {})["handed_on"] = True
        with self._peers.handing_on():
            try:
                refusal = await unless_gone(receive, self._relay(scope, send))
            except ClientGone:
                return
            if refusal is not None:
                await refusal.response()(scope, receive, send)

    async def _relay(self, scope: Scope, send: Send) -> Refused | None:
        """Return the refusal with which to answer if there is no other answer."""
        begun, patience = False, TimeLimit()
        asking = self._worker, scope["method"], target_of(scope), headers_of(scope)
        try:
            async with self._peers.asked(*asking, self._body) as answer:
                self._body = b""  # it can be large, and the answer can take long
                begun = True
                await self._send_all(answer, send, patience)
        except PeerGone as error:
            _log.warning("%s", error)
            if not begun:
                return _unavailable(may_have_begun=error.was_asked and scope["method"] == "POST")
            self._abort(scope.get("client"))
        except TimeoutError:
            scope["state"]["stream_dropped"] = True
            self._abort(scope.get("client"))
        finally:
            patience.close()
        return None

    async def _send_all(self, answer: PeerAnswer, send: Send, patience: TimeLimit) -> None:
        now = asyncio.get_running_loop().time
        headers = [(name, value) for name, value in answer.headers if name.lower() not in _NOT_ANSWERED_WITH]
        message: dict[str, Any] = {"type": "http.response.start", "status": answer.status, "headers": headers}
        more = True
        while True:
            with patience.at(now() + self._send_timeout):
                await send(message)
            if not more:
                return
            piece = await answer.piece()
            more = bool(piece)
            message = {"type": "http.response.body", "body": piece, "more_body": more}


def _unavailable(*, may_have_begun: bool) -> Refused:
    told = "The process of the gateway that this request is for does not answer."
    if may_have_begun:  # a tool may have changed something, and another run would call it again
        told, headers = f"{told} It may have begun with it before.", {"x-should-retry": "false"}
    else:
        told, headers = f"{told} Try again in 1 s.", wait_headers(1)
    return Refused(503, told, "worker_unavailable", headers=headers)
