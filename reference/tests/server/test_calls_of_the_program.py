"""`await mcp.call_tool(…)` outside any request: the program itself calls a tool, as tests of FastMCP users do."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import AuthorizationError, NotFoundError, ToolError, ValidationError
from pydantic import Field

from xmcp import XMCP, XMCPError

SECRET = "s3cr3t-t0ken"


@pytest.fixture(params=["always", "negotiated"])
def mcp(request: pytest.FixtureRequest) -> XMCP:
    mcp = XMCP("program", wire=request.param)
    mcp.param_provider("token")(lambda: SECRET)

    @mcp.tool
    def fine(n: int = 1) -> dict[str, int]:
        return {"n": n}

    @mcp.tool
    def crashes() -> None:
        raise RuntimeError(SECRET)

    @mcp.tool
    def says() -> None:
        raise ToolError("The order is closed.")

    @mcp.tool
    def chosen() -> None:
        raise XMCPError("DB_TIMEOUT", "after 5 s", retry_after_ms=2000)

    @mcp.tool
    def forbidden() -> None:
        raise AuthorizationError("Only for editors.")

    @mcp.tool(sensitive=["token"], server_populated=["token"])
    def tells(token: str) -> None:
        raise ToolError(f"The token {token} is old.")

    @mcp.tool
    def quits() -> None:
        raise SystemExit(3)

    @mcp.tool
    def positive(n: Annotated[int, Field(ge=1)]) -> int:
        return n

    return mcp


async def test_a_result_is_returned(mcp: XMCP) -> None:
    assert (await mcp.call_tool("fine", {"n": 2})).structured_content == {"n": 2}


@pytest.mark.parametrize(
    ("name", "arguments", "raised", "words"),
    [
        ("nowhere", {}, NotFoundError, "Unknown tool: 'nowhere'"),
        ("positive", {"n": 0}, ValidationError, "greater than or equal to 1"),
        ("says", {}, ToolError, "The order is closed."),
        ("chosen", {}, XMCPError, "DB_TIMEOUT: after 5 s"),
        ("forbidden", {}, AuthorizationError, "Only for editors."),
        ("crashes", {}, XMCPError, "INTERNAL: The tool failed unexpectedly."),
        ("quits", {}, XMCPError, "INTERNAL: The tool failed unexpectedly."),
        ("tells", {}, XMCPError, "The token .* is old."),
    ],
)
async def test_a_failure_is_raised(
    mcp: XMCP, name: str, arguments: dict[str, Any], raised: type[Exception], words: str
) -> None:
    with pytest.raises(raised, match=words) as caught:
        await mcp.call_tool(name, arguments)
    assert SECRET not in str(caught.value)


async def test_an_unexpected_exception_is_the_cause_of_what_is_raised(
    mcp: XMCP, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(XMCPError) as caught:
        await mcp.call_tool("crashes")
    error_id = caught.value.info.meta["error_id"]  # type: ignore[index]
    assert f"error_id={error_id}" in caplog.text
    causes: list[BaseException | None] = [caught.value]
    while causes[-1] is not None:
        causes.append(causes[-1].__cause__)
    assert any(isinstance(cause, RuntimeError) for cause in causes)


async def test_a_request_is_answered_with_the_words_that_fastmcp_has_for_an_unknown_tool(mcp: XMCP) -> None:
    async with Client(mcp) as client:
        answer = await client.call_tool_mcp("nowhere", {})
    assert answer.is_error
    assert "Unknown tool: 'nowhere'" in answer.content[0].text.replace("&apos;", "'")
