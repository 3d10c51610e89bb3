"""Values from an author that the specification does not let a server send are never sent."""

from __future__ import annotations

from typing import Any

import pytest

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError


def nested(levels: int, wrap: Any) -> dict[str, Any]:
    envelope: dict[str, Any] = {"type": "text", "payload": "x"}
    for _ in range(levels):
        envelope = wrap(envelope)
    return envelope


def group(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "group", "payload": [inner]}


def behind(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "payload": "x", "fallback": inner}


@pytest.mark.parametrize("as_response", [False, True])
@pytest.mark.parametrize(
    ("envelope", "sentence"),
    [
        ({"type": "text", "payload": "x", "meta": {"colour": 1}}, "XMCP-DSP-006"),
        ({"type": "map", "payload": {}}, "XMCP-DSP-010"),
        (nested(4, group), "XMCP-DSP-011"),
        (nested(4, behind), "XMCP-DSP-015"),
        ({"type": "chart", "payload": {"mark": "bar", "data": {"url": "https://x"}}}, "XMCP-DSP-014"),
        ({"type": "chart", "payload": {"layer": [{"mark": {"type": "image"}}]}}, "XMCP-DSP-014"),
    ],
)
async def test_an_envelope_that_chapter_3_forbids_is_an_invalid_payload(
    call: Any, envelope: dict[str, Any], sentence: str, as_response: bool
) -> None:
    mcp = XMCP("t")

    @mcp.display_tool
    def show() -> Any:
        return ToolResponse("show", "x", display=envelope) if as_response else envelope

    reply = await call(mcp, "show", show_user=True)
    assert 'code="INVALID_PAYLOAD"' in reply.wire.replace("\\", "")
    assert sentence in reply.wire


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "text", "payload": "x", "meta": {"source": "s", "acme/colour": 1}},
        {"type": "chart", "payload": {"mark": "bar", "data": {"values": [{"url": "data"}]}}, "alt": "a"},
        nested(3, group),
        nested(3, behind),
    ],
)
async def test_its_valid_twin_is_shown(call: Any, envelope: dict[str, Any]) -> None:
    mcp = XMCP("t")
    mcp.display_tool(lambda: envelope, name="show")
    assert "INVALID_PAYLOAD" not in (await call(mcp, "show", show_user=True)).wire


async def test_a_blank_message_becomes_the_code(call: Any) -> None:
    mcp = XMCP("t")

    @mcp.tool
    def fails() -> None:
        raise XMCPError("NOT_FOUND", " \n")

    assert ">NOT_FOUND<" in (await call(mcp, "fails")).wire


async def test_a_plain_tool_cannot_display(call: Any) -> None:
    mcp = XMCP("t")
    shown = DisplayEnvelope(type="text", payload="x")
    mcp.tool(lambda: ToolResponse("t", "words", display=shown), name="plain")
    reply = await call(mcp, "plain")
    assert "<display>" not in reply.wire
    assert "words" in reply.wire
