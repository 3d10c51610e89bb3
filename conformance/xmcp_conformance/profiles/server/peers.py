"""What is judged: a server behind a command, a URL, or in this process.

Nothing here loads the SDK of MCP: the first process of a command is started before the suite is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from xmcp_conformance.core.command_environment import OURS, CommandEnvironment
from xmcp_conformance.core.shown_command import shown_command

if TYPE_CHECKING:
    from mcp.server import Server


@dataclass(frozen=True, slots=True)
class StdioPeer:
    """A command that speaks MCP on its standard input and output."""

    command: tuple[str, ...]
    environment: CommandEnvironment = OURS
    transport: ClassVar[str] = "stdio"

    def __str__(self) -> str:
        return shown_command(self.command)


def without_secrets(url: str) -> str:
    """Return a URL without a user, a password, the values of its query and its fragment: others see what is printed."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as half of an IPv6 address
        return f"{url.partition(':')[0]}://…"
    pairs = [part.partition("=") for part in parts.query.split("&")] if parts.query else []
    names = "&".join(f"{name}=…" if equals else "…" for name, equals, _ in pairs)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=names, fragment=""))


@dataclass(frozen=True, slots=True)
class HttpPeer:
    """The URL of a streamable HTTP endpoint, and headers of each request, which are not printed."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    transport: ClassVar[str] = "http"

    @property
    def has_credentials(self) -> bool:
        """Whether the URL has a user or a password, which the HTTP client sends as Basic."""
        return "@" in urlsplit(self.url).netloc

    def __str__(self) -> str:
        return without_secrets(self.url)


@dataclass(frozen=True, slots=True)
class InMemoryPeer:
    """A low-level server object of the MCP SDK in this process: for the suite's own miniatures."""

    server: Server[Any]
    transport: ClassVar[str] = "memory"

    def __str__(self) -> str:
        return self.server.name


Peer = StdioPeer | HttpPeer | InMemoryPeer


_INNER = ("_mcp_server", "_lowlevel_server")
"""Where the high-level servers of FastMCP and of the SDK have the low-level one."""


def in_this_process(server: object) -> InMemoryPeer:
    """Return a server object as a peer: a low-level one of the MCP SDK, or one of FastMCP or the SDK, which has one.

    Raises:
        TypeError: it is neither.
    """
    from mcp.server import Server

    inner = next((one for name in _INNER if (one := getattr(server, name, None)) is not None), server)
    if not isinstance(inner, Server):
        raise TypeError(f"{server!r} is no server: name a command, a URL or a server object of FastMCP or the MCP SDK")
    return InMemoryPeer(inner)


class PeerUnavailable(Exception):
    """The peer cannot be judged. The message is a sentence for the person who runs the suite."""


class PeerLate(PeerUnavailable):
    """The peer did not answer in time."""
