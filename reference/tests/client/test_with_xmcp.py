"""AIClient with an XMCP server: what `XMCP` writes, `AIClient` reads, in both eras."""

from __future__ import annotations

from typing import Any

import fastmcp
import pytest
from fastmcp_tasks import TasksExtension

from xmcp.client import AIClient
from xmcp.providers import ScriptedProvider, Turn
from xmcp.server import XMCP, XMCPError
from xmcp.wire import DisplayEnvelope, ToolResponse


def sales(**options: Any) -> XMCP:
    mcp = XMCP("sales", **options)

    @mcp.display_tool
    def summary(region: str, show_user: bool = False) -> Any:
        """Sales of a region."""
        row = {"region": region, "sales": 42}
        return DisplayEnvelope(type="table", payload=[row], title=region) if show_user else row

    @mcp.tool
    def refuse() -> str:
        """Fails as its author foresaw."""
        raise XMCPError("DB_TIMEOUT", "after 5 s", retry_after_ms=200)

    @mcp.tool
    def break_down() -> str:
        """Fails as nobody foresaw."""
        raise KeyError("password=hunter2")

    return mcp


@pytest.mark.parametrize("wire", ["always", "negotiated"])
async def test_displays_and_errors_of_background_tasks_arrive(wire: Any) -> None:
    mcp = XMCP("sales", wire=wire)
    mcp.add_extension(TasksExtension(url="memory://"))

    @mcp.display_tool(task=True)
    async def summary(region: str) -> DisplayEnvelope:
        """Sales of a region."""
        return DisplayEnvelope(type="table", payload=[{"sales": 42}], title=region)

    @mcp.tool(task=True)
    async def refuse() -> str:
        """Fails as its author foresaw."""
        raise XMCPError("DB_TIMEOUT", "after 5 s", retry_after_ms=200)

    script = [Turn(calls=[("refuse", {})]), Turn(calls=[("summary", {"region": "EMEA", "show_user": True})])]
    async with AIClient([mcp], llm_provider=ScriptedProvider(script)) as ai:
        result = await ai.chat("How are sales?", [])
    responses = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert responses[0].error is not None
    assert (responses[0].error.code, responses[0].error.retry_after_ms) == ("DB_TIMEOUT", 200)
    assert [display.title for display in result["displays"]] == ["EMEA"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("wire", ["always", "negotiated"])  # over HTTP the handshake era gets plain results then
async def test_displays_errors_and_words_of_an_xmcp_server_arrive(
    http: Any, transport: str, mode: str, wire: Any
) -> None:
    target: Any = sales(wire=wire)
    if transport == "http":
        target = await http(target) + "/mcp"
    calls = [
        ("summary", {"region": "EMEA", "show_user": True}),
        ("summary", {"region": "APAC"}),
        ("refuse", {}),
        ("break_down", {}),
        ("summary", {"region": 1.5}),
    ]
    script = [Turn(calls=calls), Turn(calls=[("summary", {"region": "LATAM", "show_user": True})])]
    async with AIClient([fastmcp.Client(target, mode=mode)], llm_provider=ScriptedProvider(script)) as ai:
        told = [chunk async for chunk in ai.stream_chat("How are sales?", [])]
    result = told[-1].result
    assert result is not None
    shown, spoken, refused, broken, invalid, last = [
        ToolResponse.from_xml(message["content"]) for message in result["history"] if message["role"] == "tool"
    ]
    assert [display.title for display in result["displays"]] == ["EMEA", "LATAM"]
    assert (result["answer"], result["stop_reason"]) == (None, "display")
    assert shown.display == result["display"]
    assert (spoken.display, "42" in (spoken.llm_output or "")) == (None, True)
    codes = [response.error.code for response in (refused, broken, invalid) if response.error]
    assert codes == ["DB_TIMEOUT", "INTERNAL", "VALIDATION_FAIL"]
    assert refused.error is not None
    assert (refused.error.retryable, refused.error.retry_after_ms) == (True, 200)
    assert "hunter2" not in str(result["history"])
    assert last.display is not None
    assert [chunk.error.code for chunk in told if chunk.type == "tool_error"] != []
