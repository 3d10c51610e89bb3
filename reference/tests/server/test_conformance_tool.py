"""The tool of the conformance suite (spec section 1.7) answers as a tool of the server that returned the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import Annotations, TextContent
from support.declaration import DECLARES

from xmcp import XMCP, ErrorInfo, ToolResponse, XMCPError, use_xmcp
from xmcp.testing import add_conformance_tool
from xmcp_models.registry import TOOL_META_KEY

CONFORMANCE_TOOL = "xmcp_conformance_emit"
TEXT = "42 < 43 & more\r\n"
TABLE = {"type": "table", "payload": {"columns": ["a"], "rows": [[1]]}, "title": "Numbers"}
MEMBERS: dict[str, Any] = {"retryable": True, "retry_after_ms": 2000, "category": "timeout", "meta": {"shard": 7}}
ERROR = {"code": "DB_TIMEOUT", "message": "Busy.", **MEMBERS}


def text(show_user: bool = False) -> ToolResponse:
    return ToolResponse("ordinary", TEXT, format="text/csv", truncated=True, lossy=True)


def unpaired_surrogate(show_user: bool = False) -> ToolResponse:
    return ToolResponse("ordinary", "a\ud800b")


def display(show_user: bool = False) -> ToolResponse:
    return ToolResponse("ordinary", "42", TABLE)


def error(show_user: bool = False) -> ToolResponse:
    return ToolResponse("ordinary", error=ErrorInfo(**ERROR))


def raised(show_user: bool = False) -> ToolResponse:
    raise XMCPError("DB_TIMEOUT", "Busy.", **MEMBERS)


def not_retryable(show_user: bool = False) -> ToolResponse:
    return ToolResponse("ordinary", error=ErrorInfo("DB_TIMEOUT", "Gone.", False, category="timeout"))


def data(show_user: bool = False) -> ToolResult:
    for_user = TextContent(type="text", text="seen", annotations=Annotations(audience=["user"]))
    return ToolResult(content=[TextContent(type="text", text=TEXT), for_user], structured_content={"a": 1})


SAME: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (text, {"response": {"llm_output": TEXT, "format": "text/csv", "truncated": True, "lossy": True}}),
    (unpaired_surrogate, {"response": {"llm_output": {"$surrogates": ["0061", "D800", "0062"]}}}),
    (display, {"response": {"llm_output": "42", "display": TABLE}}),
    (display, {"response": {"llm_output": "42", "display": TABLE}, "show_user": True}),
    (error, {"response": {"error": ERROR}}),
    (raised, {"response": {"error": ERROR}}),
    (
        not_retryable,
        {"response": {"error": {"code": "DB_TIMEOUT", "message": "Gone.", "retryable": False, "category": "timeout"}}},
    ),
    (data, {"response": {"llm_output": TEXT}, "structured_content": {"a": 1}, "for_user": "seen"}),
]


def unchanged_server() -> tuple[FastMCP[Any], Any]:
    server: FastMCP[Any] = FastMCP("tested")
    return server, use_xmcp(server, wire="always")


def server_of_its_own() -> tuple[FastMCP[Any], Any]:
    server: XMCP[Any] = XMCP("tested")
    return server, server


@pytest.mark.parametrize("extensions", [DECLARES, None], ids=["reader", "plain client"])
@pytest.mark.parametrize("made", [server_of_its_own, unchanged_server])
@pytest.mark.parametrize(("tool", "arguments"), SAME, ids=lambda one: getattr(one, "__name__", ""))
async def test_the_answer_is_that_of_a_tool_that_returned_the_same(
    made: Callable[[], tuple[Any, Any]], tool: Callable[..., Any], arguments: dict[str, Any], extensions: Any, era: str
) -> None:
    server, mcp = made()
    add_conformance_tool(mcp)
    mcp.display_tool(name="ordinary")(tool)
    shown = {name: value for name, value in arguments.items() if name == "show_user"}
    async with Client(server, mode=era, extensions=extensions) as client:
        expected = await client.call_tool_mcp("ordinary", shown)
        emitted = await client.call_tool_mcp(CONFORMANCE_TOOL, arguments)
    assert emitted.model_dump_json().replace(CONFORMANCE_TOOL, "ordinary") == expected.model_dump_json()


async def test_it_is_listed_as_a_display_tool_that_only_reads_and_has_no_output_schema() -> None:
    mcp: XMCP[Any] = XMCP("tested")
    add_conformance_tool(mcp)
    async with Client(mcp) as client:
        (tool,) = await client.list_tools()
    assert tool.name == CONFORMANCE_TOOL
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint
    assert (tool.meta or {})[TOOL_META_KEY]["display"]
    assert tool.output_schema is None


@pytest.mark.parametrize("statement", ["import xmcp", "import xmcp.server", "from xmcp import XMCP, use_xmcp"])
def test_a_server_in_production_does_not_load_it(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint('xmcp.testing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
