"""Fixtures of several folders: a model behind HTTP, and the transports beneath it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from support.http_host import listening
from support.scripted_model import ChatServer

from xmcp import http_clients


@pytest.fixture(params=["aiohttp", "httpx2"])
async def over_each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Run a test over our transport, and over an `http_client` of the application, which behaves in the same way."""
    if request.param == "aiohttp":
        yield
        return
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(limits=limits) as client:
        new_client = http_clients.new_client
        monkeypatch.setattr(
            http_clients, "new_client", lambda kind, given, **options: new_client(kind, given or client, **options)
        )
        yield


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    """A `ChatServer` on a free port; its `url` is what `base_url` takes."""
    server = ChatServer()
    async with listening(server.serve) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
