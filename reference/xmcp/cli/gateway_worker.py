"""The program of one worker of `xmcp gateway --workers N`; `gateway_workers.py` starts it.

Its arguments are its number, which is for the eyes of whoever lists processes, and that of its end of a channel, on
which its parent says what to serve.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def main() -> None:
    """Serve as the parent says, until a signal or the end of the parent.

    Exit codes: 0 ended by one of these, 1 could not start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which ends it at once, also while it starts, without a traceback
    channel = socket.socket(fileno=int(sys.argv[2]))
    channel.set_inheritable(False)  # as sockets are that this program opens itself
    with channel.makefile("rb") as lines:
        line = lines.readline()
    if not line.endswith(b"\n"):  # the parent ended
        return
    told = json.loads(line)
    sys.path[:] = told["path"]  # before anything is imported that is not Python's own
    sys.exit(_serve(told, channel))


def _serve(told: Mapping[str, Any], channel: socket.socket) -> int:
    import logging.config

    from xmcp.cli.gateway_metrics import metrics_of
    from xmcp.cli.gateway_parts import gateway_of
    from xmcp.cli.logs import logging_config
    from xmcp.cli.narrow_encodings import write_ascii_where_needed
    from xmcp.cli.open_telemetry import CannotExport, exporting
    from xmcp.gateway.config import GatewayConfig
    from xmcp.gateway.config_rules import CannotServe
    from xmcp.gateway.serving import GatewayServer
    from xmcp.gateway.workers.connection_counts import ConnectionCounts
    from xmcp.gateway.workers.place import WorkerPlace
    from xmcp.gateway.workers.shared_listener import accept_for
    from xmcp.gateway.workers.sockets import FolderGone, bound, leave_folder

    write_ascii_where_needed()
    place = WorkerPlace(told["number"], told["count"], Path(told["folder"]))
    log_config = logging_config(told["log_level"], told["log_format"], place.number)
    logging.config.dictConfig(log_config)
    descriptor, family = told["listener"]
    # With the protocol, as `listen` does; a system need not tell it of a socket that was inherited.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=descriptor)
    listener.set_inheritable(False)
    made: list[Any] = []
    parent = _Parent(channel, is_draining=lambda: any(gateway.stopping for gateway in made))
    try:
        gateway = gateway_of(GatewayConfig.model_validate(told["config"]), os.environ, **told["wanted"])
        made.append(gateway)
        with (
            exporting("xmcp-gateway", os.environ),
            bound(place.socket_of(place.number)) as others,
            metrics_of(gateway, place.metrics_socket_of(place.number)) as metrics,
        ):

            def ready() -> None:
                accept_for(server, listener, ConnectionCounts(place))
                parent.tell(models=list(gateway.model_ids))

            server = GatewayServer(
                gateway,
                ready,
                metrics,
                place=place,
                log_config=log_config,
                log_level=None,
                access_log=told["log_level"] == "debug",
            )
            server.run([others])
    except (CannotServe, CannotExport, FolderGone) as error:
        parent.tell(failed=str(error))
        return 1
    except SystemExit:  # raised by uvicorn when the application did not start
        parent.tell(failed="The gateway could not start. The log above says why.")
        return 1
    finally:
        if parent.is_gone:
            leave_folder(place)
    return 0


class _Parent:
    """The process that started this one, which drains when it ends.

    Args:
        channel: This end of the channel to it.
        is_draining: Whether that has begun already, so that a signal would end this process at once.
    """

    def __init__(self, channel: socket.socket, is_draining: Callable[[], bool]) -> None:
        self.is_gone = False
        self._channel = channel
        self._is_draining = is_draining
        threading.Thread(target=self._wait, name="xmcp parent", daemon=True).start()

    def tell(self, **word: Any) -> None:
        """Say that this process serves, or why it cannot."""
        with suppress(OSError):  # the parent is gone
            self._channel.sendall(json.dumps(word).encode() + b"\n")

    def _wait(self) -> None:
        with suppress(OSError):
            self._channel.recv(1)  # nothing more is said
        self.is_gone = True
        if not self._is_draining():
            os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
