"""What the client needs of FastMCP and the MCP SDK beyond their public interface.

Every reliance on a private name or on an undocumented fact is in this file, one function or class each, and
`tests/client/test_fastmcp_internals.py` has a test for each that fails when an upgrade changes it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import wraps
from inspect import getclosurevars
from typing import Any, Final, cast
from weakref import WeakSet

import fastmcp
import fastmcp.client.mixins.tools
import fastmcp.client.transports.config
import httpx2
import mcp.client.session
import mcp.client.sse
import mcp.client.stdio
import mcp.client.streamable_http
import mcp.shared.jsonrpc_dispatcher
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream, move_on_after
from anyio.abc import TaskGroup
from fastmcp.client.dependencies import _get_forwardable_http_headers
from fastmcp.client.logging import create_log_callback, default_log_handler
from fastmcp.client.transports import ClientTransport, SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.client.transports.base import TransportOptions
from fastmcp.client.transports.config import MCPConfigTransport
from mcp.client import ClientExtension
from mcp.client.session import ClientSession
from mcp.client.streamable_http import RequestContext, StreamableHTTPTransport, streamable_http_client
from mcp.shared._context_streams import ContextReceiveStream
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from xmcp import http_bodies
from xmcp.chat.json_values import containers
from xmcp.client.servers import server_log
from xmcp.client.servers.errors import SESSION_LOST, means_session_lost
from xmcp.client.servers.messages import read_message
from xmcp.client.servers.peer_limits import (
    ANSWER_REFUSED,
    LINES_PER_EVENT,
    MAX_CONTAINERS,
    MAX_MESSAGE_BYTES,
    OPENING_COUNTS_AS,
    REQUEST_COUNTS_AS,
    Allowance,
    Flood,
    Refusal,
    TooLarge,
)
from xmcp.client.servers.server_log import ServerLog
from xmcp.client.servers.server_protocols import NotificationHandler
from xmcp.client.servers.stdio_transport import BoundedKeptAlive, BoundedStdioTransport

CONNECT_SECONDS: Final = 30.0
"""Time limit for opening a connection and for sending, as in the SDK. The caller limits the wait for an answer."""

TELL_SECONDS: Final = 30.0
"""Maximum wait for a server to accept a message that is no request."""

MAX_COOKIES: Final = 100
"""After how many cookies all that a server set are forgotten. Each request is searched for those that it needs."""

LAST_WORDS_SECONDS: Final = 0.5
"""Time limit for reading what a program wrote to stderr before it ended."""

NEVER_SENT: Final = "dev.xmcp/never_sent"
"""Member of the data of a protocol error made here: True if the request cannot have reached the server."""

_TRUSTED: Final = httpx2.create_ssl_context()
"""The certificates that are trusted by default. Reading them takes 20 ms, which would hold up the event loop at every
new connection, also to `http://`; this module is imported in a thread."""

_OPENING_METHODS: Final = ("initialize", "server/discover")

_CANCELLED: Final = "notifications/cancelled"


def resilient(transport: ClientTransport, on_fault: NotificationHandler | None = None) -> ClientTransport:
    """Return a transport with the settings of `transport`, which is not changed, that bounds what the server sends.

    That is a `ResilientHttpTransport` for streamable HTTP, and a `BoundedStdioTransport` for a program that ends with
    its connection; they tell `on_fault` why they end a connection. Over HTTP no compressed answer is accepted. The
    servers of a configuration are bounded one by one. Of a class that an application derives from one for HTTP, a copy
    is returned whose HTTP client is bounded, and for a program that its transport keeps alive a `BoundedKeptAlive`.
    Transports of other classes are returned as they are.
    """
    if isinstance(transport, StdioTransport) and type(transport).connect_session is StdioTransport.connect_session:
        bounded_program = BoundedKeptAlive if transport.keep_alive else BoundedStdioTransport.like
        return bounded_program(transport, on_fault)
    if type(transport) is SSETransport:
        return BoundedSSETransport(transport, on_fault)
    if type(transport) is MCPConfigTransport:
        return _BoundedConfigTransport(transport, on_fault)
    if isinstance(transport, ResilientHttpTransport | BoundedSSETransport):
        return transport
    if type(transport) is not StreamableHttpTransport:
        return _bounded_copy(transport) if isinstance(transport, StreamableHttpTransport | SSETransport) else transport
    made = ResilientHttpTransport(transport.url, transport.headers, on_fault)
    made.auth = transport.auth
    made.verify = transport.verify
    made.httpx_client_factory = transport.httpx_client_factory or _http_client_factory(transport.verify)
    return made


def _bounded_copy(transport: StreamableHttpTransport | SSETransport) -> ClientTransport:
    """Return a copy of a transport of an application's own class: its session is the class's, its HTTP client bounded.

    A class that gives its session an HTTP client in another way is not bounded by it.
    """
    own: Any = transport.httpx_client_factory
    make: Any = own or transport._make_verify_factory() or create_mcp_http_client

    def factory(**options: Any) -> httpx2.AsyncClient:
        if own is None:
            options.pop("follow_redirects", None)  # which FastMCP passes to a factory of an application only
        client: httpx2.AsyncClient = make(**options)
        _bound(client)
        _LARGE_EVENTS.add(client)
        if isinstance(transport, StreamableHttpTransport):
            client.send = _failing_alone(client.send)  # type: ignore[method-assign]
        return client

    made = copy(transport)
    made.httpx_client_factory = cast("Any", factory)
    return made


class ResilientHttpTransport(StreamableHttpTransport):
    """Streamable HTTP with large events, independent requests and a quiet end. Differs from FastMCP's transport so:

    - An event, and a body of JSON, may have `MAX_MESSAGE_BYTES`. In the SDK an event may have 1 MiB, a body any size.
    - Compressed answers are refused, and streams that bring more unasked messages than an `Allowance`; more requests
      than that end the connection.
    - A request that cannot be sent, or whose answer cannot be read, fails alone. In the SDK it ends the session and all
      other requests on it.
    - In the handshake era too, a call that is cancelled or times out leaves nothing running here, and no message that
      the server does not accept holds up the others.
    - There are as many connections as calls, and no read time-out unless the client has one. By default there are
      100 connections, and an answer or an idle listening stream that takes five minutes is cut off.
    - An answer that arrives while the session closes is dropped. The SDK raises `BrokenResourceError` out of the
      closing instead, which hides the exception because of which the application closes the client.
    """

    def __init__(
        self, url: str, headers: dict[str, str] | None = None, on_fault: NotificationHandler | None = None
    ) -> None:
        super().__init__(url, headers)
        self._on_fault = on_fault

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Open a session, as `StreamableHttpTransport.connect_session` does, with the differences named above."""
        options = transport_options or TransportOptions()
        http_client = self._open_http_client(options, session_kwargs.get("read_timeout_seconds"))
        streams = streamable_http_client(self.url, http_client=http_client, max_sse_event_size=MAX_MESSAGE_BYTES)
        left = False
        try:
            async with (
                http_client,
                streams as (read_stream, write_stream),
                options.session_class(
                    cast("Any", _BoundedMessages(read_stream, self._on_fault)), write_stream, **session_kwargs
                ) as session,
            ):
                of_sdk = cast("Any", streams).gen.ag_frame.f_locals
                _read_messages_in_threads(of_sdk["transport"])
                _end_given_up_calls(of_sdk["transport"])
                _hold_up_no_request(of_sdk["transport"], of_sdk["tg"])
                yield session
                left = True
        except* (BrokenResourceError, ClosedResourceError):
            if not left:
                raise

    def _open_http_client(self, options: TransportOptions, read_timeout: float | None) -> httpx2.AsyncClient:
        forwarded = _get_forwardable_http_headers() if options.forward_incoming_headers else {}
        timeout = {} if read_timeout is None else {"timeout": httpx2.Timeout(CONNECT_SECONDS, read=read_timeout)}
        make: Any = self.httpx_client_factory
        client: httpx2.AsyncClient = make(
            headers={**forwarded, **self.headers}, auth=self.auth, follow_redirects=True, **timeout
        )
        # What `get_session_id` returns is read from the responses.
        self._session_id = None
        client.event_hooks.setdefault("response", []).append(self._capture_session_id)
        _bound(client)
        client.send = _failing_alone(client.send)  # type: ignore[method-assign]
        return client


def _end_given_up_calls(transport: StreamableHTTPTransport) -> None:
    """Have `transport` end the POST of a request that is cancelled or times out, also in the handshake era.

    In the current era the SDK does so. In the handshake era it only tells the server, and keeps the stream of the
    request, or goes on resuming it, until the connection ends. Nobody waits for the answer any more.
    """
    tell_current = transport._consume_modern_cancellation

    def tell(message: SessionMessage) -> bool:
        told = tell_current(message)
        note = message.message
        if not told and isinstance(note, JSONRPCNotification) and note.method == _CANCELLED:
            post = transport._in_flight_posts.get(cast("Any", cancelled_request_id_from_params(note.params)))
            if post is not None:
                post.scope.cancel()
        return told  # False: the notification is still to be sent

    vars(transport)["_consume_modern_cancellation"] = tell


def _read_messages_in_threads(transport: StreamableHTTPTransport) -> None:
    """Have `transport` read each message with `read_message`.

    The SDK decodes it on the event loop however large it is, in one call that takes seven times as long, and writes an
    event into the text of a log record that nobody gets.
    """

    async def read_body(response: httpx2.Response, arriving: Any, *, request_id: RequestId) -> None:
        try:
            message = await read_message(await response.aread())
        except (httpx2.StreamError, ValueError) as exc:
            message = _unreadable(request_id, f"Failed to parse JSON response: {exc}")
        await arriving.send(message)

    async def read_event(
        event: httpx2.ServerSentEvent,
        arriving: Any,
        original_request_id: RequestId | None = None,
        resumption_callback: Callable[[str], Awaitable[None]] | None = None,
    ) -> bool:
        """Return whether the event is the answer to the request of its stream."""
        answered = False
        if event.event != "message":
            return False
        if event.data:  # an event without data only has an id to resume from
            try:
                message = await read_message(event.data)
            except ValueError as exc:
                if original_request_id is None:
                    await arriving.send(exc)
                    return False
                message = _unreadable(original_request_id, f"Failed to parse SSE message: {exc}")
            answer = message.message
            if isinstance(answer, JSONRPCResponse | JSONRPCError):
                answered, answer.id = True, answer.id if original_request_id is None else original_request_id
            await arriving.send(message)
        if event.id and resumption_callback is not None:
            await resumption_callback(event.id)
        return answered

    vars(transport).update(_handle_json_response=read_body, _handle_sse_event=read_event)


def _unreadable(request_id: RequestId, message: str) -> SessionMessage:
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=PARSE_ERROR, message=message))
    )


def _hold_up_no_request(transport: StreamableHTTPTransport, tasks: TaskGroup) -> None:
    """Have `transport` send `notifications/cancelled` in a task of `tasks`, and wait for the answer to that, to another
    notification or to a response of ours for `TELL_SECONDS` at most.

    The SDK sends nothing else meanwhile, however long the server takes: one that answers neither a call nor its
    cancellation would end all other calls on the connection.
    """
    send = transport._handle_post_request

    async def tell(context: RequestContext) -> None:
        with move_on_after(TELL_SECONDS):
            await send(context)

    async def post(context: RequestContext) -> None:
        message = context.session_message.message
        if isinstance(message, JSONRPCRequest):
            await send(context)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            tasks.start_soon(tell, context)
        else:
            await tell(context)

    vars(transport)["_handle_post_request"] = post


class _BoundedMessages(ContextReceiveStream[Any]):
    """The messages of a server, with no more requests than an `Allowance`.

    Over HTTP each answer to a request of the server is a request of ours.
    """

    __slots__ = ("_allowance", "_on_fault")

    def __init__(self, given: Any, on_fault: NotificationHandler | None) -> None:
        super().__init__(given._inner)
        self._allowance = Allowance()
        self._on_fault = on_fault

    async def receive(self) -> Any:
        item = await super().receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            try:
                self._allowance.take(REQUEST_COUNTS_AS, 0)
            except Flood as exc:
                if self._on_fault is not None:
                    await self._on_fault(exc)
                raise EndOfStream from exc
        return item


def _http_client_factory(verify: Any) -> Any:
    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: object,
    ) -> httpx2.AsyncClient:
        # No `follow_redirects`: the SDK follows redirects itself, within the origin only.
        return httpx2.AsyncClient(
            headers=headers,
            auth=auth,
            verify=_TRUSTED if verify is None or verify is True else verify,
            timeout=timeout or httpx2.Timeout(CONNECT_SECONDS, read=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )

    return make


class BoundedSSETransport(SSETransport):
    """The older HTTP binding, whose messages are bounded, with the settings of `given`. Differs from FastMCP's so:

    - An event may have `MAX_MESSAGE_BYTES`, which in the SDK are 1 MiB. A larger one ends the connection.
    - Compressed answers are refused, and streams and requests that are more than an `Allowance`.
    - The default certificates are not read again for each connection.
    """

    def __init__(self, given: SSETransport, on_fault: NotificationHandler | None = None) -> None:
        super().__init__(given.url, given.headers, sse_read_timeout=given.sse_read_timeout)
        self.auth = given.auth
        make: Any = given.httpx_client_factory or _http_client_factory(given.verify)

        def factory(**options: Any) -> httpx2.AsyncClient:
            client: httpx2.AsyncClient = make(**options)
            _bound(client)
            _LARGE_EVENTS.add(client)
            return client

        self.httpx_client_factory = cast("Any", factory)
        self._on_fault = on_fault

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Open a session, as `SSETransport.connect_session` does, with the differences named above."""
        given = transport_options or TransportOptions()

        def bounded_session(read_stream: Any, write_stream: Any, **options: Any) -> ClientSession:
            return given.session_class(
                cast("Any", _BoundedMessages(read_stream, self._on_fault)), write_stream, **options
            )

        options = replace(given, session_class=cast("Any", bounded_session))
        async with super().connect_session(transport_options=options, **session_kwargs) as session:
            yield session


_LARGE_EVENTS: Final[WeakSet[httpx2.AsyncClient]] = WeakSet()
"""The clients of the older HTTP binding whose events may have `MAX_MESSAGE_BYTES`."""


def _with_large_events(open_stream: Any) -> Any:
    """Wrap the SDK's `sse_within_origin`, whose limit the older binding cannot set; other clients keep it."""

    @wraps(open_stream)
    def opened(client: httpx2.AsyncClient, *arguments: Any, **options: Any) -> Any:
        if client in _LARGE_EVENTS:
            options.setdefault("max_event_size", MAX_MESSAGE_BYTES)
        return open_stream(client, *arguments, **options)

    return opened


vars(mcp.client.sse)["sse_within_origin"] = _with_large_events(vars(mcp.client.sse)["sse_within_origin"])


class _BoundedConfigTransport(MCPConfigTransport):
    """The servers of a configuration, each of which is bounded."""

    def __init__(self, given: MCPConfigTransport, on_fault: NotificationHandler | None) -> None:
        super().__init__(given.config, given.name_as_prefix)
        if given._transports:  # of a single server
            self.transport = cast("Any", resilient(given.transport, on_fault))
            self._transports = [self.transport]

    @staticmethod
    def _create_transport(config: Any) -> ClientTransport:
        # Of several servers. The fault of one is not told as one of them all.
        return resilient(MCPConfigTransport._create_transport(config))


def _bound(client: httpx2.AsyncClient) -> None:
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
        if len(client.cookies) > MAX_COOKIES:
            client.cookies.clear()
        await _bound_body(response, listening)

    client.event_hooks.setdefault("request", []).append(before)
    client.event_hooks.setdefault("response", []).append(after)


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

        http_bodies.limit(response, MAX_MESSAGE_BYTES, count_containers)
        return
    # Events are always UTF-8; a header may name any codec of Python, and some take quadratic time.
    response.encoding = "utf-8"
    allowance = listening if response.request.method == "GET" else Allowance(lines=LINES_PER_EVENT)

    def count(piece: bytes) -> None:
        try:
            # Lines may end with CR, LF or both.
            allowance.take(max(piece.count(b"\n"), piece.count(b"\r")), len(piece), containers(piece))
        except (Flood, TooLarge) as exc:
            raise httpx2.SSEError(str(exc)) from exc  # what the SDK expects of a stream that fails

    http_bodies.watch(response, count)


def _failing_alone(send: Callable[..., Awaitable[httpx2.Response]]) -> Any:
    """Wrap `AsyncClient.send`: a POST that cannot be sent, or whose answer cannot be read, is answered with a JSON-RPC
    error instead of an exception. The body of an answer that is no stream is read here, so that its faults count.

    A refusal (4xx) that is no JSON-RPC error becomes one that has the HTTP status, which the SDK drops. One that says
    that there is no such session gets a mark: a tool's own error, which comes with 200, may use the same words.
    """

    @wraps(send)
    async def sending(request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await send(request, **options)
            if request.method == "POST" and _is_read_whole(response):
                await _read(response)
            return await _with_status(request, response) if 400 <= response.status_code < 500 else response
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
    # A 404 stays as it is: for the SDK it says that the session is over, or that there is no such method.
    if request.method != "POST" or _method(request) in _OPENING_METHODS:
        return response
    if response.headers.get("content-type", "").lower().startswith("application/json"):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            error = json.loads(response.content)["error"]
            if isinstance(error, dict):
                if "mcp-session-id" in request.headers and means_session_lost(
                    response.status_code, error.get("code"), error.get("message")
                ):
                    return _error_answer(request, response.status_code, {**error, "data": {SESSION_LOST: True}})
                return response
    if response.status_code == 404:
        return response
    await response.aclose()
    message = f"Server returned an error response: HTTP {response.status_code}"
    return _error_answer(request, response.status_code, {"code": INTERNAL_ERROR, "message": message})


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


def prepared(
    client: fastmcp.Client[Any], on_notification: NotificationHandler, extensions: list[ClientExtension]
) -> fastmcp.Client[Any]:
    """Return a new client like an application's that also calls `on_notification` and advertises `extensions`.

    The application's own message handler is still called, after `on_notification`. An extension that the application
    advertises itself keeps the application's settings.
    """
    made = client.new()
    own = list(made._extensions_arg or ())
    known = {extension.identifier for extension in own}
    made._extensions_arg = [*own, *(extension for extension in extensions if extension.identifier not in known)]
    made._session_kwargs.update(made._build_extension_kwargs())
    handler = made._session_kwargs.get("message_handler")

    async def both(message: Any) -> None:
        await on_notification(message)
        if handler is not None:
            await handler(message)

    made._session_kwargs["message_handler"] = both
    made.transport = resilient(made.transport, on_notification)
    return made


def skip_result_validation(session: ClientSession) -> None:
    """Have `session` return results that violate the tool's output schema, without fetching schemas for the check."""

    async def accept(_name: str, _result: Any) -> None:
        """Accept every result; replaces the session's own check."""

    vars(session)["validate_tool_result"] = accept


_LIBRARY_LOGGERS: Final = tuple(
    module.logger
    for module in (
        mcp.client.session,
        mcp.client.sse,
        mcp.client.stdio,
        mcp.client.streamable_http,
        mcp.shared.jsonrpc_dispatcher,
        fastmcp.client.mixins.tools,
        fastmcp.client.transports.config,
    )
)
"""Loggers of FastMCP and the SDK that quote what a server sent, unescaped and as often as the server likes."""

for _logger in _LIBRARY_LOGGERS:
    _logger.addFilter(server_log.instead_of)
# A server in this process, and FastMCP's proxy of several servers, log each notification on its way to the client.
logging.getLogger("fastmcp.server.context.to_client").addFilter(server_log.of_nobody)


@asynccontextmanager
async def logged(client: fastmcp.Client[Any], log: ServerLog) -> AsyncIterator[None]:
    """Write to `log` what the server of `client` and the libraries would write to the terminal.

    FastMCP's log handler, the stderr of a program, and warnings of the libraries in the running task and those that it
    starts. An application's own log handler, and its own file for stderr, stay.
    """
    if _has_default_log_handler(client):
        client._session_kwargs["logging_callback"] = create_log_callback(log.notification)
    server_log.CURRENT.set(log)
    routed = list(_route_stderr(client.transport, log))
    try:
        yield
    finally:
        for transport in routed:
            transport.log_file = None
        log.close()
        if not any(transport.keep_alive for transport in routed):  # such a program still runs
            await asyncio.to_thread(log.drained, LAST_WORDS_SECONDS)


def _has_default_log_handler(client: fastmcp.Client[Any]) -> bool:
    callback = client._session_kwargs.get("logging_callback")
    return callback is None or getclosurevars(callback).nonlocals.get("handler") is default_log_handler


def _route_stderr(transport: ClientTransport, log: ServerLog) -> Iterator[StdioTransport]:
    """Give every program that `transport` starts a stderr of `log`; yield the transports that were changed."""
    transport = transport.given if isinstance(transport, BoundedKeptAlive) else transport
    if isinstance(transport, StdioTransport):
        if transport.log_file is None:
            # FastMCP passes the file on as the stderr of a process, so any file with a descriptor will do.
            transport.log_file = log.child_stderr()  # type: ignore[assignment]
            yield transport
    elif isinstance(transport, MCPConfigTransport):
        for inner in transport._transports:
            yield from _route_stderr(inner, log)
        create = type(transport)._create_transport

        def create_routed(config: Any) -> ClientTransport:
            made = create(config)
            list(_route_stderr(made, log))
            return made

        # With several servers, the transports are made when it connects.
        transport._create_transport = create_routed  # type: ignore[method-assign]
