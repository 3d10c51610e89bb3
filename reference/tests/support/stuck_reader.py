"""A client with small buffers that asks a gateway for a stream and reads nothing of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def stuck_reader(
    url: str, path: str | None = None, chat: str = '{"input": "much"}'
) -> AsyncIterator[socket.socket]:
    """Begin a chat by `POST /chat` at an address, or get a path; yield the connection, whose answer nobody has read."""
    loop = asyncio.get_running_loop()
    body = chat.encode() if path is None else b""
    lines = [
        "POST /chat HTTP/1.1" if path is None else f"GET {path} HTTP/1.1",
        "host: 127.0.0.1",
        "accept: text/event-stream",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    with socket.socket() as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        stuck.setblocking(False)
        await loop.sock_connect(stuck, ("127.0.0.1", int(url.rpartition(":")[2])))
        await loop.sock_sendall(stuck, "\r\n".join([*lines, "", ""]).encode() + body)
        yield stuck
