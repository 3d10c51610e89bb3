"""Every way in which FastMCP runs a tool: parameters, masking, displays and errors are the same on each.

One table of ways, one table of calls. What is special about a way is a member of its row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from fastmcp import Client, FastMCP, FastMCPApp
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.server.providers import LocalProvider
from fastmcp.server.providers.addressing import hashed_backend_name
from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
from fastmcp.server.transforms.tool_transform import ToolTransform
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools import tool as standalone
from fastmcp.tools.tool_transform import ToolTransformConfig, forward_raw
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp_types import CallToolResult
from pydantic import Field

from xmcp import XMCP, DisplayEnvelope, ToolResponse, XMCPError
from xmcp.server.responses.delivery import PERHAPS_NOT_SHOWN
from xmcp_models.registry import DISPLAY_META_KEY, ERROR_META_KEY, POPULATED_META_KEY, RESULT_META_KEY

SECRET = "k3y-s3cr3t"
Filled = Annotated[str, Field(json_schema_extra={"server_populated": True})]
Sensitive = Annotated[str, Field(json_schema_extra={"server_populated": True, "sensitive": True})]


# ---- the tools ----


async def whoami(note: str, user: Filled) -> dict[str, str]:
    return {"user": user, "note": note}


async def leaks(key: Sensitive) -> str:
    return f"the key is {key}"


async def leaks_by_error(key: Sensitive) -> str:
    raise XMCPError("CONFLICT", f"the key {key} is locked")


async def crashes() -> str:
    raise ValueError(SECRET)


async def refuses() -> str:
    raise XMCPError("CONFLICT", "changed meanwhile")


async def plain() -> dict[str, int]:
    return {"n": 3}


async def response():  # type: ignore[no-untyped-def]
    return ToolResponse("response", llm_output="hi there")


async def chart() -> DisplayEnvelope:
    return DisplayEnvelope(type="text", payload="seen", alt="told")


FUNCTIONS = (whoami, leaks, leaks_by_error, crashes, refuses, plain, response)


def with_providers(mcp: XMCP) -> XMCP:
    mcp.param_provider("user")(lambda: "u-1")
    mcp.param_provider("key")(lambda: SECRET)
    return mcp


def shop(options: Mapping[str, Any], **of_tools: Any) -> XMCP:
    mcp = with_providers(XMCP("shop", **options))
    for function in FUNCTIONS:
        mcp.tool(function, **of_tools)
    mcp.display_tool(chart, **of_tools)
    return mcp


def top(options: Mapping[str, Any], **more: Any) -> XMCP:
    return XMCP("top", wire=options["wire"], **more)


def tools_of(mcp: XMCP) -> list[Tool]:
    return [part for part in mcp.local_provider._components.values() if isinstance(part, Tool)]


# ---- the ways ----


@dataclass
class Way:
    """A server, and how one of the tools above is called on it.

    `displays`: the way can show something. `documents`: a client of protocol version 2026-07-28 gets documents on the
    wire `always`. `keeps_result`: the answer of the tool is passed on unchanged.
    """

    server: Any
    name: Callable[[str], str] = lambda name: name
    arguments: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _name, given: given
    displays: bool = True
    documents: bool = True
    keeps_result: bool = True


def direct(options: Any) -> Way:
    return Way(shop(options))


def mounted(options: Any) -> Way:
    server = top(options)
    server.mount(shop(options))
    return Way(server)


def mounted_twice(options: Any) -> Way:
    server, middle = top(options), XMCP("middle")
    middle.mount(shop(options), namespace="in")
    server.mount(middle, namespace="out")
    return Way(server, lambda name: f"out_in_{name}")


def mounted_in_fastmcp(options: Any) -> Way:
    server: FastMCP[Any] = FastMCP("plain")
    server.mount(shop(options))
    return Way(server)


def proxied(options: Any) -> Way:
    server = top(options)
    server.mount(create_proxy(shop(options)), namespace="far")
    return Way(server, lambda name: f"far_{name}")


def transformed(options: Any) -> Way:
    server = shop(options)
    for tool in tools_of(server):
        server.add_tool(Tool.from_tool(tool, name=f"x_{tool.name}"))
    return Way(server, lambda name: f"x_{name}")


def transformed_by_a_function(options: Any) -> Way:
    async def forwards(**given: Any) -> ToolResult:
        return await forward_raw(**given)

    server = shop(options)
    for tool in tools_of(server):
        server.add_tool(Tool.from_tool(tool, name=f"x_{tool.name}", transform_fn=forwards))
    return Way(server, lambda name: f"x_{name}")


def transformed_on_another_server(options: Any) -> Way:
    server = top(options)
    for tool in tools_of(shop(options)):
        server.add_tool(Tool.from_tool(tool, name=f"x_{tool.name}"))
    return Way(server, lambda name: f"x_{name}")


def added_to_another_server(options: Any) -> Way:
    server = top(options)
    for tool in tools_of(shop(options)):
        server.add_tool(tool)
    return Way(server)


def renamed_by_a_transform(options: Any) -> Way:
    server = shop(options)
    renamed = {tool.name: ToolTransformConfig(name=f"y_{tool.name}") for tool in tools_of(server)}
    server.add_transform(ToolTransform(renamed))
    return Way(server, lambda name: f"y_{name}")


def found_by_search(options: Any) -> Way:
    server = shop(options)
    server.add_transform(BM25SearchTransform())
    return Way(server, lambda _: "call_tool", lambda name, given: {"name": name, "arguments": given})


def called_by_code(options: Any) -> Way:
    """Run code of a model, which catches whatever a tool raises and returns the text."""

    class Sandbox:
        async def run(self, code: str, *, external_functions: Any = None, **_: Any) -> Any:
            name, given = json.loads(code)
            try:
                return await external_functions["call_tool"](name, given)
            except Exception as failure:
                return str(failure)

    server = shop(options)
    server.add_transform(CodeMode(sandbox_provider=Sandbox()))
    return Way(server, lambda _: "execute", lambda name, given: {"code": json.dumps([name, given])}, keeps_result=False)


def called_by_a_tool(options: Any) -> Way:
    server = shop(options)

    @server.tool(output_schema=None)
    async def outer(inner: str, given: dict[str, Any]) -> ToolResult:
        return await server.call_tool(inner, given)

    return Way(server, lambda _: "outer", lambda name, given: {"inner": name, "given": given})


def called_by_a_tool_that_catches(options: Any) -> Way:
    server = shop(options)

    @server.tool(output_schema=None)
    async def outer(inner: str, given: dict[str, Any]) -> str:
        try:
            return str(await server.call_tool(inner, given))
        except XMCPError as failure:
            return str(failure)

    return Way(server, lambda _: "outer", lambda name, given: {"inner": name, "given": given}, keeps_result=False)


def injected(options: Any) -> Way:
    return Way(top(options, middleware=[ToolInjectionMiddleware(tools_of(shop(options)))]))


def injected_function_tools(options: Any) -> Way:
    given = [Tool.from_function(function) for function in FUNCTIONS]
    return Way(with_providers(XMCP("s", middleware=[ToolInjectionMiddleware(given)], **options)), displays=False)


def of_a_provider(options: Any) -> Way:
    provider = LocalProvider()
    for function in FUNCTIONS:
        provider.tool(function)
    return Way(with_providers(XMCP("s", providers=[provider], **options)), displays=False)


def of_an_app(options: Any) -> Way:
    app = FastMCPApp("dash")
    for function in FUNCTIONS:
        app.tool(function)
    server = with_providers(XMCP("s", **options))
    server.add_provider(app)
    return Way(server, lambda name: hashed_backend_name("dash", name), displays=False)


def function_tools(options: Any) -> Way:
    server = with_providers(XMCP("s", **options))
    for function in FUNCTIONS:
        server.add_tool(Tool.from_function(function))
    return Way(server, displays=False)


def standalone_decorator(options: Any) -> Way:
    server = with_providers(XMCP("s", **options))
    for function in FUNCTIONS:
        server.add_tool(standalone(function))
    return Way(server, displays=False)


def with_tasks(server: Any) -> Any:
    server.add_extension(TasksExtension(url="memory://"))
    return server


def background(options: Any) -> Way:
    return Way(with_tasks(shop(options, task=True)))


def background_required(options: Any) -> Way:
    return Way(with_tasks(shop(options, task=TaskConfig(mode="required"))))


def background_mounted_twice(options: Any) -> Way:
    server, middle = top(options), XMCP("middle")
    middle.mount(shop(options, task=True), namespace="in")
    server.mount(middle, namespace="out")
    return Way(with_tasks(server), lambda name: f"out_in_{name}")


def background_in_fastmcp(options: Any) -> Way:
    server: FastMCP[Any] = FastMCP("plain")
    server.mount(shop(options, task=True))
    return Way(with_tasks(server), documents=False)


def background_function_tools(options: Any) -> Way:
    server = with_tasks(with_providers(XMCP("s", **options)))
    for function in FUNCTIONS:
        server.add_tool(Tool.from_function(function, task=True))
    return Way(server, displays=False)


def background_of_a_provider(options: Any) -> Way:
    provider = LocalProvider()
    for function in FUNCTIONS:
        provider.tool(function, task=True)
    return Way(with_tasks(with_providers(XMCP("s", providers=[provider], **options))), displays=False)


WAYS = [
    direct,
    mounted,
    mounted_twice,
    mounted_in_fastmcp,
    proxied,
    transformed,
    transformed_by_a_function,
    transformed_on_another_server,
    added_to_another_server,
    renamed_by_a_transform,
    found_by_search,
    called_by_code,
    called_by_a_tool,
    called_by_a_tool_that_catches,
    injected,
    injected_function_tools,
    of_a_provider,
    of_an_app,
    function_tools,
    standalone_decorator,
    background,
    background_required,
    background_mounted_twice,
    background_in_fastmcp,
    background_function_tools,
    background_of_a_provider,
]


# ---- the calls ----


@dataclass
class Answer:
    """What a client reads, on either wire."""

    code: str | None
    message: str
    text: str | None
    display: Any
    filled: Any
    structured: Any
    pointers: list[str]

    @classmethod
    def of(cls, result: CallToolResult, reply: Any, *, document: bool) -> Answer:
        if document:
            read = reply(result)
            pointers = [one["pointer"] for one in read.meta.get("fields", [])]
            return cls(read.code, read.message, read.llm_output, read.display, read.filled, read.structured, pointers)
        meta = result.meta or {}
        assert meta[RESULT_META_KEY]["form"] == "plain"
        error = meta.get(ERROR_META_KEY, {})
        pointers = [one["pointer"] for one in error.get("meta", {}).get("fields", [])]
        texts = "".join(block.text for block in result.content if not block.meta and not block.annotations)  # type: ignore[union-attr]
        shown, filled = meta.get(DISPLAY_META_KEY), meta.get(POPULATED_META_KEY)
        return cls(error.get("code"), error.get("message"), texts, shown, filled, result.structured_content, pointers)


CHART = {"type": "text", "payload": "seen", "alt": "told"}


def _refuses(code: str, message: str = "") -> Callable[[Answer], bool]:
    return lambda answer: answer.code == code and message in answer.message and answer.structured is None


def _is_told(text: str) -> bool:
    """A task does not know, while it runs, who will fetch its result; other ways give the data, and the truth."""
    return text == "told" or text.replace("\n", "") in (f"seen{PERHAPS_NOT_SHOWN}", f"told{PERHAPS_NOT_SHOWN}")


CALLS: list[tuple[str, dict[str, Any], Callable[[Answer], bool]]] = [
    (
        "whoami",
        {"note": "n"},
        lambda a: a.structured == {"user": "u-1", "note": "n"} and a.filled == {"values": {"user": "u-1"}},
    ),
    ("whoami", {"note": "n", "user": "evil"}, _refuses("FORBIDDEN_PARAM_OVERRIDE")),
    ("leaks", {}, lambda a: a.text == "the key is [redacted]" and a.filled == {"redacted": ["key"]}),
    ("leaks_by_error", {}, _refuses("CONFLICT", "the key [redacted] is locked")),
    ("crashes", {}, _refuses("INTERNAL")),
    ("refuses", {}, _refuses("CONFLICT", "changed meanwhile")),
    ("plain", {}, lambda a: a.structured == {"n": 3} and a.code is None),
    ("response", {}, lambda a: a.text == "hi there" and a.code is a.structured is None),
    # Nothing says that this client shows displays.
    ("chart", {"show_user": True}, lambda a: (a.display, a.structured) == (CHART, None) and _is_told(a.text or "")),
    ("chart", {}, lambda a: (a.text, a.display, a.structured) == ("seen", None, None)),
]


ERAS = [(way, era) for way in WAYS for era in ("auto", "legacy") if (way, era) != (background_required, "legacy")]


@pytest.mark.parametrize("wire", ["always", "negotiated"])
@pytest.mark.parametrize(("way", "era"), ERAS, ids=[f"{way.__name__}-{era}" for way, era in ERAS])
async def test_a_tool_answers_the_same_in_whichever_way_it_is_run(
    way: Callable[[Any], Way], wire: str, era: str, reply: Any
) -> None:
    row = way({"wire": wire, "on_param_override": "reject"})
    document = wire == "always" and (row.documents or era == "legacy")
    async with Client(row.server, mode=era, timeout=300) as client:
        for name, given, holds in CALLS:
            if name == "chart" and not row.displays:
                continue
            result = await client.call_tool_mcp(row.name(name), row.arguments(name, given))
            sent = result.model_dump_json(by_alias=True)
            assert SECRET not in sent, (name, sent)
            assert "evil" not in sent, (name, sent)
            answer = Answer.of(result, reply, document=document)
            assert not row.keeps_result or holds(answer), (name, given, answer)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_value_that_the_caller_sent_is_replaced_in_every_way(way: Callable[[Any], Way], reply: Any) -> None:
    row = way({"wire": "always", "on_param_override": "override"})
    async with Client(row.server, timeout=300) as client:
        result = await client.call_tool_mcp(row.name("whoami"), row.arguments("whoami", {"note": "n", "user": "evil"}))
    assert "evil" not in result.model_dump_json()
    answer = Answer.of(result, reply, document=row.documents)
    if row.keeps_result:
        assert answer.structured == {"user": "u-1", "note": "n"}
        assert answer.filled == {"values": {"user": "u-1"}, "overridden": ["user"]}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_no_way_lists_a_parameter_that_the_server_fills_in(way: Callable[[Any], Way]) -> None:
    row = way({"wire": "always"})
    async with Client(row.server, timeout=300) as client:
        listed = {tool.name: tool.input_schema.get("properties", {}) for tool in await client.list_tools()}
    assert not {"user", "key"} & {name for properties in listed.values() for name in properties}
