"""The transport over aiohttp does what httpx2's own does, from outside: the same bytes, and the same exceptions."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import socket
import ssl
import struct
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from support.http_host import http_host, in_thread, listening, never_answer

from xmcp.http_transport import MAX_HEADER_BYTES, AiohttpTransport, client_options

KINDS: dict[str, Callable[[], httpx2.AsyncBaseTransport]] = {
    "aiohttp": lambda: AiohttpTransport(httpx2.create_ssl_context()),
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


async def test_a_request_without_a_body_says_nothing_of_one(client: httpx2.AsyncClient) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        await client.get(f"http://127.0.0.1:{port}/")
    assert b"content-length" not in peer.requests[0].lower()


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
    async with _taking_nothing() as (port, _):
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
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "direct.invalid")
        async with httpx2.AsyncClient(**client_options()) as client:
            assert (await client.get("http://elsewhere.invalid/a")).text == "ok"
            with pytest.raises(httpx2.ConnectError):
                await client.get("http://direct.invalid/a")
    assert peer.requests[0].startswith(b"GET http://elsewhere.invalid/a HTTP/1.1\r\n")
    assert b"host: elsewhere.invalid\r\n" in peer.requests[0].lower()


def test_one_client_serves_several_event_loops() -> None:
    peer, client = Peer(), httpx2.AsyncClient(**client_options())

    async def ask(*, last: bool) -> str:
        async with listening(peer.serve) as port:
            text = (await client.get(f"http://127.0.0.1:{port}/")).text
            if last:
                await client.aclose()
            return text

    assert [asyncio.run(ask(last=one)) for one in (False, True)] == ["ok", "ok"]


async def test_an_upload_that_the_server_takes_no_more_of_leaves_no_connection(client: httpx2.AsyncClient) -> None:
    before = len(os.listdir("/dev/fd"))
    async with _taking_nothing() as (port, begun):
        asking = asyncio.create_task(client.post(f"http://127.0.0.1:{port}/", content=b"x" * 50_000_000))
        await begun.wait()
        await asyncio.sleep(0.3)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _until(lambda: len(os.listdir("/dev/fd")) == before + OF_A_HOST)
        async with asyncio.timeout(5):
            await client.aclose()


async def test_a_client_can_be_closed_while_an_upload_stalls() -> None:
    async with _taking_nothing() as (port, begun), httpx2.AsyncClient(**client_options()) as client:
        asking = asyncio.create_task(client.post(f"http://127.0.0.1:{port}/", content=b"x" * 50_000_000))
        await begun.wait()
        await asyncio.sleep(0.3)
        async with asyncio.timeout(5):
            await client.aclose()
            with pytest.raises(httpx2.TransportError):
                await asking


OF_A_HOST = 3
"""Descriptors of a host: its port, reserved and listening, and the server's side of a connection."""


@asynccontextmanager
async def _taking_nothing() -> AsyncIterator[tuple[int, asyncio.Event]]:
    """Serve without reading a body; yield the port, and what says that a request has begun."""
    begun = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        await asyncio.sleep(30)

    async with listening(serve) as port:
        yield port, begun


SECOND = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"


STRAY = [SECOND, SECOND[:30], SECOND[:1], b"\r\n", b"HTTP/1.1 204 No\r\n\r\n"]


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "not seen"])
@pytest.mark.parametrize("stray", [*STRAY, b""])
async def test_what_nobody_asked_for_reaches_no_other_request(
    client: httpx2.AsyncClient, stray: bytes, seen: bool
) -> None:
    """An empty `stray` is the end of the connection."""
    peer, answered = Peer(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if peer.connections:
            await peer.serve(reader, writer)
        peer.connections += 1
        await _head(reader)
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.05)
        _send_now(writer, stray)
        answered.set()
        await reader.read()

    async with listening(serve) as port:
        url = f"http://127.0.0.1:{port}/"
        await client.get(url)
        await answered.wait()
        if seen:
            await asyncio.sleep(0.05)
        answer = await client.post(url, content=b"x")
    assert (answer.status_code, answer.text, len(peer.requests)) == (200, "ok", 1)


@pytest.mark.parametrize("stray", STRAY)
async def test_what_comes_in_one_piece_with_the_end_of_an_answer_reaches_no_other_request(stray: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        rest = b""
        while await _head(reader):
            writer.write(rest + OK[:-2])
            await asyncio.sleep(0.05)
            writer.write(OK[-2:] + stray)
            rest = SECOND[len(stray) :] if SECOND.startswith(stray) else b""

    async with listening(serve) as port, httpx2.AsyncClient(**client_options()) as client:
        for _ in range(3):
            assert (await client.post(f"http://127.0.0.1:{port}/", content=b"x")).text == "ok"


@pytest.mark.parametrize("framing", [b"content-length: 9\r\n", b""], ids=["length", "to the end"])
async def test_a_client_that_is_closed_ends_what_is_being_read(framing: bytes) -> None:
    peer = Peer(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\ntext")
    async with listening(peer.serve) as port, httpx2.AsyncClient(**client_options(), timeout=None) as client:
        reading = asyncio.create_task(client.get(f"http://127.0.0.1:{port}/"))
        await _until(lambda: bool(peer.requests))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            await client.aclose()
            with pytest.raises(httpx2.ReadError):
                await reading


def _send_now(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send without the event loop, so that the other side has not looked yet; nothing: end the connection."""
    sock = writer.get_extra_info("socket")
    with socket.socket(fileno=os.dup(sock.fileno())) as own:
        if data:
            own.send(data)
        else:
            own.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("end", [b"", b"Z\r\n"], ids=["cut", "garbage"])
@pytest.mark.parametrize("read", [True, False], ids=["read at once", "read later"])
async def test_text_that_has_arrived_comes_before_the_fault(client: httpx2.AsyncClient, end: bytes, read: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n")
        await began.wait()
        writer.write(end)
        await writer.drain()
        if not end:
            writer.close()
        ended.set()
        await reader.read()

    began, ended = asyncio.Event(), asyncio.Event()
    limits = httpx2.Timeout(5, read=None)
    async with (
        listening(serve) as port,
        client.stream("GET", f"http://127.0.0.1:{port}/", timeout=limits) as answer,
    ):
        pieces = answer.aiter_raw()
        if read:
            assert await anext(pieces) == b"text"
        began.set()
        await ended.wait()
        await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            if not read:
                assert await anext(pieces) == b"text"
            with pytest.raises(httpx2.RemoteProtocolError):
                await anext(pieces)


async def test_the_time_of_the_reader_is_not_the_servers(client: httpx2.AsyncClient) -> None:
    asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\ntext")
        await asked.wait()
        writer.write(b"more")
        await reader.read()

    limits = httpx2.Timeout(5, read=0.3)
    async with (
        listening(serve) as port,
        client.stream("GET", f"http://127.0.0.1:{port}/", timeout=limits) as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"text"
        await asyncio.sleep(0.6)
        asked.set()
        assert await anext(pieces) == b"more"


async def test_a_reset_is_not_the_end_of_a_body(client: httpx2.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\ntext")
        await writer.drain()
        await read.wait()
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.transport.abort()

    read = asyncio.Event()
    async with listening(serve) as port, client.stream("GET", f"http://127.0.0.1:{port}/") as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"text"
        read.set()
        await asyncio.sleep(0.1)
        with pytest.raises(httpx2.ReadError):
            await anext(pieces)


async def test_a_name_that_is_looked_up_for_too_long_is_a_matter_of_connecting(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_up_without_end(monkeypatch)
    with pytest.raises(httpx2.ConnectTimeout):
        await client.get("http://slow.invalid/", timeout=httpx2.Timeout(5, connect=0.2))


async def test_a_silent_handshake_is_a_matter_of_connecting(client: httpx2.AsyncClient) -> None:
    peer = Peer(None)
    async with listening(peer.serve) as port:
        with pytest.raises(httpx2.ConnectTimeout):
            await client.get(f"https://127.0.0.1:{port}/", timeout=httpx2.Timeout(5, connect=0.3))
        await _until(lambda: peer.left == 1)


async def test_closing_a_client_that_looks_up_a_name_cancels_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    _look_up_without_end(monkeypatch)
    client = httpx2.AsyncClient(**client_options())
    asking = [asyncio.create_task(client.get("http://slow.invalid/")) for _ in range(2)]
    await asyncio.sleep(0.05)
    await client.aclose()
    for one in asking:
        with pytest.raises(httpx2.TransportError):
            await one


def _look_up_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_up(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(30)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_no_request_is_sent_again(client: httpx2.AsyncClient, method: str) -> None:
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        while await _head(reader):
            requests += 1
            if requests > 1:
                return
            writer.write(OK)

    async with listening(serve) as port:
        url = f"http://127.0.0.1:{port}/"
        await client.get(url)
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.request(method, url)
    assert requests == 2


@pytest.mark.parametrize("answer", [b"", b"sk-peer\r\n\r\n", b"HTTP/1.1 200 OK\r\nx\x01sk-peer: \x00\r\n\r\n"])
async def test_a_fault_names_no_key_and_nothing_that_the_server_sent(answer: bytes) -> None:
    peer = Peer(answer, closes=True)
    async with listening(peer.serve) as port, httpx2.AsyncClient(**client_options()) as client:
        with pytest.raises(httpx2.TransportError) as caught:
            await client.post(f"http://127.0.0.1:{port}/?key=sk-own", content=b"x")
    shown = "".join(traceback.format_exception(caught.value, chain=True))
    assert str(caught.value)
    assert "sk-peer" not in shown
    assert "sk-own" not in shown.replace("?key=sk-own", "", 1)  # the line of this test


async def test_a_certificate_that_is_not_trusted(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    async with _over_tls(Peer(), tmp_path) as (port, _):
        with pytest.raises(httpx2.ConnectError, match="certificate verify failed: self-signed certificate"):
            await client.get(f"https://127.0.0.1:{port}/")


async def test_a_server_without_tls(client: httpx2.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 No\r\n\r\n")

    async with listening(serve) as port:
        with pytest.raises(httpx2.ConnectError, match=r"(?i)wrong.version.number"):
            await client.get(f"https://127.0.0.1:{port}/")


async def test_a_connection_with_tls_is_used_again(tmp_path: Path) -> None:
    """Its keys, which arrive after the handshake, are no answer that nobody asked for."""
    peer = Peer()
    async with _over_tls(peer, tmp_path) as (port, trust), httpx2.AsyncClient(**client_options(trust)) as client:
        for _ in range(5):
            assert (await client.get(f"https://localhost:{port}/")).text == "ok"
        assert (len(peer.requests), peer.connections) == (5, 1)
        with pytest.raises(httpx2.ConnectError, match="certificate verify failed"):
            await client.get(f"https://localhost:{port}/", extensions={"sni_hostname": "other.invalid"})


@asynccontextmanager
async def _over_tls(peer: Peer, folder: Path) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    """Serve with a certificate of our own; yield the port, and what trusts it."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]),
    )
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "own.pem"
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(certificate.public_bytes(Encoding.PEM) + written)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(file)
    serving.set_alpn_protocols(["h2", "http/1.1"])

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            await peer.serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=serving)
    try:
        yield server.sockets[0].getsockname()[1], ssl.create_default_context(cafile=str(file))
    finally:
        server.close()


async def test_a_proxy_that_cannot_be_reached_is_a_matter_of_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    async with http_host() as host:
        monkeypatch.setenv("https_proxy", host.url)
        async with httpx2.AsyncClient(**client_options()) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get("https://elsewhere.invalid/")


async def test_a_silent_proxy_is_a_matter_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening(never_answer) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        async with httpx2.AsyncClient(**client_options(), timeout=0.3) as client:
            with pytest.raises(httpx2.TimeoutException):
                await client.get("https://elsewhere.invalid/")


@pytest.mark.skipif(find_spec("socksio") is not None, reason="a SOCKS proxy can be asked")
def test_a_socks_proxy_that_cannot_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(ImportError, match="socksio"):
        client_options()


@pytest.mark.filterwarnings("error")
def test_an_event_loop_that_ends_takes_its_connections_with_it() -> None:
    client = httpx2.AsyncClient(**client_options())
    told: list[object] = []

    async def ask(url: str) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        assert (await client.get(url)).text == "ok"

    peer = Peer()
    with in_thread(peer.serve) as url:
        asyncio.run(ask(url))
        assert _comes_true(lambda: peer.left == 1)
        asyncio.run(ask(url))
        assert _comes_true(lambda: peer.left == 2)
    gc.collect()
    assert told == []


def test_a_client_is_closed_in_the_event_loops_that_use_it() -> None:
    client, peer = httpx2.AsyncClient(**client_options()), Peer()
    other = asyncio.new_event_loop()
    thread = Thread(target=other.run_forever, daemon=True)
    thread.start()

    async def ask(url: str) -> str:
        return (await client.get(url)).text

    async def ask_and_close(url: str) -> None:
        assert await ask(url) == "ok"
        await client.aclose()

    with in_thread(peer.serve) as url:
        assert asyncio.run_coroutine_threadsafe(ask(url), other).result(5) == "ok"
        asyncio.run(ask_and_close(url))
        assert _comes_true(lambda: peer.left == 2)
    other.call_soon_threadsafe(other.stop)
    thread.join(5)
    other.close()


def test_an_event_loop_that_is_closed_at_once_leaves_no_connection() -> None:
    client, peer = httpx2.AsyncClient(**client_options()), Peer()
    told: list[object] = []

    async def ask(url: str) -> str:
        return (await client.get(url)).text

    with in_thread(peer.serve) as url:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _, context: told.append(context))
        assert loop.run_until_complete(ask(url)) == "ok"
        loop.close()
        assert asyncio.run(ask(url)) == "ok"
        gc.collect()
        assert told == []
        assert _comes_true(lambda: peer.left == 2)


async def test_the_time_of_the_source_of_a_body_is_not_the_servers(client: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.sleep(0.6)
        yield b"two"

    peer = Peer()
    async with listening(peer.serve) as port:
        headers = {"content-length": "6"}
        answer = await client.post(
            f"http://127.0.0.1:{port}/", content=pieces(), headers=headers, timeout=httpx2.Timeout(5, write=0.3)
        )
    assert answer.text == "ok"
    assert peer.requests[0].endswith(b"\r\n\r\nonetwo")


async def test_the_end_of_a_body_that_the_server_does_not_take_ends_at_the_time_limit(
    client: httpx2.AsyncClient,
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"x" * 20_000_000

    async with _taking_nothing() as (port, _):
        with pytest.raises(httpx2.WriteTimeout):
            await client.post(f"http://127.0.0.1:{port}/", content=pieces(), timeout=httpx2.Timeout(5, write=0.3))


async def test_what_the_source_of_a_body_raises_reaches_the_caller(client: httpx2.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise LookupError("no more")

    peer = Peer()
    async with listening(peer.serve) as port:
        with pytest.raises(LookupError, match="no more"):
            await client.post(f"http://127.0.0.1:{port}/", content=pieces())
        await _until(lambda: peer.left == 1)


@pytest.mark.parametrize("length", ["3", "9"])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_body_is_as_long_as_its_header_says(length: str, streamed: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    peer = Peer()
    async with listening(peer.serve) as port, httpx2.AsyncClient(**client_options()) as client:
        with pytest.raises(httpx2.LocalProtocolError, match="the body is"):
            await client.post(
                f"http://127.0.0.1:{port}/",
                content=pieces() if streamed else b"onetwo",
                headers={"content-length": length},
            )


async def test_a_request_that_expects_to_be_told_to_go_on_is_sent_at_once(client: httpx2.AsyncClient) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        answer = await client.post(f"http://127.0.0.1:{port}/", content=b"x", headers={"expect": "100-continue"})
    assert answer.text == "ok"
    assert b"\r\nexpect: 100-continue\r\n" in peer.requests[0].lower()


async def test_headers_of_an_answer_that_are_not_utf8(client: httpx2.AsyncClient) -> None:
    peer = Peer(b"HTTP/1.1 200 Tr\xe8s bien\r\nx-a: caf\xe9\r\ncontent-length: 0\r\n\r\n")
    async with listening(peer.serve) as port:
        answer = await client.get(f"http://127.0.0.1:{port}/")
    assert dict(answer.headers.raw)[b"x-a"] == b"caf\xe9"
    assert answer.extensions["reason_phrase"] == b"Tr\xe8s bien"


async def test_a_header_that_is_not_utf8_is_not_sent_in_part() -> None:
    peer = Peer()
    async with listening(peer.serve) as port, httpx2.AsyncClient(**client_options()) as client:
        with pytest.raises(httpx2.LocalProtocolError, match="UTF-8"):
            await client.get(f"http://127.0.0.1:{port}/", headers={b"x": b"caf\xe9"})
    assert peer.requests == []


@pytest.mark.parametrize(("name", "value"), [(b"x", b"a\r\nb: c"), (b"x", b"a\x00"), (b"x y", b"a"), (b"x:", b"a")])
async def test_a_header_that_cannot_be_written(client: httpx2.AsyncClient, name: bytes, value: bytes) -> None:
    peer = Peer()
    async with listening(peer.serve) as port:
        with pytest.raises(httpx2.LocalProtocolError):
            await client.get(f"http://127.0.0.1:{port}/", headers={name: value})
    assert peer.requests == []


async def test_a_method_that_cannot_be_written(client: httpx2.AsyncClient) -> None:
    async with listening(Peer().serve) as port:
        with pytest.raises(httpx2.LocalProtocolError):
            await client.request("A B", f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        ("a" * 64 + ".invalid", httpx2.ConnectError),
        ("2130706433", httpx2.UnsupportedProtocol),
        ("", httpx2.UnsupportedProtocol),
    ],
)
async def test_a_host_that_is_none(host: str, fault: type[Exception]) -> None:
    async with httpx2.AsyncClient(**client_options()) as client:
        with pytest.raises(httpx2.TransportError) as caught:
            await client.get(f"http://{host}/")
    assert (type(caught.value), bool(str(caught.value))) == (fault, True)


async def test_a_limit_of_nothing_is_reached(client: httpx2.AsyncClient) -> None:
    async with listening(never_answer) as port:
        async with asyncio.timeout(5):
            with pytest.raises(httpx2.ReadTimeout):
                await client.get(f"http://127.0.0.1:{port}/", timeout=httpx2.Timeout(5, read=0))


async def test_a_fault_of_a_body_closes_its_connection(client: httpx2.AsyncClient) -> None:
    peer = Peer(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ntext")
    limits = httpx2.Timeout(5, read=0.3)
    async with (
        listening(peer.serve) as port,
        client.stream("GET", f"http://127.0.0.1:{port}/", timeout=limits) as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"text"
        with pytest.raises(httpx2.ReadTimeout):
            await anext(pieces)
        await _until(lambda: peer.left == 1)


@pytest.mark.parametrize("fails", [True, False])
async def test_an_answer_that_begins_before_its_request_ends(fails: bool) -> None:
    """The limit of reading counts from the end of the request; a source that fails ends both."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"one\r\n")
        writer.write(OK[:-2])
        begun.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(OK[-2:])

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        await begun.wait()
        await asyncio.sleep(2.5)
        if fails:
            raise LookupError("no more")
        yield b"two"

    begun = asyncio.Event()
    limits = httpx2.Timeout(20, read=None if fails else 2)
    async with listening(serve) as port, httpx2.AsyncClient(**client_options(), timeout=limits) as client:
        async with asyncio.timeout(20):
            asking = client.post(f"http://127.0.0.1:{port}/", content=pieces())
            if fails:
                with pytest.raises(LookupError, match="no more"):
                    await asking
            else:
                assert (await asking).text == "ok"


async def test_tls_is_for_the_protocol_that_we_speak(tmp_path: Path) -> None:
    spoken: list[str | None] = []

    class Asked(Peer):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            spoken.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            await super().serve(reader, writer)

    async with _over_tls(Asked(), tmp_path) as (port, trust):
        trust.set_alpn_protocols(["h2"])
        async with httpx2.AsyncClient(**client_options(trust)) as ours:
            assert (await ours.get(f"https://localhost:{port}/")).text == "ok"
    assert spoken == ["http/1.1"]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def _comes_true(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 5
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


async def test_with_an_unknown_release_of_aiohttp_requests_go_through_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiohttp, "__version__", "3.15.0")
    monkeypatch.setattr(AiohttpTransport, "handle_async_request", None)
    peer = Peer()
    async with listening(peer.serve) as port, httpx2.AsyncClient(**client_options()) as client:
        assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 200
