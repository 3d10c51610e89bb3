"""Names by which a request can call this machine."""

from __future__ import annotations

from typing import Final

_OWN_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def names_this_machine(host: str) -> bool:
    """Return whether a header `Host` names this machine by a name that leads nowhere else."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name.lower() in _OWN_NAMES
