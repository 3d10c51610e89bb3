"""`GET /metrics` on a socket and in a thread of its own: what a reader of it does is never waited for by a chat."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from xmcp.gateway.config import is_loopback
from xmcp.gateway.hosts import names_this_machine
from xmcp.http_connections import with_head_timeout

MAX_CONNECTIONS: Final = 8
"""Maximum number of connections of readers at the same time; more get 503."""

_STOP_SECONDS: Final = 5.0


@contextmanager
def exposed(listener: socket.socket, read: Callable[[], Awaitable[Collector]]) -> Iterator[str]:
    """Serve what `read` returns on a bound socket, in a thread, while the block runs; yield its URL. It needs no key.

    On an address of this machine only those requests are answered that name this machine, so that no web page reads
    the metrics by a name of its own that leads here. The URL of a Unix socket is empty.
    """
    address: Any = listener.getsockname()
    host, port = ("", 0) if isinstance(address, str) else address[:2]
    local = is_loopback(host)

    async def metrics(request: Request) -> Response:
        if local and not names_this_machine(request.headers.get("host", "")):
            return PlainTextResponse("These metrics are for names of this machine only.\n", 421)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(await read()), headers={"content-type": content_type})

    app = Starlette(routes=[Route("/metrics", metrics, methods=["GET"])])
    listener.listen()  # who connects before the thread has begun waits for it
    server = _Server(app)
    thread = threading.Thread(target=server.run, args=([listener],), name="xmcp metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics" if host else ""
    finally:
        server.should_exit = True
        thread.join(_STOP_SECONDS)


class _Server(uvicorn.Server):
    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with a time limit for the heads of requests."""
        self.config.http_protocol_class = with_head_timeout(self.config.http_protocol_class)
        await super().startup(sockets)
