"""A listener that several processes accept from, so that each gets its share.

The servers of asyncio and uvloop accept whatever waits: the process that wakes first takes all connections that come at
once, and keeps them, while the others are idle. Here each takes one, looks after it, and lets those go first that have
fewer.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn

from xmcp.gateway.workers.connection_counts import ConnectionCounts

PASS_SECONDS: Final = 0.01
"""Seconds that a connection waits for a process that has fewer."""

NO_PASS_SECONDS: Final = 0.1
"""Seconds in which none waits after one that nobody else has taken: the others are stuck, or not there."""

LISTENS_SECONDS: Final = 0.02
"""Seconds until it is asked again whether a listener listens already."""

RETRY_SECONDS: Final = 1.0
"""Seconds until connections are accepted again after the system had no room for one."""

_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

_log: Final = logging.getLogger("xmcp.gateway.workers")


class SharedListener:
    """Accepts connections until it is closed, as `asyncio.Server` does. Make it on the event loop.

    Args:
        listener: A socket that is bound. It need not listen yet: the parent of the processes has it listen when all of
            them serve, so that no request comes to one whose answer is another one's, which still starts.
        protocol: Makes what serves a connection.
        others_first: Whether another process should have the next one; is asked with the number of those that were
            accepted and have no protocol yet.

    Attributes:
        sockets: The listener.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        others_first: Callable[[int], bool],
    ) -> None:
        self.sockets = (listener,)
        self._listener = listener
        self._protocol = protocol
        self._others_first = others_first
        self._loop = asyncio.get_running_loop()
        self._begun: set[asyncio.Task[Any]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._passes_from = 0.0
        listener.setblocking(False)
        self._begin()

    def close(self) -> None:
        """Accept no more; connections that were accepted go on."""
        if self._listener.fileno() == -1:
            return
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()

    async def wait_closed(self) -> None:
        """Wait until connections that were accepted have their protocols."""
        if self._begun:
            await asyncio.wait(self._begun)

    def _begin(self) -> None:
        """Look for connections as soon as it listens; until then a selector would report it without end."""
        if self._listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            self._loop.add_reader(self._listener, self._look)
        else:
            self._pause = self._loop.call_later(LISTENS_SECONDS, self._begin)

    def _look(self) -> None:
        """Take the connection that waits, or leave it to others for a moment."""
        if self._others_first(len(self._begun)) and self._loop.time() >= self._passes_from:
            self._look_again_in(PASS_SECONDS)
        else:
            self._take()

    def _look_again_in(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._after_pause)

    def _after_pause(self) -> None:
        self._loop.add_reader(self._listener, self._look)
        if self._take():
            self._passes_from = self._loop.time() + NO_PASS_SECONDS

    def _take(self) -> bool:
        """Accept a connection and return whether there was one."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False  # another process was faster, or the client has left
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            # It goes on waiting, and would be tried without a pause.
            _log.warning("no connection can be accepted: %s", error.strerror)
            self._look_again_in(RETRY_SECONDS)
            return False
        connection.setblocking(False)
        begun = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
        return True


def accept_for(server: uvicorn.Server, listener: socket.socket, counts: ConnectionCounts) -> None:
    """Have a server that has started accept from a listener, too, that other processes share."""
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.Protocol:
        config: Any = server.config
        made: asyncio.Protocol = config.http_protocol_class(
            config=config, server_state=server.server_state, app_state=server.lifespan.state, _loop=loop
        )
        return made

    def others_first(begun: int) -> bool:
        return counts.is_more_than_least(len(server.server_state.connections) + begun)

    shared: Any = SharedListener(listener, protocol, others_first)
    server.servers.append(shared)
