"""One connection to an MCP server from its start to its end, owned by one task. It is never opened twice.

A task of its own enters and leaves it, never a caller's: leaving an MCP session re-raises what broke it, in whatever
task that happens. The task also listens for changes of the tools.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import server_log
from xmcp.client.servers.backoff import MAX_DELAY, reconnect_delays
from xmcp.client.servers.connection_states import (
    CONNECTION_TABLE,
    ConnectionAction,
    ConnectionEvent,
    ConnectionState,
    step,
)
from xmcp.client.servers.errors import (
    METHOD_NOT_FOUND,
    ConnectFailed,
    CredentialsRefused,
    describe,
    is_refusal_of_credentials,
    means_connection_lost,
)
from xmcp.client.servers.listing_pages import MAX_LISTED, all_pages
from xmcp.client.servers.peer_limits import Flood, TooLarge
from xmcp.client.servers.server_log import ServerLog
from xmcp.client.servers.targets import Source
from xmcp_models.registry import EXTENSION_ID

if TYPE_CHECKING:
    from mcp_types import ServerCapabilities, Tool

CLOSE_SECONDS: Final = 5.0
"""Time limit for closing a connection before its task is cancelled, and again before the task is abandoned."""

LISTEN_SECONDS: Final = 1.0
"""Time limit for the server to confirm, before the tools are listed, that it will announce changes of them."""

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Connection:
    """One connection to a server.

    Args:
        source: Where the server is.
        connect_timeout: Seconds for connecting, including the listing of the tools.
        log: Of the server.
        on_tools_changed: Called when the tools may have changed.
        on_broken: Called when the connection itself finds that it is broken.
        sleep: Waits before the stream of changes is opened again.
    """

    def __init__(
        self,
        source: Source,
        connect_timeout: float,
        log: EventLog,
        on_tools_changed: Callable[[], None],
        on_broken: Callable[[Connection, Exception], None],
        sleep: Sleep,
    ) -> None:
        self._source = source
        self._connect_timeout = connect_timeout
        self._log = log
        self._server_log = ServerLog(log)
        self._on_tools_changed = on_tools_changed
        self._on_broken = on_broken
        self._sleep = sleep
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._users = 0
        self.state = ConnectionState.STARTING
        self.task = asyncio.create_task(self._run(), name=f"xmcp connection {source.label}")
        self.task.add_done_callback(lambda _: self._advance(ConnectionEvent.ENDED))
        self.client: Any = None
        """The `fastmcp.Client`, while the connection is `READY` or `DRAINING`."""
        self.tools: list[Tool] = []
        """As listed when the connection was opened."""
        self.server_name = ""
        self.announces_xmcp = False
        self.modern = False
        """Whether it uses a protocol revision without sessions, 2026-07-28 or later."""

    async def open(self) -> None:
        """Wait until the connection is ready. If it is not ready in time, or the caller is cancelled, close it.

        Raises:
            ConnectFailed: it did not become ready.
        """
        try:
            async with asyncio.timeout(self._connect_timeout):
                await asyncio.shield(self._ready)
        except TimeoutError as exc:
            await self.close()
            raise ConnectFailed(self._with_last_words(f"no answer within {self._connect_timeout:g} s")) from exc
        except BaseException:
            await self.close()
            raise

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the connection from being left while a request uses it.

        The SDK sends a request, and complains of its answer, in the context of the task that makes it.
        """
        self._users += 1
        before = server_log.CURRENT.set(self._server_log)
        try:
            yield
        finally:
            server_log.CURRENT.reset(before)
            self._users -= 1
            self._advance_if_unused()

    def retire(self) -> None:
        """Leave the connection as soon as no request uses it."""
        self._advance(ConnectionEvent.RETIRED)
        self._advance_if_unused()

    async def close(self) -> None:
        """End the connection within twice `CLOSE_SECONDS`, even if requests are running on it."""
        self._advance(ConnectionEvent.CLOSE)
        await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=CLOSE_SECONDS)

    async def list_tools(self) -> list[Tool]:
        """Return the tools on all pages, asking the server and not FastMCP's cache. Raises what FastMCP raises.

        After `MAX_LISTED` tools no further page is asked for.

        Raises:
            ListTooLong: the list has too many pages, or they are too large.
        """
        from mcp import MCPError

        try:
            return await all_pages(
                lambda cursor: self.client.list_tools_mcp(cursor=cursor, cache_mode="refresh"),
                "tools",
                enough=MAX_LISTED,
            )
        except MCPError as exc:
            capabilities = self.client.server_capabilities
            if exc.code == METHOD_NOT_FOUND and capabilities is not None and capabilities.tools is None:
                return []  # a server of resources or prompts only
            raise

    def _advance_if_unused(self) -> None:
        if not self._users:
            self._advance(ConnectionEvent.UNUSED)

    def _advance(self, event: ConnectionEvent) -> None:
        self.state, actions = step(CONNECTION_TABLE, self.state, event)
        for action in actions:
            match action:
                case ConnectionAction.LEAVE:
                    self._leave.set()
                case ConnectionAction.ABORT_START:
                    self._ready.cancel()
                    self.task.cancel()

    async def _run(self) -> None:
        try:
            # This import takes more than a second, so it must not run on the event loop.
            fastmcp_internals = await asyncio.to_thread(import_module, "xmcp.client.servers.fastmcp_internals")
            self.client = self._source.client(self._on_notification)
            async with fastmcp_internals.logged(self.client, self._server_log), self.client:
                # The client reads the text. A result whose structured part violates its schema is still a result.
                fastmcp_internals.skip_result_validation(self.client.session)
                fastmcp_internals.check_results_in_slices(self.client.session)
                async with self._listening():
                    self._read_announcement(await self.list_tools())
                    if not self._ready.done():
                        self._advance(ConnectionEvent.STARTED)
                        self._ready.set_result(None)
                    await self._leave.wait()
        except (Exception, BaseExceptionGroup) as exc:
            if not self._ready.done():
                kind = CredentialsRefused if is_refusal_of_credentials(exc) else ConnectFailed
                failed = kind(self._why_not_started(exc))
                failed.__cause__ = exc
                self._ready.set_exception(failed)
            else:
                self._log.debug("connection_left_with_error", reason=describe(exc))

    def _why_not_started(self, exc: BaseException) -> str:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        reason = describe(exc)
        if self._server_log.has_program and isinstance(exc, MCPError) and exc.code == CONNECTION_CLOSED:
            reason = "the program ended before it answered"
            if not self._server_log.telling_lines():
                reason += ", and wrote nothing to stderr; run its command in a terminal"
        elif self._server_log.has_program and isinstance(exc.__cause__ or exc, FileNotFoundError):
            # Of which uvloop says no name.
            reason = "there is no such program in PATH, or no such folder to run it in; write its command with the path"
        return self._with_last_words(reason)

    def _with_last_words(self, reason: str) -> str:
        """Return the reason of a failed start with what the program wrote to stderr about it."""
        last = self._server_log.telling_lines()
        return f"{reason}; its stderr says: {last}" if last else reason

    def _read_announcement(self, tools: list[Tool]) -> None:
        info, capabilities = self.client.server_info, self.client.server_capabilities
        self.tools = tools
        self.server_name = info.name if info else ""
        self.announces_xmcp = capabilities is not None and announces_xmcp(capabilities)

    # ---- changes of the tools ----

    async def _on_notification(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._on_tools_changed()
        elif isinstance(message, TooLarge | Flood):
            # The transport ends the connection; calls that run on it would know only that it is closed.
            if not self._ready.done():
                self._ready.set_exception(ConnectFailed(str(message)))
            self._on_broken(self, message)

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Listen for changes of the tools meanwhile, if the server offers it.

        With a revision before 2026-07-28 the notifications come without being asked for.
        """
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        self.modern = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        offered = self.client.server_capabilities
        if not self.modern or offered is None or offered.tools is None or not offered.tools.list_changed:
            yield
            return
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        listener = asyncio.create_task(self._listen(confirmed), name=f"xmcp listen {self._source.label}")
        try:
            # The tools are listed only after the confirmation: no change falls in between.
            await asyncio.wait({confirmed, listener}, timeout=LISTEN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            listener.cancel()
            await asyncio.wait({listener}, timeout=CLOSE_SECONDS)

    async def _listen(self, confirmed: asyncio.Future[None]) -> None:
        """Listen as long as the connection lives. A stream that ends is opened again, after growing delays."""
        from mcp import MCPError
        from mcp.client.subscriptions import listen

        delays = reconnect_delays()
        while True:
            begun = time.monotonic()
            try:
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(self._connect_timeout):
                        stream = await stack.enter_async_context(listen(self.client.session, tools_list_changed=True))
                    if self._ready.done():
                        self._on_tools_changed()  # something may have changed while there was no stream
                    if not confirmed.done():
                        confirmed.set_result(None)
                    async for _ in stream:
                        self._on_tools_changed()
            except MCPError as exc:
                if exc.code == METHOD_NOT_FOUND:
                    return
                if means_connection_lost(exc):
                    self._on_broken(self, exc)
                    return
                self._log.debug("listening_failed", reason=describe(exc))
            except Exception as exc:
                self._log.debug("listening_failed", reason=describe(exc))
            if time.monotonic() - begun > MAX_DELAY:
                delays = reconnect_delays()
            await self._sleep(next(delays))


def announces_xmcp(capabilities: ServerCapabilities) -> bool:
    """Return whether a server announced the extension (XMCP-CNF-002): `experimental` counts for older revisions."""
    return any(EXTENSION_ID in (place or {}) for place in (capabilities.extensions, capabilities.experimental))
