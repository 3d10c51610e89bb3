"""How a process of the soak serves HTTP on loopback."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from typing import Any, Literal


def bound(port: int = 0) -> socket.socket:
    """Return a socket that is bound to a port of the loopback, or to a free one, and does not listen yet."""
    # With the protocol named: else asyncio leaves Nagle's algorithm on, and each request takes 40 ms more.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock


def end_with_the_parent() -> None:
    """End this process, in a thread, as soon as its standard input ends."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def serve(app: Any, listener: socket.socket, *, lifespan: Literal["on", "off"] = "off") -> None:
    """Serve an ASGI application until the process ends."""
    import uvicorn

    # A client that leaves in the middle of an answer is what hostile peers are for, and nothing to complain of.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # Keep idle connections: closing one while a client begins to use it would be an error that the soak causes.
    options: dict[str, Any] = {"log_level": "critical", "ws": "none", "timeout_keep_alive": 3600, "backlog": 2048}
    uvicorn.Server(uvicorn.Config(app, lifespan=lifespan, **options)).run(sockets=[listener])


async def body_of(receive: Any) -> bytes:
    """Return the body of a request."""
    pieces, more = [], True
    while more:
        event = await receive()
        pieces.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(pieces)


async def start(send: Any, content_type: str = "application/json", status: int = 200, **headers: str) -> None:
    """Send the head of an answer."""
    fields = {"content-type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def piece(send: Any, data: bytes, *, more: bool = True) -> None:
    """Send a piece of the body; it is the last one unless `more`."""
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def whole(send: Any, data: bytes, content_type: str = "application/json", status: int = 200) -> None:
    """Send an answer in one piece."""
    await start(send, content_type, status, content_length=str(len(data)))
    await piece(send, data, more=False)
