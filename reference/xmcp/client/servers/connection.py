"""One MCP server as the rest of the client sees it: open it, list, call, read, close; it may be gone at any time.

Every connection is entered and left by a task of its own, never by a caller's: leaving one re-raises whatever broke it,
in whatever task that is. A connection that broke is put aside, and the next request makes a new one; requests that are
still under way on the old one end there.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic_core import PydanticSerializationError

from xmcp.chat import failures
from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.targets import Source, without_secrets
from xmcp_models.registry import EXTENSION_ID

if TYPE_CHECKING:
    from mcp import MCPError
    from mcp_types import CallToolResult, Resource, Root, ServerCapabilities, Tool

CLOSE_SECONDS: Final = 5.0
"""How long a connection may take to close before its task is cancelled, and again until it is left behind."""

RESOURCE_SECONDS: Final = 60.0
"""How long listing or reading resources may take."""

LISTEN_SECONDS: Final = 1.0
"""How long connecting waits for the server to say that it will tell of changes, so that none falls in between."""

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0

_LOST: Final = re.compile(
    r"(?i)connection closed|sse stream ended without|session\b.*\b(?:not found|terminated|expired|unknown|invalid)"
    r"|^sse stream failed|^failed to parse (?:json response|sse message)|^unexpected content type"
    r"|^server returned an error response|^server answered a request with|^redirect to .* not followed"
)
"""How a protocol error says that a connection is over, or that what came over it was no answer: in the SDK's words, or
a server's about a session it lost.

The code does not tell: FastMCP answers a tool's own time-out with the code for a closed connection.
"""

_METHOD_NOT_FOUND: Final = -32601

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


class Watcher(Protocol):
    """Who is told what becomes of a server. Called on the event loop, in the middle of things: it takes note only."""

    def connected(self, tools: list[Tool]) -> None:
        """There is a connection again; these are the tools."""
        ...

    def lost(self, reason: str) -> None:
        """The connection broke."""
        ...

    def tools_changed(self) -> None:
        """The server says that its tools changed, or may have done so without its saying it."""
        ...


class Server:
    """A server and its current connection; an `interfaces.MCPClient`.

    Args:
        source: Where it is.
        name: What the application calls it; `None` takes the name it gives itself.
        connect_timeout: Seconds for connecting, the listing of tools included, and for listing them again.
        watcher: Who is told what becomes of it.
        sleep: For the waits before a stream of changes is opened again.
    """

    def __init__(
        self,
        source: Source,
        name: str | None,
        connect_timeout: float,
        log: EventLog,
        watcher: Watcher | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._source = source
        self._given_name = name
        self._connect_timeout = connect_timeout
        self._log = log.bind(server=name or source.label)
        self._watcher = watcher
        self._sleep = sleep
        self._link: _Link | None = None
        self._links: set[_Link] = set()
        self._opening: asyncio.Task[_Link] | None = None
        self._closed = False
        self._announced = False
        self.name = name or "server"
        """The given name, or the one it gave itself when it was last connected."""

    @property
    def label(self) -> str:
        """For messages to people: the given name and where it is."""
        return f"{self._given_name} ({self._source.label})" if self._given_name else self._source.label

    @property
    def named(self) -> bool:
        """Whether the application gave it a name."""
        return self._given_name is not None

    @property
    def identity(self) -> str:
        """The same for two servers only if the same call gives the same answer at both; tells no secret."""
        return self._source.identity

    @property
    def connected(self) -> bool:
        """Whether there is a connection that nothing bad is known of."""
        return self._link is not None

    @property
    def speaks_xmcp(self) -> bool:
        """Whether its text is read as documents: as configured, else as it announced when it was last connected."""
        return self._announced if self._source.xmcp is None else self._source.xmcp

    async def open(self) -> list[Tool]:
        """Connect if need be, and give the tools as they were listed then.

        Raises:
            ConnectFailed: it could not be reached in time.
        """
        return (await self._connected()).tools

    async def discover_tools(self) -> list[Tool]:
        """Ask for the tools, all pages, within `connect_timeout`. A connection that proves broken is made anew.

        Raises:
            ConnectFailed: they could not be had.
        """
        from mcp import MCPError

        try:
            async with asyncio.timeout(self._connect_timeout):
                while (link := self._link) is not None:
                    with self._in_use(link):
                        try:
                            return await link.list_tools()
                        except MCPError as exc:
                            if not _LOST.search(exc.message):
                                raise ConnectFailed(describe(exc)) from exc
                            self._put_aside(link, exc)
                        except Exception as exc:
                            self._put_aside(link, exc)
                return await self.open()
        except TimeoutError as exc:
            raise ConnectFailed(f"no answer within {self._connect_timeout:g} s") from exc

    async def execute_tool_call(self, tool_name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool by the server's own name for it. Cancelling the call cancels it at the server.

        There is no limit of time but for connecting.

        Raises:
            CallFailed: there is no result: the connection broke, or the server answered with a protocol error.
        """
        result: CallToolResult = await self._request(lambda client: client.call_tool_mcp(tool_name, arguments))
        return result

    async def list_resources(self) -> Sequence[Resource]:
        """What can be read, all pages, within `RESOURCE_SECONDS`; raises `CallFailed`."""
        resources: Sequence[Resource] = await self._request(lambda client: client.list_resources(), RESOURCE_SECONDS)
        return resources

    async def read_resource(self, uri: str) -> Sequence[Any]:
        """The contents under `uri`, within `RESOURCE_SECONDS`; raises `CallFailed`."""
        contents: Sequence[Any] = await self._request(lambda client: client.read_resource(uri), RESOURCE_SECONDS)
        return contents

    async def list_roots(self) -> Sequence[Root]:
        """The roots that the server is told of when it asks."""
        return self._source.roots() if self._source.roots is not None else []

    async def send_roots_list_changed(self) -> None:
        """Tell the server that the roots changed, if there is a connection of a handshake era.

        Later eras know no such message: there a server asks each time it needs them. Never raises.
        """
        link = self._link
        if link is None or link.modern or self._source.roots is None:
            return
        from mcp_types import RootsListChangedNotification

        try:
            with self._in_use(link):
                async with asyncio.timeout(self._connect_timeout):
                    await link.client.session.send_notification(RootsListChangedNotification())
        except Exception as exc:
            self._log.debug("roots_not_told", reason=describe(exc))

    async def close(self) -> None:
        """Leave every connection. Never raises, never takes longer than thrice `CLOSE_SECONDS`."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening}, timeout=CLOSE_SECONDS)
        self._link = None
        await asyncio.gather(*(link.close() for link in tuple(self._links)))

    async def _request(self, ask: Callable[[Any], Awaitable[T]], seconds: float | None = None) -> T:
        from mcp import MCPError

        try:
            link = await self._connected()
        except ConnectFailed as exc:
            raise self._gone(never_sent=True) from exc
        with self._in_use(link):
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await ask(link.client)
            except MCPError as exc:
                if _LOST.search(exc.message):
                    self._put_aside(link, exc)
                    raise self._gone(_never_sent(exc)) from exc
                raise CallFailed(failures.refused_by_server(exc.message)) from exc
            except PydanticSerializationError as exc:
                # It never left, and says nothing of the connection.
                raise CallFailed(failures.not_sendable()) from exc
            except Exception as exc:
                if limit.expired():
                    raise CallFailed(failures.request_timed_out(self.name, seconds or 0), transport=True) from exc
                # Transports raise what they like: httpx2, OSError, anyio, RuntimeError. None of it is a result.
                self._put_aside(link, exc)
                raise self._gone(never_sent=False) from exc

    async def _connected(self) -> _Link:
        if self._link is not None:
            return self._link
        if self._closed:
            raise ConnectFailed("the client is closed")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"xmcp connect {self.label}")
        opening = self._opening
        try:
            # Shared by all who wait: a caller that is cancelled leaves the connecting to the others.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not opening.cancelled() or (task is not None and task.cancelling()):
                raise
            raise ConnectFailed("the client is closed") from None

    async def _open(self) -> _Link:
        try:
            link = _Link(self._source, self._connect_timeout, self._log, self._heard, self._put_aside, self._sleep)
            self._links.add(link)
            link.task.add_done_callback(lambda _: self._links.discard(link))
            await link.open()
            self._link = link
            self.name, self._announced = self._given_name or link.server_name or self.name, link.announces_xmcp
            self._log.info("server_connected", tools=len(link.tools), xmcp=link.announces_xmcp)
            if self._watcher is not None:
                self._watcher.connected(link.tools)
            return link
        except ConnectFailed as exc:
            self._log.warning("server_unreachable", reason=str(exc))
            raise
        finally:
            self._opening = None

    @contextmanager
    def _in_use(self, link: _Link) -> Iterator[None]:
        """Nobody leaves the connection meanwhile."""
        link.users += 1
        try:
            yield
        finally:
            link.users -= 1
            self._leave_if_idle(link)

    def _leave_if_idle(self, link: _Link) -> None:
        if link is not self._link and not link.users:
            link.leave()

    def _put_aside(self, link: _Link, exc: Exception) -> None:
        if self._link is link:
            self._link = None
            reason = describe(exc)
            self._log.warning("server_lost", reason=reason)
            if self._watcher is not None:
                self._watcher.lost(reason)
        self._leave_if_idle(link)

    def _heard(self) -> None:
        if self._watcher is not None:
            self._watcher.tools_changed()

    def _gone(self, never_sent: bool) -> CallFailed:
        return CallFailed(failures.connection_lost(self.name, sent=not never_sent), transport=True)


class _Link:
    """One connection from its beginning to its end, owned by one task. It is never opened twice.

    `heard`: called when the tools may have changed; `lost`: called when it finds itself broken.
    """

    def __init__(
        self,
        source: Source,
        connect_timeout: float,
        log: EventLog,
        heard: Callable[[], None],
        lost: Callable[[_Link, Exception], None],
        sleep: Sleep,
    ) -> None:
        self._source = source
        self._connect_timeout = connect_timeout
        self._log = log
        self._heard = heard
        self._lost = lost
        self._sleep = sleep
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self.task = asyncio.create_task(self._own(), name=f"xmcp connection {source.label}")
        self.client: Any = None
        self.users = 0
        self.tools: list[Tool] = []
        self.server_name = ""
        self.announces_xmcp = False
        self.modern = False
        """Whether it speaks a revision without sessions, 2026-07-28 or later."""

    async def open(self) -> None:
        """Wait until it is up; when it is not in time, or whoever waits is cancelled, it is closed.

        Raises:
            ConnectFailed: it did not come up.
        """
        try:
            async with asyncio.timeout(self._connect_timeout):
                await asyncio.shield(self._up)
        except TimeoutError as exc:
            await self.close()
            raise ConnectFailed(f"no answer within {self._connect_timeout:g} s") from exc
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

    async def list_tools(self) -> list[Tool]:
        """All pages, not from a cache of the client's; raises what the client raises."""
        from mcp import MCPError

        try:
            tools: list[Tool] = await self.client.list_tools(cache_mode="refresh")
        except MCPError as exc:
            said = self.client.server_capabilities
            if exc.code == _METHOD_NOT_FOUND and said is not None and said.tools is None:
                return []  # a server of resources or prompts
            raise
        return tools

    async def _own(self) -> None:
        try:
            # The import takes more than a second: not on the event loop.
            hooks = await asyncio.to_thread(import_module, "xmcp.client.servers.fastmcp_internals")
            self.client = self._source.client(self._hear)
            async with self.client:
                # We read the text; a result whose structured part breaks the tool's output schema is still a result.
                hooks.leave_results_unchecked(self.client.session)
                async with self._listening():
                    self._learn(await self.list_tools())
                    if not self._up.done():
                        self._up.set_result(None)
                    await self._leave.wait()
        except (Exception, BaseExceptionGroup) as exc:
            if not self._up.done():
                self._up.set_exception(ConnectFailed(describe(exc)))
            else:
                self._log.debug("connection_left_with_error", reason=describe(exc))

    def _learn(self, tools: list[Tool]) -> None:
        info, capabilities = self.client.server_info, self.client.server_capabilities
        self.tools = tools
        self.server_name = info.name if info else ""
        self.announces_xmcp = capabilities is not None and announces_xmcp(capabilities)

    # ---- changes of the tools ----

    async def _hear(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._heard()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Listen for changes meanwhile, where the server offers that. In older eras they come unasked."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        self.modern = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        offered = self.client.server_capabilities
        if not self.modern or offered is None or offered.tools is None or not offered.tools.list_changed:
            yield
            return
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        listener = asyncio.create_task(self._listen(told), name=f"xmcp listen {self._source.label}")
        try:
            # Tools that are listed only now are followed without a gap.
            await asyncio.wait({told, listener}, timeout=LISTEN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            listener.cancel()
            await asyncio.wait({listener}, timeout=CLOSE_SECONDS)

    async def _listen(self, told: asyncio.Future[None]) -> None:
        """Listen for as long as the connection lives. A stream that ends is opened again after growing waits."""
        from mcp import MCPError
        from mcp.client.subscriptions import listen

        delays = waits()
        while True:
            begun = time.monotonic()
            try:
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(self._connect_timeout):
                        stream = await stack.enter_async_context(listen(self.client.session, tools_list_changed=True))
                    if self._up.done():
                        self._heard()  # of what changed while nobody listened
                    if not told.done():
                        told.set_result(None)
                    async for _ in stream:
                        self._heard()
            except MCPError as exc:
                if exc.code == _METHOD_NOT_FOUND:
                    return
                if _LOST.search(exc.message):
                    self._lost(self, exc)
                    return
                self._log.debug("listening_failed", reason=describe(exc))
            except Exception as exc:
                self._log.debug("listening_failed", reason=describe(exc))
            if time.monotonic() - begun > LONGEST_WAIT:
                delays = waits()
            await self._sleep(next(delays))


def waits() -> Iterator[float]:
    """Seconds to wait before each further attempt: they double up to a minute and are a quarter more or less."""
    wait = FIRST_WAIT
    while True:
        yield wait * random.uniform(0.75, 1.25)  # noqa: S311 - spreads attempts, hides nothing
        wait = min(2 * wait, LONGEST_WAIT)


def announces_xmcp(capabilities: ServerCapabilities) -> bool:
    """Whether a server announced the extension (XMCP-CNF-002): in the handshake era `experimental` counts too."""
    return any(EXTENSION_ID in (place or {}) for place in (capabilities.extensions, capabilities.experimental))


def _never_sent(exc: MCPError) -> bool:
    from xmcp.client.servers.fastmcp_internals import NEVER_SENT

    return isinstance(exc.data, dict) and exc.data.get(NEVER_SENT) is True


def describe(exc: BaseException) -> str:
    """An exception in one line for people: its first line, or its class; no credential of a URL in it."""
    while isinstance(exc, BaseExceptionGroup) and exc.exceptions:
        exc = exc.exceptions[0]
    text = str(exc).removeprefix("Client failed to connect: ").strip().splitlines()
    return without_secrets(text[0] if text else type(exc).__name__)[:200]
