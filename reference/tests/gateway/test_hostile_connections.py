"""A hostile client on sockets of its own: what it sends is refused clearly, and the chat of a bystander ends right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator

import pytest
from support.bystanders import bystander
from support.raw_http import head, post, told

CHAT = json.dumps({"input": "hi"}).encode()
SMUGGLED = post("/chat", json.dumps({"input": "smuggled"}).encode())
CHUNKED = ("content-type: application/json", "transfer-encoding: chunked")


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def endless_headers() -> Iterator[bytes]:
    yield head("GET", "/livez")[:-2]
    for number in range(100_000):
        yield f"x-{number}: {number}\r\n".encode()


def with_two(first: str, second: str, body: bytes) -> bytes:
    return head("POST", "/chat", "content-type: application/json", first, second) + body


FRAMING: dict[str, Iterable[bytes]] = {
    "length and chunks": [with_two(f"content-length: {len(CHAT)}", "transfer-encoding: chunked", CHAT + SMUGGLED)],
    "chunks and length": [with_two("transfer-encoding: chunked", "content-length: 4", b"0\r\n\r\n" + SMUGGLED)],
    "two lengths": [with_two("content-length: 0", f"content-length: {len(CHAT)}", CHAT + SMUGGLED)],
    "a list of lengths": [with_two("content-length: 0, 5", "x: y", CHAT + SMUGGLED)],
    "a negative length": [with_two("content-length: -1", "x: y", SMUGGLED)],
    "a signed length": [with_two("content-length: +15", "x: y", CHAT + SMUGGLED)],
    "a hexadecimal length": [with_two("content-length: 0xf", "x: y", CHAT + SMUGGLED)],
    "a giant length": [with_two(f"content-length: {'9' * 60}", "x: y", CHAT)],
    "no number": [with_two("content-length: ", "x: y", SMUGGLED)],
    "an unknown coding": [with_two("transfer-encoding: xchunked", "x: y", chunk(CHAT) + b"0\r\n\r\n" + SMUGGLED)],
    "chunks that are not last": [with_two("transfer-encoding: chunked, gzip", "x: y", chunk(CHAT) + SMUGGLED)],
    "a coding twice": [with_two("transfer-encoding: chunked", "transfer-encoding: identity", CHAT + SMUGGLED)],
    "a blank before the colon": [with_two("transfer-encoding : chunked", "x: y", chunk(CHAT) + SMUGGLED)],
    "a folded header": [with_two("x: y\r\n transfer-encoding: chunked", "content-length: 3", CHAT + SMUGGLED)],
    "a line that ends with LF": [head("POST", "/chat").replace(b"\r\n", b"\n") + SMUGGLED],
    "a CR in a header": [with_two("x: a\rtransfer-encoding: chunked", "content-length: 3", CHAT + SMUGGLED)],
    "a NUL in a header": [with_two("x: a\0b", f"content-length: {len(CHAT)}", CHAT)],
    "a name with a NUL": [with_two("x\0: ab", f"content-length: {len(CHAT)}", CHAT)],
    "no host": [b"GET /v1/models HTTP/1.1\r\n\r\n"],
    "two hosts": [head("GET", "/v1/models", "host: evil.example")],
    "a chunk size that is none": [head("POST", "/chat", *CHUNKED) + b"zz\r\n" + SMUGGLED],
    "a negative chunk size": [head("POST", "/chat", *CHUNKED) + b"-1\r\n" + SMUGGLED],
    "a giant chunk size": [head("POST", "/chat", *CHUNKED) + b"F" * 20 + b"\r\n" + SMUGGLED],
    "a chunk without its end": [head("POST", "/chat", *CHUNKED) + b"3\r\nabcdef\r\n" + SMUGGLED],
    "a chunk size with a blank": [head("POST", "/chat", *CHUNKED) + b" 3 \r\nabc\r\n" + SMUGGLED],
    "no HTTP": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500],
    "no HTTP at all": [b"EHLO mail.example\r\nQUIT\r\n"],
    "HTTP/2 without an upgrade": [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    "HTTP/9": [b"GET /livez HTTP/9.9\r\nhost: localhost\r\n\r\n"],
    "a method that is none": [b"GET\0 /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    "CONNECT": [head("CONNECT", "evil.example:443")],
    "100,000 headers": endless_headers(),
    "a header of 1 MB": [head("GET", "/livez")[:-2] + b"x: " + b"y" * 1_000_000 + b"\r\n\r\n"],
    "a name of 1 MB": [head("GET", "/livez")[:-2] + b"y" * 1_000_000 + b": x\r\n\r\n"],
    "a target of 1 MB": [head("GET", "/" + "x" * 1_000_000)],
    "a NUL in the target": [b"GET /runs/a\0b HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    "a blank in the target": [b"GET /runs/a b HTTP/1.1\r\nhost: localhost\r\n\r\n"],
}
"""What breaks the framing of HTTP: one answer at most, no server error, and nothing of what follows is a request."""


@pytest.mark.parametrize("pieces", FRAMING.values(), ids=FRAMING.keys())
async def test_what_breaks_the_framing_is_refused_and_what_follows_is_no_request(
    pieces: Iterable[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async with bystander() as (up, model):
        answer = await told(up.url, pieces, answers=2)
        assert answer.closed
        assert all(400 <= status < 500 for status in answer.statuses), answer.data[:500]
        assert len(answer.statuses) <= 1, answer.data[:2_000]
        assert model.asked_by_others == []
    assert "Traceback" not in caplog.text


TARGETS: dict[str, tuple[bytes, set[int]]] = {
    "HTTP/1.0": (b"GET /livez HTTP/1.0\r\n\r\n", {200}),
    "HTTP/1.0 that stays": (b"GET /livez HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", {200}),
    "a target with a host": (head("GET", "http://localhost/v1/models"), {200}),
    "the target *": (head("OPTIONS", "*"), {400, 404, 405}),
    "a target without a slash": (head("GET", "v1/models"), {400, 404}),
    "two slashes": (head("GET", "//v1/models"), {400, 404}),
    "a slash at the end": (head("GET", "/v1/models/"), {404}),
    "dots": (head("GET", "/chat/../v1/models"), {404}),
    "encoded dots": (head("GET", "/chat/%2e%2e/v1/models"), {404}),
    "encoded slashes": (head("GET", "/runs%2f..%2fv1%2fmodels"), {404}),
    "backslashes": (head("GET", "/runs\\..\\v1\\models"), {404}),
    "capitals": (head("GET", "/V1/MODELS"), {404}),
    "a percent sign that is none": (head("GET", "/runs/%zz"), {404}),
    "bytes that are no UTF-8": (head("GET", "/runs/%ff%fe"), {404}),
    "another method": (head("TRACE", "/v1/models"), {405}),
    "HEAD": (head("HEAD", "/v1/models"), {200}),
    "an upgrade": (head("GET", "/livez", "connection: upgrade", "upgrade: websocket", "sec-websocket-key: x"), {200}),
    "an upgrade to h2c": (head("GET", "/livez", "connection: upgrade, http2-settings", "upgrade: h2c"), {200}),
    "an expectation": (head("POST", "/tools/refresh", "expect: 100-continue", "content-length: 0"), {200}),
    "a giant query": (head("GET", f"/sessions?cursor={'9' * 60_000}"), {400}),
    "a giant limit": (head("GET", f"/sessions?limit={'9' * 60_000}"), {400}),
    "a thousand query parameters": (head("GET", "/sessions?" + "&".join(f"limit={n}" for n in range(9_000))), {400}),
}
"""What is odd and no breach of the framing: the status that it gets."""


@pytest.mark.parametrize(("sent", "statuses"), TARGETS.values(), ids=TARGETS.keys())
async def test_an_odd_request_gets_a_clear_answer(
    sent: bytes, statuses: set[int], caplog: pytest.LogCaptureFixture
) -> None:
    async with bystander() as (up, _):
        # Behind a HEAD, and on a connection that the server closes, nothing more than that answer comes.
        answer = await told(up.url, [sent.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)])
        assert {status for status in answer.statuses if status != 100} <= statuses, answer.data[:500]
        assert answer.statuses
    assert "Traceback" not in caplog.text


JSON_BODIES: dict[str, tuple[bytes, tuple[str, ...], set[int]]] = {
    "100,000 levels": (b"[" * 100_000 + b"]" * 100_000, (), {400}),
    "100,000 levels of objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, (), {400}),
    "100,000 levels without an end": (b'{"messages":' + b"[" * 100_000, (), {400}),
    "NaN": (b'{"input": "hi", "deadline_ms": NaN}', (), {400}),
    "infinity": (b'{"input": "hi", "deadline_ms": 1e999}', (), {400}),
    "a giant number": (b'{"input": "hi", "deadline_ms": ' + b"9" * 10_000 + b"}", (), {400}),
    "half of a pair": (b'{"input": "\\ud800"}', (), {400}),
    "half of a pair in a name": (b'{"input": "hi", "\\udfff": 1}', (), {400}),
    "half of a pair in bytes": (b'{"input": "\xed\xa0\x80"}', (), {400}),
    "UTF-16": ('{"input": "hi"}'.encode("utf-16"), ("content-type: application/json; charset=utf-16",), {400}),
    "another charset": ('{"input": "é"}'.encode("latin-1"), ("content-type: application/json; charset=latin1",), {400}),
    "a byte order mark": (b"\xef\xbb\xbf" + CHAT, (), {400}),
    "gzip": (gzip.compress(CHAT), ("content-encoding: gzip",), {415}),
    "gzip that does not say so": (gzip.compress(CHAT), (), {400}),
    "a form": (b"input=hi", ("content-type: application/x-www-form-urlencoded",), {415}),
    "a text": (CHAT, ("content-type: text/plain",), {415}),
    "two types": (CHAT, ("content-type: application/json", "content-type: text/plain"), {400}),
    "nothing": (b"", (), {400}),
    "NUL": (b"\0" * 1_000, (), {400}),
    "two values": (CHAT + CHAT, (), {400}),
    "100,000 unknown members": (json.dumps({f"x{n}": n for n in range(100_000)}).encode(), (), {400}),
    "no texts": (b'{"input": {"a": [1, 2]}}', (), {400}),
    "a million messages": (b'{"messages":[' + b",".join([b"{}"] * 1_000_000) + b"]}", (), {400}),
    "a message that is a number": (b'{"messages": [7]}', (), {400}),
}
BODIES_OF = ("/chat", "/v1/chat/completions", "/ui/ai-sdk", "/ui/ag-ui")


@pytest.mark.parametrize(("body", "lines", "statuses"), JSON_BODIES.values(), ids=JSON_BODIES.keys())
async def test_a_hostile_body_is_refused_by_every_route(
    body: bytes, lines: tuple[str, ...], statuses: set[int], caplog: pytest.LogCaptureFixture
) -> None:
    typed = () if any(line.startswith("content-type") for line in lines) else ("content-type: application/json",)
    async with bystander() as (up, model):
        for path in BODIES_OF:
            sent = head("POST", path, *typed, *lines, f"content-length: {len(body)}", "connection: close") + body
            answer = await told(up.url, [sent])
            assert {*answer.statuses} <= statuses, (path, answer.data[:500])
            assert answer.statuses
            assert len(answer.data) < 5_000
        assert model.asked_by_others == []
    assert "Traceback" not in caplog.text
