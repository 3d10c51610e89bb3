"""A peer of the MCP SDK in memory that answers with any JSON: what a server may send and no library would write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from fastmcp.client.transports.base import ClientTransport, TransportOptions
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from xmcp_models.registry import EXTENSION_ID

EXTENSION = {EXTENSION_ID: {"versions": ["1.0"]}}


class RawPeer(ClientTransport):
    """Answers each request with a value that is not validated.

    Args:
        answers: By method, the result, or a function of the parameters that returns it. An `Exception` in place of a
            result is an error of JSON-RPC with its text. A method without an answer is unknown.
        first: Notifications to send before each answer, as pairs of a method and parameters.
    """

    def __init__(self, answers: Mapping[str, Any], first: Callable[[], list[tuple[str, Any]]] = list) -> None:
        self._answers = {"initialize": hello(), **answers}
        self._first = first

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Any
    ) -> AsyncIterator[ClientSession]:
        """Open a session with the peer, which runs in a task."""
        options = transport_options or TransportOptions()
        to_client, client_reads = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
        client_writes, from_client = anyio.create_memory_object_stream[SessionMessage](1000)
        peer = asyncio.create_task(self._serve(from_client, to_client))
        try:
            async with options.session_class(client_reads, client_writes, **session_kwargs) as session:
                yield session
        finally:
            peer.cancel()
            with suppress(asyncio.CancelledError):
                await peer
            for stream in (to_client, client_reads, client_writes, from_client):
                stream.close()

    async def _serve(self, requests: Any, answers: Any) -> None:
        async for message in requests:
            request = message.message
            if not isinstance(request, JSONRPCRequest):
                continue
            for method, params in self._first():
                note = JSONRPCNotification.model_construct(jsonrpc="2.0", method=method, params=params)
                await answers.send(SessionMessage(note))
            await answers.send(SessionMessage(self._answer(request)))

    def _answer(self, request: JSONRPCRequest) -> Any:
        result = self._answers.get(request.method, KeyError("unknown"))
        if callable(result):
            result = result(request.params or {})
        if isinstance(result, Exception):
            code = -32601 if isinstance(result, KeyError) else -32000
            error = {"code": code, "message": str(result)}
            return JSONRPCError.model_validate({"jsonrpc": "2.0", "id": request.id, "error": error})
        return JSONRPCResponse.model_construct(jsonrpc="2.0", id=request.id, result=_without_surrogates(result))


def _without_surrogates(value: Any) -> Any:
    """Return the value as the SDK can get it: a message with half of a surrogate pair is not read at all."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def hello(*, xmcp: bool = False) -> dict[str, Any]:
    """Return the answer of a server to `initialize`."""
    capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
    if xmcp:
        capabilities["experimental"] = EXTENSION
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "raw", "version": "1"},
    }
