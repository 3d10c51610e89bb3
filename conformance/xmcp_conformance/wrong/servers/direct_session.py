"""A session with a miniature server in this process, without the SDK of MCP between, which takes most of a run's time.

The SDK turns each message into bytes or models and back. What the suite sees is the same without it (a test compares
the two), as long as the miniature answers with results that MCP allows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types
from mcp import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import BaseModel

from xmcp_conformance.core.untrusted_text import quoted
from xmcp_conformance.profiles.server.catalogue import Catalogue
from xmcp_conformance.profiles.server.clients import ClientKind
from xmcp_conformance.profiles.server.exchange import Exchange, ReadView, ToolCall
from xmcp_conformance.profiles.server.server_under_test import listed_tool

from .miniature import Miniature


@dataclass(slots=True)
class DirectSession:
    """An open connection to a miniature in one era, as a client with these capabilities."""

    server: Miniature
    handshake: bool
    capabilities: mcp_types.ClientCapabilities = field(default_factory=mcp_types.ClientCapabilities)
    sent: int = 0

    @property
    def is_stateless(self) -> bool:
        """Whether each request says what the client declares."""
        return not self.handshake

    def declare(self, client: ClientKind) -> None:
        """Be another client from the next request on; see `Session`."""
        extensions = client.extensions("handshake" if self.handshake else "newest")
        place = {"experimental" if self.handshake else "extensions": extensions or None}
        self.capabilities = mcp_types.ClientCapabilities.model_validate(place)

    async def catalogue(self) -> Catalogue:
        """Return what the server announces and lists."""
        declares = self.server.declares(self.capabilities)
        apps = self.server.announces_apps(self.capabilities)
        listing = self.server.catalogue(declared=declares, handshake=self.handshake, apps=apps)
        return Catalogue(
            protocol_version=LATEST_HANDSHAKE_VERSION if self.handshake else LATEST_MODERN_VERSION,
            extensions=self.server.announced(handshake=self.handshake),
            tools=tuple(listed_tool(tool) for tool in listing.tools),
        )

    async def read_view(self) -> ReadView:
        """Read the view of MCP Apps, and return what was answered."""
        answered = self.server.view(handshake=self.handshake)
        return ReadView(answered.model_dump(by_alias=True, mode="json", exclude_none=True))

    async def call(self, call: ToolCall) -> Exchange:
        """Make one call, and return how it ended."""
        self.sent += 1
        try:
            result = await self.server.handle(call.name, call.arguments, self.capabilities, self.handshake)
        except MCPError as error:
            return Exchange(call, rpc_error=f"{error.code}: {quoted(error.message)}")
        written: Any = result
        if isinstance(result, BaseModel):
            written = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        await anyio.lowlevel.checkpoint()
        return Exchange(call, result=written)


def direct_connect(server: Miniature) -> Callable[..., AbstractAsyncContextManager[DirectSession]]:
    """Return what takes the place of `connect` for one miniature, with the same arguments."""

    @asynccontextmanager
    async def connect(
        _peer: object, era: str, *, kind: ClientKind = ClientKind.DECLARED, **_others: object
    ) -> AsyncIterator[DirectSession]:
        session = DirectSession(server, era == "handshake")
        session.declare(kind)
        yield session

    return connect
