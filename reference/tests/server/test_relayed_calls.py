"""Arguments of proxied tools and of OpenAPI operations: refused with the same error as those of functions."""

from __future__ import annotations

import time
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.providers.openapi import OpenAPIProvider
from fastmcp.server.providers.proxy import ProxyClient, ProxyProvider
from fastmcp.tools import Tool
from support.declaration import DECLARES

from xmcp import XMCP
from xmcp.server.relayed_calls import MAX_ARGUMENTS, refused_arguments

SECRET = "s3cr3t-t0ken"


def summed(request: httpx2.Request) -> httpx2.Response:
    try:
        total = int(request.url.params["a"]) + int(request.url.params["b"])
    except (KeyError, ValueError):
        return httpx2.Response(422, json={"detail": "two integers"})
    return httpx2.Response(200, json={"total": total}) if total else httpx2.Response(409, json={"detail": "no zero"})


def openapi() -> OpenAPIProvider:
    parameters = [{"name": name, "in": "query", "required": True, "schema": {"type": "integer"}} for name in "ab"]
    operation = {"operationId": "sum", "parameters": parameters, "responses": {}}
    spec = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/sum": {"get": operation}}}
    return OpenAPIProvider(
        spec, client=httpx2.AsyncClient(transport=httpx2.MockTransport(summed), base_url="http://sums.test/")
    )


def plain() -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("plain")

    @server.tool(name="sum")
    def sums(a: int, b: int) -> int:
        if a + b == 0:
            raise ToolError("no zero")
        return a + b

    return server


def mounted_openapi() -> XMCP:
    inner: FastMCP[Any] = FastMCP("inner", providers=[openapi()])
    outer = XMCP("outer")
    outer.mount(inner)
    return outer


async def transformed() -> XMCP:
    mcp = XMCP("transformed")
    source = XMCP("source", providers=[openapi()])
    tool = await source.get_tool("sum")
    assert tool is not None
    mcp.add_tool(Tool.from_tool(tool, description="Add."))
    return mcp


async def proxied() -> XMCP:
    mcp = XMCP("front")
    mcp.mount(create_proxy(plain()))
    return mcp


async def direct() -> XMCP:
    return XMCP("direct", providers=[openapi()])


async def mounted() -> XMCP:
    return mounted_openapi()


@pytest.mark.parametrize("made", [direct, mounted, transformed, proxied])
async def test_arguments_that_another_side_refuses_are_pointed_at(made: Any, call: Any) -> None:
    mcp = await made()
    assert (await call(mcp, "sum", a=1, b=2)).code is None
    for arguments, refused in (
        ({"a": SECRET, "b": 1}, {"/a": "wrong_type"}),
        ({"b": 1}, {"/a": "missing"}),
        ({}, {"/a": "missing", "/b": "missing"}),
    ):
        reply = await call(mcp, "sum", **arguments)
        assert reply.code == "VALIDATION_FAIL"
        assert {field["pointer"]: field["reason"] for field in reply.meta["fields"]} == refused
        assert SECRET not in str(reply.meta)


@pytest.mark.parametrize("made", [direct, mounted, transformed, proxied])
async def test_a_refusal_for_another_reason_stays_what_it_is(made: Any, call: Any) -> None:
    mcp = await made()
    assert (await call(mcp, "sum", a="1", b=2)).code is None
    for arguments in ({"a": 0, "b": 0}, {"a": "1", "b": "-1"}):
        reply = await call(mcp, "sum", **arguments)
        assert reply.code in ("CONFLICT", "TOOL_ERROR")
        assert "no zero" in reply.message


async def test_functions_of_a_mounted_server_validate_themselves(call: Any) -> None:
    mcp, inner = XMCP("outer"), FastMCP("inner")

    @inner.tool
    def counts(all_days: bool) -> None:
        raise ToolError("no such day")

    mcp.mount(inner)
    reply = await call(mcp, "counts", all_days="yes")  # pydantic takes it, JSON Schema does not
    assert (reply.code, reply.message) == ("TOOL_ERROR", "no such day")


async def test_the_verdict_of_a_proxied_xmcp_server_is_kept(call: Any) -> None:
    for wire in ("always", "negotiated"):
        upstream = XMCP("upstream", wire=wire)  # type: ignore[arg-type]

        @upstream.tool
        def counts(all_days: bool) -> None:
            raise ToolError("no such day")

        mcp = XMCP("front")
        mcp.mount(create_proxy(upstream))
        assert (await call(mcp, "counts", all_days="x")).code == "VALIDATION_FAIL"
        reply = await call(mcp, "counts", all_days="yes")
        assert (reply.code, reply.message) == ("TOOL_ERROR", "no such day")


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (NUMBER, {"n": 1}),
        (NUMBER, {"n": "1"}),
        (NUMBER, {"n": "x" * MAX_ARGUMENTS}),
        ({"type": "nonsense"}, {"n": "x"}),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, {"n": "x"}),
        ({**NUMBER, "description": "x" * 50_000}, {"n": "x"}),
        ({"properties": []}, {"n": "x"}),
        (NUMBER, {"n": 2**70, "m": object()}),
        ({"properties": {"n": {"items": {"type": "number"}}}}, {"n": ["x"] * 15_000}),
        ({"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n", "required": ["m"]}, {}),
        ({"$id": "http://a.test/", "$ref": "http://a.test/#/$defs/n", "$defs": {"n": {"required": ["m"]}}}, {}),
    ],
)
def test_where_nothing_can_be_said_nothing_is_said(schema: Any, arguments: Any) -> None:
    assert refused_arguments(schema, arguments) == []


def test_a_schema_of_another_server_cannot_hold_the_loop_by_its_references() -> None:
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(18)}
    schema = {"$defs": {**twice, "a18": {"required": ["m"]}}, "$ref": "#/$defs/a0"}
    begun = time.thread_time()
    assert refused_arguments(schema, {}) == []
    assert time.thread_time() - begun < 0.5
    used = {
        "$defs": {"n~": {"type": "number"}},
        "properties": {"n": {"$ref": "#/$defs/n~0"}, "m": {"$ref": "#/$defs/n~0"}},
    }
    assert [field["pointer"] for field in refused_arguments(used, {"n": "x", "m": 1})] == ["/n"]


def test_what_is_said_of_an_argument_is_bounded_and_repeats_no_value() -> None:
    schema = {"properties": {"n": {"enum": ["a", "b"]}}, "additionalProperties": False}
    (field,) = refused_arguments(schema, {"n": SECRET})
    assert (field["pointer"], field["reason"]) == ("/n", "enum")
    assert SECRET not in field["message"]
    many = refused_arguments(schema, {f"{i}~" * 200: i for i in range(50)})
    assert len(many) == 32
    assert all(len(field["pointer"]) <= 256 and not field["pointer"].endswith("~") for field in many)


async def test_an_answer_without_arguments_to_blame_costs_no_look_up(era: str) -> None:
    lookups = []

    class Counting(XMCP[Any]):
        async def get_tool(self, *args: Any, **options: Any) -> Any:
            lookups.append(args)
            return await super().get_tool(*args, **options)

    mcp = Counting("counting", providers=[openapi()])
    async with Client(mcp, mode=era) as client:
        await client.list_tools()
        lookups.clear()
        await client.call_tool_mcp("sum", {"a": 1, "b": 2})
        once = len(lookups)
        lookups.clear()
        await client.call_tool_mcp("sum", {"a": 1, "b": -1})
    assert len(lookups) == once


@pytest.mark.parametrize("declared", [True, False])
async def test_a_call_asks_the_servers_behind_no_more_often_than_in_fastmcp(era: str, declared: bool) -> None:
    lists = []

    class Counts(Middleware):
        async def on_list_tools(self, context: Any, call_next: Any) -> Any:
            lists.append(1)
            return await call_next(context)

    behind: FastMCP[Any] = FastMCP("behind", middleware=[Counts()])
    counted = []
    for kind in (FastMCP, XMCP):
        front = kind("front")
        front.add_provider(ProxyProvider(lambda: ProxyClient(behind), cache_ttl=0))

        @front.tool
        def untyped():  # type: ignore[no-untyped-def]
            return {"a": 1}

        async with Client(front, mode=era, extensions=DECLARES if declared else None) as client:
            for _ in range(3):
                await client.call_tool_mcp("untyped", {})
        counted.append(len(lists))
        lists.clear()
    assert 0 < counted[1] <= counted[0]
