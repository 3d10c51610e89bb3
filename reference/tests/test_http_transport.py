"""The transport over aiohttp does what httpx2's own does, from outside: the same bytes, and the same exceptions."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from support.http_host import http_host, listening

from xmcp.http_transport import MAX_HEADER_BYTES, AiohttpTransport, transport

KINDS: dict[str, Callable[[], httpx2.AsyncBaseTransport]] = {
    "aiohttp": transport,
    "httpx2": httpx2.AsyncHTTPTransport,
}
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture(params=KINDS)
async def client(request: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=KINDS[request.param](), timeout=5) as client:
        yield client


class Peer:
    """Answers each request with `answer`, and keeps the requests; `None`: with nothing, until the other side leaves."""

    def __init__(self, answer: bytes | None = OK, *, closes: bool = False) -> None:
        self.answer, self.closes = answer, closes
        self.requests: list[bytes] = []
        self.connections = self.left = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await _head(reader):
                self.requests.append(head)
                if self.answer is None:
                    await reader.read()
                    return
                writer.write(self.answer)
                await writer.drain()
                if self.closes:
                    return
        finally:
            self.left += 1


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Read a request with its body; empty at the end of the connection."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
        return head + await reader.readexactly(length)
    return b""


async def test_a_request_arrives_as_it_was_made(client: httpx2.AsyncClient) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        url = f"http://127.0.0.1:{port}/a%2Fb/%C3%A9?x=%20+1&y"
        answer = await client.post(url, content=b"\x00body", headers={b"x-mine": "é".encode()})
    assert (answer.status_code, answer.content) == (200, b"ok")
    line, *rest = peer.requests[0].split(b"\r\n")
    assert line == b"POST /a%2Fb/%C3%A9?x=%20+1&y HTTP/1.1"
    assert peer.requests[0].endswith(b"\r\n\r\n\x00body")
    names = [header.partition(b":")[0].lower() for header in rest if b":" in header]
    assert sorted(names) == sorted({*names}), "no header comes twice"
    wanted = [b"accept", b"accept-encoding", b"connection", b"content-length", b"host", b"user-agent", b"x-mine"]
    assert sorted(names) == wanted


async def test_a_body_that_comes_in_pieces_is_sent_in_pieces(client: httpx2.AsyncClient) -> None:
    got = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not got.endswith(b"0\r\n\r\n"):
            got.extend(await reader.read(1000))
        writer.write(OK)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async with listening(serve) as port:
        assert (await client.post(f"http://127.0.0.1:{port}/", content=pieces())).text == "ok"
    assert bytes(got).endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


async def test_credentials_in_a_url_are_sent_once(client: httpx2.AsyncClient) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        await client.get(f"http://user:word@127.0.0.1:{port}/", headers={"x": "y"})
    assert peer.requests[0].lower().count(b"\r\nauthorization: basic") == 1


async def test_a_connection_is_used_again_after_its_answer_was_read(client: httpx2.AsyncClient) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        for _ in range(3):
            await client.get(f"http://127.0.0.1:{port}/")
    assert (len(peer.requests), peer.connections) == (3, 1)


async def test_an_answer_that_is_not_read_closes_its_connection(client: httpx2.AsyncClient) -> None:
    peer = Peer(b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\nbegin")
    async with listening(peer.serve) as port:
        async with client.stream("GET", f"http://127.0.0.1:{port}/") as answer:
            assert await anext(answer.aiter_raw()) == b"begin"
        await _until(lambda: peer.left == 1)


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin"], ids=["head", "body"])
async def test_a_cancelled_request_closes_its_connection(client: httpx2.AsyncClient, answer: bytes | None) -> None:
    peer = Peer(answer)
    async with listening(peer.serve) as port:
        asking = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/"))
        await _until(lambda: bool(peer.requests))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _until(lambda: peer.left == 1)


@pytest.mark.parametrize(
    ("answer", "closes", "fault"),
    [
        (b"", True, httpx2.RemoteProtocolError),
        (b"garbage\r\n\r\n", True, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin", True, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegin\r\n", True, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZ\r\nbegin\r\n", False, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 4 * MAX_HEADER_BYTES + b"\r\n\r\n", True, httpx2.RemoteProtocolError),
        (None, False, httpx2.ReadTimeout),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin", False, httpx2.ReadTimeout),
    ],
    ids=["nothing", "garbage", "short body", "short chunks", "bad chunk", "long header", "silent", "silent body"],
)
async def test_faults_of_a_server(
    client: httpx2.AsyncClient, answer: bytes | None, closes: bool, fault: type[Exception]
) -> None:
    peer = Peer(answer, closes=closes)
    async with listening(peer.serve) as port:
        with pytest.raises(httpx2.TransportError) as caught:
            await client.get(f"http://127.0.0.1:{port}/", timeout=httpx2.Timeout(5, read=0.3))
    assert type(caught.value) is fault
    assert str(caught.value) or fault is httpx2.ReadTimeout
    assert caught.value.request.url.port == port


async def test_a_server_that_takes_no_more_of_a_body_ends_at_the_time_limit(client: httpx2.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    async with listening(serve) as port:
        with pytest.raises(httpx2.WriteTimeout):
            await client.post(f"http://127.0.0.1:{port}/", content=b"x" * 50_000_000, timeout=0.5)


async def test_a_server_may_answer_while_a_body_is_being_sent(client: httpx2.AsyncClient) -> None:
    size = 20_000_000

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n")
        got = len(await reader.readexactly(size))
        writer.write(f"{got:8}".encode())

    async with listening(serve) as port:
        assert int((await client.post(f"http://127.0.0.1:{port}/", content=b"x" * size)).text) == size


async def test_a_server_that_cannot_be_reached(client: httpx2.AsyncClient) -> None:
    async with http_host() as host:
        with pytest.raises(httpx2.ConnectError):
            await client.get(host.url)
    with pytest.raises(httpx2.ConnectError, match="Name"):
        await client.get("http://no-such-host.invalid/")


async def test_another_scheme_is_refused(client: httpx2.AsyncClient) -> None:
    with pytest.raises(httpx2.UnsupportedProtocol):
        await client.get("ftp://127.0.0.1/")


async def test_a_compressed_body_stays_as_it_is_for_the_client_in_front(client: httpx2.AsyncClient) -> None:
    packed = gzip.compress(b"text")
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n".encode()
    peer = Peer(head + packed)
    async with listening(peer.serve) as port:
        async with client.stream("GET", f"http://127.0.0.1:{port}/") as answer:
            assert b"".join([piece async for piece in answer.aiter_raw()]) == packed
        assert (await client.get(f"http://127.0.0.1:{port}/")).content == b"text"


async def test_a_redirect_is_an_answer_and_cookies_are_the_business_of_the_client(client: httpx2.AsyncClient) -> None:
    peer = Peer(
        b"HTTP/1.1 302 Found\r\nlocation: /next\r\nset-cookie: a=b\r\nset-cookie: c=d\r\ncontent-length: 0\r\n\r\n"
    )
    async with listening(peer.serve) as port:
        answer = await client.get(f"http://127.0.0.1:{port}/")
        assert (answer.status_code, answer.reason_phrase, answer.headers["location"]) == (302, "Found", "/next")
        assert answer.headers.get_list("set-cookie") == ["a=b", "c=d"]
        client.cookies.clear()
        await client.get(f"http://127.0.0.1:{port}/")
    assert b"cookie" not in peer.requests[1].lower()


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "direct.invalid")
        async with httpx2.AsyncClient(transport=transport()) as client:
            assert (await client.get("http://elsewhere.invalid/a")).text == "ok"
            with pytest.raises(httpx2.ConnectError):
                await client.get("http://direct.invalid/a")
    assert peer.requests[0].startswith(b"GET http://elsewhere.invalid/a HTTP/1.1\r\n")
    assert b"host: elsewhere.invalid\r\n" in peer.requests[0].lower()


def test_a_socks_proxy_is_left_to_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    assert not isinstance(transport(), AiohttpTransport)


def test_one_client_serves_several_event_loops() -> None:
    peer, client = Peer(), httpx2.AsyncClient(transport=transport())

    async def ask(*, last: bool) -> str:
        async with listening(peer.serve) as port:
            text = (await client.get(f"http://127.0.0.1:{port}/")).text
            if last:
                await client.aclose()
            return text

    assert [asyncio.run(ask(last=one)) for one in (False, True)] == ["ok", "ok"]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
