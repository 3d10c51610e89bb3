"""The same server over memory, stdio and HTTP in both eras: announcement, hostile text, hostile peers."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from xmcp_models.registry import EXTENSION_ID

TRAPS_FILE = Path(__file__).with_name("traps.py")
TOOLS = ("as_text", "as_mapping", "as_list", "as_model", "as_display", "as_error", "as_file", "as_resource")


@pytest.fixture(scope="module")
def traps() -> ModuleType:
    spec = importlib.util.spec_from_file_location("traps", TRAPS_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def connected(transport: str, era: str, traps: ModuleType, over_http: Any) -> AsyncIterator[Client[Any]]:
    if transport == "memory":
        async with Client(traps.mcp, mode=era, timeout=300) as client:
            yield client
    elif transport == "stdio":
        child = StdioTransport(sys.executable, [str(TRAPS_FILE)], keep_alive=False)
        async with Client(child, mode=era, timeout=300) as client:
            yield client
    else:
        async with over_http(traps.mcp.http_app()) as url, Client(f"{url}/mcp", mode=era, timeout=300) as client:
            yield client


@pytest.mark.parametrize("transport", ["memory", "stdio", "http"])
async def test_hostile_text_reaches_the_client_intact_or_marked_and_the_session_lives(
    transport: str, era: str, traps: ModuleType, over_http: Any, reply: Any
) -> None:
    async with connected(transport, era, traps, over_http) as client:
        assert EXTENSION_ID in client.session.server_capabilities.extensions
        for trap, value in traps.TRAPS.items():
            carried = "".join("\ufffd" if not _is_xml_char(c) else c for c in value)
            without_surrogates = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in value)
            results = await asyncio.gather(
                *(
                    client.call_tool_mcp(tool, {"trap": trap} | ({"show_user": True} if tool == "as_display" else {}))
                    for tool in TOOLS
                )
            )
            replies = dict(zip(TOOLS, map(reply, results), strict=True))
            assert replies["as_text"].llm_output == carried
            assert replies["as_text"].lossy == (trap in traps.LOSSY)
            assert replies["as_text"].structured == {"result": without_surrogates}
            assert replies["as_mapping"].structured["value"] == without_surrogates
            assert replies["as_mapping"].lossy == (trap in traps.LOSSY_AS_JSON)
            assert replies["as_list"].lossy == (trap in traps.LOSSY_AS_JSON)
            assert replies["as_model"].structured == {"text": without_surrogates}
            assert replies["as_display"].display["payload"] == {"value": without_surrogates}
            assert replies["as_error"].message == carried
            assert replies["as_error"].meta["params"]["value"] == without_surrogates
            assert replies["as_resource"].other_blocks[0].resource.text == without_surrogates
            assert replies["as_file"].other_blocks[0].type == "resource"
        numbers = reply(await client.call_tool_mcp("not_a_number", {}))
        assert numbers.structured == {"x": None, "y": None}
        assert reply(await client.call_tool_mcp("noisy", {})).llm_output == "still here"


def _is_xml_char(c: str) -> bool:
    code = ord(c)
    return code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_the_extension_is_announced(transport: str, era: str, traps: ModuleType, over_http: Any) -> None:
    async with connected(transport, era, traps, over_http) as client:
        extensions = client.session.server_capabilities.extensions
    assert extensions[EXTENSION_ID] == {"versions": ["1.0"], "wire": "always"}


HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN = "2026-07-28"
CLIENT = {"name": "raw", "version": "1"}


async def test_the_announcement_is_in_the_bytes_of_both_eras(traps: ModuleType, over_http: Any) -> None:
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT},
    }
    discover = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "server/discover",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": CLIENT,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    }
    announced = f'"{EXTENSION_ID}":{{"versions":["1.0"],"wire":"always"}}'
    async with over_http(traps.mcp.http_app()) as url, httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", json=initialize, headers=HEADERS)
        assert announced in answer.text
        modern = {**HEADERS, "MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
        answer = await http.post(f"{url}/mcp", json=discover, headers=modern)
        assert announced in answer.text


async def test_pages_of_other_origins_and_rebound_names_are_refused_by_default(
    traps: ModuleType, over_http: Any
) -> None:
    async with over_http(traps.mcp.http_app()) as url, httpx2.AsyncClient() as http:
        for hostile in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            answer = await http.post(f"{url}/mcp", json={}, headers={**HEADERS, **hostile})
            assert answer.status_code in (403, 421)
    async with over_http(traps.mcp.http_app(host_origin_protection=False)) as url, httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", json={}, headers={**HEADERS, "Host": "evil.example"})
        assert answer.status_code not in (403, 421)


async def test_http_keeps_no_session_unless_asked(traps: ModuleType, over_http: Any) -> None:
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT},
    }
    for app, expected in ((traps.mcp.http_app(), False), (traps.mcp.http_app(stateless_http=False), True)):
        async with over_http(app) as url, httpx2.AsyncClient() as http:
            answer = await http.post(f"{url}/mcp", json=initialize, headers=HEADERS)
            assert ("mcp-session-id" in answer.headers) is expected
