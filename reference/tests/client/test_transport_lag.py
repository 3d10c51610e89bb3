"""No bytes that a tool server sends stop the event loop, over whatever transport they come.

As in `test_loop_lag.py`, each row drives the real `AIClient`, and what is measured is the CPU time of the loop's thread
between two of its rounds. Nothing of the server runs in that thread but the copying of bytes made before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from fastmcp.client.transports import SSETransport, StreamableHttpTransport
from support.loop_lag import MIB, assert_never_blocked
from support.raw_peer import hello
from support.scripted_model import ScriptedModel, asks

from xmcp.client import AIClient
from xmcp_models.registry import DISPLAY_META_KEY, RESULT_META_KEY

TOOLS = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
ID: Final = b'"the id"'
PIECE: Final = 64 * 1024

Made = Callable[[int], str]
"""Returns JSON of about so many bytes, that takes as long to read as JSON of its kind can."""


def repeated(item: str) -> Made:
    return lambda size: "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


KINDS: Final[dict[str, Made]] = {
    "numbers": repeated("1"),
    "fractions": repeated("1.5"),
    "texts": repeated('"a"'),
    "rows": lambda size: repeated('{"id":12345,"name":"M\\u00fcller","price":12.5,"ok":true}')(min(size, 9 * MIB)),
    "nested": lambda size: repeated("[[[[[[[[1]]]]]]]]")(min(size, 24_000 * 18)),
    "names": lambda size: "{" + ",".join(f'"{n}":1' for n in range(size // 10)) + "}",
}
PLACES: Final = {
    "structured": '{"content":[{"type":"text","text":"seen"}],"structuredContent":{"a":%s}}',
    "structured_only": '{"content":[],"structuredContent":{"a":%s}}',
    "meta": '{"content":[{"type":"text","text":"seen"}],"_meta":{"a":%s}}',
    "meta_of_a_block": '{"content":[{"type":"text","text":"seen","_meta":{"a":%s}}]}',
    "display": '{"content":[{"type":"text","text":"seen"}],"_meta":{"'
    f'{RESULT_META_KEY}":{{"form":"plain"}},"{DISPLAY_META_KEY}":'
    '{"type":"json","payload":{"a":%s}}}}',
    "unknown_member": '{"content":[{"type":"text","text":"seen"}],"more":%s}',
    "annotations": '{"content":[{"type":"text","text":"seen","annotations":{"audience":%s}}]}',
    "blocks": '{"content":%s}',
}


def answer(result: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (ID, result.encode())


MESSAGES: Final = {
    "empty_blocks": answer(PLACES["blocks"] % repeated("{}")(5_000 * 3)),
    "blocks_of_another_kind": answer(PLACES["blocks"] % repeated('{"type":"resource","resource":{}}')(4_000 * 34)),
    "blocks": answer(PLACES["blocks"] % repeated('{"type":"text","text":"seen"}')(4_000 * 30)),
    "a_note": b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%b}}'
    % repeated("1")(2 * MIB).encode(),
    "a_note_of_names": b'{"jsonrpc":"2.0","method":"notifications/message","params":%b}' % KINDS["names"](MIB).encode(),
    "a_request": b'{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"a":%b}}'
    % repeated("1")(2 * MIB).encode(),
}
SEEN: Final = answer('{"content":[{"type":"text","text":"seen"}]}')


def reply(asked: dict[str, Any], large: bytes) -> bytes:
    """Return the answer to a message: to a call, the large one, or a large message and then a small answer."""
    results = {"initialize": hello(), "tools/list": TOOLS}
    id_ = json.dumps(asked["id"]).encode()
    if asked["method"] == "tools/call":
        return large.replace(ID, id_, 1) if ID in large[:100] else large
    if asked["method"] in results:
        return answer(json.dumps(results[asked["method"]])).replace(ID, id_)
    return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"unknown"}}' % id_


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
        await asyncio.sleep(0)


def event(message: bytes) -> bytes:
    return b"event: message\ndata: " + message + b"\n\n"


def mocked(answered: Callable[[httpx2.Request], Any]) -> Any:
    return lambda **options: httpx2.AsyncClient(transport=httpx2.MockTransport(answered), **options)


def over_http(large: bytes, kind: str = "application/json", status: int = 200) -> Any:
    def answered(request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content) if request.method == "POST" else {}
        if "id" not in asked or "method" not in asked:
            return httpx2.Response(202 if asked else 405)
        body, called = reply(asked, large), asked["method"] == "tools/call"
        if called and kind == "text/event-stream":
            body = event(body) + (b"" if ID in large[:100] else event(reply(asked, SEEN)))
        headers = {"content-type": kind if called else "application/json"}
        return httpx2.Response(status if called else 200, headers=headers, content=in_pieces(body))

    return StreamableHttpTransport("http://server/mcp", httpx_client_factory=mocked(answered))


def over_events(large: bytes) -> Any:
    return over_http(large, "text/event-stream")


def over_the_older_binding(large: bytes) -> Any:
    sent: asyncio.Queue[bytes] = asyncio.Queue()
    sent.put_nowait(b"event: endpoint\ndata: /messages?session_id=1\n\n")

    async def events() -> AsyncIterator[bytes]:
        while True:
            async for piece in in_pieces(await sent.get()):
                yield piece

    def answered(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=events())
        asked = json.loads(request.content)
        if "id" in asked and "method" in asked:
            sent.put_nowait(event(reply(asked, large)))
            if asked["method"] == "tools/call" and ID not in large[:100]:
                sent.put_nowait(event(reply(asked, SEEN)))
        return httpx2.Response(202)

    return SSETransport("http://server/sse", httpx_client_factory=mocked(answered))


PROGRAM = f"""
import json, sys
large = open(sys.argv[1], "rb").read()
results = {{"initialize": {hello()!r}, "tools/list": {TOOLS!r}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    number = json.dumps(asked["id"]).encode()
    if asked["method"] == "tools/call":
        written = large.replace({ID!r}, number, 1)
        if {ID!r} not in large[:100]:
            written += b"\\n" + {SEEN!r}.replace({ID!r}, number)
    elif asked["method"] in results:
        written = b'{{"jsonrpc":"2.0","id":%b,"result":%b}}' % (number, json.dumps(results[asked["method"]]).encode())
    else:
        written = b'{{"jsonrpc":"2.0","id":%b,"error":{{"code":-32601,"message":"unknown"}}}}' % number
    sys.stdout.buffer.write(written + b"\\n")
    sys.stdout.flush()
"""


async def called(target: Any) -> None:
    quiet = logging.getLogger("test_transport_lag")
    quiet.disabled = True
    model = ScriptedModel(asks("look"), "end")
    async with AIClient([target], llm_provider=model, logger=quiet) as ai:
        await ai.chat("q", [])


TRANSPORTS: Final = {"http": over_http, "events": over_events, "older": over_the_older_binding}
ROWS: Final[dict[str, Callable[[], bytes]]] = {
    **{f"{kind} {place}": lambda kind=kind, place=place: answer(PLACES[place] % KINDS[kind](2 * MIB))  # type: ignore[misc]
       for kind in KINDS for place in ("structured", "meta")},
    **{f"numbers {place}": lambda place=place: answer(PLACES[place] % KINDS["numbers"](2 * MIB)) for place in PLACES},  # type: ignore[misc]
    "rows structured_only": lambda: answer(PLACES["structured_only"] % KINDS["rows"](2 * MIB)),
    **{name: lambda made=made: made for name, made in MESSAGES.items()},  # type: ignore[misc]
}  # fmt: skip
LARGEST: Final = {
    f"{kind} {place}": lambda kind=kind, place=place: answer(PLACES[place] % KINDS[kind](16 * MIB))
    for kind, place in [
        ("numbers", "structured"), ("rows", "meta"), ("names", "structured"), ("texts", "structured_only"),
    ]
}  # fmt: skip


CASES: Final = [
    (name, transport)
    for name in ROWS
    for transport in TRANSPORTS
    # An answer of JSON is one message, the answer to the call.
    if transport != "http" or name not in MESSAGES or ID in MESSAGES[name][:100]
]


@pytest.mark.parametrize(("name", "transport"), CASES)
async def test_no_message_over_http_stops_the_event_loop(name: str, transport: str) -> None:
    large = ROWS[name]()
    await called(over_http(SEEN))  # what is imported at the first chat
    await assert_never_blocked(len(large), lambda: called(TRANSPORTS[transport](large)))


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_no_error_over_http_stops_the_event_loop(status: int) -> None:
    error = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32000,"message":"no","data":%b}}'
    large = error % (ID, KINDS["numbers"](2 * MIB).encode())
    await called(over_http(SEEN))
    await assert_never_blocked(len(large), lambda: called(over_http(large, status=status)))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGEST)
async def test_the_largest_messages_do_not_stop_the_event_loop(name: str) -> None:
    large = LARGEST[name]()
    await called(over_http(SEEN))
    for transport in TRANSPORTS.values():
        await assert_never_blocked(len(large), lambda transport=transport: called(transport(large)))  # type: ignore[misc]


@pytest.mark.parametrize("name", ["numbers structured", "rows meta", "names structured", "empty_blocks", "a_note"])
async def test_no_line_of_a_program_stops_the_event_loop(tmp_path: Path, name: str) -> None:
    large = ROWS[name]()
    (tmp_path / "answer").write_bytes(large)
    program = [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path / "answer")]
    await called(over_http(SEEN))
    await assert_never_blocked(len(large), lambda: called(program))
