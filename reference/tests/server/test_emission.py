"""Values from an author that the specification does not let a server send are never sent."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client
from fastmcp.tools.base import ToolResult
from hypothesis import example, given
from hypothesis import strategies as st
from mcp_types import Annotations, CallToolResult, ImageContent, ResourceLink, TextContent

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError
from xmcp.server.call_state import ServedCall
from xmcp.server.middleware import answer
from xmcp.server.responses.capability import Reader
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY


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


# ---- half of a surrogate pair, which no transport can send: one ends the whole connection over stdio ----

TEXT = st.text(st.sampled_from("ab<\ud800\udc00\udfff\U0001f600"), max_size=3)
ANY_JSON = st.recursive(
    st.none() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(TEXT, ANY_JSON, max_size=2)
AUDIENCE = st.sampled_from([None, Annotations(audience=["user"])])
BLOCK = (
    st.builds(TextContent, type=st.just("text"), text=TEXT, annotations=AUDIENCE)
    | st.builds(ImageContent, type=st.just("image"), data=TEXT, mime_type=TEXT, annotations=AUDIENCE)
    | st.builds(ResourceLink, type=st.just("resource_link"), uri=TEXT, name=TEXT)
)
DISPLAY = st.fixed_dictionaries(
    {"type": st.just("table") | st.just("text"), "payload": st.lists(OBJECT, max_size=2) | TEXT},
    optional={"title": TEXT, "alt": TEXT, "fallback": st.builds(lambda text: {"type": "text", "payload": text}, TEXT)},
)
ERROR = st.fixed_dictionaries(
    {"code": st.just("CONFLICT") | TEXT, "message": TEXT}, optional={"category": TEXT, "meta": OBJECT}
)
POPULATED = st.fixed_dictionaries({}, optional={"values": OBJECT, "redacted": st.lists(TEXT, max_size=2)})
RESULT = st.fixed_dictionaries({}, optional={"format": TEXT, "call_id": TEXT, "lossy": st.booleans()})
META = st.fixed_dictionaries(
    {},
    optional={
        DISPLAY_META_KEY: DISPLAY,
        ERROR_META_KEY: ERROR,
        POPULATED_META_KEY: POPULATED,
        RESULT_META_KEY: RESULT,
        "other": ANY_JSON,
    },
)
READERS = [Reader(documents, declared=declared) for documents in (True, False) for declared in (True, False)]


@pytest.mark.parametrize("reader", READERS)
@example(
    name="t",
    blocks=[],
    data=None,
    failed=False,
    meta={DISPLAY_META_KEY: {"type": "text", "payload": "p", "alt": "x\ud800y"}},
)
@given(st.just("t") | TEXT, st.lists(BLOCK, max_size=3), st.none() | OBJECT, META, st.booleans())
async def test_every_answer_can_be_sent(
    reader: Reader, name: str, blocks: list[Any], data: Any, meta: dict[str, Any], failed: bool
) -> None:
    async def run() -> ToolResult:
        result = ToolResult(content=blocks, meta=meta, is_error=failed)
        result.structured_content = data
        return result

    answered = await answer(ServedCall(name, {"show_user": True}), run, reader)
    sent = answered.to_mcp_result()
    assert isinstance(sent, CallToolResult)
    assert "\\ud" not in sent.model_dump_json(by_alias=True)


@pytest.mark.parametrize("where", ["alt", "title", "payload"])
async def test_a_display_ends_no_connection(where: str, era: str) -> None:
    mcp = XMCP("t", wire="negotiated")
    members = {"type": "text", "payload": "p", "title": "t", "alt": "a", where: "x\ud800y"}
    mcp.display_tool(lambda: ToolResponse("show", "seen", display=DisplayEnvelope(**members)), name="show")
    async with Client(mcp, mode=era) as client:
        result = await client.call_tool_mcp("show", {"show_user": True})
    assert result.meta[DISPLAY_META_KEY][where] == "x\ufffdy"
    assert not result.is_error
