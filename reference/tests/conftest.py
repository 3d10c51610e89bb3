"""Fixtures of several folders: a model behind HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.http_host import listening
from support.scripted_model import ChatServer


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    """A `ChatServer` on a free port; its `url` is what `base_url` takes."""
    server = ChatServer()
    async with listening(server.serve) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
