"""The tools of a server and what stands behind them: what is relied on in FastMCP. Red means: it has changed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.server.providers import LocalProvider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool

from xmcp import XMCP
from xmcp.server.fastmcp_internals.components import tool_that_runs, unwrapped, watch_components


def unmirrored(place: str) -> str:
    return place


def test_what_a_mounted_server_stands_for_is_the_server() -> None:
    mcp, child = XMCP("parent"), FastMCP("child")
    mcp.mount(child, namespace="ns", tool_names={"a": "b"})
    assert [unwrapped(provider) for provider in mcp.providers] == [mcp.local_provider, child]


def test_a_local_provider_says_what_changes_and_keeps_nobody_alive() -> None:
    class Observer:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def component_changed(self, component: Any) -> None:
            self.seen.append(component and component.name)

    provider, observer = LocalProvider(), Observer()
    watch_components(provider, observer)
    watch_components(provider, observer)
    provider.tool(unmirrored)
    provider.prompt(unmirrored)
    provider.remove_tool("unmirrored")
    with pytest.raises(KeyError):
        provider.remove_tool("unmirrored")
    provider.disable(names={"unmirrored"})
    provider.enable(names={"unmirrored"})
    provider.add_transform(Transform())
    assert observer.seen == ["unmirrored", "unmirrored", "unmirrored", None, None, None]
    gone = weakref.ref(observer), weakref.ref(provider)
    del observer
    provider.tool(unmirrored)
    del provider
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


async def test_the_tool_behind_a_mounted_and_a_transformed_one_is_found() -> None:
    inner, middle, outer = FastMCP("inner"), FastMCP("middle"), FastMCP("outer")
    inner.tool(lambda: "x", name="any")
    own = await inner.get_tool("any")
    assert own is not None
    middle.add_tool(Tool.from_tool(own, name="renamed"))
    outer.mount(middle, namespace="far")
    found = await outer.get_tool("far_renamed")
    assert found is not None
    assert await tool_that_runs(found) is own
    middle.local_provider.remove_tool("renamed")
    assert await tool_that_runs(found) is None
