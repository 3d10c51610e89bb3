"""The connections to one server whose credentials depend on the chat: one for each credential, never shared.

A chat leases the connection of its credentials for as long as it lasts; a tenant whose chats have many credentials
cannot lease all connections. A connection that no chat leases is closed after `IDLE_SECONDS`, and before that if a new
one needs its place: it is then one of the tenant that has most.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from xmcp.chat import client_made_errors
from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.backoff import reconnect_delays
from xmcp.client.servers.credentials import Credentials, CredentialsFailed, credentials_of
from xmcp.client.servers.errors import ConnectFailed, ConnectionsBusy
from xmcp.client.servers.pool_member import PoolMember, ServerStatus
from xmcp.client.servers.targets import ServerTarget
from xmcp.client.slots import FairShares
from xmcp.wire import ErrorInfo

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from xmcp.client.hooks.middleware import ChatContext

MAX_CONNECTIONS: Final = 100
"""Maximum number of connections to one target at the same time."""

IDLE_SECONDS: Final = 300.0
"""How long a connection that no chat uses is kept."""


@dataclass(eq=False, slots=True)
class Kept:
    """The server of one credential, and who uses it."""

    key: Hashable = field(repr=False)
    member: PoolMember
    tenant_id: str | None = None
    """The tenant that has taken the place of it, or had it last. Chats of others with the same credentials share it."""
    users: int = 0
    expiry: asyncio.TimerHandle | None = None
    refreshing: asyncio.Task[None] | None = None
    refreshed: float | None = None
    """When its tools were listed last, by the event loop's clock."""
    delays: Iterator[float] = field(default_factory=reconnect_delays)
    retry_at: float = 0.0
    """Before this time it is not asked again, if it did not answer."""

    def needs_refresh(self, now: float, interval: float) -> bool:
        """Return whether the tools must be listed before they are offered."""
        if self.refreshed is None or self.member.tools_may_have_changed:
            return True
        if self.member.fault is not None:
            return now >= self.retry_at
        return 0 < interval <= now - self.refreshed


class CredentialPool:
    """The connections to one target, by their credentials.

    Args:
        target: Has a function of the chat as `headers` or `auth`.
        make: Makes the server of a target with the credentials of one chat.
        name: The application's name for it, or `None`.
        label: Its name and place, for messages to people.
        connect_timeout: Seconds to wait for a free place among the connections.
        refresh_interval: Seconds after which the tools are listed again before they are offered; 0: not by time.
        log: Of the client.
    """

    def __init__(
        self,
        target: ServerTarget,
        make: Callable[[ServerTarget], PoolMember],
        *,
        name: str | None,
        label: str,
        connect_timeout: float,
        refresh_interval: float,
        log: EventLog,
    ) -> None:
        self._target = target
        self._make = make
        self._connect_timeout = connect_timeout
        self._refresh_interval = refresh_interval
        self._log = log.bind(server=label)
        self._slots = FairShares(MAX_CONNECTIONS)
        """One for each connection that chats lease."""
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        """The one released last is the last."""
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._own_name = name
        self.label = label
        self.without_credentials = Unusable(self, client_made_errors.no_credentials)
        """Stands for the server in chats that have no credentials for it."""
        self.without_connection = Unusable(self, client_made_errors.no_connection_free)
        """Stands for the server in chats for which no connection is free now."""

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def name(self) -> str:
        """The application's name for it, or the name that it gave itself at the last connection."""
        known = (kept.member.server.name for kept in reversed(self._kept.values()) if kept.refreshed is not None)
        return self._own_name or next(known, "server")

    @property
    def named(self) -> bool:
        """True if the application named the server."""
        return self._own_name is not None

    @property
    def members(self) -> list[PoolMember]:
        """The server with each of the credentials whose connection is kept."""
        return [kept.member for kept in self._kept.values()]

    def status(self) -> ServerStatus:
        """Return the state of all connections together; the tools are the most that one of them has."""
        members = self.members
        servers = [member.server for member in members]
        return ServerStatus(
            self.label,
            self.name,
            any(server.connected for server in servers),
            any(server.speaks_xmcp for server in servers),
            max((len(member.tools) for member in members), default=0),
            None,
        )

    def warning(self, exc: CredentialsFailed | ConnectFailed) -> str:
        """Return the sentence for people about a chat that cannot use the server."""
        return f"The server {self.label} cannot be used in this chat: {exc}."

    def warn(self, chat: ChatContext, exc: CredentialsFailed | ConnectFailed) -> None:
        """Log that a chat cannot use the server."""
        self._log.warning("server_not_usable", tenant_id=chat.tenant_id, chat_id=chat.chat_id, reason=str(exc))

    async def credentials(self, chat: ChatContext) -> Credentials:
        """Return the credentials that a chat has now.

        Raises:
            CredentialsFailed: there are none.
        """
        return await credentials_of(self._target, chat, self._log)

    def outdate(self) -> None:
        """Have the tools of every connection listed again before they are offered next."""
        for kept in self._kept.values():
            kept.member.tools_may_have_changed = True

    async def lease(self, chat: ChatContext, credentials: Credentials) -> Kept:
        """Return the connection of these credentials of a chat, which may not be open yet. `release` must follow.

        Raises:
            CredentialsFailed: no connection can be made with the credentials.
            ConnectionsBusy: too many connections are in use.
            ConnectFailed: the client is closed.
        """
        key = credentials.key
        if not self._in_use(key):
            try:
                async with asyncio.timeout(self._connect_timeout):
                    await self._slots.take(chat.tenant_id)
            except TimeoutError:
                raise ConnectionsBusy(MAX_CONNECTIONS) from None
            if self._in_use(key):
                self._slots.give_back(chat.tenant_id)  # another chat was faster
        if self._closed:
            raise ConnectFailed("the client is closed")
        kept = self._kept.get(key)
        if kept is None:
            self._make_room()
            try:
                kept = self._kept[key] = Kept(key, self._make(credentials.applied_to(self._target)))
            except Exception as exc:
                self._slots.give_back(chat.tenant_id)
                raise CredentialsFailed(
                    f"a connection cannot be made with its credentials ({type(exc).__name__})"
                ) from exc
        if not kept.users:
            kept.tenant_id = chat.tenant_id
        kept.users += 1
        if kept.expiry is not None:
            kept.expiry.cancel()
            kept.expiry = None
        return kept

    def release(self, kept: Kept) -> None:
        """End a lease."""
        kept.users -= 1
        if kept.users:
            return
        self._slots.give_back(kept.tenant_id)
        if self._kept.get(kept.key) is kept:
            self._kept.move_to_end(kept.key)
            kept.expiry = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop, kept)

    async def refresh_if_needed(self, kept: Kept) -> None:
        """List the tools if they are not known or may have changed, in bounded time. Chats share one listing."""
        now = asyncio.get_running_loop().time()
        if kept.refreshing is None and kept.needs_refresh(now, self._refresh_interval):
            kept.member.tools_may_have_changed = False
            kept.refreshing = asyncio.create_task(self._refresh(kept), name=f"xmcp list {self.label}")
        if kept.refreshing is not None:
            await asyncio.wait({kept.refreshing})

    async def close(self) -> None:
        """Close every connection. Never raises, and takes as long as `Server.close` at most."""
        self._closed = True
        for kept in list(self._kept.values()):
            self._drop(kept)
        if self._closing:
            await asyncio.wait(self._closing)

    def _in_use(self, key: Hashable) -> bool:
        kept = self._kept.get(key)
        return kept is not None and kept.users > 0

    def _make_room(self) -> None:
        """Close a connection if there are as many as allowed; one is not in use.

        Of the tenant that has most of them, it is the one that was not used for longest.
        """
        if len(self._kept) >= MAX_CONNECTIONS:
            of_tenants = Counter(kept.tenant_id for kept in self._kept.values())
            idle = [kept for kept in self._kept.values() if not kept.users]
            if idle:
                self._drop(max(idle, key=lambda kept: of_tenants[kept.tenant_id]))

    def _drop(self, kept: Kept) -> None:
        del self._kept[kept.key]
        if kept.expiry is not None:
            kept.expiry.cancel()
        if kept.refreshing is not None:
            kept.refreshing.cancel()
        closing = asyncio.create_task(kept.member.server.close(), name=f"xmcp close {self.label}")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _refresh(self, kept: Kept) -> None:
        loop = asyncio.get_running_loop()
        try:
            await kept.member.refresh()
        finally:
            kept.refreshing = None
            kept.refreshed = loop.time()
            if kept.member.fault is None:
                kept.delays = reconnect_delays()
            else:
                kept.retry_at = kept.refreshed + next(kept.delays)


class Unusable:
    """Stands for a server in a chat that cannot use it now: each call fails, and nothing is sent.

    Args:
        pool: Of the server.
        error: Makes the error, given the server's name.
    """

    identity = ""
    speaks_xmcp = False

    def __init__(self, pool: CredentialPool, error: Callable[[str], ErrorInfo]) -> None:
        self._pool = pool
        self._error = error

    @property
    def name(self) -> str:
        """The server's name."""
        return self._pool.name

    @property
    def named(self) -> bool:
        """True if the application named the server."""
        return self._pool.named

    async def execute_tool_call(self, *_: object) -> CallToolResult:
        """Refuse the call.

        Raises:
            CallFailed: always.
        """
        raise CallFailed(self._error(self.name), cause="client")

    def report_missing_tool(self) -> None:
        """Do nothing: no server has answered."""
