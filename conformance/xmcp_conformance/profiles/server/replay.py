"""Make a call of an earlier run again, as the client that made it, and keep the answer as it came."""

from __future__ import annotations

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from xmcp_conformance.core.past_call import PastCall

from .clients import ClientKind
from .exchange import Exchange, ToolCall
from .peers import Peer
from .server_under_test import connect


async def replay(peer: Peer, past: PastCall, *, connect_timeout: float, call_timeout: float) -> Exchange:
    """Make the call.

    Args:
        peer: the server.
        past: the call.
        connect_timeout: seconds within which the server has to answer.
        call_timeout: seconds for the call.

    Raises:
        PeerUnavailable: the server cannot be reached.
    """
    era = "handshake" if past.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else "newest"
    async with connect(
        peer,
        era,
        connect_timeout=connect_timeout,
        call_timeout=call_timeout,
        kind=ClientKind(past.client),
    ) as session:
        return await session.call(ToolCall(None, past.name, past.arguments))
