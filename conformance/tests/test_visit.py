"""Which calls a visit makes, on low-level servers of the SDK in this process."""

from __future__ import annotations

import io

import mcp_types
import pytest
from mcp.server import Server
from rich.console import Console

from xmcp_conformance.hosts import tokens
from xmcp_conformance.hosts.picture import picture
from xmcp_conformance.hosts.rules import hosts
from xmcp_conformance.profiles.server import visit as module
from xmcp_conformance.profiles.server.arguments import readable
from xmcp_conformance.profiles.server.clients import ClientKind
from xmcp_conformance.profiles.server.peers import InMemoryPeer
from xmcp_conformance.profiles.server.visit import NO_TOOL, SHOWN, NoSuchTool, VisitOptions, visit
from xmcp_conformance.reports import see_terminal
from xmcp_conformance.reports.see_terminal import show
from xmcp_conformance.wrong.servers.miniature import Negotiated

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def peer(answer, **schemas):
    """A server whose tools have these schemas and answer with the function `answer`; it keeps all calls."""
    calls = []
    read_only = mcp_types.ToolAnnotations(read_only_hint=True)

    async def list_tools(*_):
        tools = [
            mcp_types.Tool(name=name, input_schema=schema, annotations=None if name == "wipe" else read_only)
            for name, schema in schemas.items()
        ]
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(_, params):
        calls.append((params.name, params.arguments))
        return mcp_types.CallToolResult.model_validate(answer(params.name, params.arguments or {}))

    return InMemoryPeer(Server("s", on_list_tools=list_tools, on_call_tool=call_tool)), calls


def said(words, **members):
    return {"content": [{"type": "text", "text": words}], **members}


async def test_each_read_only_tool_is_called_rightly_and_wrongly_and_a_tool_that_does_not_exist_once():
    server, calls = peer(lambda *_: said("x"), weather=CITY, wipe=CITY)
    seen = await visit(server, VisitOptions())
    assert calls == [
        ("weather", {"city": "city"}),
        ("weather", {}),
        ("xmcp_conformance_no_such_tool", {}),
    ]
    weather, wipe, none = seen.tools
    assert [case.title for case in weather.cases] == ["", "wrong arguments: `city` missing"]
    assert (wipe.cases, "--allow-writes" in wipe.not_called) == ([], True)
    assert (none.exists, none.cases[0].title) == (False, NO_TOOL)


async def test_a_tool_that_may_write_is_called_only_if_that_is_allowed():
    server, calls = peer(lambda *_: said("x"), wipe={"type": "object"})
    await visit(server, VisitOptions(allow_writes=True, tools=("wipe",)))
    assert calls == [("wipe", {})]


async def test_arguments_are_tried_until_a_call_succeeds():
    def answer(_, arguments):
        return said("x", isError=arguments.get("city") == "city")

    server, _ = peer(answer, weather=CITY)
    case = (await visit(server, VisitOptions())).tools[0].cases[0]
    assert case.arguments != {"city": "city"}
    assert not case.plain.is_error


async def test_of_a_tool_that_always_fails_the_first_call_is_seen():
    server, _ = peer(lambda *_: said("no", isError=True), weather=CITY)
    assert (await visit(server, VisitOptions())).tools[0].cases[0].arguments == {"city": "city"}


async def test_given_arguments_are_the_only_ones():
    server, calls = peer(lambda *_: said("x"), weather=CITY)
    await visit(server, VisitOptions(tools=("weather",), arguments={"town": 1}))
    assert calls == [("weather", {"town": 1})]


async def test_a_tool_that_the_server_does_not_have_is_refused_with_the_names_that_it_has():
    server, _ = peer(lambda *_: said("x"), weather=CITY)
    with pytest.raises(NoSuchTool, match=r"no tool `wether`\. Did you mean `weather`"):
        await visit(server, VisitOptions(tools=("wether",)))


async def test_a_second_server_gets_the_calls_of_the_first():
    first, _ = peer(lambda *_: said("x"), weather=CITY)
    second, calls = peer(lambda *_: said("y"), weather={"type": "object"}, other={"type": "object"})
    seen = await visit(first, VisitOptions())
    beside = await visit(second, VisitOptions(), {tool.name: tool.cases for tool in seen.tools})
    assert calls[:2] == [("weather", {"city": "city"}), ("weather", {})]
    assert "the first server was not asked" in beside.tools[1].not_called


async def test_more_tools_than_the_limit_are_counted_and_not_called():
    server, calls = peer(lambda *_: said("x"), a=CITY, b=CITY, c=CITY)
    seen = await visit(server, VisitOptions(most_tools=1))
    assert seen.left_out == 2
    assert {name for name, _ in calls} == {"a", "xmcp_conformance_no_such_tool"}


async def test_a_tool_that_does_not_answer_is_not_called_again(monkeypatch):
    server, calls = peer(lambda *_: said("x"), weather=CITY)
    monkeypatch.setattr(module.Session, "call", _silent)
    cases = (await visit(server, VisitOptions())).tools[0].cases
    assert calls == []
    assert cases[0].plain.failure == "no answer within 1 s"
    assert cases[1].plain.failure == "no answer within 1 s, in a call before this one"


async def _silent(_, call):
    return module.Exchange(call, lost="no answer within 1 s")


async def test_a_server_that_announces_xmcp_is_asked_again_by_a_client_that_declares_it():
    seen = await visit(InMemoryPeer(Negotiated().server()), VisitOptions())
    answered = [case for tool in seen.tools for case in tool.cases if case.plain.result and not case.plain.is_error]
    assert seen.announces
    assert answered
    assert all(case.declared.is_document and not case.plain.is_document for case in answered)
    shown = [case for case in answered if case.title == SHOWN]
    assert {case.tool for case in shown} == {"card", "picture", "board"}
    assert all(case.plain.display["type"] == case.declared.display["type"] for case in shown)


async def test_a_server_that_takes_one_connection_shows_what_it_answered_and_says_why_the_other_half_is_missing(
    monkeypatch,
):
    connect = module.connect

    def once(*given, kind, **times):
        if kind is not ClientKind.PLAIN:
            raise module.PeerUnavailable("The server takes one client.")
        return connect(*given, kind=kind, **times)

    monkeypatch.setattr(module, "connect", once)
    seen = await visit(InMemoryPeer(Negotiated().server()), VisitOptions())
    cases = [case for tool in seen.tools for case in tool.cases]
    assert any(case.plain.result for case in cases)
    assert {case.declared.failure for case in cases} == {"not asked again: The server takes one client."}
    out = io.StringIO()
    show([picture(seen, hosts(), tokens.ESTIMATE)], Console(file=out, width=80))
    assert "No answers for AIClient: The server takes one client.\n" in out.getvalue()


async def test_a_view_of_mcp_apps_is_known():
    async def list_tools(*_):
        meta = {"ui": {"resourceUri": "ui://x"}}
        annotations = mcp_types.ToolAnnotations(read_only_hint=True)
        tool = mcp_types.Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, "_meta": meta})
        return mcp_types.ListToolsResult(tools=[tool.model_copy(update={"annotations": annotations})])

    async def call_tool(*_):
        return mcp_types.CallToolResult(content=[])

    server = InMemoryPeer(Server("s", on_list_tools=list_tools, on_call_tool=call_tool))
    assert (await visit(server, VisitOptions())).tools[0].cases[0].plain.view


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        ({"city": {"type": "string"}}, {"city": "city"}),
        ({"days": {"type": "integer", "minimum": 3}}, {"days": 3}),
        ({"unit": {"enum": ["C", "F"]}}, {"unit": "C"}),
        ({"unit": {"type": "string", "examples": ["K"]}}, {"unit": "K"}),
        ({"deep": {"$ref": "#/$defs/D"}}, {"deep": False}),
        ({"rows": {"type": "array", "items": {}}}, {"rows": []}),
        ({"any": True}, {"any": "any"}),
        ({"short": {"type": "string", "maxLength": 2}}, None),
        ({"code": {"type": "string", "pattern": "^(a+)+$"}}, None),
        ({"lost": {"$ref": "#/nowhere"}}, None),
        ({"odd": {"type": 7}}, None),
    ],
)
def test_arguments_for_people_are_used_only_where_they_fit(properties, arguments):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    assert readable({**schema, "$defs": {"D": {"type": "boolean"}}}) == arguments


async def test_of_calls_without_a_result_nothing_is_said(monkeypatch):
    call = module.Session.call

    async def silent_once(session, made):
        return await (_silent(session, made) if made.name == "slow" else call(session, made))

    server, _ = peer(lambda *_: said("x"), weather=CITY, slow=CITY)
    monkeypatch.setattr(module.Session, "call", silent_once)
    seen = picture(await visit(server, VisitOptions()), hosts()[:1], tokens.ESTIMATE)
    out = io.StringIO()
    show([seen], Console(file=out, width=80))
    assert seen.answered
    assert seen.findings == []
    assert "2 calls had no result" in out.getvalue()
    assert "Nothing is lost" not in out.getvalue()


def test_numbers_of_tokens_fit_their_column():
    for range_, shown in (
        ((3, 3), "3"),
        ((5_877, 7_130), "5,877–7,130"),
        ((12_345, 15_000), "12.3k–15.0k"),
        ((99_999, 1_234_567), "100.0k–1,234k"),
    ):
        assert see_terminal._tokens(range_) == shown
