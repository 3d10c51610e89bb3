"""A socket on an address, bound before anything is served there, and the line that says where it is.

Apart from what serves, so that a program that only watches over others loads none of that.
"""

from __future__ import annotations

import errno
import os
import socket


class CannotListen(OSError):
    """An address cannot be listened on; the message says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, so that a port in use is known before anything starts.

    Raises:
        CannotListen: The address cannot be listened on.
    """
    if not 0 <= port <= 65535:  # getaddrinfo would take it modulo 65536
        raise CannotListen(f"Cannot listen on {host}:{port}: a port must be from 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol: asyncio sets TCP_NODELAY only on sockets that say they are TCP; without it a request takes
        # 40 ms longer.
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"Cannot listen on {host}:{port}: {error}.") from None
    try:
        if os.name == "posix":  # on other systems the option would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise CannotListen(_refusal(host, port, error)) from None
    return listener


def begin(listener: socket.socket, backlog: int) -> None:
    """Have a socket of `listen` take connections, of which so many may wait.

    Raises:
        CannotListen: Another program listens on the address by now.
    """
    try:
        listener.listen(backlog)
    except OSError as error:
        host, port = listener.getsockname()[:2]
        raise CannotListen(_refusal(host, port, error)) from None


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use. Stop the program that uses it, or choose another port."
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} is not allowed for this user. Choose a port above 1023."
    return f"Cannot listen on {host}:{port}: {error}."


def served_on(name: str, host: str, listener: socket.socket, path: str) -> str:
    """Return the line with the URL of the server called `name`."""
    authority = f"[{host}]" if ":" in host else host
    return f"{name} is served on http://{authority}:{listener.getsockname()[1]}{path}"
