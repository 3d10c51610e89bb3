"""The servers as one chat uses them: the shared ones, and its own connections where credentials depend on the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from xmcp.client.servers.credential_pool import CredentialPool, Kept
from xmcp.client.servers.credentials import CredentialsFailed
from xmcp.client.servers.errors import ConnectFailed, ConnectionsBusy
from xmcp.client.servers.pool import Servers
from xmcp.client.tools.catalogue import Catalogue, ToolServer

if TYPE_CHECKING:
    from mcp_types import Tool

    from xmcp.client.hooks.middleware import ChatContext

NO_TOOLS: Final[list[Tool]] = []


class ChatServers:
    """The servers of one chat. Leaving the `with` block gives its own connections back."""

    def __init__(self, servers: Servers, chat: ChatContext) -> None:
        self._servers = servers
        self._chat = chat
        self._leases: dict[int, tuple[CredentialPool, Kept]] = {}
        """By the place of the server."""
        self._listed: dict[int, list[Tool]] = {}
        """The tools that the model was offered last, by the place of the server."""
        self._left = False
        self.busy: set[str] = set()
        """The names of servers of which no connection is free for this chat now."""

    def __enter__(self) -> Self:
        """Do nothing: connections are leased when the tools are asked for."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the connections back."""
        self._left = True
        for pool, kept in self._leases.values():
            pool.release(kept)
        self._leases.clear()

    async def catalogue(self) -> Catalogue:
        """Return the tools that this chat can use now. Never raises for a server that cannot be used."""
        pools = self._servers.credential_pools
        if not pools:
            return self._servers.catalogue
        self.busy.clear()
        current = await asyncio.gather(*(self._current(place, pool) for place, pool in pools.items()))
        own = {place: (server, tools) for place, (server, tools, _) in zip(pools, current, strict=True)}
        made, warnings = self._servers.catalogue_with(own), [text for _, _, texts in current for text in texts]
        return replace(made, warnings=(*made.warnings, *warnings)) if warnings else made

    async def _current(self, place: int, pool: CredentialPool) -> tuple[ToolServer, list[Tool], Sequence[str]]:
        """Return the server with the credentials that the chat has now, its tools, and warnings about it."""
        try:
            credentials = await pool.credentials(self._chat)
            if place in self._leases and self._leases[place][1].key != credentials.key:
                # First: chats that each keep one connection and wait for another would all wait in vain.
                pool.release(self._leases.pop(place)[1])
            if place not in self._leases:
                self._leases[place] = pool, await pool.lease(self._chat, credentials)
                if self._left:  # a function of the application did not end when the chat was cancelled
                    pool.release(self._leases.pop(place)[1])
                    raise asyncio.CancelledError
        except (CredentialsFailed, ConnectFailed) as exc:
            pool.warn(self._chat, exc)
            # The model has seen the tools of earlier turns: calls of them fail with the reason.
            busy = isinstance(exc, ConnectionsBusy)
            self.busy |= {pool.name} if busy else set()
            stand_in = pool.without_connection if busy else pool.without_credentials
            return stand_in, self._listed.get(place, NO_TOOLS), [pool.warning(exc)]
        kept = self._leases[place][1]
        await pool.refresh_if_needed(kept)
        self._listed[place] = kept.member.tools
        return kept.member.server, kept.member.tools, list(kept.member.warnings())
