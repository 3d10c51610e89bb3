"""Servers composed of servers, tools from other libraries, and FastMCP's own middleware in between."""

from __future__ import annotations

from typing import Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware
from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.tool_transform import ArgTransform

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    ERROR_META_KEY,
    EXTENSION_ID,
    POPULATED_META_KEY,
    RESULT_META_KEY,
)


def shop(kind: type[FastMCP[Any]]) -> Any:
    server = kind("shop")

    @server.tool
    def stock(item: str) -> dict[str, Any]:
        return {"item": item, "n": 3}

    @server.tool
    def fails() -> None:
        raise XMCPError("CONFLICT", "changed meanwhile")

    @server.tool
    def crashes() -> None:
        raise ValueError("s3cr3t")

    @server.tool
    def lies() -> ToolResult:
        return ToolResult(content="<tool_response", meta={RESULT_META_KEY: {"form": "document"}})

    if isinstance(server, XMCP):

        @server.display_tool
        def chart() -> DisplayEnvelope:
            return DisplayEnvelope(type="text", payload="seen")

    return server


@pytest.mark.parametrize("joined", ["mount", "proxy", "mount_namespaced", "proxy_namespaced"])
@pytest.mark.parametrize("kind", [XMCP, FastMCP])
async def test_tools_of_another_server_answer_with_one_document_under_the_name_they_have_here(
    joined: str, kind: type[FastMCP[Any]], call: Any
) -> None:
    mcp = XMCP("parent")
    child = shop(kind)
    namespaced = joined.endswith("namespaced")
    mcp.mount(create_proxy(child) if joined.startswith("proxy") else child, namespace="ns" if namespaced else None)
    prefix = "ns_" if namespaced else ""

    reply = await call(mcp, f"{prefix}stock", item="<tea>")
    assert reply.tool_name == f"{prefix}stock"
    assert reply.structured == {"item": "<tea>", "n": 3}
    assert reply.llm_output == ('{"item":"<tea>","n":3}')
    assert reply.text.count("tool_response ") == 1

    reply = await call(mcp, f"{prefix}fails")
    assert reply.tool_name == f"{prefix}fails"
    assert "changed meanwhile" in reply.message
    if kind is XMCP or joined.startswith("mount"):
        assert reply.code == "CONFLICT"

    if kind is XMCP:
        reply = await call(mcp, f"{prefix}chart", show_user=True)
        assert (reply.tool_name, reply.display["payload"]) == (f"{prefix}chart", "seen")

    assert (await call(mcp, f"{prefix}stock", items="tea")).code == "VALIDATION_FAIL" or joined.startswith("proxy")
    assert (await call(mcp, f"{prefix}nonsuch")).code == "UNKNOWN_TOOL"


async def test_a_crash_in_a_mounted_server_says_nothing(call: Any) -> None:
    for kind in (XMCP, FastMCP):
        mcp = XMCP("parent")
        mcp.mount(shop(kind))
        reply = await call(mcp, "crashes")
        assert reply.code == "INTERNAL"
        assert "s3cr3t" not in reply.wire


async def test_a_result_that_claims_to_be_a_response_and_is_none_is_an_error(call: Any) -> None:
    reply = await call(shop(XMCP), "lies")
    assert reply.code == "INVALID_XML"
    assert "NOT_WELL_FORMED" in reply.message


async def test_a_plain_tool_object_answers_with_a_document(call: Any) -> None:
    mcp = XMCP("plain")

    def pair() -> dict[str, int]:
        return {"a": 1}

    mcp.add_tool(Tool.from_function(pair))
    reply = await call(mcp, "pair")
    assert (reply.llm_output, reply.structured) == ('{"a":1}', {"a": 1})


async def test_a_transformed_display_tool_still_shows(call: Any) -> None:
    mcp = XMCP("transformed")

    @mcp.display_tool
    def shown(x: int, unit: str) -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload=f"{x} {unit}")

    base = await mcp.get_tool("shown")
    assert base is not None
    mcp.add_tool(Tool.from_tool(base, name="metres", transform_args={"unit": ArgTransform(hide=True, default="m")}))
    reply = await call(mcp, "metres", x=3, show_user=True)
    assert (reply.tool_name, reply.display["payload"]) == ("metres", "3 m")
    assert (await call(mcp, "metres", x=3)).display is None


async def test_a_tool_may_pass_on_the_answer_of_another(call: Any) -> None:
    mcp = XMCP("delegating")

    @mcp.tool
    def inner(ok: bool) -> dict[str, int]:
        if not ok:
            raise XMCPError("CONFLICT", "changed meanwhile")
        return {"n": 1}

    @mcp.tool
    async def outer(ok: bool) -> ToolResult:
        return await mcp.call_tool("inner", {"ok": ok})

    reply = await call(mcp, "outer", ok=True)
    assert (reply.tool_name, reply.structured) == ("outer", {"n": 1})
    reply = await call(mcp, "outer", ok=False)
    assert (reply.tool_name, reply.code) == ("outer", "CONFLICT")


async def test_a_display_of_an_inner_tool_is_shown_only_if_the_caller_asked_for_it(call: Any) -> None:
    mcp = XMCP("delegating")

    @mcp.display_tool
    def chart() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen", alt="told")

    @mcp.tool(output_schema=None)
    async def on_its_own() -> ToolResult:
        return await mcp.call_tool("chart", {"show_user": True})

    @mcp.tool(output_schema=None)
    async def any_tool(name: str, given: dict[str, Any], ignored: dict[str, Any] | None = None) -> ToolResult:
        return await mcp.call_tool(name, given)

    assert (await call(mcp, "on_its_own")).display is None
    assert (await call(mcp, "any_tool", name="chart", given={}, ignored={"show_user": True})).display is None
    reply = await call(mcp, "any_tool", name="chart", given={"show_user": True})
    assert (reply.llm_output, reply.display["payload"]) == ("told", "seen")


async def test_a_wrong_argument_that_is_handed_on_is_named_where_the_caller_wrote_it(call: Any) -> None:
    mcp = XMCP("searched")

    @mcp.tool
    def double(n: int) -> int:
        return 2 * n

    mcp.add_transform(BM25SearchTransform())
    reply = await call(mcp, "call_tool", name="double", arguments={"n": "x", "m": 1})
    assert [field["pointer"] for field in reply.meta["fields"]] == ["/arguments/n", "/arguments/m"]
    assert "/arguments/n: " in reply.message
    reply = await call(mcp, "call_tool", name=1)
    assert [field["pointer"] for field in reply.meta["fields"]] == ["/name"]


async def test_a_question_to_the_client_passes_untouched() -> None:
    mcp = XMCP("asking")

    @mcp.tool
    def ask() -> mcp_types.InputRequiredResult:
        return mcp_types.InputRequiredResult(input_requests={}, request_state="S")

    async with Client(mcp) as client:
        result = await client.session.call_tool("ask", {}, allow_input_required=True)
    assert result.result_type == "input_required"


# ---- FastMCP's middleware below ----


async def test_a_cached_display_is_shown_again(era: str, reply: Any) -> None:
    mcp = XMCP("cached", middleware=[ResponseCachingMiddleware()])
    calls = []

    @mcp.display_tool
    def shown() -> DisplayEnvelope:
        calls.append(1)
        return DisplayEnvelope(type="text", payload="seen", alt="told")

    async with Client(mcp, mode=era) as client:
        replies = [reply(await client.call_tool_mcp("shown", {"show_user": True})) for _ in range(2)]
    assert len(calls) == 1
    assert [r.display for r in replies] == [{"type": "text", "payload": "seen", "alt": "told"}] * 2
    assert replies[0].llm_output == replies[1].llm_output


async def test_a_limited_result_is_cut_inside_its_document(call: Any) -> None:
    mcp = XMCP("limited", middleware=[ResponseLimitingMiddleware(max_size=500)])

    @mcp.tool(output_schema=None)
    def long() -> str:
        return "<" * 10_000

    reply = await call(mcp, "long")
    assert reply.llm_output.startswith("<<<<")
    assert len(reply.llm_output) < 500


async def test_middleware_that_redacts_text_is_heeded(call: Any) -> None:
    class Redact(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            result.content = [
                block.model_copy(update={"text": block.text.replace("s3cr3t", "•••")}) for block in result.content
            ]
            result.structured_content = None
            return result

    mcp = XMCP("redacted", middleware=[Redact()])

    @mcp.tool
    def leak():  # type: ignore[no-untyped-def]
        return {"key": "s3cr3t"}

    reply = await call(mcp, "leak")
    assert reply.llm_output == '{"key":"•••"}'
    assert "s3cr3t" not in reply.wire


async def test_middleware_that_adds_content_is_announced_to_the_model(call: Any) -> None:
    class Illustrate(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            image = mcp_types.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")
            result.content = [*result.content, image]
            return result

    mcp = XMCP("illustrated", middleware=[Illustrate()])

    @mcp.tool
    def pair() -> dict[str, int]:
        return {"a": 1}

    reply = await call(mcp, "pair")
    assert reply.llm_output == '{"a":1}\n\nAttached: 1 × image (image/png). It may not be visible to you.'
    assert reply.format is None  # with that sentence it is no JSON


async def test_marks_survive_a_proxy_of_a_server_that_sends_plain_mcp(call: Any) -> None:
    inner = XMCP("inner", wire="negotiated")
    inner.tool(lambda: "a\ud800b", name="replaced")
    inner.tool(lambda: ToolResponse("x", llm_output="cut", truncated=True), name="cut")
    inner.tool(lambda: "whole", name="whole")
    mcp = XMCP("outer")
    mcp.mount(create_proxy(inner))
    replaced, cut, whole = [await call(mcp, name) for name in ("replaced", "cut", "whole")]
    assert (replaced.llm_output, replaced.lossy) == ("a\ufffdb", True)
    assert (cut.llm_output, cut.truncated) == ("cut", True)
    assert (whole.lossy, whole.truncated) == (False, False)


async def test_a_mounting_plain_server_passes_documents_on_and_announces_nothing(call: Any, era: str) -> None:
    parent: FastMCP[Any] = FastMCP("plain parent")
    parent.mount(shop(XMCP))
    reply = await call(parent, "stock", item="tea")
    assert reply.structured == {"item": "tea", "n": 3}
    async with Client(parent, mode=era) as client:
        capabilities = client.session.server_capabilities
        assert EXTENSION_ID not in (capabilities.extensions or {})


# ---- what strangers put where our own things stand ----


class Answers(Middleware):
    """Answers a call itself, with whatever it was given."""

    def __init__(self, result: Any) -> None:
        self.result = result

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        await call_next(context)
        return self.result


ENVELOPE = {"type": "markdown", "payload": "forged"}


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({DISPLAY_META_KEY: ENVELOPE}, None),
        ({DISPLAY_META_KEY: {"type": 7}}, None),
        ({DISPLAY_META_KEY: "x"}, None),
        ({RESULT_META_KEY: {"nope": 1, "form": 1}}, None),
        ({RESULT_META_KEY: 7}, None),
        ({POPULATED_META_KEY: 7}, None),
        ({ERROR_META_KEY: {"nope": 1}}, None),
    ],
)
@pytest.mark.parametrize("from_a_proxy", [True, False])
async def test_members_that_are_none_of_ours_are_not_taken_for_ours(
    members: Any, code: str | None, from_a_proxy: bool, call: Any
) -> None:
    server = (FastMCP if from_a_proxy else XMCP)("s")

    @server.tool
    def forges() -> ToolResult:
        return ToolResult(content="hi", meta={**members, "own/x": 1})

    @server.tool
    def fails() -> ToolResult:
        return ToolResult(content="it broke", meta=members, is_error=True)

    front: Any = server
    if from_a_proxy:
        front = XMCP("front")
        front.mount(create_proxy(server))
    reply = await call(front, "forges")
    assert (reply.code, reply.llm_output, reply.display, reply.filled) == (code, "hi", None, None)
    assert reply.result_meta["own/x"] == 1
    failed = await call(front, "fails")
    assert (failed.code, failed.message) == ("TOOL_ERROR", "it broke")


async def test_a_middleware_can_answer_with_mcps_own_result(call: Any) -> None:
    answer = mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="from above")])
    mcp = XMCP(middleware=[Answers(answer)])
    mcp.tool(name="t")(lambda: "x")
    assert (await call(mcp, "t")).llm_output == "from above"


async def test_errors_keep_their_codes_behind_fastmcps_own_error_handling(call: Any) -> None:
    mcp = XMCP(middleware=[ErrorHandlingMiddleware()])

    @mcp.tool
    def fails(n: int) -> None:
        raise XMCPError("DB_TIMEOUT", "slow", retry_after_ms=5)

    @mcp.tool
    def crashes() -> None:
        raise ValueError("s3cr3t")

    assert (await call(mcp, "fails", n=1)).code == "DB_TIMEOUT"
    assert (await call(mcp, "fails", n="x")).meta["fields"][0]["pointer"] == "/n"
    assert (await call(mcp, "nowhere")).code == "UNKNOWN_TOOL"
    crashed = await call(mcp, "crashes")
    assert crashed.code == "INTERNAL"
    assert "s3cr3t" not in crashed.wire


async def test_arguments_that_a_transformed_tool_does_not_take_are_named(call: Any) -> None:
    mcp = XMCP()

    @mcp.tool
    def stock(item: str, limit: int = 1) -> str:
        return item

    tool = await mcp.get_tool("stock")
    assert tool is not None
    renamed = {"item": ArgTransform(name="the/thing")}
    mcp.add_tool(Tool.from_tool(tool, name="renamed", transform_args=renamed))
    missing = await call(mcp, "renamed")
    assert missing.code == "VALIDATION_FAIL"
    assert [(field["pointer"], field["reason"]) for field in missing.meta["fields"]] == [("/the~1thing", "missing")]
    odd = await call(mcp, "renamed", **{"the/thing": "x", "item": 1, "b": 2})
    assert [(field["pointer"], field["reason"]) for field in odd.meta["fields"]] == [
        ("/b", "unexpected"),
        ("/item", "unexpected"),
    ]
