"""What an HTTP request must be before anything reads it: each header once, a whole body in time, numbers of JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx2
import pytest
from fastmcp.exceptions import ValidationError
from fastmcp.server.auth import StaticTokenVerifier
from support.growth import is_linear
from uvicorn.protocols.http.h11_impl import H11Protocol

from xmcp import XMCP
from xmcp.http_connections import with_head_timeout
from xmcp.server.parameters.finite_numbers import refuse_non_finite
from xmcp.server.transports.http_bodies import ARRIVING, BodyGuard, number_fault
from xmcp.server.transports.http_headers import repeated

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def echoing(**options: Any) -> XMCP:
    mcp = XMCP("echo", **options)

    @mcp.tool
    def echo(x: float, rows: list[dict[str, float | None]] | None = None, text: str = "") -> str:
        return f"{x} {rows} {text}"

    return mcp


def message(era: str, arguments: str) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of a call, with its arguments as they are written."""
    params: dict[str, Any] = {"name": "echo", "arguments": "@"}
    headers = HEADERS
    if era == "auto":
        params["_meta"] = ENVELOPE
        headers = {**headers, "MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return body.replace('"@"', arguments).encode(), headers


# ---- headers ----


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Origin", "Mcp-Session-Id", "MCP-Protocol-Version"])
async def test_a_header_that_stands_there_twice_is_refused(name: str, era: str, over_http: Any) -> None:
    auth = StaticTokenVerifier(tokens={"t": {"client_id": "alice", "scopes": []}}) if name == "Authorization" else None
    body, headers = message(era, '{"x": 1}')
    value = {**headers, "Authorization": "Bearer t"}.get(name, "http://127.0.0.1")
    twice = [*((key, own) for key, own in headers.items() if key != name), (name, value), (name, value)]
    async with over_http(echoing(auth=auth).http_app()) as url, httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", content=body, headers=twice)
    assert answer.status_code == 400
    assert f"{name.lower()!r} appears more than once" in answer.json()["error"]["message"]


def test_headers_that_are_lists_may_stand_there_twice() -> None:
    assert (
        repeated([(b"accept", b"a"), (b"accept", b"b"), (b"x-forwarded-for", b"1"), (b"x-forwarded-for", b"2")]) is None
    )
    assert repeated([(b"mcp-anything-new", b"a"), (b"mcp-anything-new", b"a")]) == "mcp-anything-new"


async def test_of_two_headers_with_one_name_a_provider_gets_both(over_http: Any) -> None:
    """Else a caller who sends the header that the proxy adds would be whom it says."""
    mcp = XMCP("shop")

    @mcp.tool(server_populated=["user"])
    def who(user: str) -> str:
        return f"it is <{user}>"

    mcp.param_provider("user")(lambda request: request.headers["x-user"])
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who", "arguments": {}}}
    headers = [*HEADERS.items(), ("X-User", "mallory"), ("x-user", "alice")]
    async with over_http(mcp.http_app()) as url, httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", json=call, headers=headers)
    assert "&lt;mallory, alice>" in answer.text or "<mallory, alice>" in answer.text.replace("&gt;", ">")


@pytest.mark.parametrize(
    ("header", "value", "status", "option"),
    [("Host", "tools.example", 421, "--allowed-host"), ("Origin", "https://app.example", 403, "--allowed-origin")],
)
async def test_a_refused_host_or_origin_is_told_what_to_do(
    header: str, value: str, status: int, option: str, over_http: Any, caplog: pytest.LogCaptureFixture
) -> None:
    body, headers = message("legacy", '{"x": 1}')
    app = echoing().http_app()
    async with over_http(app) as url, httpx2.AsyncClient() as http:
        with caplog.at_level(logging.WARNING, "xmcp.server"):
            for _ in range(3):
                answer = await http.post(f"{url}/mcp", content=body, headers={**headers, header: value})
    assert answer.status_code == status
    assert option in answer.json()["error"]["message"]
    assert value in answer.json()["error"]["message"]
    assert [record.getMessage() for record in caplog.records if value in record.getMessage()] == [
        f"Refused requests with the {header} {value!r}. To allow it: {option}, or "
        f"allowed_{header.lower()}s=[...] in code."
    ]


async def test_an_authors_own_answer_with_the_same_status_is_left_alone(over_http: Any) -> None:
    from starlette.responses import PlainTextResponse

    mcp = echoing()

    @mcp.custom_route("/own", methods=["GET"])
    async def own(_: Any) -> PlainTextResponse:
        return PlainTextResponse("Not before noon.", 403)  # as long as FastMCP's own text

    async with over_http(mcp.http_app()) as url, httpx2.AsyncClient() as http:
        assert (await http.get(f"{url}/own")).text == "Not before noon."


# ---- numbers ----


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "-1E+0400", f"{'9' * 400}.0", f"{'9' * 250}e99"])
async def test_a_number_that_json_does_not_have_is_refused(number: str, era: str, over_http: Any) -> None:
    for long in ("", "x" * 100_000):  # looked at on the loop, and in a thread
        body, headers = message(era, f'{{"text": "{long}", "x": {number}}}')
        async with over_http(echoing().http_app()) as url, httpx2.AsyncClient() as http:
            answer = await http.post(f"{url}/mcp", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
        assert "Parse error" in answer.json()["error"]["message"]


@pytest.mark.parametrize("text", ['"NaN"', '"1e400"', "1e-400", "1e30", "0.0e999", "9" * 400, "[1, 2", "", "{1e400x"])
def test_other_texts_pass_this_check(text: str) -> None:
    assert number_fault(text.encode()) is None


@pytest.mark.parametrize("unit", [b"[1.5,", b"9" * 299 + b".", b"e0000", b"eE+", b'"\\"', b"NaN ", b"1e999 "])
def test_the_check_of_numbers_is_linear(unit: bytes) -> None:
    def looked_at(times: int) -> Callable[[], Any]:
        return partial(number_fault, unit * (times * 400_000 // len(unit)))

    assert is_linear(looked_at)


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", " 1e400 "])
async def test_a_text_that_would_become_no_number_does_not_fit(text: str, call: Any) -> None:
    mcp = echoing()
    for pointer, arguments in {
        "/x": {"x": text},
        "/rows/1/a": {"x": 1, "rows": [{"a": 1}, {"a": text}]},
    }.items():
        answer = await call(mcp, "echo", **arguments)
        assert answer.code == "VALIDATION_FAIL"
        assert [field["pointer"] for field in answer.meta["fields"]] == [pointer]
    assert (await call(mcp, "echo", x="1.5", text=text)).llm_output == f"1.5 None {text}"


def test_alternatives_that_contain_each_other_are_looked_at_once() -> None:
    tree: dict[str, Any] = {"$ref": "#/$defs/Tree"}
    kinds = [
        {"type": "number"},
        *({"type": "object", "additionalProperties": inner} for inner in (tree, {"anyOf": [tree]})),
    ]
    schema = {"$defs": {"Tree": {"anyOf": kinds}}, "properties": {"tree": tree}}
    deep: Any = "nan"
    for _ in range(100):
        deep = {"a": deep}
    begun = time.process_time()
    with pytest.raises(ValidationError):
        refuse_non_finite(schema, {"tree": deep})
    assert time.process_time() - begun < 2  # 2 to the power of 100 otherwise


# ---- time ----


async def test_a_body_that_drips_is_refused_and_one_that_flows_is_served(over_http: Any) -> None:
    async def served(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % len(body)})

    app = BodyGuard(served, 1_000_000, seconds=0.5)
    async with over_http(app, lifespan="off") as url, httpx2.AsyncClient(timeout=300) as http:
        assert (await http.post(url, content=b"x" * 100_000)).text == "100000"
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        drips = asyncio.create_task(dripping(writer))
        answer = await asyncio.wait_for(reader.read(), 300)
        drips.cancel()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer
    assert b"did not arrive in time" in answer


async def test_bodies_that_arrive_together_are_bounded_together_and_the_oldest_gives_way(over_http: Any) -> None:
    """Twenty clients hold nearly the longest body each; whoever sends at once is still served."""
    held: list[int] = []

    async def served(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        held.append(app._held)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % len(body)})

    size = 100_000
    app = BodyGuard(served, size)
    async with over_http(app, lifespan="off") as url, httpx2.AsyncClient(timeout=300) as http:
        port = int(url.rpartition(":")[2])
        hoarders = [await asyncio.open_connection("127.0.0.1", port) for _ in range(ARRIVING + 4)]
        for _, writer in hoarders:
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"x" * (size - 1))
            await writer.drain()
        assert (await http.post(url, content=b"x" * size)).text == str(size)
        assert max(held) <= size * ARRIVING
        answers = [await asyncio.wait_for(reader.read(), 300) for reader, _ in hoarders[:4]]
        assert [answer[:12] for answer in answers] == [b"HTTP/1.1 503"] * 4
        assert b"retry-after: 5" in answers[0]
        assert b"too many long request bodies" in answers[0]
        for _, writer in hoarders[-8:]:
            writer.write(b"x")
        for reader, _ in hoarders[-8:]:
            assert (await asyncio.wait_for(reader.readuntil(str(size).encode()), 300)).startswith(b"HTTP/1.1 200")
        for _, writer in hoarders:
            writer.close()
        async with asyncio.timeout(300):
            while app._arriving:  # noqa: ASYNC110 - nothing tells that a server has seen a connection end
                await asyncio.sleep(0.01)
        assert app._held == 0


async def dripping(writer: asyncio.StreamWriter) -> None:
    for _ in range(4):
        writer.write(b"x")
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\n"])
async def test_a_head_that_does_not_arrive_closes_the_connection(sent: bytes, over_http: Any) -> None:
    async def served(_scope: Any, _receive: Any, send: Any) -> None:
        await asyncio.sleep(0.6)  # longer than the limit: the time of an answer does not count
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    protocol = with_head_timeout(H11Protocol, 0.3)
    async with over_http(served, lifespan="off", http=protocol) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        begun = time.monotonic()
        writer.write(sent)
        received = await asyncio.wait_for(reader.read(), 300)
        writer.close()
    assert received.startswith(b"HTTP/1.1 204") == (b"Host" in sent)
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first", "pipelined"])
async def test_a_head_without_end_closes_the_connection_also_with_httptools(before: bytes, over_http: Any) -> None:
    httptools = pytest.importorskip("uvicorn.protocols.http.httptools_impl")

    async def served(_scope: Any, _receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    async with over_http(served, lifespan="off", http=with_head_timeout(httptools.HttpToolsProtocol, 60)) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(before + b"GET / HTTP/1.1\r\n")

        async def endless() -> None:
            for _ in range(100):
                writer.write(b"X-A: " + b"a" * 100_000 + b"\r\n")
                await asyncio.wait_for(writer.drain(), 300)

        with pytest.raises(ConnectionError):
            await endless()
        writer.close()


async def test_a_trailer_is_no_header_also_with_httptools(over_http: Any) -> None:
    httptools = pytest.importorskip("uvicorn.protocols.http.httptools_impl")

    async def served(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        names = b",".join(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body", "body": names})

    async with over_http(served, lifespan="off", http=with_head_timeout(httptools.HttpToolsProtocol)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"1\r\nx\r\n0\r\nAuthorization: mallory\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 300)
        writer.close()
    assert b"host,transfer-encoding" in answer
    assert b"authorization" not in answer


def test_a_protocol_of_another_kind_is_left_alone() -> None:
    assert with_head_timeout(asyncio.Protocol) is asyncio.Protocol


# ---- bodies from other servers than uvicorn ----


async def guarded(receive: Any, seconds: float = 0.2) -> list[Any]:
    """Return what an application behind the guard received, and the statuses that were sent."""
    seen: list[Any] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        seen.append((await receive())["body"])

    async def send(sent: Any) -> None:
        seen.append(sent.get("status"))

    await BodyGuard(app, 1000, seconds)({"type": "http", "headers": []}, receive, send)
    return seen


async def test_a_message_without_a_body_is_an_empty_one() -> None:
    async def receive() -> Any:
        return {"type": "http.request"}

    assert await guarded(receive) == [b""]


async def test_a_source_that_turns_the_end_of_its_time_into_a_piece_is_refused_or_served() -> None:
    async def receive() -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return {"type": "http.request", "body": b"x", "more_body": True}

    assert (await guarded(receive))[0] == 408


async def test_a_time_out_of_the_source_is_not_that_of_the_body() -> None:
    async def receive() -> Any:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        await guarded(receive)
