"""Errors of servers that do not know XMCP: read as what they say, within the rules, and never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastmcp
import pytest
from fastmcp.server.middleware import Middleware
from fastmcp.tools import ToolResult
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError
from mcp_types import CallToolResult, TextContent
from support.scripted_model import ScriptedModel, asks

from xmcp import ToolResponse
from xmcp.client import AIClient
from xmcp.client.calls.foreign_errors import error_in
from xmcp.client.calls.server_results import read
from xmcp_models.registry import RESULT_META_KEY


@pytest.mark.parametrize(
    ("structured", "expected"),
    [
        ({"code": "RATE_LIMITED", "retryable": True, "retry_after": 1}, ("RATE_LIMITED", True, 1000)),
        ({"error": {"code": "rate-limited", "retry_after_seconds": 0.25}}, ("RATE_LIMITED", True, 250)),
        ({"code": "TIMEOUT", "retry_after_ms": 1.2}, ("TIMEOUT", True, 2)),
        ({"code": "TIMEOUT", "retryable": False, "retry_after_ms": 5}, ("TIMEOUT", False, None)),
        ({"code": "NOT_FOUND"}, ("NOT_FOUND", False, None)),
        ({"code": "acme.stock empty", "retryable": True}, ("ACME_STOCK_EMPTY", True, None)),
        ({"code": "straße ıx"}, ("STRA_E__X", False, None)),
        ({"code": "rate_limited"}, ("RATE_LIMITED", True, None)),
        ({"code": "NOT_FOUND", "error": {"code": 404, "retryable": True}}, ("NOT_FOUND", False, None)),
        ({"code": "", "retryable": True}, ("TOOL_ERROR", True, None)),
        ({"code": "42"}, ("TOOL_ERROR", False, None)),
        ({"code": "x" * 1_000_000}, ("TOOL_ERROR", False, None)),
        ({"code": "TIMEOUT", "retryable": "yes", "retry_after": True}, ("TIMEOUT", True, None)),
        ({"code": "TIMEOUT", "retry_after": -1}, ("TIMEOUT", True, None)),
        ({"code": "TIMEOUT", "retry_after": float("nan")}, ("TIMEOUT", True, None)),
        ({"code": "TIMEOUT", "retry_after": 10**400}, ("TIMEOUT", True, 2**53 - 1)),
        ({"code": "TIMEOUT", "retry_after": 1.5e308}, ("TIMEOUT", True, 2**53 - 1)),
        ({"code": "CONFLICT", "error": "text"}, ("CONFLICT", False, None)),
    ],
)
def test_what_others_write_is_read_as_an_error(structured: dict[str, Any], expected: tuple[Any, ...]) -> None:
    error = error_in(structured)
    assert error is not None
    assert (error.code, error.retryable, error.retry_after_ms) == expected


@pytest.mark.parametrize(
    "structured",
    [
        None,
        {},
        {"code": 404},
        {"error": {"code": 429, "retryable": True}},
        {"error": "down"},
        {"error": {"message": "x"}},
    ],
)
def test_without_a_code_there_is_nothing_to_read(structured: Any) -> None:
    assert error_in(structured) is None


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists).flatmap(
        lambda leaf: st.dictionaries(
            st.sampled_from(["code", "error", "message", "retryable", "retry_after", "retry_after_ms"]), st.just(leaf)
        )
    )
)
def test_whatever_stands_there_it_is_an_error_or_none(structured: Any) -> None:
    for given_content in (structured, {"error": structured}):
        error = error_in(given_content)
        assert error is None or error.retry_after_ms is None or error.retryable


@pytest.mark.parametrize(
    ("text", "structured", "message"),
    [
        ("Busy.", {"code": "TIMEOUT", "message": "m"}, "Busy."),
        ("", {"error": {"code": "TIMEOUT", "message": "m"}}, "m"),
        (" \n", {"code": "TIMEOUT", "message": "m"}, "m"),
        ("", {"code": "TIMEOUT", "at": 3}, '{"code":"TIMEOUT","at":3}'),
        ("", {"at": 3}, '{"at":3}'),
    ],
)
@pytest.mark.parametrize("speaks_xmcp", [True, False])
def test_the_message_is_the_text_and_without_text_nothing_is_lost(
    text: str, structured: dict[str, Any], message: str, speaks_xmcp: bool
) -> None:
    blocks = [TextContent(type="text", text=text)] if text else []
    result = CallToolResult(content=[*blocks], structured_content=structured, is_error=True)
    result.meta = {RESULT_META_KEY: {"form": "plain"}} if speaks_xmcp else None
    error = read(result, "t", speaks_xmcp=speaks_xmcp).response.error
    assert error is not None
    assert error.message == message


def test_the_example_of_the_specification_is_read_as_it_says() -> None:
    example = Path(__file__).parents[3] / "schemas/examples/valid/foreign_result/error.json"
    result = CallToolResult.model_validate_json(example.read_bytes())
    error = read(result, "t", speaks_xmcp=False).response.error
    assert error is not None
    assert (error.code, error.message, error.retry_after_ms) == ("RATE_LIMITED", "Too many requests.", 2000)


def test_a_result_that_is_no_failure_is_none_whatever_its_data_are_called() -> None:
    result = CallToolResult(content=[], structured_content={"code": "TIMEOUT"})
    assert read(result, "t", speaks_xmcp=False).response.error is None


async def test_a_hint_of_a_plain_server_is_followed_where_a_retry_is_safe() -> None:
    calls: dict[str, int] = {"safe": 0, "unsafe": 0}
    server: fastmcp.FastMCP[Any] = fastmcp.FastMCP("plain")

    def busy(name: str) -> ToolResult:
        calls[name] += 1
        if calls[name] == 1:
            described = {"code": "RATE_LIMITED", "retryable": True, "retry_after_ms": 10}
            return ToolResult(content="Busy.", structured_content=described, is_error=True)
        return ToolResult(content="done")

    @server.tool(annotations={"readOnlyHint": True})
    def safe() -> ToolResult:
        return busy("safe")

    @server.tool
    def unsafe() -> ToolResult:
        return busy("unsafe")

    async with AIClient([server], llm_provider=ScriptedModel(asks("safe", "unsafe"), "end")) as ai:
        result = await ai.chat("q", [])
    replies = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert calls == {"safe": 2, "unsafe": 1}
    assert [reply.error and reply.error.code for reply in replies] == [None, "RATE_LIMITED"]


async def test_a_protocol_error_about_the_arguments_is_one_the_model_can_mend() -> None:
    class Strict(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise MCPError(code=-32602, message="region must be a text")

    server: fastmcp.FastMCP[Any] = fastmcp.FastMCP("strict", middleware=[Strict()])

    @server.tool
    def sales(region: str) -> str:
        return region

    async with AIClient([server], llm_provider=ScriptedModel(asks("sales"), "end")) as ai:
        result = await ai.chat("q", [])
    (reply,) = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert reply.error is not None
    assert (reply.error.code, reply.error.message) == ("VALIDATION_FAIL", "region must be a text")
