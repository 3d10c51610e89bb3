"""Fixtures of several folders: a model behind HTTP, and the transports beneath it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from support.http_host import listening
from support.scripted_model import ChatServer

from xmcp import http_transport


@pytest.fixture(params=["aiohttp", "httpx2"])
def over_each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test over our transport, and over httpx2's own, which has to behave in the same way."""
    if request.param == "httpx2":
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        monkeypatch.setattr(http_transport, "client_options", lambda verify=True: {"verify": verify, "limits": limits})


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    """A `ChatServer` on a free port; its `url` is what `base_url` takes."""
    server = ChatServer()
    async with listening(server.serve) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
