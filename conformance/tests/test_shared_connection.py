"""One connection of the stateless era that several clients of the suite use, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import mcp_types
import pytest
from mcp import MCPError

from xmcp_conformance.core.events import CallMade, Event, RunStarted
from xmcp_conformance.profiles.server import blackbox
from xmcp_conformance.profiles.server.clients import ClientKind
from xmcp_conformance.profiles.server.exchange import Exchange, ToolCall
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer, PeerUnavailable
from xmcp_conformance.profiles.server.server_under_test import Session
from xmcp_conformance.wrong.servers.direct_session import DirectSession
from xmcp_conformance.wrong.servers.miniature import Negotiated
from xmcp_models.registry import EXTENSION_ID

CAPABILITIES = mcp_types.CLIENT_CAPABILITIES_META_KEY


class Line:
    """Stands for the SDK's session: announces the extension only to a client that declares it."""

    refuses = False

    def _stamp(self, data: dict[str, Any], _options: Any) -> None:
        data["params"] = {"_meta": {CAPABILITIES: {"extensions": {EXTENSION_ID: {"versions": ["1.0"]}}, "roots": {}}}}

    async def send_request(self, request: Any, _type: Any) -> Any:
        if self.refuses:
            raise MCPError(code=-32603, message="no")
        data: dict[str, Any] = {"method": request.method}
        self._stamp(data, {})
        declared = data["params"]["_meta"][CAPABILITIES].get("extensions", {})
        return SimpleNamespace(capabilities=mcp_types.ServerCapabilities(extensions=declared))


def session_on(line: Line) -> Session:
    async def list_tools(cursor: str | None) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[])

    announced = mcp_types.ServerCapabilities(extensions={EXTENSION_ID: {}})
    client: Any = SimpleNamespace(
        session=line, list_tools=list_tools, protocol_version="2026-07-28", server_capabilities=announced
    )
    return Session(client, 1.0, is_stateless=True)


async def test_what_is_announced_is_asked_for_as_each_client() -> None:
    session = session_on(Line())
    assert EXTENSION_ID in (await session.catalogue()).extensions
    session.declare(ClientKind.PLAIN)
    assert (await session.catalogue()).extensions == {}
    session.declare(ClientKind.LIMITED)
    assert (await session.catalogue()).extensions[EXTENSION_ID]["maxBytes"] == 4096


async def test_each_request_says_what_the_client_of_now_declares_and_all_else_as_before() -> None:
    line = Line()
    session = session_on(line)
    session.declare(ClientKind.PLAIN)
    data: dict[str, Any] = {"method": "tools/call"}
    line._stamp(data, {})
    assert data["params"]["_meta"][CAPABILITIES] == {"roots": {}}


async def test_a_server_that_tells_another_client_nothing_cannot_be_judged_as_that_one() -> None:
    line = Line()
    session = session_on(line)
    session.declare(ClientKind.PLAIN)
    line.refuses = True
    with pytest.raises(PeerUnavailable, match="to one client, and not to another"):
        await session.catalogue()


@pytest.mark.parametrize("ends", [False, True])
async def test_a_connection_that_ends_in_the_run_with_a_limit_is_not_used_for_the_next_client(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[DirectSession] = []

    @asynccontextmanager
    async def connect(_peer: object, _era: str, **declared: Any) -> AsyncIterator[DirectSession]:
        session = Ending(Negotiated(), handshake=False)
        session.declare(declared["kind"])
        session.ends = ends
        opened.append(session)
        yield session

    runs: Counter[str] = Counter()
    events: list[Event] = []
    monkeypatch.setattr(blackbox, "connect", connect)
    await blackbox.check([InMemoryPeer(Negotiated().server())], Options(eras=("newest",), examples=1), events.append)
    runs.update(event.client for event in events if isinstance(event, RunStarted))
    assert runs == {"declared": 1, "limited": 1, "plain": 1, "other_version": 1, "no_documents": 1, "apps": 1}
    assert len(opened) == (2 if ends else 1)
    plain = [event for event in events if isinstance(event, CallMade) and event.run.endswith("plain client")]
    assert {event.ending for event in plain} >= {"succeeded", "failed"}


class Ending(DirectSession):
    """Is lost in the first call of a client that declares a `maxBytes`, if `ends`."""

    ends = False
    lost = False

    async def call(self, call: ToolCall) -> Exchange:
        declared = (self.capabilities.extensions or {}).get(EXTENSION_ID) or {}
        self.lost = self.lost or (self.ends and "maxBytes" in declared)
        return Exchange(call, lost="the end of the connection") if self.lost else await super().call(call)
