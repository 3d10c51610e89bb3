"""`xmcp gateway --workers N`: the parent. It loads no model, no client and no database: workers do."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from xmcp.cli.gateway_metrics import metrics_of_workers
from xmcp.cli.logs import Format
from xmcp.gateway.config import GatewayConfig
from xmcp.gateway.config_rules import CannotServe
from xmcp.gateway.workers.place import WorkerPlace
from xmcp.gateway.workers.process import WorkerProcess
from xmcp.gateway.workers.sockets import PathTooLong, sockets_folder
from xmcp.gateway.workers.supervisor import CannotStart, Supervisor
from xmcp.http_listening import begin

_PROGRAM: Final = Path(__file__).with_name("gateway_worker.py")

_BACKLOG: Final = 2048
"""Number of connections that may wait to be accepted, as with one process."""

_MORE_SECONDS: Final = 30.0
"""For what a worker does after its chats have ended: its tool servers, its records."""


def serve_in_workers(
    config: GatewayConfig,
    wanted: Mapping[str, Any],
    log_level: str,
    log_format: Format,
    listener: socket.socket,
    ready: Callable[[Sequence[str], str | None], None],
) -> None:
    """Serve in as many processes as the configuration says, until a signal.

    Args:
        config: What the file and the command line say together.
        wanted: The keywords of `gateway_of`.
        log_level: As in the command line.
        log_format: As in the command line.
        listener: Is bound to the address; the processes share it.
        ready: Gets the names of the models and the URL of the metrics when all processes serve.

    Raises:
        CannotServe: a process could not start.
        CannotListen: the port of the metrics cannot be listened on, or that of the gateway not any more.
    """
    try:
        asyncio.run(_serve(config, wanted, log_level, log_format, listener, ready))
    except (CannotStart, PathTooLong) as error:
        raise CannotServe(str(error)) from None


async def _serve(
    config: GatewayConfig,
    wanted: Mapping[str, Any],
    log_level: str,
    log_format: Format,
    listener: socket.socket,
    ready: Callable[[Sequence[str], str | None], None],
) -> None:
    count = config.listen.workers
    with sockets_folder(count) as folder:
        told = {
            "path": sys.path,
            "count": count,
            "folder": str(folder),
            "config": config.model_dump(mode="json"),
            "wanted": wanted,
            "log_level": log_level,
            "log_format": log_format,
        }

        async def start(number: int) -> WorkerProcess:
            # Without the folder in which the command runs: what is imported is what the parent has imported.
            command = [sys.executable, "-P", str(_PROGRAM), str(number)]
            return await WorkerProcess.start(command, {**told, "number": number}, listener)

        patience = config.listen.load_balancer_seconds + config.listen.drain_seconds + _MORE_SECONDS
        # While workers drain, a connection that this process kept open would wait for a worker that never comes.
        supervisor = Supervisor(count, start, patience, stopping=listener.close)
        sockets = [WorkerPlace(number, count, folder).metrics_socket_of(number) for number in range(count)]
        with metrics_of_workers(config.metrics, sockets, supervisor.restarts) as url:

            def all_serve(said: Mapping[str, Any]) -> None:
                begin(listener, _BACKLOG)
                ready(said["models"], url)

            await supervisor.run(all_serve)
