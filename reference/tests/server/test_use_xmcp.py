"""`use_xmcp` on an unchanged FastMCP server, and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp_tasks import TasksExtension
from support.declaration import DECLARES

from xmcp import XMCP, DisplayEnvelope, XMCPError, use_xmcp
from xmcp_conformance.profiles.server.blackbox import check
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import InMemoryPeer
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, EXTENSION_ID, RESULT_META_KEY, TOOL_META_KEY

READ_ONLY = {"readOnlyHint": True}


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> None:
    """Here, servers have the wire that they have by default."""


def shop(**options: Any) -> FastMCP[Any]:
    mcp: FastMCP[Any] = FastMCP("shop", **options)

    @mcp.tool(annotations=READ_ONLY)
    def stock(item: str, at_least: int = 0) -> dict[str, int]:
        return {item: at_least}

    @mcp.tool(annotations=READ_ONLY)
    def crashes() -> str:
        raise LookupError("/srv/shop/password")

    @mcp.tool(annotations=READ_ONLY)
    def told() -> str:
        raise ToolError("Out of stock.")

    @mcp.resource("shop://about")
    def about() -> str:
        return "a shop"

    return mcp


async def everything(mcp: Any, era: str) -> dict[str, Any]:
    """What a client sees of a server: its capabilities, tools, and some answers."""
    async with Client(mcp, mode=era) as client:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("stock", {"item": "a"}),
            ("stock", {}),
            ("crashes", {}),
            ("nope", {}),
        ]
        answers = [await client.call_tool_mcp(name, arguments) for name, arguments in calls]
        return {
            "capabilities": client.server_capabilities,
            "tools": await client.list_tools(),
            "resources": await client.read_resource("shop://about"),
            "answers": [(answer.content, answer.structured_content, answer.is_error) for answer in answers],
        }


async def test_failures_have_codes_and_tell_nothing(era: str) -> None:
    mcp = shop()
    use_xmcp(mcp)
    async with Client(mcp, mode=era) as client:
        found = {}
        for name, arguments in ("stock", {}), ("crashes", {}), ("told", {}), ("nope", {}):
            result = await client.call_tool_mcp(name, arguments)
            assert result.is_error
            assert "password" not in result.model_dump_json()
            found[name] = result.meta[ERROR_META_KEY]["code"]
        assert found == {
            "stock": "VALIDATION_FAIL",
            "crashes": "INTERNAL",
            "told": "TOOL_ERROR",
            "nope": "UNKNOWN_TOOL",
        }


async def test_results_are_those_of_fastmcp(era: str) -> None:
    mcp = shop()
    before = await everything(shop(), era)
    use_xmcp(mcp)
    after = await everything(mcp, era)
    assert after["answers"][0] == before["answers"][0]
    assert after["tools"] == before["tools"]
    assert after["resources"] == before["resources"]


async def test_the_extension_is_announced_and_who_declares_it_gets_documents(era: str) -> None:
    mcp = shop()
    use_xmcp(mcp)
    async with Client(mcp, mode=era, extensions=DECLARES) as client:
        assert client.server_capabilities.extensions[EXTENSION_ID] == {"versions": ["1.0"], "wire": "negotiated"}
        result = await client.call_tool_mcp("stock", {"item": "a"})
    assert result.meta[RESULT_META_KEY]["form"] == "document"
    assert result.structured_content == {"a": 0}


async def test_displays_come_with_a_decorator_of_its_own(era: str) -> None:
    mcp = shop()
    used = use_xmcp(mcp)

    @used.display_tool
    def table() -> DisplayEnvelope:
        """Show a table."""
        return DisplayEnvelope(type="table", payload=[{"a": 1}])

    @used.tool(server_populated=["user"])
    def mine(user: str) -> str:
        if user == "u-0":
            raise XMCPError("FORBIDDEN", "Not yours.")
        return f"of {user}"

    used.param_provider("user")(lambda: "u-1")
    async with Client(mcp, mode=era, extensions=DECLARES) as client:
        assert {"stock", "table", "mine"} <= {tool.name for tool in await client.list_tools()}
        shown = await client.call_tool_mcp("table", {"show_user": True})
        assert '<display>{"type":"table","payload":[{"a":1}]}</display>' in shown.content[0].text
        assert "of u-1" in (await client.call_tool_mcp("mine", {})).content[0].text
    async with Client(mcp, mode=era) as client:
        plain = await client.call_tool_mcp("table", {"show_user": True})
        assert plain.meta[DISPLAY_META_KEY]["type"] == "table"


async def test_it_can_be_taken_back_and_begun_again(era: str) -> None:
    mcp = shop()
    before = await everything(shop(), era)
    used = use_xmcp(mcp)
    used.display_tool(lambda: {"type": "text", "payload": "x"}, name="shown")
    used.remove()
    assert await everything(mcp, era) == before
    use_xmcp(mcp).remove()
    used.remove()  # a second time changes nothing
    assert await everything(mcp, era) == before


async def test_an_adopted_server_conforms() -> None:
    mcp = shop()
    used = use_xmcp(mcp)
    used.display_tool(lambda: {"type": "text", "payload": "x"}, name="shown", annotations=READ_ONLY)
    report = ServerReport()
    await check([InMemoryPeer(mcp._mcp_server)], Options(examples=3), report.add)
    assert [judgement.requirement.id for judgement in report.judgements if judgement.broken] == []
    assert report.answers > 10


async def test_the_tools_beside_are_tools_of_the_server(era: str) -> None:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[dict[str, str]]:
        yield {"db": "open"}

    mcp = shop(lifespan=lifespan)
    used = use_xmcp(mcp)

    @used.tool(depends_on=["stock"])
    async def inventory(ctx: Context) -> str:
        inner = await ctx.fastmcp.call_tool("stock", {"item": "tea"})
        return f"{ctx.lifespan_context['db']} {inner.structured_content}"

    async with Client(mcp, mode=era) as client:
        assert (await client.call_tool("inventory")).content[0].text == "open {'tea': 0}"
        (listed,) = [tool for tool in await client.list_tools() if tool.name == "inventory"]
        assert listed.meta[TOOL_META_KEY]["depends_on"] == ["stock"]
        with pytest.raises(RuntimeError, match="runs"):
            used.remove()
    with pytest.raises(ValueError, match="has a tool 'stock' already"):
        used.tool(lambda: "x", name="stock")
    used.remove()
    assert "inventory" not in {tool.name for tool in await mcp.list_tools()}


def test_a_server_with_background_tasks_is_refused() -> None:
    mcp = shop()
    mcp.add_extension(TasksExtension(url="memory://"))
    with pytest.raises(ValueError, match="background tasks"):
        use_xmcp(mcp)


def test_what_cannot_be_adopted_is_refused_and_stays_as_it_was() -> None:
    with pytest.raises(TypeError, match="an XMCP server already"):
        use_xmcp(XMCP("x"))
    with pytest.raises(TypeError, match="a str, not a FastMCP server"):
        use_xmcp("x")  # type: ignore[arg-type]
    mcp = shop()
    with pytest.raises(ValueError, match="wire must be"):
        use_xmcp(mcp, wire="sometimes")  # type: ignore[arg-type]
    use_xmcp(mcp)
    with pytest.raises(ValueError, match="uses XMCP already"):
        use_xmcp(mcp)


async def test_a_server_that_runs_is_refused() -> None:
    mcp = shop()
    async with Client(mcp):
        with pytest.raises(RuntimeError):
            use_xmcp(mcp)
        assert len(mcp.middleware) == len(shop().middleware)
        assert len(mcp.providers) == len(shop().providers)


async def test_what_is_taken_back_twice_takes_nothing_from_who_came_after(era: str) -> None:
    mcp = shop()
    first = use_xmcp(mcp)
    first.remove()
    second = use_xmcp(mcp)
    first.remove()
    async with Client(mcp, mode=era, extensions=DECLARES) as client:
        assert EXTENSION_ID in client.server_capabilities.extensions
        assert (await client.call_tool_mcp("stock", {"item": "a"})).meta[RESULT_META_KEY]["form"] == "document"
    second.remove()
    async with Client(mcp, mode=era) as client:
        assert EXTENSION_ID not in (client.server_capabilities.extensions or {})


async def test_after_it_was_taken_back_nothing_is_added() -> None:
    mcp = shop()
    used = use_xmcp(mcp)
    used.remove()
    for register in (used.tool, used.display_tool):
        with pytest.raises(RuntimeError, match="use_xmcp again"):
            register(lambda: "x", name="late")
    assert "late" not in {tool.name for tool in await mcp.list_tools()}


async def test_a_tool_can_have_versions(era: str) -> None:
    mcp = shop()
    used = use_xmcp(mcp)
    used.tool(lambda: "one", name="prices", version="1")
    used.tool(lambda: "two", name="prices", version="2")
    with pytest.raises(ValueError, match="has a tool 'prices' already"):
        used.tool(lambda: "another", name="prices", version="2")
    async with Client(mcp, mode=era) as client:
        assert (await client.call_tool("prices", version="1")).content[0].text == "one"
        assert (await client.call_tool("prices")).content[0].text == "two"
    used.remove()
    assert "prices" not in {tool.name for tool in await mcp.list_tools()}


async def test_a_formatter_of_nobody_stops_the_server_at_its_start(era: str) -> None:
    mcp = shop()
    used = use_xmcp(mcp, formatter="mine")

    @used.tool
    def rows() -> dict[str, int]:
        return {"a": 1}

    with pytest.raises(LookupError, match="'rows': there is no formatter named 'mine'"):
        async with mcp._lifespan_manager():
            pass
    used.add_xml_formatter(lambda data, _: f"<rows>{len(data)}</rows>", name="mine")
    async with Client(mcp, mode=era) as client:
        assert (await client.call_tool("rows")).content[0].text == "<rows>1</rows>"


def test_what_belongs_to_the_server_is_refused_with_its_name() -> None:
    used = use_xmcp(shop())
    with pytest.raises(TypeError, match="Use the FastMCP server 'shop' itself"):
        used.resource("shop://terms")(lambda: "terms")
    with pytest.raises(TypeError, match="Use the FastMCP server 'shop' itself"):
        used.resource("shop://{item}")(lambda item: item)
    with pytest.raises(TypeError, match="Use the FastMCP server 'shop' itself"):
        used.prompt(lambda: "Hello.", name="hello")
    with pytest.raises(TypeError, match="Use the FastMCP server 'shop' itself"):
        used.mount(shop())
