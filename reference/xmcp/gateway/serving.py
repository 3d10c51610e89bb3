"""The process of a gateway: uvicorn, which drains. The first SIGTERM or Ctrl-C lets runs finish, the second ends it.

uvicorn tells an application of a signal only after all streams have ended, so that it would cut them.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.applications import Starlette

from xmcp.gateway.http.app import application
from xmcp.gateway.service import Gateway
from xmcp.gateway.workers.connections import with_peer_clients
from xmcp.http_connections import with_head_timeout, with_send_timeout

if TYPE_CHECKING:
    from xmcp.gateway.metrics.port import GatewayMetrics
    from xmcp.gateway.workers.place import WorkerPlace

_FLUSH_SECONDS: Final = 5
"""For what is still to be sent when all runs have ended."""

_OTHERS_SECONDS: Final = 10
"""For how long beyond `drain_seconds` the answers of other processes are waited for, which end their runs then."""

_log: Final = logging.getLogger("xmcp.gateway")


class GatewayServer(uvicorn.Server):
    """A uvicorn server for one gateway.

    Args:
        gateway: The gateway.
        ready: Is called when connections are accepted.
        metrics: Count its requests.
        place: The place of this process among several. It is then served on a Unix socket at
            `place.socket_of(place.number)` for the others, too.
        settings: Further options of `uvicorn.Config`.
    """

    def __init__(
        self,
        gateway: Gateway,
        ready: Callable[[], None],
        metrics: GatewayMetrics | None = None,
        *,
        place: WorkerPlace | None = None,
        **settings: Any,
    ) -> None:
        self._gateway = gateway
        self._ready = ready
        self._is_one_of_several = place is not None
        self._app: Starlette = application(gateway, None if metrics is None else metrics.counts, place)
        self._draining: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # Without the headers of a proxy: what a caller writes into them would pass for the address of a connection.
        fixed = {"lifespan": "on", "ws": "none", "proxy_headers": False, "timeout_graceful_shutdown": _FLUSH_SECONDS}
        super().__init__(
            uvicorn.Config(self._app, server_header=False, **{"log_level": "warning", **settings, **fixed})
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to drain; at the second signal, or while the gateway starts, end at once.

        As one of several processes: at SIGINT, however often SIGTERM came.
        """
        drains = sig == signal.SIGTERM if self._is_one_of_several else self._draining is None
        if self.started and drains and self._loop is not None:
            self._loop.call_soon_threadsafe(self.drain)
            return
        self.should_exit = self.force_exit = True
        if self._starting is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._starting.cancel)

    def drain(self) -> None:
        """Begin to drain, unless that has begun: new chats are refused, runs may finish, then the server ends."""
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(), name="xmcp gateway drain")

    async def _drain(self) -> None:
        listen = self._gateway.config.listen
        self._gateway.stopping = True
        try:
            await asyncio.sleep(listen.load_balancer_seconds)
            for listener in self.servers:
                if not _is_for_peers(listener):
                    listener.close()
            ended_by = asyncio.get_running_loop().time() + listen.drain_seconds + _OTHERS_SECONDS
            left = await self._gateway.runs.drain(listen.drain_seconds)
            if left:
                _log.warning("%d runs were ended before they were finished", left)
            if (peers := self._app.state.peers) is not None:
                left = await peers.idle(ended_by - asyncio.get_running_loop().time())
                if left:
                    _log.warning("%d answers of other workers were cut", left)
        finally:
            self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `ready`."""
        self._loop = asyncio.get_running_loop()
        self._app.state.abort = self._abort
        protocol = with_head_timeout(self.config.http_protocol_class)
        # A stream has its own limit, which comes first and is counted.
        protocol = with_send_timeout(protocol, self._gateway.config.listen.send_seconds + 1)
        self.config.http_protocol_class = protocol if self._app.state.peers is None else with_peer_clients(protocol)
        # In a task of its own: a signal need not wait for tool servers that do not answer.
        self._starting = asyncio.create_task(super().startup(sockets), name="xmcp gateway start")
        await asyncio.wait({self._starting})
        if self._starting.cancelled():
            # The process ends, and the lifespan that is cancelled with it is no failure that a log should tell of.
            logging.getLogger("uvicorn.error").addFilter(lambda _: False)
        else:
            self._starting.result()
        if self.started:
            self._ready()

    def _abort(self, client: Any) -> None:
        """Cut the connection of a client, without waiting until it has taken what was sent."""
        for connection in self.server_state.connections:
            if getattr(connection, "client", None) == client:
                connection.transport.abort()
                return


def _is_for_peers(listener: asyncio.base_events.Server) -> bool:
    """Return whether only other processes of the gateway reach a listener: they wait for the runs of this one."""
    return any(one.family == getattr(socket, "AF_UNIX", None) for one in listener.sockets)
