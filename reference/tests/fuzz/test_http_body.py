"""Whatever body a tool server sends over HTTP, as JSON or as a stream of events, a call is answered with a reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from fastmcp.client.transports import StreamableHttpTransport
from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import SECONDS, as_bytes, damaged, damaged_bytes, fuzzing
from support.raw_peer import hello
from support.scripted_model import ScriptedModel, asks
from support.silence import Silence

from xmcp import AIClient
from xmcp.wire import ToolResponse
from xmcp_models.registry import ERROR_CODES

TOOLS = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
ANSWER = {"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "seen"}], "_meta": {"a": 1}}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
ID = b'"id": 0'


def event(*messages: Any) -> bytes:
    """Return messages as server-sent events."""
    return b"".join(b"event: message\r\nid: 1\r\ndata: " + as_bytes(message) + b"\r\n\r\n" for message in messages)


def events(damaged_list: Any) -> bytes:
    """Return what has become of a list of messages as server-sent events; if it is no list any more, as one event."""
    return event(*damaged_list) if isinstance(damaged_list, list) else event(damaged_list)


BODIES = st.one_of(
    st.tuples(st.just("application/json"), damaged(st.just(ANSWER)).map(as_bytes)),
    st.tuples(st.just("application/json"), damaged_bytes(st.just(as_bytes(ANSWER)))),
    st.tuples(st.just("text/event-stream"), damaged(st.just([NOTE, ANSWER])).map(events)),
    st.tuples(st.just("text/event-stream"), damaged_bytes(st.just(event(NOTE, ANSWER)))),
)
ANSWERS = st.tuples(st.sampled_from([200, 200, 200, 200, 202, 400, 404, 500]), BODIES, st.sampled_from([3, 10**6]))
"""Status, content type and body of the answer to a call, and the size of the pieces in which the body arrives."""


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def outcome(answer: Any) -> ToolResponse:
    """Return what the model gets of a call that is answered so."""
    status, (kind, body), size = answer
    silence = Silence()

    def answered(request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return httpx2.Response(405)
        message = json.loads(request.content)
        results = {"initialize": hello(), "tools/list": TOOLS}
        if "id" not in message:
            return httpx2.Response(202)
        if message["method"] in results:
            return httpx2.Response(200, json={**ANSWER, "id": message["id"], "result": results[message["method"]]})
        if message["method"] != "tools/call":
            error = {"code": -32601, "message": "unknown"}
            return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "error": error})
        written = body.replace(ID, b'"id": ' + json.dumps(message["id"]).encode())
        return httpx2.Response(status, headers={"content-type": kind}, content=in_pieces(written, size))

    def client(**options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(answered), **options)

    transport: Any = StreamableHttpTransport("http://server/mcp", httpx_client_factory=client)  # type: ignore[arg-type]
    async with (
        asyncio.timeout(SECONDS),
        AIClient(
            [transport],
            llm_provider=ScriptedModel(asks("look"), "end"),
            retry_policy={"max_attempts": 1},
            tool_timeout=1,
            connect_timeout=10,
            logger=silence,
        ) as ai,
    ):
        result = await ai.chat("q", [])
    assert not silence.crashes, silence.crashes[0]
    (answered_with,) = [message["content"] for message in result["history"] if message["role"] == "tool"]
    return ToolResponse.from_xml(answered_with)


@given(ANSWERS)
@fuzzing(30)
def test_whatever_body_a_server_sends_the_call_is_answered(answer: Any) -> None:
    error = asyncio.run(outcome(answer)).error
    assert error is None or (error.code in ERROR_CODES and error.code != "INTERNAL")
