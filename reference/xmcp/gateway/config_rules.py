"""What a configuration may not ask for, although each of its settings is right."""

from __future__ import annotations

import os
from typing import Final

from xmcp.gateway.config import GatewayConfig, is_loopback

HAS_UNIX_SOCKETS: Final = os.name == "posix"
"""Whether processes can reach each other by sockets in a folder, and inherit them."""


class CannotServe(ValueError):
    """What is asked for cannot be served; the message says what to change."""


class UnsafeListening(CannotServe):
    """The gateway would listen where others can reach it, and has no keys."""


def refuse_unsafe(config: GatewayConfig) -> None:
    """Refuse to be open to other machines without keys.

    Raises:
        UnsafeListening: it would be.
    """
    hosts = [config.listen.host, *([] if config.metrics.port is None else [config.metrics.host])]
    needed = config.keys or config.access.database is not None
    if not needed and (others := [host for host in hosts if not is_loopback(host)]):
        raise UnsafeListening(
            f"Without keys the gateway listens only on this machine, and {others[0]!r} is not. Add [[keys]] "
            "to the configuration (`xmcp gateway key` makes one), or set host to 127.0.0.1."
        )


def refuse_workers(config: GatewayConfig, has_unix_sockets: bool = HAS_UNIX_SOCKETS) -> None:
    """Refuse several processes where they cannot be one gateway.

    Raises:
        CannotServe: this system has no Unix sockets, or each process would count what is limited for itself.
    """
    if (count := config.listen.workers) == 1:
        return
    if not has_unix_sockets:
        raise CannotServe(
            f"[listen] workers = {count} needs Unix sockets, by which the processes reach each other, and this system "
            "has none. Set it to 1."
        )
    limited = [f"tenant {one.name!r}" for one in config.tenants if one.are_counted]
    limited += [f"key {one.name!r}" for one in config.keys if one.are_counted]
    if limited and config.access.database is None:
        raise CannotServe(
            f"[listen] workers = {count}: the {limited[0]} has limits of tokens or dollars, and without a database "
            "each process would count for itself. Set database in [access], or workers to 1."
        )
