"""Where a gateway serves its metrics: on its port; or each worker on a socket, and their parent on the port."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xmcp.gateway.config import MetricsSettings
from xmcp.gateway.config_rules import CannotServe
from xmcp.gateway.workers.sockets import bound
from xmcp.http_listening import listen

if TYPE_CHECKING:
    from xmcp.gateway.metrics.port import GatewayMetrics
    from xmcp.gateway.service import Gateway


@contextmanager
def metrics_of(gateway: Gateway, at: Path | None = None) -> Iterator[GatewayMetrics | None]:
    """Serve the metrics of a gateway while the block runs, if its configuration says that there are any.

    `at` is where they are served in place of the port: a Unix socket, for the parent of the processes.

    Raises:
        CannotServe: a package is missing.
        CannotListen: the port cannot be listened on.
    """
    settings = gateway.config.metrics
    if settings.port is None:
        yield None
        return
    with _needing_prometheus():
        from xmcp.gateway.metrics.port import GatewayMetrics
    metrics = GatewayMetrics(gateway)
    with _listener(settings, at) as listener, metrics.served(listener):
        yield metrics


@contextmanager
def metrics_of_workers(
    settings: MetricsSettings, sockets: Sequence[Path], restarts: Sequence[int]
) -> Iterator[str | None]:
    """Serve the metrics of all workers on the port while the block runs, if there is one; yield their URL.

    Args:
        settings: Has the port.
        sockets: Where each worker tells its metrics.
        restarts: How often each was started again; is read whenever somebody asks.

    Raises:
        CannotServe: a package is missing.
        CannotListen: the port cannot be listened on.
    """
    if settings.port is None:
        yield None
        return
    with _needing_prometheus():
        from xmcp.gateway.metrics.exposed import exposed
        from xmcp.gateway.metrics.merged import Merged, readings

    async def read() -> Merged:
        return Merged(await readings(sockets), restarts)

    with _listener(settings, None) as listener, exposed(listener, read) as url:
        yield url


def _listener(settings: MetricsSettings, at: Path | None) -> socket.socket:
    if at is not None:
        return bound(at)
    return listen(settings.host, settings.port or 0)


@contextmanager
def _needing_prometheus() -> Iterator[None]:
    try:
        from prometheus_client import disable_created_metrics

        yield
    except ModuleNotFoundError as error:
        raise CannotServe('[metrics] port: it needs prometheus_client: pip install "xmcp[gateway]".') from error
    # When each series began, as a series of its own beside it.
    disable_created_metrics()  # type: ignore[no-untyped-call]
