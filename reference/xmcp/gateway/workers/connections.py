"""Which connections come from another process of the gateway: those over the Unix socket that only they can reach."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Final, NamedTuple

from starlette.types import Scope


class PeerClient(NamedTuple):
    """What stands in `scope["client"]` of a request that another process handed on. Each connection has its own.

    By its class it is known: whatever a caller sends, and whatever a proxy makes of it, is another tuple at most.
    """

    host: str
    port: int


AHEAD_BYTES: Final = 4 * 1024 * 1024
"""How much is sent to another process before it takes it: as much as systems hold for a connection of a network, where
they hold little for a Unix socket. Else a process that does not run for a moment would be dropped as too slow."""

_numbers: Final = itertools.count(1)


def is_from_peer(scope: Scope) -> bool:
    """Return whether another process of the gateway handed a request on."""
    return isinstance(scope.get("client"), PeerClient)


def headers_as_they_came(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request that was handed on: whoever sends it writes each of their bytes as UTF-8."""
    return [(name, value if value.isascii() else value.decode().encode("latin-1")) for name, value in scope["headers"]]


def with_peer_clients(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """Return a subclass of one of uvicorn's protocols that marks connections over Unix sockets.

    uvicorn has no address for their clients, so that one of them could not be told from another.
    """

    class WithPeerClients(protocol):  # type: ignore[valid-type, misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # The address of this end, which is no matter of the other one: a Unix socket has no port.
            if self.server is not None and self.server[1] is None:
                self.client = PeerClient("worker", next(_numbers))
                transport.set_write_buffer_limits(AHEAD_BYTES)

    return WithPeerClients
