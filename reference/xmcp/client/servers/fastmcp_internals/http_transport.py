"""Streamable HTTP: one request never ends or holds up another, and a large answer holds up nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import httpx2
from anyio import BrokenResourceError, ClosedResourceError, move_on_after
from anyio.abc import TaskGroup
from fastmcp.client.dependencies import _get_forwardable_http_headers
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.client.transports.base import TransportOptions
from mcp.client import streamable_http as sdk
from mcp.client.session import ClientSession
from mcp.client.streamable_http import RequestContext, StreamableHTTPTransport, streamable_http_client
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from xmcp.client.servers.fastmcp_internals.http_client import CONNECT_SECONDS, bound, failing_alone
from xmcp.client.servers.fastmcp_internals.incoming_messages import BoundedMessages
from xmcp.client.servers.messages import read_message
from xmcp.client.servers.peer_limits import MAX_MESSAGE_BYTES
from xmcp.client.servers.server_protocols import NotificationHandler

TELL_SECONDS: Final = 30.0
"""Maximum wait for a server to accept a message that is no request."""


_CANCELLED: Final = "notifications/cancelled"


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
                    cast("Any", BoundedMessages(read_stream, self._on_fault)), write_stream, **session_kwargs
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
        bound(client)
        client.send = failing_alone(client.send)  # type: ignore[method-assign]
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
            sdk.logger.exception("Error parsing JSON response")
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
            sdk.logger.warning("Unknown SSE event: %s", event.event)
            return False
        if event.data:  # an event without data only has an id to resume from
            try:
                message = await read_message(event.data)
            except ValueError as exc:
                sdk.logger.exception("Error parsing SSE message")
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
