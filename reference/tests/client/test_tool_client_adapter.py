"""An object with `discover_tools` and `execute_tool_call` in the place of a server."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as mt
import pytest
from support.clock import never
from support.scripted_server import ScriptedServer

from xmcp.chat.errors import CallFailed
from xmcp.client import AIClient
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.pool import Servers
from xmcp.client.servers.targets import ServerTarget
from xmcp.client.servers.tool_client_adapter import ToolClientAdapter
from xmcp.providers import ScriptedProvider, Turn
from xmcp.wire import ErrorInfo, ToolResponse
from xmcp_models.registry import TOOL_META_KEY


class Stub(ScriptedServer):
    """An application's own object: it says neither its name nor that it speaks XMCP."""

    def __init__(self, tools: Any = ({"name": "tell"},), answer: Any = "hello") -> None:
        super().__init__({"tell": lambda _: answer}, None, speaks_xmcp=None, listing=lambda _: tools)


def served(stub: Any, name: str | None = None, **options: Any) -> ToolClientAdapter:
    return ToolClientAdapter(stub, name, 0.2, EventLog(), **options)


async def test_a_chat_calls_the_object() -> None:
    stub = Stub()
    script = ScriptedProvider([Turn(calls=[("tell", {"to": "me"})]), "done"])
    async with AIClient([stub], llm_provider=script) as ai:
        result = await ai.chat("q", [])
    (read,) = [ToolResponse.from_xml(m["content"]) for m in result["history"] if m["role"] == "tool"]
    assert (read.tool_name, read.llm_output) == ("tell", "hello")
    assert stub.calls == [("tell", {"to": "me"})]


@pytest.mark.parametrize("key", ["inputSchema", "input_schema", "parameters"])
async def test_a_mapping_is_a_tool_under_any_of_the_usual_names_of_its_schema(key: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    given = {
        "name": "count",
        "description": "Counts.",
        key: schema,
        "output_schema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "meta": {TOOL_META_KEY: {"cacheable": True}},
    }
    tool, bare, own = await served(
        Stub([given, {"name": "bare"}, mt.Tool(name="own", input_schema={"type": "object"})])
    ).discover_tools()
    assert (tool.name, tool.description, tool.input_schema) == ("count", "Counts.", schema)
    assert tool.output_schema == {"type": "object"}
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.meta == {TOOL_META_KEY: {"cacheable": True}}
    assert (bare.input_schema, own.name) == ({"type": "object"}, "own")


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        (["tell"], "tool number 1 is a str"),
        ([{"name": "a"}, {"description": "b"}], "tool number 2 has no name"),
        ([{"name": ""}], "tool number 1 has no name"),
        ([{"name": "a", "inputSchema": "{}"}], "'a' is not a valid MCP tool: inputSchema"),
        (RuntimeError("the catalogue at http://u:p@host is gone"), "the catalogue at http://host is gone"),
        (never, r"no answer within 0\.2 s"),
        (3, "not iterable"),
    ],
)
async def test_what_is_no_list_of_tools_is_said_so(tools: Any, reason: str) -> None:
    server = served(Stub(tools))
    with pytest.raises(ConnectFailed, match=reason):
        await server.discover_tools()
    assert not server.connected


async def test_it_counts_as_connected_as_long_as_it_gives_its_tools() -> None:
    stub = Stub()
    server = served(stub)
    await server.discover_tools()
    assert server.connected
    stub.discovers = RuntimeError("gone")
    with pytest.raises(ConnectFailed):
        await server.discover_tools()
    assert not server.connected


async def test_a_string_is_the_text_of_a_success_and_a_result_stays_as_it_is() -> None:
    result = await served(Stub(answer="text")).execute_tool_call("tell", {})
    assert result.content == [mt.TextContent(type="text", text="text")]
    assert not result.is_error
    own = mt.CallToolResult(content=[], is_error=True)
    assert await served(Stub(answer=own)).execute_tool_call("tell", {}) is own


async def test_its_own_failures_are_the_models_and_any_other_is_a_lost_connection() -> None:
    own = CallFailed(ErrorInfo("DB_TIMEOUT", "after 5 s"))
    with pytest.raises(CallFailed) as caught:
        await served(Stub(answer=own)).execute_tool_call("tell", {})
    assert caught.value is own
    with pytest.raises(CallFailed) as caught:
        await served(Stub(answer=KeyError("password"))).execute_tool_call("tell", {})
    error = caught.value.error
    assert (error.code, error.meta, caught.value.transport) == ("CONNECTION_FAILED", {"side_effects": "unknown"}, True)
    assert "password" not in error.message


async def test_any_other_answer_is_the_tools_error() -> None:
    with pytest.raises(CallFailed) as caught:
        await served(Stub(answer={"a": 1})).execute_tool_call("tell", {})
    assert (caught.value.error.code, caught.value.transport) == ("TOOL_ERROR", False)


async def test_a_cancelled_call_is_cancelled_in_the_object() -> None:
    with pytest.raises(asyncio.CancelledError):
        await served(Stub(answer=asyncio.CancelledError())).execute_tool_call("tell", {})


def test_its_name_is_the_applications_or_its_own_or_that_of_its_class() -> None:
    stub: Any = Stub()
    assert (served(stub).name, served(stub).named) == ("Stub", False)
    stub.name = "shelf"
    assert served(stub).name == "shelf"
    assert (served(stub, "crm").name, served(stub, "crm").named) == ("crm", True)
    stub.name = 3
    assert served(stub).name == "Stub"


def test_it_speaks_xmcp_only_if_it_or_the_application_says_so() -> None:
    stub: Any = Stub()
    assert served(stub).speaks_xmcp is False
    assert served(stub, xmcp=True).speaks_xmcp is True
    stub.speaks_xmcp = True
    assert served(stub).speaks_xmcp is True
    assert served(stub, xmcp=False).speaks_xmcp is False


def test_two_are_never_taken_for_the_same() -> None:
    stub = Stub()
    assert served(stub).identity != served(stub).identity


def test_a_class_in_the_place_of_an_object_is_refused() -> None:
    with pytest.raises(TypeError, match=r"pass Stub\(\.\.\.\)"):
        Servers([(None, Stub)], connect_timeout=1, log=EventLog())


def test_options_for_other_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="headers"):
        Servers([(None, ServerTarget(target=Stub(), headers={}))], connect_timeout=1, log=EventLog())


async def test_one_whose_tools_cannot_be_had_is_tried_again() -> None:
    stub = Stub(RuntimeError("not yet"))
    there = asyncio.Event()

    async def soon(_: float) -> None:
        stub.discovers = lambda _: [{"name": "tell"}]
        await asyncio.sleep(0)

    servers = Servers(
        [("late", ServerTarget(target=stub, xmcp=True))],
        connect_timeout=1,
        log=EventLog(),
        on_change=lambda _: there.set(),
        sleep=soon,
    )
    await servers.open()
    assert "not yet" in servers.catalogue.warnings[0]
    await asyncio.wait_for(there.wait(), 5)
    assert [*servers.catalogue.entries] == ["late__tell"]
    (status,) = servers.status()
    assert (status.connected, status.xmcp, status.tools, status.error) == (True, True, 1, None)
    await servers.close()
