"""Tools that FastMCP made, on an XMCP server: what they keep, whose providers they have, and which are refused."""

from __future__ import annotations

import logging
import math
from typing import Annotated, Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.providers import LocalProvider
from fastmcp.server.transforms.tool_transform import ToolTransform
from fastmcp.tools import Tool
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.tools.tool_transform import ToolTransformConfig, forward
from pydantic import BaseModel, Field

from xmcp import XMCP, DisplayEnvelope, ToolResponse
from xmcp.server.tool import XMCPTool

Filled = Annotated[str, Field(json_schema_extra={"server_populated": True})]
Sensitive = Annotated[str, Field(json_schema_extra={"server_populated": True, "sensitive": True})]


async def whoami(user: Filled) -> str:
    return user


def filled(name: str, user: str, **options: Any) -> XMCP:
    mcp = XMCP(name, **options)
    mcp.param_provider("user")(lambda: user)
    return mcp


async def test_an_added_tool_keeps_its_name_its_options_and_fastmcps_text(call: Any) -> None:
    def pair() -> dict[str, int]:
        return {"a": 1}

    mcp = XMCP()
    given = Tool.from_function(pair, name="two", description="d", tags={"t"}, meta={"own/x": 1}, timeout=5)
    added = mcp.add_tool(given)
    for member in ("name", "description", "tags", "meta", "timeout", "parameters", "output_schema"):
        assert getattr(added, member) == getattr(given, member)
    reply = await call(mcp, "two")
    assert (reply.llm_output, reply.structured) == ('{"a":1}', {"a": 1})


async def test_an_added_tool_that_says_it_returns_a_response_has_no_output_schema(call: Any) -> None:
    def speaks() -> ToolResponse:
        return ToolResponse("speaks", llm_output="hi")

    mcp = XMCP()
    assert mcp.add_tool(Tool.from_function(speaks)).output_schema is None
    assert (await call(mcp, "speaks")).llm_output == "hi"


async def test_an_added_tool_does_not_answer_with_nothing_for_a_number_that_json_lacks(call: Any) -> None:
    mcp = XMCP()
    mcp.add_tool(Tool.from_function(lambda: math.nan, name="ratio"))
    assert (await call(mcp, "ratio")).llm_output == "NaN"


async def test_an_added_tool_does_not_answer_with_nothing_for_an_envelope_or_an_unknown_object(call: Any) -> None:
    mcp = XMCP()
    mcp.add_tool(Tool.from_function(lambda: DisplayEnvelope(type="markdown", payload="hello"), name="envelope"))
    mcp.add_tool(Tool.from_function(lambda: {"a": object(), "b": 1}, name="unknown"))
    assert (await call(mcp, "envelope")).llm_output == '{"type":"markdown","payload":"hello"}'
    reply = await call(mcp, "unknown")
    assert (reply.llm_output, reply.structured) == ('{"a":"<object>","b":1}', None)


async def test_threads_of_a_providers_tool_are_bounded_over_all_its_calls() -> None:
    provider = LocalProvider()
    provider.tool(lambda: None, name="slow", timeout=5)
    mcp = XMCP(providers=[provider])
    first, second = await mcp.get_tool("slow"), await mcp.get_tool("slow")
    assert isinstance(first, XMCPTool)
    assert isinstance(second, XMCPTool)
    assert first._threads is not None
    assert first._threads is second._threads


async def test_a_tool_keeps_the_providers_and_the_policy_of_the_server_it_was_added_to_first(call: Any) -> None:
    strict = filled("strict", "ada", on_param_override="reject")
    strict.tool(whoami)
    tool = await strict.get_tool("whoami")
    assert tool is not None
    lax = filled("lax", "eve")
    lax.add_tool(tool)
    assert (await call(lax, "whoami")).llm_output == "ada"
    assert (await call(lax, "whoami", user="eve")).code == "FORBIDDEN_PARAM_OVERRIDE"


async def test_one_function_on_two_servers_has_the_providers_of_each(call: Any) -> None:
    one, other = filled("one", "ada"), filled("other", "bob")
    for mcp in (one, other):
        mcp.add_tool(whoami)
    assert [(await call(mcp, "whoami")).llm_output for mcp in (one, other)] == ["ada", "bob"]


async def test_one_tool_of_fastmcp_on_two_servers_has_the_providers_of_each(call: Any) -> None:
    one, other = filled("one", "ada"), filled("other", "bob")
    tool = Tool.from_function(whoami)
    for mcp in (one, other):
        mcp.add_tool(tool)
    assert [(await call(mcp, "whoami")).llm_output for mcp in (one, other)] == ["ada", "bob"]


async def test_a_tool_that_is_run_without_a_server_has_its_values() -> None:
    mcp = filled("s", "ada")
    mcp.tool(whoami)
    tool = await mcp.get_tool("whoami")
    assert tool is not None
    assert (await tool.run({})).content[0].text == "ada"  # type: ignore[union-attr]


async def test_a_function_that_makes_a_new_result_of_a_tools_does_not_hide_what_was_filled_in(call: Any) -> None:
    async def shouts() -> str:
        return (await forward()).content[0].text.upper()  # type: ignore[union-attr]

    mcp = filled("s", "ada")
    mcp.tool(whoami)
    tool = await mcp.get_tool("whoami")
    assert tool is not None
    mcp.add_tool(Tool.from_tool(tool, name="shouts", transform_fn=shouts))
    reply = await call(mcp, "shouts", user="eve")
    assert (reply.llm_output, reply.filled) == ("ADA", {"values": {"user": "ada"}, "overridden": ["user"]})


async def test_a_tool_that_catches_anothers_failure_cannot_write_down_its_secret(call: Any) -> None:
    mcp = XMCP()
    mcp.param_provider("key")(lambda: "k3y-s3cr3t")

    @mcp.tool
    def fails(key: Sensitive) -> None:
        raise ValueError(f"no {key}")

    @mcp.tool
    async def outer() -> str:
        try:
            await mcp.call_tool("fails")
        except Exception as failure:
            return f"{failure.__cause__}"
        return ""

    assert (await call(mcp, "outer")).llm_output == "no [redacted]"


# ---- refused ----


def test_a_transformed_tool_that_shows_what_the_server_fills_in_is_refused() -> None:
    shown = Tool.from_tool(Tool.from_function(whoami), name="x")
    with pytest.raises(
        ValueError, match=r"'x' was made of one that shows the caller 'user'.*Add that one to the server"
    ):
        XMCP().add_tool(shown)


async def test_a_source_with_such_a_tool_offers_the_others_and_the_log_says_why(caplog: Any, call: Any) -> None:
    provider = LocalProvider()
    provider.tool(whoami)
    provider.tool(lambda: "fine", name="fine")
    provider.add_transform(ToolTransform({"whoami": ToolTransformConfig(name="x")}))
    mcp = filled("s", "ada", providers=[provider])
    async with Client(mcp) as client:
        with caplog.at_level(logging.ERROR, "xmcp.server"):
            assert [tool.name for tool in await client.list_tools()] == ["fine"]
    assert "'x' was made of one that shows the caller 'user'" in caplog.text
    assert (await call(mcp, "x", user="eve")).code == "UNKNOWN_TOOL"


class Marked(BaseModel):
    user: Filled


async def listed_users(of: list[Marked]) -> str:
    return of[0].user


@pytest.mark.parametrize("fn", [whoami, listed_users])
async def test_no_tool_of_another_kind_takes_from_the_caller_what_the_server_fills_in(fn: Any) -> None:
    class Own(FunctionTool):
        pass

    with pytest.raises(ValueError, match="Own fills in nothing"):
        XMCP().add_tool(Own.from_function(fn))
    with pytest.raises(ValueError, match="was made of one that shows the caller"):
        XMCP().add_tool(Tool.from_tool(Tool.from_function(fn)))
    child, between, mcp = FastMCP[Any]("child"), FastMCP[Any]("between"), filled("s", "ada")
    child.tool(fn, name="tool")
    between.mount(child)
    mcp.mount(between)
    with pytest.raises(ValueError, match="of the mounted server 'child' marks"):
        mcp.check_tools()
    late = filled("late", "ada")
    async with Client(late):  # mounted after the check
        late.mount(child)
        assert await late.get_tool("tool") is None
        assert not await late.list_tools()


def test_a_mounted_fastmcp_server_that_would_fill_in_nothing_is_refused_at_start() -> None:
    child: FastMCP[Any] = FastMCP("child")
    child.tool(whoami)
    mcp = XMCP()
    mcp.mount(child, namespace="ns")
    with pytest.raises(
        ValueError, match=r"'whoami' of the mounted server 'child' marks 'user'.*Make that server an XMCP"
    ):
        mcp.check_tools()
