"""What hosts get that know nothing of XMCP: most give the model the text or the data, and show the person little."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from fastmcp.tools.tool_transform import ArgTransform, forward
from fastmcp.utilities.types import Image
from mcp.client import advertise
from mcp_types import Annotations, ImageContent, TextContent
from support.declaration import DECLARES

from xmcp import XMCP, DisplayEnvelope, ToolResponse
from xmcp.server.responses.delivery import PERHAPS_NOT_SHOWN
from xmcp_models.registry import (
    DISPLAY_META_KEY,
    EXTENSION_ID,
    POPULATED_META_KEY,
    RESULT_META_KEY,
    TOOL_META_KEY,
)


@pytest.fixture(autouse=True, scope="module")
def documents_for_every_client() -> None:
    """Here, servers have the wire that they have by default."""


async def asked(mcp: Any, era: str, name: str, declared: bool = False, **arguments: Any) -> Any:
    async with Client(mcp, mode=era, extensions=DECLARES if declared else None) as client:
        return await client.call_tool_mcp(name, arguments)


async def listed(mcp: Any, era: str, declared: bool = False) -> dict[str, Any]:
    async with Client(mcp, mode=era, extensions=DECLARES if declared else None) as client:
        return {tool.name: tool for tool in await client.list_tools()}


def texts(result: Any) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def for_the_user(text: str) -> TextContent:
    return TextContent(type="text", text=text, annotations=Annotations(audience=["user"]))


def notes(wire: Any = "negotiated") -> XMCP:
    mcp = XMCP("notes", wire=wire)

    @mcp.tool
    def prices() -> Any:
        return ["9 EUR", for_the_user("only you"), Image(data=b"\x89PNG", format="png")]

    @mcp.tool
    def fails() -> Any:
        content = [for_the_user("only you"), TextContent(type="text", text="out of stock")]
        return ToolResult(content=content, is_error=True)

    return mcp


# ---- what is for the user alone ----


@pytest.mark.parametrize("wire", ["always", "negotiated", "plain"])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("way", ["direct", "mounted", "proxied"])
async def test_a_block_for_the_user_alone_is_a_block_of_its_own(era: str, wire: Any, declared: bool, way: str) -> None:
    mcp = notes(wire)
    if way != "direct":
        front = XMCP("front", wire=wire)
        front.mount(mcp) if way == "mounted" else front.mount(create_proxy(mcp))
        mcp = front
    for name, said in ("prices", "9 EUR"), ("fails", "TOOL_ERROR: out of stock"):
        result = await asked(mcp, era, name, declared)
        (note,) = [block for block in result.content if block.annotations is not None]
        assert (note.text, note.annotations.audience) == ("only you", ["user"])
        others = [block.text for block in result.content if isinstance(block, TextContent) and block is not note]
        assert "only you" not in "".join(others)
        if result.meta[RESULT_META_KEY]["form"] == "plain":
            assert others == [said]
        else:
            assert said.removeprefix("TOOL_ERROR: ") in others[0]


async def test_only_what_is_for_the_model_is_announced_to_it(era: str) -> None:
    mcp = XMCP(wire="always")
    picture = ImageContent(type="image", data="AAAA", mime_type="image/png", annotations=Annotations(audience=["user"]))

    @mcp.tool
    def two() -> Any:
        return ["seen", picture, for_the_user("x")]

    assert "Attached" not in texts(await asked(mcp, era, "two"))[0]


@pytest.mark.parametrize("declared", [True, False])
async def test_a_picture_is_announced_to_every_client_that_reads_documents(era: str, declared: bool) -> None:
    said = texts(await asked(notes("always"), era, "prices", declared))[0]
    assert "Attached: 1 × image (image/png). It may not be visible to you." in said


# ---- what the server filled in ----


def filling(wire: Any = "negotiated") -> XMCP:
    mcp = XMCP("filling", wire=wire)

    @mcp.tool(server_populated=["region", "key"], sensitive=["key"])
    def orders(region: str, key: str, fail: bool = False) -> str:
        if fail:
            raise LookupError(key)
        return f"3 in {region}"

    mcp.param_provider("region")(lambda: "north")
    mcp.param_provider("key")(lambda: "s3cr3t-key")
    return mcp


async def test_values_that_the_server_filled_in_are_told_to_every_model(era: str) -> None:
    result = await asked(filling(), era, "orders")
    own, told = result.content
    assert own.text == "3 in north"
    assert told.text == 'Filled in by the server: region = "north", key (not disclosed).'
    assert told.meta == {POPULATED_META_KEY: True}
    assert "Filled in" not in str((await asked(filling(), era, "orders", fail=True)).content)
    forged = await asked(filling(), era, "orders", region="south")
    assert "region (what you sent was not used)" in forged.content[1].text


async def test_they_are_told_once_behind_another_server(era: str) -> None:
    front = XMCP("front")
    front.mount(create_proxy(filling()))
    assert len((await asked(front, era, "orders")).content) == 2
    (document,) = (await asked(front, era, "orders", declared=True)).content
    assert "<llm_output>3 in north</llm_output>" in document.text
    assert "Filled in" not in document.text


# ---- displays that perhaps nobody shows ----

ROWS = [{"a": 1}]


def showing(wire: Any = "negotiated") -> XMCP:
    mcp = XMCP("showing", wire=wire)

    @mcp.display_tool
    def table() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=ROWS, alt="one row")

    @mcp.display_tool(xml_formatter="table")
    def formatted() -> DisplayEnvelope:
        return DisplayEnvelope(type="table", payload=ROWS)

    @mcp.display_tool
    def own() -> ToolResponse:
        return ToolResponse("own", "My words.", DisplayEnvelope(type="table", payload=ROWS, alt="x" * 600))

    return mcp


async def test_a_model_whose_client_shows_nothing_gets_the_data_and_the_truth(era: str) -> None:
    mcp = showing()
    assert texts(await asked(mcp, era, "table", show_user=True)) == [
        '{"alt":"one row","payload":[{"a":1}]}',
        PERHAPS_NOT_SHOWN,
    ]
    assert texts(await asked(mcp, era, "formatted", show_user=True)) == ["| a |\n| --- |\n| 1 |", PERHAPS_NOT_SHOWN]
    declared = await asked(mcp, era, "table", declared=True, show_user=True)
    assert "<llm_output>one row</llm_output>" in declared.content[0].text
    assert PERHAPS_NOT_SHOWN not in str(declared)
    assert PERHAPS_NOT_SHOWN not in str(await asked(mcp, era, "table"))


async def test_with_documents_for_everybody_too(era: str) -> None:
    result = await asked(showing("always"), era, "table", show_user=True)
    assert PERHAPS_NOT_SHOWN in result.content[0].text
    assert '"payload":[{"a":1}]' in result.content[0].text.partition("<display>")[0]


async def test_the_alternative_of_a_display_is_for_the_user_where_it_says_more(era: str) -> None:
    result = await asked(showing(), era, "own", show_user=True)
    own, truth, alternative = result.content
    assert (own.text, truth.text) == ("My words.", PERHAPS_NOT_SHOWN)
    assert alternative.text == "x" * 500
    assert alternative.annotations.audience == ["user"]
    assert result.meta[DISPLAY_META_KEY]["payload"] == ROWS
    assert len((await asked(showing(), era, "table", show_user=True)).content) == 2  # its text says the same


# ---- data ----


def dataful(**options: Any) -> XMCP:
    mcp = XMCP("data", **options)

    @mcp.tool
    def untyped():  # type: ignore[no-untyped-def]
        return {"a": 1}

    @mcp.tool
    def typed() -> dict[str, int]:
        return {"a": 1}

    @mcp.tool(xml_formatter="xml")
    def formatted() -> dict[str, int]:
        return {"a": 1}

    @mcp.tool(xml_formatter="xml", output_schema={"type": "object"})
    def promised() -> dict[str, int]:
        return {"a": 1}

    @mcp.tool
    def given():  # type: ignore[no-untyped-def]
        return ToolResult(content="words", structured_content={"a": 1})

    return mcp


DATA = {"a": 1}


@pytest.mark.parametrize(
    ("name", "others", "schema"),
    [
        ("untyped", None, (False, False)),
        ("typed", DATA, (True, True)),
        ("formatted", None, (False, True)),
        ("promised", DATA, (True, True)),
        ("given", DATA, (False, False)),
    ],
)
@pytest.mark.parametrize("wire", ["always", "negotiated"])
@pytest.mark.parametrize("way", ["direct", "mounted", "mounted_twice"])
async def test_data_goes_where_a_schema_or_the_author_promises_it(
    era: str, wire: Any, way: str, name: str, others: Any, schema: tuple[bool, bool]
) -> None:
    mcp = dataful(wire=wire)
    for _ in range({"direct": 0, "mounted": 1, "mounted_twice": 2}[way]):
        front = XMCP("front", wire=wire)
        front.mount(mcp)
        mcp = front
    assert (await asked(mcp, era, name)).structured_content == others
    assert (await asked(mcp, era, name, declared=True)).structured_content == DATA
    shown = [(await listed(mcp, era, declared))[name] for declared in (False, True)]
    assert tuple(tool.output_schema is not None for tool in shown) == schema
    assert not any("derived" in str(tool.meta) for tool in shown)
    async with Client(mcp, mode=era) as client:  # which checks the data against the schema that it was listed
        await client.call_tool(name)


OWN_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "description": "by the author"}}}


async def transforming() -> XMCP:
    mcp = dataful()
    source = await mcp.get_tool("formatted")
    assert source is not None

    async def forwards() -> ToolResult:
        return await forward()

    async def answers() -> ToolResult:
        return ToolResult(content="words", structured_content=DATA)

    arguments: dict[str, ArgTransform] = {}
    mcp.add_tool(Tool.from_tool(source, name="same", transform_args=arguments))
    mcp.add_tool(Tool.from_tool(source, name="own", transform_args=arguments, output_schema=OWN_SCHEMA))
    mcp.add_tool(Tool.from_tool(source, name="forwarded", transform_fn=forwards, output_schema=OWN_SCHEMA))
    mcp.add_tool(Tool.from_tool(source, name="answered", transform_fn=answers, output_schema=OWN_SCHEMA))
    return mcp


@pytest.mark.parametrize(
    ("name", "promised"), [("same", False), ("own", True), ("forwarded", True), ("answered", True)]
)
@pytest.mark.parametrize("way", ["direct", "mounted"])
async def test_a_tool_that_transforms_another_promises_what_it_lists(
    era: str, way: str, name: str, promised: bool
) -> None:
    mcp = await transforming()
    if way == "mounted":
        inner, mcp = mcp, XMCP("front")
        mcp.mount(inner)
    tool = (await listed(mcp, era))[name]
    assert tool.output_schema == (OWN_SCHEMA if promised else None)
    assert "derived" not in str(tool.meta)
    async with Client(mcp, mode=era) as client:
        assert (await client.call_tool(name)).structured_content == (DATA if promised else None)
    assert (await listed(mcp, era, declared=True))[name].output_schema is not None
    assert (await asked(mcp, era, name, declared=True)).structured_content == DATA


async def test_a_program_that_calls_its_own_server_gets_the_data() -> None:
    for name in ("untyped", "formatted"):
        assert (await dataful().call_tool(name)).structured_content == DATA
    assert {tool.name for tool in await dataful().list_tools() if tool.output_schema} == {
        "typed",
        "formatted",
        "promised",
    }


async def test_the_formatter_of_a_server_decides_what_is_read_too(era: str) -> None:
    mcp = dataful(formatter="table")
    assert (await asked(mcp, era, "typed")).structured_content is None
    assert (await listed(mcp, era))["typed"].output_schema is None


@pytest.mark.parametrize("options", [{"xml_formatter": lambda data, _: f"***{str(data)[-4:]}"}, {}])
async def test_what_a_formatter_hides_is_hidden_in_scalars_too(era: str, options: Any) -> None:
    mcp = XMCP("cards") if options else XMCP("cards", formatter="table")

    @mcp.tool(**options)
    def card() -> str:
        return "4111111111111111"

    result = await asked(mcp, era, "card")
    assert result.structured_content is None
    assert (texts(result) == ["***1111"]) is bool(options)
    assert (await asked(mcp, era, "card", declared=True)).structured_content == {"result": "4111111111111111"}


@pytest.mark.parametrize("versions", [["2.0"], [], None])
async def test_who_declares_another_version_is_answered_as_who_declares_nothing(era: str, versions: Any) -> None:
    declared = [advertise(EXTENSION_ID, {} if versions is None else {"versions": versions})]
    for mcp, name, arguments in (dataful(), "untyped", {}), (showing(), "table", {"show_user": True}):
        async with Client(mcp, mode=era, extensions=declared) as client:
            result = await client.call_tool_mcp(name, arguments)
            assert {tool.name: tool.output_schema for tool in await client.list_tools()} == {
                tool.name: tool.output_schema for tool in (await listed(mcp, era)).values()
            }
        other = await asked(mcp, era, name, **arguments)
        assert (result.content, result.structured_content) == (other.content, other.structured_content)


# ---- behind a proxy, whose own client declared nothing ----


async def test_a_proxy_decides_again_what_its_client_gets(era: str) -> None:
    mcp = showing()
    mcp.mount(dataful())
    front = XMCP("front")
    front.mount(create_proxy(mcp))
    plain = await asked(front, era, "table", show_user=True)
    assert texts(plain) == ['{"alt":"one row","payload":[{"a":1}]}', PERHAPS_NOT_SHOWN]
    own = await asked(front, era, "own", show_user=True)
    assert texts(own) == ["My words.", PERHAPS_NOT_SHOWN, "x" * 500]
    declared = await asked(front, era, "table", declared=True, show_user=True)
    assert PERHAPS_NOT_SHOWN not in str(declared.content)
    data = await asked(front, era, "untyped", declared=True)
    assert data.structured_content == DATA
    behind = await asked(front, era, "untyped")
    assert (behind.structured_content, behind.meta[RESULT_META_KEY]["format"]) == (None, "application/json")


def without_alternative(wire: Any = "negotiated") -> XMCP:
    mcp = showing(wire)

    @mcp.display_tool
    def large() -> Any:
        return ToolResponse("large", display=DisplayEnvelope(type="table", payload=ROWS * 1_000, title="Rows"))

    @mcp.display_tool
    def text() -> DisplayEnvelope:
        return DisplayEnvelope(type="text", payload="seen", title="Words")

    @mcp.display_tool
    def content() -> Any:
        return ToolResult(content=[], meta={DISPLAY_META_KEY: {"type": "table", "payload": ROWS}})

    return mcp


def read_by_the_model(result: Any) -> Any:
    marks = {name: value for name, value in result.meta[RESULT_META_KEY].items() if name != "display_text"}
    return [block for block in result.content if not block.annotations], marks, result.meta.get(DISPLAY_META_KEY)


@pytest.mark.parametrize("wire", ["negotiated", "plain"])
@pytest.mark.parametrize("name", ["table", "formatted", "own", "large", "text", "content"])
@pytest.mark.parametrize("servers", [1, 2])
async def test_behind_proxies_the_model_reads_of_a_display_what_it_reads_without(
    era: str, wire: Any, name: str, servers: int
) -> None:
    mcp = front = without_alternative(wire)
    for _ in range(servers):
        behind, front = front, XMCP("front", wire=wire)
        front.mount(create_proxy(behind))
    for declared in (True, False):
        direct = await asked(mcp, era, name, declared, show_user=True)
        relayed = await asked(front, era, name, declared, show_user=True)
        assert read_by_the_model(relayed) == read_by_the_model(direct)


@pytest.mark.parametrize("name", ["table", "large", "text", "content"])
@pytest.mark.parametrize("first", [True, False])
async def test_what_a_cache_kept_for_another_client_is_read_by_this_one_as_its_own(
    era: str, name: str, first: bool
) -> None:
    mcp, cached = without_alternative(), without_alternative()
    cached.add_middleware(ResponseCachingMiddleware())
    await asked(cached, era, name, first, show_user=True)
    for declared in (True, False):
        direct = await asked(mcp, era, name, declared, show_user=True)
        assert read_by_the_model(await asked(cached, era, name, declared, show_user=True)) == read_by_the_model(direct)


async def test_a_summary_that_a_middleware_changed_stays_changed_for_every_client(era: str) -> None:
    class Redacts(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            return ToolResult(content="[redacted]", meta=result.meta)

    mcp = showing()
    mcp.add_middleware(Redacts())
    mcp.add_middleware(ResponseCachingMiddleware())
    await asked(mcp, era, "table", declared=True, show_user=True)
    assert texts(await asked(mcp, era, "table", show_user=True))[0] == "[redacted]"


@pytest.mark.parametrize("said", ["Sales", "Sales of EMEA in May"])
async def test_a_proxy_passes_on_what_an_author_said_to_the_user(era: str, said: str) -> None:
    mcp = XMCP("sales")

    @mcp.display_tool
    def sales() -> ToolResult:
        display = {"type": "table", "payload": ROWS, "alt": "Sales of EMEA in May"}
        own = TextContent(type="text", text=said, annotations=Annotations(audience=["user"], priority=1.0))
        return ToolResult(content=["42 units", own], meta={DISPLAY_META_KEY: display})

    front = XMCP("front")
    front.mount(create_proxy(mcp))
    for declared in (True, False):
        direct, behind = [await asked(one, era, "sales", declared, show_user=True) for one in (mcp, front)]
        assert [block for block in behind.content if block.annotations] == [
            block for block in direct.content if block.annotations
        ]
        assert said in texts(behind)


async def test_only_text_that_is_the_data_is_called_data(era: str) -> None:
    class Counted:
        media_type = "application/json"

        def __call__(self, data: Any, _: int) -> str:
            return f'{{"rows":{len(data["rows"])}}}'

    mcp = XMCP("counted")

    @mcp.tool(xml_formatter=Counted())
    def rows():  # type: ignore[no-untyped-def]
        return {"rows": [1, 2, 3]}

    @mcp.display_tool
    def shown():  # type: ignore[no-untyped-def]
        return {"type": "table", "payload": ROWS}

    for name in ("rows", "shown"):
        assert "format" not in (await asked(mcp, era, name)).meta[RESULT_META_KEY]


@pytest.mark.parametrize(
    "mark", [{"format": 5}, {"lossy": "no"}, {"call_id": 7}, {"call_id": "x" * 5_000}, {"unlisted": True}]
)
async def test_a_mark_that_is_not_valid_is_ignored(era: str, mark: Any) -> None:
    behind: FastMCP[Any] = FastMCP("behind")

    @behind.tool
    def answers() -> ToolResult:
        return ToolResult(content="seen", structured_content=DATA, meta={RESULT_META_KEY: {"form": "plain", **mark}})

    front = XMCP("front")
    front.mount(create_proxy(behind))
    for declared in (True, False):
        result = await asked(front, era, "answers", declared=declared)
        assert (result.is_error, result.structured_content) == (False, DATA)
        assert "seen" in texts(result)[0]


async def test_a_large_value_that_the_server_filled_in_is_cut_for_the_model(era: str) -> None:
    mcp = XMCP("large")

    @mcp.tool(server_populated=["rows"])
    def count(rows: list[str]) -> str:
        return str(len(rows))

    mcp.param_provider("rows")(lambda: ["x" * 100] * 1_000)
    result = await asked(mcp, era, "count")
    assert len(result.content[1].text) < 1_500
    assert len(result.meta[POPULATED_META_KEY]["values"]["rows"]) == 1_000


# ---- the wire `plain` ----


async def test_with_the_wire_plain_nobody_gets_a_document(era: str) -> None:
    mcp = showing("plain")
    result = await asked(mcp, era, "table", declared=True, show_user=True)
    assert result.meta[RESULT_META_KEY] == {"version": "1.0", "form": "plain"}
    assert texts(result) == ["one row"]
    assert result.meta[DISPLAY_META_KEY]["payload"] == ROWS


async def test_of_a_text_that_json_has_to_escape_its_first_200_characters_are_told(era: str) -> None:
    value = "\x01" * 300
    mcp = XMCP("escaped")

    @mcp.tool(server_populated=["key"])
    def length(key: str) -> str:
        return str(len(key))

    mcp.param_provider("key")(lambda: value)
    told = (await asked(mcp, era, "length")).content[1].text
    assert json.dumps(value[:200])[1:-1] in told
    assert json.dumps(value)[1:-1] not in told


async def test_a_client_that_declared_the_extension_is_told_where_a_value_is_that_is_no_object(era: str) -> None:
    mcp = XMCP("s", wire="negotiated")
    mcp.tool(name="names")(_names)
    mcp.tool(name="one")(_one)
    said = {}
    for declared in (False, True):
        tools = await listed(mcp, era, declared)
        said[declared] = {name: (tool.meta or {}).get(TOOL_META_KEY) for name, tool in tools.items()}
    assert said == {False: {"names": None, "one": None}, True: {"names": {"wrapped_in": "result"}, "one": None}}


def _names() -> list[str]:
    return ["a"]


def _one() -> dict[str, int]:
    return {"a": 1}
