"""One MCP server as the rest of the client sees it: open it, call a tool, close it; it may be gone at any time.

Every connection is entered and left by a task of its own, never by a caller's: leaving one re-raises whatever broke it,
in whatever task that is. A connection that broke is put aside, and the next call makes a new one; calls that are still
under way on the old one end there.
"""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from xmcp.client.log import EventLog
from xmcp.client.targets import Source, without_secrets
from xmcp.wire import ErrorInfo
from xmcp_models.registry import EXTENSION_ID

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ServerCapabilities, Tool

CLOSE_SECONDS: Final = 5.0
"""How long a connection may take to close before its task is cancelled, and again until it is left behind."""

_LOST: Final = re.compile(
    r"(?i)connection closed|sse stream ended without|session\b.*\b(?:not found|terminated|expired|unknown|invalid)"
)
"""How a protocol error says that a connection is over: in the SDK's words, or a server's about a session it lost.

The code does not tell: FastMCP answers a tool's own time-out with the code for a closed connection.
"""


class ConnectFailed(Exception):
    """A server could not be reached; the message says why, for people."""


class CallFailed(Exception):
    """A call ended without a result. `error` is for the model and says nothing of our side's insides."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.error = error


class Server:
    """A server and its current connection.

    Args:
        source: Where it is.
        name: What the application calls it; `None` takes the name it gives itself.
        connect_timeout: Seconds for connecting, the listing of tools included.
    """

    def __init__(self, source: Source, name: str | None, connect_timeout: float, log: EventLog) -> None:
        self._source = source
        self._given_name = name
        self._connect_timeout = connect_timeout
        self._log = log.bind(server=name or source.label)
        self._link: _Link | None = None
        self._links: set[_Link] = set()
        self._opening: asyncio.Task[_Link] | None = None
        self._closed = False
        self.name = name or "server"
        """The given name, or the one it gave itself when it was last connected."""
        self.speaks_xmcp = False
        """Whether it announced the extension when it was last connected."""

    @property
    def label(self) -> str:
        """For messages to people: the given name and where it is."""
        return f"{self._given_name} ({self._source.label})" if self._given_name else self._source.label

    @property
    def named(self) -> bool:
        """Whether the application gave it a name."""
        return self._given_name is not None

    async def open(self) -> list[Tool]:
        """Connect and list the tools.

        Raises:
            ConnectFailed: it could not be reached in time.
        """
        return (await self._connected()).tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool by the server's own name for it. Cancelling the call cancels it at the server.

        Raises:
            CallFailed: there is no result: the connection broke, or the server answered with a protocol error.
        """
        from mcp import MCPError

        try:
            link = await self._connected()
        except ConnectFailed as exc:
            raise CallFailed(self._lost(side_effects="none")) from exc
        link.calls += 1
        try:
            result: CallToolResult = await link.client.call_tool_mcp(tool, arguments)
            return result
        except MCPError as exc:
            if _LOST.search(exc.message):
                self._put_aside(link, exc)
                raise CallFailed(self._lost(side_effects="unknown")) from exc
            raise CallFailed(ErrorInfo("TOOL_ERROR", exc.message.strip() or "The server refused the call.")) from exc
        except Exception as exc:
            # Transports raise what they like: httpx2, OSError, anyio, RuntimeError. None of it is a result.
            self._put_aside(link, exc)
            raise CallFailed(self._lost(side_effects="unknown")) from exc
        finally:
            link.calls -= 1
            if link is not self._link and not link.calls:
                link.leave()

    async def close(self) -> None:
        """Leave every connection. Never raises, never takes longer than twice `CLOSE_SECONDS`."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening}, timeout=CLOSE_SECONDS)
        self._link = None
        await asyncio.gather(*(link.close() for link in tuple(self._links)))

    async def _connected(self) -> _Link:
        if self._link is not None:
            return self._link
        if self._closed:
            raise ConnectFailed("the client is closed")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"xmcp connect {self.label}")
        # Shared by all who wait: a caller that is cancelled leaves the connecting to the others.
        return await asyncio.shield(self._opening)

    async def _open(self) -> _Link:
        try:
            link = _Link(self._source, self._log)
            self._links.add(link)
            link.task.add_done_callback(lambda _: self._links.discard(link))
            await link.open(self._connect_timeout)
            self._link = link
            self.name, self.speaks_xmcp = self._given_name or link.server_name or self.name, link.speaks_xmcp
            self._log.info("server_connected", tools=len(link.tools), xmcp=link.speaks_xmcp)
            return link
        except ConnectFailed as exc:
            self._log.warning("server_unreachable", reason=str(exc))
            raise
        finally:
            self._opening = None

    def _put_aside(self, link: _Link, exc: Exception) -> None:
        if self._link is link:
            self._link = None
            self._log.warning("server_lost", reason=describe(exc))

    def _lost(self, side_effects: str) -> ErrorInfo:
        message = f"The connection to the server {self.name} is gone; a later call may find it again."
        return ErrorInfo("CONNECTION_FAILED", message, meta={"side_effects": side_effects})


class _Link:
    """One connection from its beginning to its end, owned by one task. It is never opened twice."""

    def __init__(self, source: Source, log: EventLog) -> None:
        self._source = source
        self._log = log
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self.task = asyncio.create_task(self._own(), name=f"xmcp connection {source.label}")
        self.client: Any = None
        self.calls = 0
        self.tools: list[Tool] = []
        self.server_name = ""
        self.speaks_xmcp = False

    async def open(self, timeout: float) -> None:
        """Wait until it is up; when it is not in time, or whoever waits is cancelled, it is closed.

        Raises:
            ConnectFailed: it did not come up.
        """
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._up)
        except TimeoutError as exc:
            await self.close()
            raise ConnectFailed(f"no answer within {timeout:g} s") from exc
        except BaseException:
            await self.close()
            raise

    def leave(self) -> None:
        """Ask the owner to leave the connection."""
        self._leave.set()

    async def close(self) -> None:
        """Leave, in bounded time."""
        self.leave()
        if not self._up.done():
            self._up.cancel()
            self.task.cancel()
        await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)

    async def _own(self) -> None:
        try:
            # The import takes more than a second: not on the event loop.
            await asyncio.to_thread(import_module, "fastmcp")
            self.client = self._source.client()
            async with self.client:
                # We read the text; a result whose structured part breaks the tool's output schema is still a result.
                self.client.session.validate_tool_result = _accept
                self.tools = await self.client.list_tools()
                info, capabilities = self.client.server_info, self.client.server_capabilities
                self.server_name = info.name if info else ""
                self.speaks_xmcp = capabilities is not None and announces_xmcp(capabilities)
                if not self._up.done():
                    self._up.set_result(None)
                await self._leave.wait()
        except (Exception, BaseExceptionGroup) as exc:
            if not self._up.done():
                self._up.set_exception(ConnectFailed(describe(exc)))
            else:
                self._log.debug("connection_left_with_error", reason=describe(exc))


def announces_xmcp(capabilities: ServerCapabilities) -> bool:
    """Whether a server announced the extension (XMCP-CNF-002): in the handshake era `experimental` counts too."""
    return any(EXTENSION_ID in (place or {}) for place in (capabilities.extensions, capabilities.experimental))


async def _accept(_name: str, _result: Any) -> None:
    """Stands in for the session's check of results."""


def describe(exc: BaseException) -> str:
    """An exception in one line for people: its first line, or its class; no credential of a URL in it."""
    while isinstance(exc, BaseExceptionGroup) and exc.exceptions:
        exc = exc.exceptions[0]
    text = str(exc).removeprefix("Client failed to connect: ").strip().splitlines()
    return without_secrets(text[0] if text else type(exc).__name__)[:200]
