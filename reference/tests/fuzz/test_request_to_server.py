"""Whatever a client sends to a server over HTTP, the answer has a reason, and the next call is answered."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.fuzzing import ANY_JSON, SECONDS, TEXTS, as_bytes, damaged, damaged_bytes, fuzzing
from support.served_app import ServedApp, answers_in, called, headers_of, served_app

from xmcp import XMCP

ERAS = ("modern", "handshake")
HONEST = {"where": "here", "deep": {"a": [1, 2.5, None]}}

BODIES = st.one_of(
    *(damaged(st.just(called(era, "look", HONEST))).map(as_bytes) for era in ERAS),
    *(damaged_bytes(st.just(as_bytes(called(era, "look", HONEST)))) for era in ERAS),
    ANY_JSON.map(as_bytes),
    st.lists(damaged(st.just(called("handshake", "look", HONEST))), max_size=3).map(as_bytes),
    st.binary(max_size=40),
)
NAMES = st.sampled_from(
    [
        *("Accept", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Host", "Origin"),
        *("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Mcp-Param-Where", "Last-Event-Id"),
        *("Authorization", "Cookie", "Traceparent", "Baggage", "X-Forwarded-Host", "Expect"),
    ]
)
VALUES = st.one_of(
    st.binary(max_size=12),
    TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"0", b"-1", b"chunked", b"gzip", b"text/plain", b"*/*", b"a" * 20_000, b"look", b"2025-11-25"]),
)
HEADERS = st.lists(st.tuples(NAMES.map(str.encode), VALUES), max_size=4)
"""Headers that replace those of the same names, or stand beside them."""

METHODS = st.sampled_from(["POST"] * 6 + ["DELETE", "PUT", "OPTIONS", "HEAD"])


@pytest.fixture(scope="module")
def server() -> Iterator[ServedApp]:
    mcp = XMCP("fuzzed")

    @mcp.tool
    def look(where: str, deep: dict[str, Any] | None = None, number: int = 0, ratio: float = 0.0) -> str:
        return f"seen {where}"

    with served_app(mcp.http_app()) as served:
        yield served


def judge(response: httpx2.Response) -> None:
    """Check that an answer is one that a client can act on."""
    assert response.status_code < 500, response.text
    assert "Traceback" not in response.text
    if response.status_code >= 400 and not response.headers.get("content-type", "").startswith("application/json"):
        assert len(response.text) < 1000
        return
    for message in answers_in(response):
        if "error" in message:
            assert message["error"]["code"] != -32603, message
            assert len(message["error"]["message"]) < 10_000
        for block in message.get("result", {}).get("content", []):
            assert 'code="INTERNAL"' not in block["text"]


def honest_headers(era: str) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers_of(era).items()]


def tried(server: ServedApp, method: str, body: bytes, headers: list[tuple[bytes, bytes]], caplog: Any) -> None:
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        judge(server.send(method, body, headers, SECONDS))
        crashes = [record.getMessage() for record in caplog.records if record.exc_info]
    assert not crashes
    era = ERAS[len(body) % 2]
    assert "seen here" in str(server.result(era, "look", HONEST, SECONDS))


@given(st.sampled_from(ERAS), BODIES)
@example("modern", b"[" * 100_000)
@example("handshake", b'{"a":' * 100_000)
@example("handshake", as_bytes(called("handshake", "look", {"where": "x"})).replace(b'"x"', b"9" * 100_000))
@example("modern", as_bytes(called("modern", "look", {"where": "x"})).replace(b'"id": 1', b'"id": 1' + b"0" * 5000))
@fuzzing(25)
def test_whatever_body_a_client_sends(server: ServedApp, caplog: Any, era: str, body: bytes) -> None:
    tried(server, "POST", body, honest_headers(era), caplog)


@given(st.sampled_from(ERAS), METHODS, HEADERS, st.booleans())
@fuzzing(25)
def test_whatever_headers_a_client_sends(
    server: ServedApp, caplog: Any, era: str, method: str, odd: list[tuple[bytes, bytes]], beside: bool
) -> None:
    replaced = {name.lower() for name, _ in odd} if not beside else set()
    kept = [(name, value) for name, value in honest_headers(era) if name.lower() not in replaced]
    tried(server, method, json.dumps(called(era, "look", HONEST)).encode(), kept + odd, caplog)


ARGUMENTS = st.one_of(
    damaged(st.just({**HONEST, "number": 1, "ratio": 0.5})),
    st.dictionaries(TEXTS | st.sampled_from(["where", "number", "ratio", "deep"]), ANY_JSON, max_size=4),
)


@given(st.sampled_from(ERAS), ARGUMENTS)
@fuzzing(25)
def test_whatever_arguments_a_client_sends(server: ServedApp, caplog: Any, era: str, arguments: Any) -> None:
    tried(server, "POST", as_bytes(called(era, "look", arguments)), honest_headers(era), caplog)
