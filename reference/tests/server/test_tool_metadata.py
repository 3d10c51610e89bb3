"""The XMCP metadata of a tool: how it gets into the catalogue, and that it is correct there."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from mcp_types import ToolAnnotations

from xmcp import XMCP, DependencyError
from xmcp.dependency_graph import circle, unknown
from xmcp_models.registry import TOOL_META_KEY


async def said(server: Any, era: str = "auto") -> dict[str, Any]:
    async with Client(server, mode=era) as client:
        return {tool.name: (tool.meta or {}).get(TOOL_META_KEY, {}) for tool in await client.list_tools()}


def chain(server: Any) -> Any:
    server.tool(name="generate")(lambda: "sql")
    server.tool(name="run", depends_on=["generate"], provides="rows")(lambda: ["row"])
    server.display_tool(name="chart", annotations={"depends_on": ["run"], "title": "Chart"})(lambda: {"a": 1})
    return server


async def test_what_is_said_stands_in_the_catalogue_wherever_it_was_written(era: str) -> None:
    mcp = chain(XMCP())
    mcp.tool(name="rates", cacheable=True, meta={TOOL_META_KEY: {"acme/x": 1}, "own": 2})(lambda: {"a": 1})
    assert await said(mcp, era) == {
        "generate": {},
        "run": {"depends_on": ["generate"], "provides": "rows"},
        "chart": {"depends_on": ["run"], "display": True},
        "rates": {"cacheable": True, "acme/x": 1},
    }
    async with Client(mcp, mode=era) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    assert tools["rates"].annotations.read_only_hint is True
    assert tools["rates"].meta["own"] == 2
    assert tools["chart"].annotations.title == "Chart"


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"depends_on": 7}, TypeError, "depends_on must be a list of names.*, not 7"),
        ({"depends_on": [len]}, TypeError, "depends_on must hold names as strings"),
        ({"depends_on": [""]}, ValueError, "1 to 128"),
        ({"provides": ["a"]}, TypeError, "provides must hold names as strings"),
        ({"provides": "x" * 129}, ValueError, "1 to 128"),
        ({"cacheable": "yes"}, TypeError, "True or False"),
        ({"cacheable": True, "annotations": {"readOnlyHint": False}}, ValueError, "change nothing"),
        (
            {"cacheable": True, "annotations": ToolAnnotations(read_only_hint=False)},
            ValueError,
            "change nothing",
        ),
        ({"depends_on": ["a"], "annotations": {"depends_on": ["b"]}}, TypeError, "must not be given both"),
        ({"depends_no": ["a"]}, TypeError, "depends_no"),
    ],
)
def test_what_cannot_be_said_is_refused_where_it_stands(options: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        XMCP().tool(name="t", **options)(lambda: None)


async def test_one_name_is_a_list_of_one_and_a_name_counts_once() -> None:
    mcp = XMCP()
    mcp.tool(name="a")(lambda: 1)
    mcp.tool(name="b", depends_on="a")(lambda: 1)
    mcp.tool(name="c", depends_on=("b", "a", "b"))(lambda: 1)
    found = await said(mcp)
    assert (found["b"]["depends_on"], found["c"]["depends_on"]) == (["a"], ["b", "a"])


# ---- at start ----


async def test_a_server_with_a_circle_does_not_start_and_says_how_it_goes() -> None:
    mcp = XMCP()
    mcp.tool(name="a", depends_on=["c"])(lambda: 1)
    mcp.tool(name="b", depends_on=["a"])(lambda: 1)
    mcp.tool(name="c", depends_on=["b"])(lambda: 1)
    with pytest.raises(
        DependencyError, match=r"circle: '(a' → 'c' → 'b' → 'a|b' → 'a' → 'c' → 'b|c' → 'b' → 'a' → 'c)'"
    ):
        mcp.check_tools()
    with pytest.raises(BaseException) as failed:  # noqa: PT011 - the client wraps what the server's start raises
        async with Client(mcp):
            pass
    assert "circle" in str(failed.value) or "circle" in repr(failed.value.__cause__ or failed.value.__context__)


async def test_a_server_whose_tool_depends_on_nobodys_tool_does_not_start() -> None:
    mcp = XMCP()
    mcp.tool(name="run", depends_on=["genrate", "xyz"])(lambda: 1)
    mcp.tool(name="generate")(lambda: 1)
    with pytest.raises(DependencyError, match=r"'run' depends on 'genrate' \(is it 'generate'\?\), 'xyz'\. The tools"):
        mcp.check_tools()


async def test_a_mounted_server_is_held_to_it_too() -> None:
    child, parent = XMCP("child"), XMCP("parent")
    child.tool(name="a", depends_on=["a"])(lambda: 1)
    parent.mount(child)
    with pytest.raises(BaseException) as failed:  # noqa: PT011
        async with Client(parent):
            pass
    assert "circle" in repr([failed.value, failed.value.__cause__, failed.value.__context__])


async def test_the_authors_own_lifespan_still_runs() -> None:
    from contextlib import asynccontextmanager

    steps = []

    @asynccontextmanager
    async def lifespan(server: Any) -> Any:
        steps.append("in")
        yield {"db": 1}
        steps.append("out")

    mcp = XMCP(lifespan=lifespan)
    mcp.tool(name="db")(lambda: 1)
    async with Client(mcp) as client:
        await client.call_tool("db")
    assert steps == ["in", "out"]


# ---- in each list ----


async def test_the_names_are_those_of_the_list_they_stand_in(era: str) -> None:
    parent = XMCP("parent")
    parent.mount(chain(XMCP("child")), namespace="c")
    chain(parent)
    outer = XMCP("outer")
    outer.mount(parent, namespace="p_q")
    found = await said(outer, era)
    assert found["p_q_run"]["depends_on"] == ["p_q_generate"]
    assert found["p_q_chart"]["depends_on"] == ["p_q_run"]
    assert found["p_q_c_chart"]["depends_on"] == ["p_q_c_run"]
    assert found["p_q_c_run"] == {"depends_on": ["p_q_c_generate"], "provides": "rows"}


async def test_a_tool_that_is_not_listed_is_not_depended_on(era: str) -> None:
    mcp = chain(XMCP())
    async with Client(mcp, mode=era) as client:
        mcp.disable(names={"generate"})
        tools = {tool.name: tool.meta.get(TOOL_META_KEY) for tool in await client.list_tools()}
        assert tools["run"] == {"provides": "rows"}
        assert tools["chart"]["depends_on"] == ["run"]
        mcp.tool(name="late", depends_on=["nobody", "run"])(lambda: 1)
        tools = {tool.name: tool.meta.get(TOOL_META_KEY) for tool in await client.list_tools()}
        assert tools["late"] == {"depends_on": ["run"]}


async def test_a_circle_that_comes_later_is_not_listed_and_is_logged(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = chain(XMCP())
    async with Client(mcp, mode=era) as client:
        mcp.local_provider.remove_tool("generate")
        mcp.tool(name="generate", depends_on=["chart"])(lambda: 1)
        mcp.tool(name="after", depends_on=["chart"])(lambda: 1)
        with caplog.at_level(logging.WARNING, "xmcp.server"):
            tools = {tool.name: (tool.meta or {}).get(TOOL_META_KEY, {}) for tool in await client.list_tools()}
    assert not any("depends_on" in tools[name] for name in ("generate", "run", "chart"))
    assert tools["after"] == {"depends_on": ["chart"]}
    assert "circle" in caplog.text


async def test_a_proxy_keeps_what_is_said(era: str) -> None:
    assert await said(create_proxy(chain(XMCP("behind"))), era) == await said(chain(XMCP()))
    over = XMCP("over")
    over.mount(create_proxy(chain(XMCP("behind"))), namespace="n")
    assert (await said(over, era))["n_run"]["depends_on"] == ["n_generate"]


async def test_metadata_of_others_that_is_no_list_breaks_nothing() -> None:
    parent, child = XMCP("parent"), FastMCP("child")
    child.tool(name="odd", meta={TOOL_META_KEY: {"depends_on": "text"}})(lambda: 1)
    child.tool(name="odder", meta={TOOL_META_KEY: 7})(lambda: 1)
    parent.mount(child)
    assert set(await said(parent)) == {"odd", "odder"}


# ---- the graph ----


def test_the_graph() -> None:
    assert circle({"a": ["b"], "b": ["c"], "c": []}) == []
    assert circle({"a": ["a"]}) == ["a", "a"]
    found = circle({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    assert found[0] == found[-1]
    assert set(pairwise(found)) <= {("a", "b"), ("b", "c"), ("c", "a")}
    assert unknown({"a": ["b", "x"], "b": []}) == {"a": ["x"]}
    assert unknown({"a": ["b"], "b": ["a"]}) == {}
