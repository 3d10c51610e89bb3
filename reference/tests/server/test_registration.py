"""What authors write to register tools, and what a client then sees in the catalogue."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.apps import AppConfig
from fastmcp.dependencies import Depends
from fastmcp.tools import tool as standalone_tool

from xmcp import XMCP, DisplayEnvelope, ToolResponse
from xmcp_models.registry import TOOL_META_KEY


async def catalogue(mcp: XMCP, era: str = "auto") -> dict[str, Any]:
    async with Client(mcp, mode=era) as client:
        return {tool.name: tool for tool in await client.list_tools()}


@pytest.mark.parametrize("kind", ["tool", "display_tool"])
async def test_every_form_of_the_decorator_registers_and_gives_the_function_back(kind: str) -> None:
    mcp = XMCP("forms")
    decorate = getattr(mcp, kind)

    def bare() -> str:
        return "bare"

    async def called() -> str:
        return "called"

    def first() -> str:
        return "first"

    def keyword() -> str:
        return "keyword"

    def direct() -> str:
        return "direct"

    assert decorate(bare) is bare
    assert decorate()(called) is called
    assert decorate("by_position")(first) is first
    assert decorate(name="by_keyword")(keyword) is keyword
    assert decorate(direct, name="by_call") is direct
    decorate(name="partial")(functools.partial(lambda x: x, x=1))
    assert set(await catalogue(mcp)) == {"bare", "called", "by_position", "by_keyword", "by_call", "partial"}
    assert bare() == "bare"


async def test_bound_methods_and_static_methods_are_tools(call: Any) -> None:
    mcp = XMCP("methods")

    class Shop:
        stock = 3

        def count(self) -> int:
            return self.stock

        async def later(self) -> int:
            return self.stock + 1

        @staticmethod
        def static() -> int:
            return 7

        @standalone_tool(name="marked")
        def marked(self) -> dict[str, int]:
            return {"stock": self.stock}

    shop = Shop()
    mcp.tool(shop.count)
    mcp.tool(shop.later)
    mcp.tool(Shop.static)
    mcp.add_tool(shop.marked)
    assert [(await call(mcp, name)).llm_output for name in ("count", "later", "static")] == ["3", "4", "7"]
    assert (await call(mcp, "marked")).llm_output == '{"stock":3}'


async def test_an_unbound_method_is_refused_with_the_way_out() -> None:
    mcp = XMCP("methods")
    with pytest.raises(TypeError, match=r"mcp\.tool\(obj\.count\)"):

        class Shop:
            @mcp.tool
            def count(self) -> int:
                return 1


async def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        XMCP("x").tool("named", colour="red")  # type: ignore[call-overload]


async def test_all_options_of_fastmcp_reach_the_catalogue() -> None:
    mcp = XMCP("options")

    @mcp.tool(
        "n", title="T", description="D", tags={"t"}, annotations={"readOnlyHint": True}, meta={"a/b": 1}, timeout=3
    )
    def some() -> None: ...

    tool = (await catalogue(mcp))["n"]
    assert (tool.title, tool.description, tool.annotations.read_only_hint) == ("T", "D", True)
    assert tool.meta["a/b"] == 1
    assert tool.meta["fastmcp"]["tags"] == ["t"]


async def test_apps_and_tasks_are_configured_as_in_fastmcp() -> None:
    seen = []
    for kind in (XMCP, FastMCP):
        server = kind("same", tasks=True)

        @server.tool(app=AppConfig(resource_uri="ui://orders"), meta={"a/b": 1})
        async def with_app() -> str:
            return ""

        @server.tool(task=False)
        async def not_a_task() -> str:
            return ""

        tools = sorted(await server.list_tools(), key=lambda tool: tool.name)
        seen.append([(tool.name, tool.get_meta(), tool.task_config.mode) for tool in tools])
    assert seen[0] == seen[1]
    assert [mode for _, _, mode in seen[0]] == ["forbidden", "optional"]
    assert seen[0][1][1]["ui"]["resourceUri"] == "ui://orders"


async def test_only_display_tools_carry_tool_metadata_and_the_switch(era: str) -> None:
    mcp = XMCP("meta")

    @mcp.tool
    def plain(x: int) -> int:
        return x

    @mcp.display_tool
    def shown(x: int) -> DisplayEnvelope:
        """Show x."""
        return DisplayEnvelope(type="text", payload=str(x))

    tools = await catalogue(mcp, era)
    assert TOOL_META_KEY not in (tools["plain"].meta or {})
    assert "show_user" not in tools["plain"].input_schema["properties"]
    assert tools["shown"].meta[TOOL_META_KEY] == {"display": True}
    schema = tools["shown"].input_schema
    assert schema["required"] == ["x"]
    assert schema["additionalProperties"] is False
    switch = schema["properties"]["show_user"]
    assert (switch["type"], switch["default"]) == ("boolean", False)
    assert switch["description"]
    assert tools["shown"].output_schema is None


async def test_a_declared_switch_is_a_boolean_that_is_false_by_default() -> None:
    mcp = XMCP("declared")

    @mcp.display_tool
    def required(show_user: bool) -> dict[str, bool]:
        return {"seen": show_user}

    @mcp.display_tool
    def contrary(show_user: bool = True) -> dict[str, bool]:
        """Say it.

        Args:
            show_user: the author's own words
        """
        return {"seen": show_user}

    tools = await catalogue(mcp)
    assert "required" not in tools["required"].input_schema
    assert tools["contrary"].input_schema["properties"]["show_user"] == {
        "type": "boolean",
        "default": False,
        "description": "the author's own words",
    }
    with pytest.raises(TypeError, match="show_user as string"):
        mcp.display_tool(lambda show_user: None, name="wrong") if False else mcp.display_tool(_takes_text)


def _takes_text(show_user: str) -> None: ...


async def test_a_display_tool_promises_no_data_that_it_could_not_keep() -> None:
    mcp = XMCP("schema")
    with pytest.raises(ValueError, match="'counted' must not have an output schema: a result that is shown"):
        mcp.display_tool(output_schema={"type": "object"}, name="counted")(lambda: {"n": 1})
    mcp.display_tool(output_schema=None, name="shown")(lambda: {"n": 1})
    assert (await catalogue(mcp))["shown"].output_schema is None


class _Callable:
    def __call__(self, x: int) -> int:
        return x

    @classmethod
    def method(cls) -> int:
        return 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (_Callable(), "add_tool"),
        (vars(_Callable)["method"], "outermost"),
        (7, "must be a function or a name, not 'int'"),
    ],
    ids=["object", "classmethod", "number"],
)
async def test_what_is_no_function_is_refused_with_the_way_to_do_it(given: Any, told: str, call: Any) -> None:
    mcp = XMCP("odd")
    with pytest.raises(TypeError, match=told):
        mcp.tool(given)
    if callable(given):
        mcp.add_tool(given)
        assert (await call(mcp, "_Callable", x=3)).llm_output == "3"


async def test_a_tool_annotated_with_a_response_promises_no_data() -> None:
    mcp = XMCP("response")

    @mcp.tool
    def either(x: int) -> ToolResponse | str:
        return "x"

    assert (await catalogue(mcp))["either"].output_schema is None


async def test_context_and_dependencies_are_injected_and_hidden(call: Any) -> None:
    mcp = XMCP("injected")

    def user() -> str:
        return "ada"

    @mcp.tool
    async def who(greeting: str, ctx: Context, name: str = Depends(user)) -> str:
        return f"{greeting} {name} on {ctx.fastmcp.name}"

    @mcp.display_tool
    def shown(ctx: Context, name: str = Depends(user)) -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload=name)

    tools = await catalogue(mcp)
    assert set(tools["who"].input_schema["properties"]) == {"greeting"}
    assert set(tools["shown"].input_schema["properties"]) == {"show_user"}
    assert (await call(mcp, "who", greeting="hi")).llm_output == "hi ada on injected"
    assert (await call(mcp, "shown", show_user=True)).display["payload"] == "ada"
    assert (await call(mcp, "who", greeting="hi", name="eve")).code == "VALIDATION_FAIL"


async def test_functions_given_to_the_constructor_are_tools_like_any_other(call: Any) -> None:
    def pair() -> dict[str, int]:
        return {"a": 1}

    assert (await call(XMCP("given", tools=[pair]), "pair")).format == "application/json"


async def test_a_tool_marked_as_disabled_stays_hidden() -> None:
    from fastmcp.server.providers import LocalProvider

    provider = LocalProvider()

    @provider.tool(enabled=False)
    def hidden() -> None: ...

    mcp = XMCP("disabled")
    mcp.add_tool(hidden)
    assert await catalogue(mcp) == {}


async def test_the_class_takes_the_type_of_its_lifespan_as_fastmcp_does() -> None:
    mcp: XMCP[dict[str, int]] = XMCP[dict[str, int]]("typed")
    mcp.tool(lambda: "x", name="any")
    assert isinstance(mcp, XMCP)
    assert isinstance(XMCP[Any]("any"), FastMCP)
    assert list(await catalogue(mcp)) == ["any"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: XMCP("bad", wrie="always"), r"XMCP\(\) has no option 'wrie'\. Did you mean 'wire'\?"),
        (lambda: XMCP("bad", instruction="be kind"), "Did you mean 'instructions'"),
        (lambda: XMCP("bad", zzz=1), r"no option 'zzz'\.$"),
        (lambda: XMCP("old", port=3333), "`port`"),  # FastMCP says where it is now
        (lambda: XMCP("x").display_tool(annotation={}), r"display_tool\(\) has no .* 'annotations'\?"),  # type: ignore[call-overload]
        (lambda: XMCP("x").tool(output_schem={}), r"tool\(\) has no .* 'output_schema'\?"),  # type: ignore[call-overload]
    ],
)
def test_a_misspelt_option_is_named_with_the_one_that_was_meant(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()
