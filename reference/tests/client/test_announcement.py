"""Where a client looks for the announcement (XMCP-CNF-002), against a server written from the specification alone."""

from __future__ import annotations

import sys

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from xmcp import AIClient
from xmcp.providers import ScriptedProvider, Turn


@pytest.mark.slow
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_server_is_read_as_xmcp_wherever_its_era_lets_it_announce(era: str) -> None:
    miniature = StdioTransport(sys.executable, ["-m", "xmcp_conformance.mutants"], keep_alive=False)
    script = ScriptedProvider([Turn(calls=[("picture", {"show_user": True})])])
    async with AIClient([Client(miniature, mode=era)], llm_provider=script) as ai:
        result = await ai.chat("Show me.", [])
    assert result["stop_reason"] == "display"
    assert result["display"].type == "group"
