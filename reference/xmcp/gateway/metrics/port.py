"""The metrics of one gateway: what is counted of it, its state, and its process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, ProcessCollector

from xmcp.gateway.metrics.counts import Counts
from xmcp.gateway.metrics.exposed import exposed
from xmcp.gateway.metrics.state import StateCollector
from xmcp.gateway.service import Gateway


class GatewayMetrics:
    """The metrics of one gateway, whose runs are observed from now on.

    Attributes:
        counts: What happened.
        url: Where they are served; empty before, and on a Unix socket.
    """

    def __init__(self, gateway: Gateway) -> None:
        self.registry = CollectorRegistry()
        self.counts = Counts(gateway.model_ids, self.registry)
        gateway.observers.append(self.counts)
        self.registry.register(StateCollector(gateway))
        ProcessCollector(registry=self.registry)
        self.url = ""

    @contextmanager
    def served(self, listener: socket.socket) -> Iterator[None]:
        """Serve them on a bound socket, in a thread, while the block runs, as `exposed` does."""
        with exposed(listener, self._read) as self.url:
            yield

    async def _read(self) -> CollectorRegistry:
        return self.registry
