"""What the HTTP client for tool servers relies on in httpx2. Red means: it has changed."""

from __future__ import annotations

import gc
import itertools
import ssl
import weakref
from typing import Any

import httpx2
import pytest
from fastmcp.client.transports import SSETransport, StreamableHttpTransport

from xmcp.client.servers.fastmcp_internals import resilient
from xmcp.client.servers.fastmcp_internals.http_client import _bound_body, bound
from xmcp.client.servers.peer_limits import Allowance
from xmcp.http_clients import MAX_COOKIES

pytestmark = pytest.mark.usefixtures("over_each_transport")


async def test_cookies_of_a_server_are_kept_but_do_not_pile_up() -> None:
    numbers = itertools.count()
    sent: list[int] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers.get("cookie", "").count("="))
        return httpx2.Response(200, headers=[("set-cookie", f"c{next(numbers)}=1") for _ in range(60)])

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        bound(client)
        for _ in range(20):
            await client.get("http://host/mcp")
    assert sent[1] == 60
    assert max(sent) <= MAX_COOKIES


@pytest.mark.parametrize("given", [StreamableHttpTransport("https://host/mcp"), SSETransport("https://host/sse")])
@pytest.mark.parametrize("verify", [None, True])
async def test_a_new_connection_does_not_read_the_certificates_again(given: Any, verify: Any, monkeypatch: Any) -> None:
    """It takes 20 ms on the event loop, at every connection of every credential."""
    read: list[Any] = []
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: read.append(1))
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_, **__: read.append(1))
    given.verify = verify
    await resilient(given).httpx_client_factory().aclose()  # type: ignore[attr-defined]
    assert read == []
    await httpx2.AsyncClient().aclose()
    assert read  # which is what it would do


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_an_answer_that_was_dropped_needs_no_garbage_collection(content_type: str) -> None:
    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b"{}"

    request = httpx2.Request("POST", "http://127.0.0.1/mcp")
    response = httpx2.Response(200, headers={"content-type": content_type}, stream=Body(), request=request)
    await _bound_body(response, Allowance())
    assert await response.aread() == b"{}"
    left = weakref.ref(response)
    gc.disable()
    try:
        del response
        assert left() is None
    finally:
        gc.enable()
