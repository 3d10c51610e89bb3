"""Failures of FastMCP and of tools: what is relied on in FastMCP. Red means: it has changed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from fastmcp.dependencies import CurrentAccessToken, Depends
from fastmcp.exceptions import ToolError
from fastmcp.server.transforms import ResourcesAsTools
from mcp import MCPError
from pydantic import TypeAdapter

from xmcp.server.fastmcp_internals.failures import (
    is_body_error,
    is_tool_timeout,
    lacks_access_token,
    modules_through,
    raised_by_fastmcp,
    runs_a_tool_of_fastmcp,
)


async def failure_of(mcp: FastMCP[Any], tool: str, **arguments: Any) -> BaseException:
    with pytest.raises(ToolError) as caught:
        await mcp.call_tool(tool, arguments)
    assert caught.value.__cause__ is not None
    return caught.value.__cause__


async def test_fastmcp_wraps_what_a_tool_raises_in_its_own_tool_error() -> None:
    plain: FastMCP[Any] = FastMCP("plain")

    @plain.tool
    def crash() -> None:
        raise ValueError("s3cr3t")

    @plain.tool
    def authors() -> None:
        raise ToolError("mine") from ValueError("s3cr3t")

    with pytest.raises(ToolError) as wrapped:
        await plain.call_tool("crash")
    assert raised_by_fastmcp(wrapped.value)
    assert isinstance(wrapped.value.__cause__, ValueError)
    with pytest.raises(ToolError) as own:
        await plain.call_tool("authors")
    assert not raised_by_fastmcp(own.value)
    assert raised_by_fastmcp(ToolError("never raised"))


async def test_fastmcp_reports_an_overrun_tool_as_an_mcp_error_of_its_own() -> None:

    plain: FastMCP[Any] = FastMCP("plain")

    @plain.tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    @plain.tool
    async def upstream() -> None:
        raise MCPError(code=-32000, message="timed out")

    for name, expected in (("slow", True), ("upstream", False)):
        with pytest.raises(ToolError) as wrapped:
            await plain.call_tool(name)
        assert wrapped.value.__cause__ is not None
        assert is_tool_timeout(wrapped.value.__cause__) is expected


async def test_a_tool_that_fastmcp_made_is_told_from_one_of_an_author() -> None:
    mcp: FastMCP[Any] = FastMCP("names")
    mcp.add_transform(ResourcesAsTools(mcp))

    @mcp.tool
    async def own() -> None:
        await mcp.read_resource("data://nope")

    for tool, arguments, made in (("read_resource", {"uri": "data://nope"}, True), ("own", {}, False)):
        failure = await failure_of(mcp, tool, **arguments)
        assert raised_by_fastmcp(failure)
        assert runs_a_tool_of_fastmcp([*modules_through(failure)]) is made


async def test_a_pydantic_error_of_a_body_is_marked() -> None:
    mcp: FastMCP[Any] = FastMCP("bodies")

    @mcp.tool
    def checks() -> None:
        TypeAdapter(int).validate_python("x")

    @mcp.tool
    def crashes() -> None:
        raise ValueError("x")

    assert is_body_error(await failure_of(mcp, "checks"))
    assert not is_body_error(await failure_of(mcp, "crashes"))


async def test_a_missing_access_token_is_told_from_another_failure() -> None:
    mcp: FastMCP[Any] = FastMCP("tokens")

    def other() -> str:
        raise RuntimeError("No access token in my own store")

    @mcp.tool
    def token(given: Any = CurrentAccessToken()) -> None:  # noqa: B008 - FastMCP's form
        raise AssertionError

    @mcp.tool
    def own(given: str = Depends(other)) -> None:
        raise AssertionError

    assert lacks_access_token(await failure_of(mcp, "token"))
    assert not lacks_access_token(await failure_of(mcp, "own"))
