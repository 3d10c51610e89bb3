"""The display channel: who decides, what is required, and the text for the model (spec sections 3.4 and 3.5)."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp.tools import ToolResult

from xmcp import XMCP, DisplayEnvelope, ToolResponse
from xmcp_models.display_envelope import DisplayEnvelope as GeneratedEnvelope
from xmcp_models.registry import DISPLAY_META_KEY

ROWS = [{"region": "EMEA", "sales": 42, "note": None}]


@pytest.fixture(scope="module")
def mcp() -> XMCP:
    mcp = XMCP("shop")

    @mcp.display_tool
    def always() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=ROWS, title="Sales")

    @mcp.display_tool
    async def described() -> dict[str, Any]:
        return {"type": "chart", "payload": {"mark": "bar"}, "alt": "Sales rose.", "title": "Sales"}

    @mcp.display_tool
    def either(show_user: bool) -> Any:
        return DisplayEnvelope(type="markdown", payload="**42**") if show_user else {"sales": 42}

    @mcp.display_tool
    def never(kind: str) -> Any:
        changed = DisplayEnvelope(type="table", payload=ROWS)
        changed.payload = "text"
        return {
            "data": {"sales": 42},
            "text": "plain",
            "nothing": None,
            "no_payload": {"type": "table"},
            "bad_payload": {"type": "table", "payload": "text"},
            "changed": changed,
            "generated": GeneratedEnvelope(type="table", payload="text"),
            "native": ToolResult(content="native"),
            "response": ToolResponse("x", llm_output="told"),
        }[kind]

    return mcp


async def test_shown_to_the_person_and_told_to_the_model(mcp: XMCP, call: Any) -> None:
    reply = await call(mcp, "always", show_user=True)
    assert reply.display == {"type": "table", "payload": ROWS, "title": "Sales"}
    assert reply.llm_output == 'Sales\n[{"region":"EMEA","sales":42,"note":null}]'
    assert not reply.truncated
    reply = await call(mcp, "described", show_user=True)
    assert reply.display["type"] == "chart"
    assert reply.llm_output == "Sales rose."


@pytest.mark.parametrize("switch", [{}, {"show_user": False}, {"show_user": None}], ids=["absent", "false", "null"])
async def test_without_the_switch_nothing_is_shown_and_the_model_gets_the_data(
    switch: dict[str, bool | None], mcp: XMCP, call: Any
) -> None:
    reply = await call(mcp, "always", **switch)
    assert reply.display is None
    assert reply.llm_output == '{"title":"Sales","payload":[{"region":"EMEA","sales":42,"note":null}]}'
    reply = await call(mcp, "described", **switch)
    assert reply.display is None
    assert reply.llm_output == '{"title":"Sales","alt":"Sales rose.","payload":{"mark":"bar"}}'
    reply = await call(mcp, "either", **switch)
    assert reply.structured == {"sales": 42}
    assert (reply.llm_output, reply.format) == ('{"sales":42}', "application/json")


async def test_a_function_that_declares_the_switch_is_given_it(mcp: XMCP, call: Any) -> None:
    assert (await call(mcp, "either", show_user=True)).display == {"type": "markdown", "payload": "**42**"}


@pytest.mark.parametrize(
    "kind", ["data", "text", "nothing", "no_payload", "bad_payload", "changed", "generated", "native", "response"]
)
async def test_a_display_that_was_asked_for_and_is_not_there_is_an_error(kind: str, mcp: XMCP, call: Any) -> None:
    reply = await call(mcp, "never", kind=kind, show_user=True)
    assert (reply.code, reply.retryable, reply.display) == ("INVALID_PAYLOAD", False, None)
    assert "show_user=false" in reply.message
    assert "pydantic" not in reply.wire
    assert (await call(mcp, "never", kind=kind)).code is None


async def test_an_invalid_envelope_is_described_by_its_faults(mcp: XMCP, call: Any) -> None:
    reply = await call(mcp, "never", kind="no_payload", show_user=True)
    assert reply.meta["params"]["envelope"] == [
        {"pointer": "/payload", "reason": "missing", "message": "Field required"}
    ]


@pytest.mark.parametrize("value", ["maybe", 3, [True]])
async def test_a_switch_that_is_no_boolean_is_a_refused_argument(value: Any, mcp: XMCP, call: Any) -> None:
    for tool in ("always", "either"):
        reply = await call(mcp, tool, show_user=value)
        assert reply.code == "VALIDATION_FAIL"
        assert [field["pointer"] for field in reply.meta["fields"]] == ["/show_user"]


async def test_a_plain_tool_has_no_switch_and_shows_nothing(call: Any) -> None:
    mcp = XMCP("plain")

    @mcp.tool
    def envelope() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=ROWS)

    reply = await call(mcp, "envelope")
    assert reply.display is None
    assert reply.llm_output == '{"type":"table","payload":[{"region":"EMEA","sales":42,"note":null}]}'
    assert reply.structured["payload"] == ROWS
    assert (await call(mcp, "envelope", show_user=True)).code == "VALIDATION_FAIL"


async def test_the_switch_also_rules_a_response_the_author_built(call: Any) -> None:
    mcp = XMCP("built")

    @mcp.display_tool
    def built(told: str | None = None) -> ToolResponse:
        envelope = DisplayEnvelope(type="table", payload=ROWS, alt="EMEA sold 42.")
        return ToolResponse("x", llm_output=told, display=envelope)

    reply = await call(mcp, "built", show_user=True)
    assert (reply.llm_output, reply.display["payload"]) == ("EMEA sold 42.", ROWS)
    reply = await call(mcp, "built", show_user=True, told="see above")
    assert (reply.llm_output, reply.display["payload"]) == ("see above", ROWS)
    reply = await call(mcp, "built", told="see above")
    assert (reply.llm_output, reply.display) == ("see above", None)
    reply = await call(mcp, "built")
    assert reply.display is None
    assert reply.llm_output == '{"alt":"EMEA sold 42.","payload":[{"region":"EMEA","sales":42,"note":null}]}'


async def test_the_model_is_told_of_a_large_display_within_a_budget(call: Any) -> None:
    mcp = XMCP("large")

    @mcp.display_tool
    def rows() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=[{"n": "é" * 50} for _ in range(1000)])

    @mcp.display_tool
    def picture() -> DisplayEnvelope:
        return DisplayEnvelope(type="image", payload="data:image/png;base64," + "A" * 100_000, title="Map")

    reply = await call(mcp, "rows", show_user=True)
    assert len(reply.llm_output.encode()) < 2200
    assert reply.truncated
    assert len(reply.display["payload"]) == 1000
    assert len((await call(mcp, "rows")).llm_output) > 50_000
    for switch in (True, False):
        reply = await call(mcp, "picture", show_user=switch)
        assert reply.llm_output.startswith("Map\ndata:image/png")
        assert len(reply.llm_output) < 200


async def test_the_switch_also_rules_an_answer_that_is_passed_on(call: Any) -> None:
    mcp = XMCP("passing")

    @mcp.display_tool
    def inner() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen", alt="told")

    @mcp.display_tool
    async def outer() -> ToolResult:
        return await mcp.call_tool("inner", {"show_user": True})

    @mcp.display_tool
    async def lanes() -> ToolResult:
        return ToolResult(content="told", meta={DISPLAY_META_KEY: {"type": "text", "payload": "seen"}})

    @mcp.display_tool
    async def failing() -> ToolResult:
        return ToolResult(content="no such order", is_error=True)

    for name in ("outer", "lanes"):
        reply = await call(mcp, name, show_user=True)
        assert (reply.tool_name, reply.llm_output, reply.display["payload"]) == (name, "told", "seen")
        reply = await call(mcp, name)
        assert (reply.tool_name, reply.llm_output, reply.display) == (name, "told", None)
    assert (await call(mcp, "failing", show_user=True)).message == "no such order"


async def test_a_picture_inside_a_display_is_cut_for_the_model_that_reads_the_display_as_text(call: Any) -> None:
    mcp = XMCP("pictures")
    picture = {"type": "image", "payload": "data:image/png;base64," + "A" * 500}

    @mcp.display_tool
    def card() -> dict[str, Any]:
        return {"type": "group", "payload": [picture, {"type": "text", "payload": "seen"}]}

    text = (await call(mcp, "card")).llm_output
    assert "data:image/png;base64," in text
    assert "A" * 100 not in text
    assert '"payload":"seen"' in text
