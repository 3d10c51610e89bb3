"""An HTTP client for tool servers: what it gets is bounded, and a request that fails does so alone."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from typing import Any, Final

import httpx2
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, METHOD_NOT_FOUND

from xmcp import http_bodies, http_clients
from xmcp.chat.json_values import containers
from xmcp.client.servers.errors import SESSION_LOST, means_session_lost
from xmcp.client.servers.peer_limits import (
    ANSWER_REFUSED,
    LINES_PER_EVENT,
    MAX_CONTAINERS,
    MAX_ERROR_BYTES,
    MAX_MESSAGE_BYTES,
    OPENING_COUNTS_AS,
    REPORTS_PER_MESSAGE,
    Allowance,
    Flood,
    Refusal,
    TooLarge,
)
from xmcp_models.registry import PREFIX

CONNECT_SECONDS: Final = 30.0
"""Time limit for opening a connection and for sending, as in the SDK. The caller limits the wait for an answer."""


NEVER_SENT: Final = f"{PREFIX}never_sent"
"""Member of the data of a protocol error made here: True if the request cannot have reached the server."""


_TRUSTED: Final = httpx2.create_ssl_context()
"""The certificates that are trusted by default. Reading them takes 20 ms, which would hold up the event loop at every
new connection, also to `http://`; this module is imported in a thread."""


_OPENING_METHODS: Final = ("initialize", "server/discover")


def http_client_factory(verify: Any = None, given: httpx2.AsyncClient | None = None) -> Any:
    """Return what makes the HTTP client of a connection: one that sends through `given`, if the application gave one.

    `verify` is as for `httpx2.AsyncClient`.
    """

    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: object,
    ) -> httpx2.AsyncClient:
        # No `follow_redirects`: the SDK follows redirects itself, within the origin only.
        return http_clients.new_client(
            httpx2.AsyncClient,
            given,
            verify=_TRUSTED if verify is None or verify is True else verify,
            headers=headers,
            auth=auth,
            timeout=timeout or httpx2.Timeout(CONNECT_SECONDS, read=None),
        )

    return make


def bound(client: httpx2.AsyncClient) -> None:
    """Have all answers that `client` gets bounded, those of its authentication included.

    An answer to a POST has an allowance of its own. The streams that the client opens by GET share one, however often
    the server ends them; each request that the client sends renews it.
    """
    listening = Allowance(lines=LINES_PER_EVENT)

    async def before(request: httpx2.Request) -> None:
        await http_bodies.ask_uncompressed(request)
        if request.method == "GET":
            try:
                listening.take(OPENING_COUNTS_AS * LINES_PER_EVENT, 0)
            except Flood as exc:
                raise httpx2.SSEError("it ends its streams again and again", request=request) from exc
        elif request.method == "POST" and _REQUEST.match(request.content[:200]):
            listening.renew()

    async def after(response: httpx2.Response) -> None:
        await _bound_body(response, listening)

    client.event_hooks.setdefault("request", []).append(before)
    client.event_hooks.setdefault("response", []).append(after)
    http_clients.bound_cookies(client)  # a factory of the application may have made it


_REQUEST: Final = re.compile(rb'\{"jsonrpc": ?"2\.0", ?"id": ?[^,]{1,100}, ?"method"')
"""How the SDK writes a request, other than a notification, or an answer to a request of the server."""


async def _bound_body(response: httpx2.Response, listening: Allowance) -> None:
    """Bound the body of an answer.

    Raises:
        BodyRefused: it is compressed, or its header says that it is too large; otherwise reading it raises.
    """
    http_bodies.refuse_compressed(response)
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        request, found = response.request, 0

        def count_containers(piece: bytes) -> None:
            nonlocal found
            found += containers(piece)
            if found > MAX_CONTAINERS:
                raise http_bodies.BodyTooLarge(
                    f"the answer has more than {MAX_CONTAINERS} arrays and objects", request=request
                )

        # The SDK decodes an error on the event loop.
        most = MAX_ERROR_BYTES if response.status_code >= 400 else MAX_MESSAGE_BYTES
        http_bodies.limit(response, most, count_containers)
        return
    # Events are always UTF-8; a header may name any codec of Python, and some take quadratic time.
    response.encoding = "utf-8"
    of_answer = Allowance(lines=LINES_PER_EVENT * REPORTS_PER_MESSAGE)
    allowance = listening if response.request.method == "GET" else of_answer

    def count(piece: bytes) -> None:
        try:
            # Lines may end with CR, LF or both.
            allowance.take(max(piece.count(b"\n"), piece.count(b"\r")), len(piece), containers(piece))
        except (Flood, TooLarge) as exc:
            raise httpx2.SSEError(str(exc)) from exc  # what the SDK expects of a stream that fails

    http_bodies.watch(response, count)


def failing_alone(send: Callable[..., Awaitable[httpx2.Response]]) -> Any:
    """Wrap `AsyncClient.send`: a POST that cannot be sent, or whose answer cannot be read, is answered with a JSON-RPC
    error instead of an exception. The body of an answer that is no stream is read here, so that its faults count.

    A refusal (4xx, 5xx) that is no JSON-RPC error becomes one that has the HTTP status, which the SDK drops. One that
    says that there is no such session gets a mark: a tool's own error, which comes with 200, may use the same words.
    """

    @wraps(send)
    async def sending(request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await send(request, **options)
            if request.method == "POST" and _is_read_whole(response):
                await _read(response)
            return await _with_status(request, response) if response.status_code >= 400 else response
        except Exception as exc:
            # Of any class: authentication is the application's code. The requests that open a session raise: the SDK
            # would take an answer for that of an older server.
            if request.method != "POST" or _method(request) in _OPENING_METHODS:
                raise
            never_sent = isinstance(exc, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
            message = f"Connection closed: {str(exc) or type(exc).__name__}"
            data: dict[str, Any] = {NEVER_SENT: never_sent}
            if isinstance(exc, http_bodies.BodyRefused):
                message = str(exc)
                too_large = isinstance(exc, http_bodies.BodyTooLarge)
                data[ANSWER_REFUSED] = Refusal.TOO_LARGE if too_large else Refusal.COMPRESSED
            return _error_answer(request, 503, {"code": CONNECTION_CLOSED, "message": message, "data": data})

    return sending


async def _with_status(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    if request.method != "POST":
        return response
    has_session = "mcp-session-id" in request.headers
    if response.headers.get("content-type", "").lower().startswith("application/json"):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            error = json.loads(response.content)["error"]
            if isinstance(error, dict):
                if has_session and means_session_lost(response.status_code, error.get("code"), error.get("message")):
                    return _error_answer(request, response.status_code, {**error, "data": {SESSION_LOST: True}})
                return response
    code = INTERNAL_ERROR
    if response.status_code == 404:
        if has_session:
            return response  # for the SDK it says that the session is over
        code = METHOD_NOT_FOUND  # as the SDK has it
    await response.aclose()
    message = f"Server returned an error response: HTTP {response.status_code} {response.reason_phrase}".rstrip()
    return _error_answer(request, response.status_code, {"code": code, "message": message})


def _error_answer(request: httpx2.Request, status: int, error: dict[str, Any]) -> httpx2.Response:
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


def _method(request: httpx2.Request) -> object:
    """Return the method of a JSON-RPC message."""
    return json.loads(request.content).get("method")


def _is_read_whole(response: httpx2.Response) -> bool:
    """Return whether the SDK reads the whole body: of JSON, and of a redirect before it follows it."""
    return response.headers.get("content-type", "").lower().startswith("application/json") or (
        300 <= response.status_code < 400 and response.has_redirect_location
    )


async def _read(response: httpx2.Response) -> None:
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise
