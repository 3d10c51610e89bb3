"""FastMCP's cache of responses in front of tools that the server fills in: no caller gets another one's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware.caching import ResponseCachingMiddleware

from xmcp import XMCP


class _Served:
    """The user who calls next, and the calls of each tool so far."""

    def __init__(self) -> None:
        self.user = "ann"
        self.calls: list[str] = []

    def tools(self, server: XMCP) -> XMCP:
        @server.tool(server_populated=["user"])
        def mine(user: str) -> str:
            self.calls.append("mine")
            return f"of {user}"

        @server.tool
        def everybodys(n: int = 0) -> str:
            self.calls.append("everybodys")
            return f"{n} for all"

        server.param_provider("user")(lambda: self.user)
        return server


def _own(served: _Served) -> XMCP:
    return served.tools(XMCP(middleware=[ResponseCachingMiddleware()]))


def _added_later(served: _Served) -> XMCP:
    server = served.tools(XMCP())
    server.add_middleware(ResponseCachingMiddleware())
    return server


def _own_class(served: _Served) -> XMCP:
    class Cache(ResponseCachingMiddleware):
        pass

    return served.tools(XMCP(middleware=[Cache()]))


def _mounted(served: _Served) -> XMCP:
    server = XMCP(middleware=[ResponseCachingMiddleware()])
    server.mount(served.tools(XMCP()))
    return server


def _mounted_deeper(served: _Served) -> XMCP:
    middle = FastMCP("middle")
    middle.mount(served.tools(XMCP()))
    server = XMCP(middleware=[ResponseCachingMiddleware()])
    server.mount(middle)
    return server


def _proxied(served: _Served) -> XMCP:
    server = XMCP(middleware=[ResponseCachingMiddleware()])
    server.mount(create_proxy(served.tools(XMCP())))
    return server


@pytest.mark.parametrize("make", [_own, _added_later, _own_class, _mounted, _mounted_deeper, _proxied])
async def test_the_answer_for_one_caller_is_not_given_to_another(
    make: Callable[[_Served], XMCP], era: str, reply: Any
) -> None:
    served = _Served()
    async with Client(make(served), mode=era) as client:
        for user in ("ann", "bob"):
            served.user = user
            assert reply(await client.call_tool_mcp("mine", {})).llm_output == f"of {user}"
            assert reply(await client.call_tool_mcp("everybodys", {})).llm_output == "0 for all"
    assert served.calls.count("mine") == 2
    assert served.calls.count("everybodys") == 1, "the cache has lost its use"


async def test_a_version_that_is_asked_for_decides(era: str, reply: Any) -> None:
    served = _Served()
    server = XMCP(middleware=[ResponseCachingMiddleware()])

    @server.tool(name="who", version="1", server_populated=["user"])
    def one(user: str) -> str:
        return f"of {user}"

    @server.tool(name="who", version="2")
    def two() -> str:
        return "anybody"

    server.param_provider("user")(lambda: served.user)
    async with Client(server, mode=era) as client:
        for user in ("ann", "bob"):
            served.user = user
            old = await client.session.call_tool("who", {}, meta={"fastmcp": {"version": "1"}})
            assert reply(old).llm_output == f"of {user}"
            assert reply(await client.call_tool_mcp("who", {})).llm_output == "anybody"
