"""The older HTTP binding, `/sse`, with bounded messages that are read beside the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

import httpx2
import mcp.client.sse
from fastmcp.client.transports import SSETransport
from fastmcp.client.transports.base import TransportOptions
from mcp.client.session import ClientSession

from xmcp.client.servers.fastmcp_internals.http_client import bound, http_client_factory
from xmcp.client.servers.fastmcp_internals.incoming_messages import BoundedMessages, ReadBeside
from xmcp.client.servers.peer_limits import MAX_MESSAGE_BYTES
from xmcp.client.servers.server_protocols import NotificationHandler


class BoundedSSETransport(SSETransport):
    """The older HTTP binding, whose messages are bounded, with the settings of `given`. Differs from FastMCP's so:

    - An event may have `MAX_MESSAGE_BYTES`, which in the SDK are 1 MiB. A larger one ends the connection.
    - Compressed answers are refused, and streams and requests that are more than an `Allowance`.
    - A message is read by `read_message`.
    - The default certificates are not read again for each connection.
    """

    def __init__(self, given: SSETransport, on_fault: NotificationHandler | None = None) -> None:
        super().__init__(given.url, given.headers, sse_read_timeout=given.sse_read_timeout)
        self.auth = given.auth
        make: Any = given.httpx_client_factory or http_client_factory(given.verify)

        def factory(**options: Any) -> httpx2.AsyncClient:
            client: httpx2.AsyncClient = make(**options)
            bound(client)
            READ_BESIDE[client] = self._read_beside
            return client

        self.httpx_client_factory = cast("Any", factory)
        self._on_fault = on_fault
        self._read_beside = ReadBeside()

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Open a session, as `SSETransport.connect_session` does, with the differences named above."""
        given = transport_options or TransportOptions()

        def bounded_session(read_stream: Any, write_stream: Any, **options: Any) -> ClientSession:
            return given.session_class(
                cast("Any", BoundedMessages(read_stream, self._on_fault, self._read_beside)), write_stream, **options
            )

        options = replace(given, session_class=cast("Any", bounded_session))
        async with super().connect_session(transport_options=options, **session_kwargs) as session:
            yield session


READ_BESIDE: Final[WeakKeyDictionary[httpx2.AsyncClient, ReadBeside | None]] = WeakKeyDictionary()
"""The clients whose events may have `MAX_MESSAGE_BYTES`, with what reads them; `None`: that is the SDK."""


class _Events:
    """The events of a stream, whose messages `read` reads."""

    def __init__(self, given: httpx2.EventSource, read: ReadBeside) -> None:
        self._given = given
        self._read = read
        self.response = given.response

    async def __aiter__(self) -> AsyncIterator[httpx2.ServerSentEvent]:
        async for event in self._given:
            reads = event.event == "message" and event.data
            yield replace(event, data=await self._read.put(event.data)) if reads else event


def _with_large_events(open_stream: Any) -> Any:
    """Wrap the SDK's `sse_within_origin`, whose limit the older binding cannot set; other clients keep it."""

    @wraps(open_stream)
    @asynccontextmanager
    async def opened(client: httpx2.AsyncClient, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        ours, read = client in READ_BESIDE, READ_BESIDE.get(client)
        if ours:
            options.setdefault("max_event_size", MAX_MESSAGE_BYTES)
        async with open_stream(client, *arguments, **options) as events:
            yield events if read is None else _Events(events, read)

    return opened


vars(mcp.client.sse)["sse_within_origin"] = _with_large_events(vars(mcp.client.sse)["sse_within_origin"])
