"""Fixtures of several folders: a model behind HTTP, and the transports beneath it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.http_host import listening
from support.scripted_model import ChatServer

from xmcp import http_transport


@pytest.fixture(params=["aiohttp", "httpx2"])
def over_each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test over httpx2's own transport, and over the one that is to take its place."""
    if request.param == "aiohttp":
        monkeypatch.setattr(
            http_transport, "client_options", lambda verify=True: {"transport": http_transport.transport(verify)}
        )


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    """A `ChatServer` on a free port; its `url` is what `base_url` takes."""
    server = ChatServer()
    async with listening(server.serve) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
