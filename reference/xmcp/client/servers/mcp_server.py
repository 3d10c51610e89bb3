"""One MCP server as the rest of the client uses it: open, list, call, read, close. The server may be gone at any time.

When its connection breaks, it is retired and the next request opens a new one. Requests that are running on the
retired connection end there. `connection_states.SERVER_TABLE` decides; this file carries its actions out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed, Cause
from xmcp.chat.json_values import is_sendable
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.connection import CLOSE_SECONDS, Connection, Sleep
from xmcp.client.servers.connection_states import SERVER_TABLE, ServerAction, ServerEvent, ServerState, step
from xmcp.client.servers.errors import (
    INVALID_PARAMS,
    ConnectFailed,
    CredentialsRefused,
    describe,
    means_connection_lost,
    means_credentials_refused,
    means_unreadable_answer,
    refusal,
)
from xmcp.client.servers.listing_pages import ListTooLong, all_pages
from xmcp.client.servers.peer_limits import Refusal
from xmcp.client.servers.targets import Source
from xmcp.client.tools.catalogue import OnProgress
from xmcp.wire import ErrorInfo

if TYPE_CHECKING:
    from mcp import MCPError
    from mcp_types import CallToolResult, Resource, Root, Tool

RESOURCE_SECONDS: Final = 60.0
"""Time limit for listing or reading resources."""

T = TypeVar("T")


class ConnectionObserver(Protocol):
    """Observer of connection state. Its methods are called on the event loop; they must not block or await."""

    def connected(self, tools: list[Tool]) -> None:
        """Note that a new connection is open, on which `tools` were listed."""
        ...

    def lost(self, reason: str) -> None:
        """Note that the connection broke."""
        ...

    def tools_changed(self) -> None:
        """Note that the server's tools changed, or may have changed without an announcement."""
        ...

    def tool_missing(self) -> None:
        """Note that the server answered that it does not have a tool which it had listed."""
        ...


class Server:
    """A server and its current connection; an `server_protocols.MCPClient`.

    Args:
        source: Where the server is.
        name: The application's name for it; `None` uses the name that the server announces.
        connect_timeout: Seconds for connecting, including the listing of the tools, and for listing them again.
        log: Of the client.
        observer: Is informed when the connection opens and breaks and when tools change.
        sleep: Waits before the stream of changes is opened again.
    """

    def __init__(
        self,
        source: Source,
        name: str | None,
        connect_timeout: float,
        log: EventLog,
        observer: ConnectionObserver | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._source = source
        self._given_name = name
        self._connect_timeout = connect_timeout
        self._log = log.bind(server=name or source.label)
        self._observer = observer
        self._sleep = sleep
        self._state = ServerState.DISCONNECTED
        self._connection: Connection | None = None
        """The current connection; set exactly in the state `CONNECTED`."""
        self._connections: set[Connection] = set()
        """All connections whose tasks run."""
        self._opening: asyncio.Task[Connection] | None = None
        self._announced_xmcp = False
        self.name = name or "server"
        """The application's name for it, or the name that the server gave itself at the last connection."""

    @property
    def label(self) -> str:
        """Name and place for messages to people, without credentials."""
        return f"{self._given_name} ({self._source.label})" if self._given_name else self._source.label

    @property
    def named(self) -> bool:
        """True if the application named the server."""
        return self._given_name is not None

    @property
    def identity(self) -> str:
        """Equal for two servers only if equal calls have equal answers at both. Contains no secret."""
        return self._source.identity

    @property
    def connected(self) -> bool:
        """True while the connection is open and healthy."""
        return self._state is ServerState.CONNECTED

    @property
    def speaks_xmcp(self) -> bool:
        """Whether its text is read as documents: as configured, else as it announced at the last connection."""
        return self._announced_xmcp if self._source.xmcp is None else self._source.xmcp

    async def open(self) -> list[Tool]:
        """Connect if necessary, and return the tools as listed when the connection was opened.

        Raises:
            ConnectFailed: the server could not be reached in time.
        """
        return (await self._current_connection()).tools

    async def discover_tools(self) -> list[Tool]:
        """Ask for the tools on all pages, within `connect_timeout`. If the connection is broken, open a new one.

        Raises:
            ConnectFailed: the server did not list them.
        """
        from mcp import MCPError

        try:
            async with asyncio.timeout(self._connect_timeout):
                while (connection := self._connection) is not None:
                    with connection.in_use():
                        try:
                            return await connection.list_tools()
                        except MCPError as exc:
                            if not means_connection_lost(exc):
                                raise ConnectFailed(describe(exc)) from exc
                            self._retire(connection, exc)
                        except Exception as exc:
                            self._retire(connection, exc)
                return await self.open()
        except TimeoutError as exc:
            raise ConnectFailed(f"no answer within {self._connect_timeout:g} s") from exc

    async def execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], on_progress: OnProgress | None = None
    ) -> CallToolResult:
        """Call a tool by its name at the server. Cancelling the call cancels it at the server.

        There is no time limit except for connecting.

        Raises:
            CallFailed: there is no result: the connection broke, the server answered with a protocol error, or the
                arguments cannot be sent.
        """
        # The transports find out too late: on stdio such a message ends the connection, with the calls of all chats.
        if not is_sendable([tool_name, arguments]):
            raise CallFailed(client_made_errors.not_sendable(), cause="client")

        async def call(client: Any) -> CallToolResult:
            from xmcp.client.servers.fastmcp_internals import progress_handler

            handler = None if on_progress is None else progress_handler(client, on_progress)
            result: CallToolResult = await client.call_tool_mcp(tool_name, arguments, handler)
            return result

        return await self._request(call)

    def report_missing_tool(self) -> None:
        """Note that the server answered that it does not have a tool which it had listed."""
        if self._observer is not None:
            self._observer.tool_missing()

    async def list_resources(self) -> Sequence[Resource]:
        """Return the resources on all pages, within `RESOURCE_SECONDS`.

        Raises:
            CallFailed: as for `execute_tool_call`, or the time is over, or the list is too long.
        """

        async def pages(client: Any) -> Sequence[Resource]:
            return await all_pages(lambda cursor: client.list_resources_mcp(cursor=cursor), "resources")

        return await self._request(pages, RESOURCE_SECONDS)

    async def read_resource(self, uri: str) -> Sequence[Any]:
        """Return the contents of the resource `uri`, within `RESOURCE_SECONDS`.

        Raises:
            CallFailed: as for `execute_tool_call`, or the time is over.
        """
        contents: Sequence[Any] = await self._request(lambda client: client.read_resource(uri), RESOURCE_SECONDS)
        return contents

    async def list_roots(self) -> Sequence[Root]:
        """Return the roots that the server gets when it asks."""
        return self._source.roots() if self._source.roots is not None else []

    async def send_roots_list_changed(self) -> None:
        """Notify the server that the roots changed, if it is connected with a revision before 2026-07-28.

        Later revisions have no such message: a server asks each time it needs the roots. Never raises.
        """
        connection = self._connection
        if connection is None or connection.modern or self._source.roots is None:
            return
        from mcp_types import RootsListChangedNotification

        try:
            with connection.in_use():
                async with asyncio.timeout(self._connect_timeout):
                    await connection.client.session.send_notification(RootsListChangedNotification())
        except Exception as exc:
            self._log.debug("roots_not_told", reason=describe(exc))

    async def close(self) -> None:
        """Close all connections. Never raises, and takes at most three times `CLOSE_SECONDS`."""
        for action in self._advance(ServerEvent.CLOSE):
            match action:
                case ServerAction.CANCEL_OPENING if self._opening is not None:
                    self._opening.cancel()
                    await asyncio.wait({self._opening}, timeout=CLOSE_SECONDS)
                case ServerAction.CLOSE_CONNECTIONS:
                    self._connection = None
                    await asyncio.gather(*(connection.close() for connection in tuple(self._connections)))

    async def _request(self, send: Callable[[Any], Awaitable[T]], seconds: float | None = None) -> T:
        """Await `send(client)` on the current connection, opening one if necessary; what fails is a `CallFailed`."""
        from mcp import MCPError
        from mcp.client import InputRequiredRoundsExceededError

        try:
            connection = await self._current_connection()
        except CredentialsRefused as exc:
            raise CallFailed(client_made_errors.credentials_refused(self.name)) from exc
        except ConnectFailed as exc:
            raise self._connection_failed(never_sent=True) from exc
        with connection.in_use():
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await send(connection.client)
            except MCPError as exc:
                if (refused := refusal(exc)) is not None:
                    # The server answered, and the connection goes on.
                    self._log.warning("answer_refused", reason=describe(exc))
                    raise CallFailed(self._answer_refused(refused)) from exc
                if means_connection_lost(exc):
                    self._retire(connection, exc)
                    if means_credentials_refused(exc):
                        raise CallFailed(client_made_errors.credentials_refused(self.name)) from exc
                    cause: Cause = "answer" if means_unreadable_answer(exc) else "connection"
                    raise self._connection_failed(_never_sent(exc), cause) from exc
                if exc.code == INVALID_PARAMS:
                    raise CallFailed(client_made_errors.refused_arguments(exc.message)) from exc
                raise CallFailed(client_made_errors.refused_by_server(exc.message)) from exc
            except ListTooLong as exc:
                self._log.warning("answer_refused", reason=describe(exc))
                raise CallFailed(client_made_errors.answer_too_large(self.name)) from exc
            except InputRequiredRoundsExceededError as exc:
                # The server answers each time: the connection is not to blame.
                raise CallFailed(client_made_errors.keeps_asking()) from exc
            except ValidationError as exc:
                # A result that MCP does not allow: the server answered, and the connection is not to blame.
                self._log.warning("unreadable_answer", reason=describe(exc))
                raise CallFailed(client_made_errors.unreadable_answer()) from exc
            except Exception as exc:
                if limit.expired():
                    raise CallFailed(
                        client_made_errors.request_timed_out(self.name, seconds or 0), cause="time_out"
                    ) from exc
                # Transports raise many classes (httpx2, OSError, anyio, RuntimeError); none of them is a result.
                self._retire(connection, exc)
                raise self._connection_failed(never_sent=False) from exc

    async def _current_connection(self) -> Connection:
        """Return the current connection, opening one if necessary. All callers share one opening.

        Raises:
            ConnectFailed: it could not be opened, or the client is closed.
        """
        for action in self._advance(ServerEvent.NEEDED):
            match action:
                case ServerAction.REFUSE:
                    raise ConnectFailed("the client is closed")
                case ServerAction.START_OPENING:
                    self._opening = asyncio.create_task(self._open(), name=f"xmcp connect {self.label}")
                    self._opening.add_done_callback(_note_as_seen)
        if self._connection is not None:
            return self._connection
        opening = self._opening
        assert opening is not None  # noqa: S101 - the state is CONNECTING
        try:
            # Shielded: a caller that is cancelled leaves the opening to the other callers.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not opening.cancelled() or (task is not None and task.cancelling()):
                raise
            raise ConnectFailed("the client is closed") from None

    async def _open(self) -> Connection:
        try:
            connection = Connection(
                self._source, self._connect_timeout, self._log, self._tools_changed, self._retire, self._sleep
            )
            self._connections.add(connection)
            connection.task.add_done_callback(lambda _: self._connections.discard(connection))
            await connection.open()
        except ConnectFailed as exc:
            self._opening_ended(ServerEvent.FAILED, reason=str(exc))
            raise
        except BaseException:
            self._opening_ended(ServerEvent.CANCELLED)
            raise
        self._opening_ended(ServerEvent.OPENED, connection)
        return connection

    def _opening_ended(self, event: ServerEvent, connection: Connection | None = None, reason: str = "") -> None:
        self._opening = None
        for action in self._advance(event):
            match action:
                case ServerAction.ADOPT if connection is not None:
                    self._adopt(connection)
                case ServerAction.REPORT_UNREACHABLE:
                    # The pool warns of it in a sentence, with what it means for the tools.
                    self._log.info("server_unreachable", reason=reason)
                case ServerAction.CLOSE_CONNECTIONS if connection is not None:
                    connection.retire()

    def _adopt(self, connection: Connection) -> None:
        self._connection = connection
        self.name, self._announced_xmcp = (
            self._given_name or connection.server_name or self.name,
            connection.announces_xmcp,
        )
        self._log.info("server_connected", tools=len(connection.tools), xmcp=connection.announces_xmcp)
        if self._observer is not None:
            self._observer.connected(connection.tools)

    def _retire(self, connection: Connection, exc: Exception) -> None:
        """Use a broken connection for no new request; if it is the current one, the server has lost its connection."""
        if connection is self._connection and ServerAction.RETIRE in self._advance(ServerEvent.LOST):
            self._connection = None
            reason = describe(exc)
            self._log.warning("server_lost", reason=reason)
            if self._observer is not None:
                self._observer.lost(reason)
        connection.retire()

    def _advance(self, event: ServerEvent) -> tuple[ServerAction, ...]:
        self._state, actions = step(SERVER_TABLE, self._state, event)
        return actions

    def _tools_changed(self) -> None:
        if self._observer is not None:
            self._observer.tools_changed()

    def _answer_refused(self, refused: Refusal) -> ErrorInfo:
        if refused is Refusal.TOO_LARGE:
            return client_made_errors.answer_too_large(self.name)
        return client_made_errors.answer_compressed(self.name)

    def _connection_failed(self, never_sent: bool, cause: Cause = "connection") -> CallFailed:
        if self._state is ServerState.CLOSED:
            cause = "client"  # the application closed the client, which ends all requests
        if cause == "answer" and not never_sent:
            return CallFailed(client_made_errors.no_message(self.name))
        return CallFailed(client_made_errors.connection_lost(self.name, sent=not never_sent), cause=cause)


def _note_as_seen(opening: asyncio.Task[Connection]) -> None:
    """Keep asyncio from reporting a failure for which nobody waits any more; those that wait get it all the same."""
    if not opening.cancelled():
        opening.exception()


def _never_sent(exc: MCPError) -> bool:
    """Return whether the request of a failed call cannot have reached the server."""
    from xmcp.client.servers.fastmcp_internals import NEVER_SENT

    return isinstance(exc.data, dict) and exc.data.get(NEVER_SENT) is True
