"""The OpenAI path for real: the openai SDK, a loopback model, two servers, three calls at once, one of them failing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xmcp.client import AIClient
from xmcp.wire import ToolResponse

CALLS = [
    ("call_a", "show", '{"title": "Sales", "rows": 2}'),
    ("call_b", "fail", "{}"),
    ("call_c", "add", '{"a": 2, "b": 3}'),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "way"), [("memory", "whole"), ("memory", "streamed"), ("http", "streamed"), ("stdio", "streamed")]
)
async def test_three_calls_of_one_turn_over_two_servers_one_failing(
    chat_server: Any, servers: Any, http: Any, stdio: Any, valid: Any, way: str, transport: str
) -> None:
    reply = getattr(chat_server.reply, way)
    chat_server.replies = [reply("Let me look.", CALLS), reply("All done: 5.")]
    shop, plain = servers.xmcp_style(), servers.plain()
    targets: list[Any] = {
        "memory": lambda: [shop, plain],
        "http": lambda: [shop, plain],
        "stdio": lambda: [stdio("xmcp"), " ".join(stdio("plain"))],
    }[transport]()
    if transport == "http":
        targets = [await http(shop), await http(plain) + "/mcp"]
    shown: list[Any] = []
    history: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]

    async with AIClient(
        targets,
        openai_api_key="sk-test",
        openai_base_url=chat_server.url,
        llm_model="m",
        on_display=lambda envelope, at: shown.append((envelope, at)),
    ) as ai:
        result = await ai.chat("Sales?", history)

    assert history == [{"role": "system", "content": "Be brief."}]
    system, user, assistant, *tools, answer = result["history"]
    assert (system["role"], user) == ("system", {"role": "user", "content": "Sales?"})
    assert assistant == {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in CALLS
        ],
    }
    assert [(tool["role"], tool["tool_call_id"], tool["name"]) for tool in tools] == [
        ("tool", id_, name) for id_, name, _ in CALLS
    ]
    show, fail, add = [ToolResponse.from_xml(tool["content"]) for tool in tools]
    assert show.llm_output == "Shown: Sales"
    assert show.display is not None
    assert fail.error is not None
    assert (fail.error.code, fail.llm_output) == ("TOOL_ERROR", None)
    assert "the disk is full" in fail.error.message
    assert (add.tool_name, add.llm_output) == ("add", "5")
    assert answer == {"role": "assistant", "content": "All done: 5."}

    assert (result["answer"], result["stop_reason"]) == ("All done: 5.", "stop")
    assert result["display"] == result["displays"][0] == shown[0][0]
    assert result["display"].to_dict() == {"type": "table", "title": "Sales", "payload": [{"n": 0}, {"n": 1}]}
    assert result["usage"] == {
        "input_tokens": 20,
        "output_tokens": 10,
        "cached_tokens": 4,
        "reasoning_tokens": None,
        "cost_usd": None,
        "llm_calls": 2,
    }
    for each in (result["history"], shown[0][1]):
        valid(each)
    assert chat_server.requests[1]["messages"] == result["history"][:-1]
    assert len(chat_server.requests) == 2


async def test_both_requests_offer_the_same_tools_in_a_stable_order(chat_server: Any, servers: Any) -> None:
    chat_server.replies = [
        chat_server.reply.streamed(calls=[("c", "tell", '{"text": "hi"}')]),
        chat_server.reply.streamed("ok"),
    ]
    async with AIClient(
        [servers.xmcp_style(), servers.plain()], openai_api_key="k", openai_base_url=chat_server.url
    ) as ai:
        await ai.chat("q", [])
    first, second = (json.dumps(request["tools"]) for request in chat_server.requests)
    assert first == second
    names = [tool["function"]["name"] for tool in chat_server.requests[0]["tools"]]
    assert names[:2] == ["show", "tell"]
    assert {"add", "fail", "forge"} < {*names}
    add = next(tool for tool in chat_server.requests[0]["tools"] if tool["function"]["name"] == "add")
    assert add["function"]["description"] == "Add two numbers."
    assert add["function"]["parameters"]["required"] == ["a", "b"]


async def test_the_client_closes_the_provider_it_made_and_makes_its_connections_anew(chat_server: Any) -> None:
    chat_server.replies = [chat_server.reply.streamed("ok")]
    client = AIClient([], openai_api_key="k", openai_base_url=chat_server.url)
    for connections in (1, 2):
        async with client:
            assert (await client.chat("q", []))["answer"] == "ok"
        assert chat_server.connections == connections


async def test_a_turn_that_shows_everything_ends_without_a_second_call_of_the_model(
    chat_server: Any, servers: Any, valid: Any
) -> None:
    calls = [("a", "show", '{"title": "one"}'), ("b", "show", '{"title": "two"}')]
    chat_server.replies = [chat_server.reply.streamed(calls=calls)]
    async with AIClient([servers.xmcp_style()], openai_api_key="k", openai_base_url=chat_server.url) as ai:
        result = await ai.chat("q", [])
    assert len(chat_server.requests) == 1
    assert (result["answer"], result["stop_reason"]) == (None, "display")
    assert [display.title for display in result["displays"]] == ["one", "two"]
    valid(result["history"])
