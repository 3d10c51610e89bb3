"""What an application may name as a server, and how a connection to it is made. No I/O here.

A target is a URL (`http://localhost:3333`; the path `/mcp` is added where there is none), a command whose program
speaks MCP on stdio (`"python srv.py"` or `["python", "srv.py"]`), a server object of this process (`XMCP`, `FastMCP`),
or anything else `fastmcp.Client` takes; a `fastmcp.Client` brings its own authentication, headers and protocol era.
A program is started with a few variables of the environment only (`PATH`, `HOME`, ...): give it more by
`fastmcp.Client(StdioTransport(..., env={...}))`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from xmcp_models.registry import EXTENSION_ID, VERSION

if TYPE_CHECKING:
    import fastmcp

Target: TypeAlias = "str | Sequence[str] | Any"

_URL: Final = re.compile(r"(?i)https?://")
_SECRETS_IN_URL: Final = re.compile(r"(?i)(?<=://)[^\s/'\"@]*@|(?<=\S)\?[^\s'\"]*(?==)[^\s'\"]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A target, understood: what to call it in messages (no credential in it) and how to make a client for it."""

    label: str
    client: Callable[[], fastmcp.Client[Any]]


def source(target: Target, connect_timeout: float) -> Source:
    """Understand a target.

    Raises:
        ValueError: an empty command, or a URL without a host.
    """
    if isinstance(target, str) and _URL.match(target):
        address = with_default_path(target)
        return Source(without_secrets(address), lambda: _client(address, connect_timeout))
    if isinstance(target, str | list | tuple):
        argv = shlex.split(target) if isinstance(target, str) else [str(word) for word in target]
        if not argv:
            raise ValueError("An empty command is no server: give the program and its arguments.")
        return Source(_command_label(argv), lambda: _client(_stdio(argv), connect_timeout))
    label = getattr(target, "name", None) or type(target).__name__
    return Source(str(label), lambda: _client(target, connect_timeout))


def with_default_path(url: str) -> str:
    """`url` with the path `/mcp` if it has none.

    Raises:
        ValueError: there is no host in it.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"{url!r} has no host: write http://host:port or http://host:port/path.")
    return urlunsplit(parts._replace(path="/mcp")) if parts.path in ("", "/") else url


def without_secrets(text: str) -> str:
    """`text` with the user, password and query of every URL in it left out."""
    return _SECRETS_IN_URL.sub("", text)


def _command_label(argv: Sequence[str]) -> str:
    # Later words may be keys; the program and its script are enough to know which one it is.
    return " ".join(word for word in argv[:2] if not word.startswith("-"))


def _stdio(argv: Sequence[str]) -> Any:
    from fastmcp.client.transports import StdioTransport

    # keep_alive would leave the program running after the client has gone (toolchain 1.7).
    return StdioTransport(command=argv[0], args=list(argv[1:]), keep_alive=False)


def _client(transport: Any, connect_timeout: float) -> fastmcp.Client[Any]:
    import fastmcp
    from mcp.client import advertise

    if isinstance(transport, fastmcp.Client):
        return transport.new()
    return fastmcp.Client(
        transport, init_timeout=connect_timeout, extensions=[advertise(EXTENSION_ID, {"versions": [VERSION]})]
    )
