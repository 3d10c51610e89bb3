"""One server of the pool: its last list of tools, its current error, and the signal that wakes its supervisor."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.servers.errors import ConnectFailed, refusal_to_start
from xmcp.client.servers.listing_limits import MAX_TOOLS, Kept, listed_shortly, within_limits
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.tool_client_adapter import ToolClientAdapter
from xmcp.client.tools.catalogue import depends_on
from xmcp.dependency_graph import DependencyError, circle, unknown

if TYPE_CHECKING:
    from mcp_types import Tool

MAX_SENTENCES: Final = 5
"""Maximum number of warnings about tools that depend on unknown ones: each chat is told them again."""
RELIST_SECONDS: Final = 5.0
"""Minimum number of seconds between two lists that are asked for because a server did not have a tool."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a server at one moment."""

    label: str
    """The application's name for it and its place, without credentials."""
    name: str
    """As in the names of its tools and in messages to the model."""
    connected: bool
    xmcp: bool
    """Whether its text is read as documents."""
    tools: int
    error: str | None
    """Why its tools are missing or may be outdated; `None` if they are up to date."""

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        return asdict(self)


class PoolMember:
    """A server and the tools it listed last; a `mcp_server.ConnectionObserver` of that server.

    Args:
        make: Makes the server, given its observer.
        on_reconnected: Called when the server reconnected and listed its tools without a call of `refresh`.
        max_tools: How many tools of the server are used.
        names: All names of tools that the server has had; `None`: a set of its own.
        max_names: Maximum number of names in it; `None`: that of `within_limits`.
    """

    def __init__(
        self,
        make: Callable[[PoolMember], Server | ToolClientAdapter],
        on_reconnected: Callable[[], None],
        max_tools: int = MAX_TOOLS,
        names: set[str] | None = None,
        max_names: int | None = None,
    ) -> None:
        self._max_tools = max_tools
        self._kept = Kept()
        self._names = set() if names is None else names
        self._max_names = max_names
        self._on_reconnected = on_reconnected
        self.tools: list[Tool] = []
        self.fault: str | None = None
        """Why the server does not answer; `None` while it does."""
        self.circle = ""
        """Tools that depend on each other in a circle, in a list that was refused for it; otherwise empty."""
        self.refusal: DependencyError | None = None
        """The fault in its own tools because of which a server of this process does not start."""
        self.tools_may_have_changed = False
        self._unknown: dict[str, list[str]] = {}
        """For each tool, the names in its `depends_on` that the server does not have."""
        self._answered = False
        # Lists are numbered when they are requested, so that an older one never replaces a newer one.
        self._last_asked = self._last_taken = 0
        self._relist_at = -math.inf
        """When the tools were or will be listed because one was missing, by the event loop's clock."""
        self._woken = asyncio.Event()
        self.server = make(self)

    @property
    def settled(self) -> bool:
        """True while the server is connected and answers."""
        return self.server.connected and self.fault is None

    async def refresh(self) -> None:
        """List the server's tools again, in bounded time. Never raises: a failure is kept in `fault`."""
        self._last_asked = number = self._last_asked + 1
        try:
            self._take(await self.server.discover_tools(), number)
        except ConnectFailed as exc:
            if number > self._last_taken:
                self.fault, self.refusal = str(exc), refusal_to_start(exc)

    def _take(self, tools: list[Tool], number: int) -> None:
        if number < self._last_taken:
            return  # the answer to a later question came first
        self._last_taken, self._answered, self.fault, self.refusal = number, True, None, None
        kept = within_limits(tools, self._names, self._max_tools, self._max_names)
        # A tool that names itself does not depend on itself (section 11.3).
        graph = {tool.name: [name for name in depends_on(tool) if name != tool.name] for tool in kept.tools}
        self.circle = listed_shortly(circle(graph), " -> ")
        if not self.circle:
            left_out = {name: () for names in kept.left_out.values() for name in names}
            if kept.fingerprints != self._kept.fingerprints:
                # Else the list stays the same object, by which the catalogue knows that nothing is new.
                self.tools = kept.tools
            self._kept, self._unknown = kept, unknown({**graph, **left_out})

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for people about each thing that is wrong with the server."""
        label = self.server.label
        if self.fault is not None and self._answered:
            yield f"The server {label} does not answer, its tools are those it had before: {self.fault}."
        elif self.fault is not None:
            yield f"The server {label} cannot be reached, its tools are missing: {self.fault}."
        if self.circle:
            yield f"Tools of the server {label} depend on each other in a circle, {self.circle}: its list is refused."
        yield from self._kept.warnings(label)
        for tool, names in islice(self._unknown.items(), MAX_SENTENCES):
            listed = listed_shortly([repr(name) for name in names], ", ")
            yield f"The tool {tool!r} of the server {label} depends on {listed}, which that server does not have."
        if len(self._unknown) > MAX_SENTENCES:
            more = len(self._unknown) - MAX_SENTENCES
            yield f"{more} more tools of the server {label} depend on tools which that server does not have."

    def status(self) -> ServerStatus:
        """Return the state of the server now."""
        server, error = self.server, self.fault
        if error is None and self.circle:
            error = f"its tools depend on each other in a circle: {self.circle}"
        return ServerStatus(server.label, server.name, server.connected, server.speaks_xmcp, len(self.tools), error)

    def wake(self) -> None:
        """Wake this server's supervisor task."""
        self._woken.set()

    async def woken(self) -> None:
        """Wait until `wake` is called, or return at once if it was called since the last wait."""
        await self._woken.wait()
        self._woken.clear()

    # ---- ConnectionObserver ----

    def connected(self, tools: list[Tool]) -> None:
        """Take the tools that were listed on the new connection."""
        self._last_asked += 1
        self._take(tools, self._last_asked)
        self._on_reconnected()

    def lost(self, reason: str) -> None:
        """Have the supervisor connect again."""
        self.fault = reason
        self.wake()

    def tools_changed(self) -> None:
        """Have the supervisor list the tools again."""
        self.tools_may_have_changed = True
        self.wake()

    def tool_missing(self) -> None:
        """Have the supervisor list the tools again (XMCP-CLI-121), at most once in `RELIST_SECONDS`."""
        loop = asyncio.get_running_loop()
        if self._relist_at <= loop.time():
            self._relist_at = max(loop.time(), self._relist_at + RELIST_SECONDS)
            loop.call_at(self._relist_at, self.tools_changed)
