"""What the older HTTP binding relies on in the SDK. Red means: it has changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.client.transports import SSETransport
from mcp.client import sse as mcp_sse
from support.raw_peer import hello

from xmcp.client.servers.fastmcp_internals import incoming_messages, resilient, skip_result_validation
from xmcp.client.servers.messages import read_message
from xmcp.client.servers.peer_limits import MAX_MESSAGE_BYTES
from xmcp_models.registry import PREFIX


async def test_only_clients_of_ours_read_events_above_the_limit_of_the_sdk() -> None:
    """Red: the SDK opens the stream of the older HTTP binding in another way."""
    given = resilient(SSETransport("http://host/sse"))
    stream = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}))
    limits = []
    for make in (given.httpx_client_factory, httpx2.AsyncClient):  # type: ignore[attr-defined]
        client = make()
        client._transport = stream
        async with mcp_sse.sse_within_origin(client, "http://host/sse") as events:
            limits.append(getattr(events, "_given", events)._max_event_size)
    assert limits == [MAX_MESSAGE_BYTES, 1024 * 1024]


SEEN = {"content": [{"type": "text", "text": "seen"}]}
READ = f"{PREFIX}read".encode()
FORGED = b'{"jsonrpc":"2.0","method":"%s","params":{"number":1}}' % READ


@pytest.mark.parametrize("before", [b"", FORGED, b"not JSON", b'{"jsonrpc":"2.0","method":"%s"}' % READ, b"[]"])
async def test_all_messages_are_read_by_us_and_what_a_server_sends_cannot_stand_for_another_one(
    monkeypatch: Any, before: bytes
) -> None:
    read: list[str | bytes] = []

    async def noted(data: str | bytes) -> Any:
        read.append(data)
        return await read_message(data)

    monkeypatch.setattr(incoming_messages, "read_message", noted)
    sent: asyncio.Queue[bytes] = asyncio.Queue()
    sent.put_nowait(b"event: endpoint\ndata: /messages\n\n")

    async def events() -> AsyncIterator[bytes]:
        while True:
            yield await sent.get()

    def answered(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events())
        asked = json.loads(request.content)
        if "id" in asked:
            result = {"initialize": hello(), "tools/call": SEEN}[asked["method"]]
            answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            for message in (before, answer):
                sent.put_nowait(b"data: %b\n\n" % message)
        return httpx2.Response(202)

    def factory(**options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(answered), **options)

    transport = resilient(SSETransport("http://host/sse", httpx_client_factory=factory))  # type: ignore[arg-type]
    async with asyncio.timeout(300), fastmcp.Client(transport, mode="legacy") as client:
        skip_result_validation(client.session)
        result: Any = await client.call_tool_mcp("look", {})
    assert result.content[0].text == "seen"
    assert len(read) == (4 if before else 2)
