"""Clients with tools of their own: the model calls them beside those inside, and the client's results continue it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from support.gateways import chunks_in, events_in, served
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.completions import VendorState
from xmcp.gateway.decoders.ui_messages import _of_parts, joined
from xmcp.gateway.keys import digest
from xmcp.providers import Completion

QUESTION: Mapping[str, Any] = {"role": "user", "content": "go"}


def tool(name: str = "ask_page") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"question": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": "Asks.", "parameters": schema}}


TOOLS = [tool()]
ASK: dict[str, Any] = {"model": "assistant", "messages": [QUESTION], "tools": TOOLS}
CALL = ("ask_page", {"question": "which?"})
MIXED = asks(CALL, ("add", {"a": 2, "b": 3}), text="I ask.")


def sent(model: ScriptedModel, request: int = -1) -> list[tuple[str, Any]]:
    """Return role and content of what the model was sent; of an answer with calls, the text and the ids."""
    return [
        (
            one["role"],
            (one["content"], [call["id"] for call in one["tool_calls"]]) if "tool_calls" in one else one["content"],
        )
        for one in model.requests[request].messages
    ]


def offered(model: ScriptedModel, request: int = -1) -> set[str]:
    return {one["function"]["name"] for one in model.requests[request].tools.tools}


def keys(*tenants: str) -> dict[str, Any]:
    return {"keys": [{"name": one, "tenant": one, "hash": f"sha256:{digest(f'xmcp_{one}').hex()}"} for one in tenants]}


async def test_openais_client_runs_its_own_tool_and_the_model_reads_what_ran_inside_too() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1})), MIXED, "It is blue.")
    async with served(model) as gateway, gateway.openai() as client:
        messages: list[Any] = [QUESTION]
        first = await client.chat.completions.create(model="assistant", messages=messages, tools=TOOLS)
        (choice,) = first.choices
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", "I ask.")
        (call,) = choice.message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == CALL
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "blue"}]
        last = await client.chat.completions.create(model="assistant", messages=messages, tools=TOOLS)
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].message.content == "It is blue."
    assert gateway.shop.calls == ["add", "add"]
    assert offered(model) == {"add", "sales", "fail", "wait", "ask_page"}
    told = sent(model)
    assert [role for role, _ in told] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
    assert ">2<" in told[2][1]
    assert told[3] == ("assistant", ("I ask.", [call.id, "c1"]))
    assert told[4] == ("tool", "blue")
    assert ">5<" in told[5][1]


async def test_a_stream_has_the_calls_of_the_client_and_none_of_those_that_ran_inside() -> None:
    for profile in ("none", "xmcp", "openwebui"):
        async with served(ScriptedModel(MIXED), {"openai": {"events": profile}}) as gateway, gateway.http() as http:
            answer = await http.post("/v1/chat/completions", json={**ASK, "stream": True})
        *chunks, done = chunks_in(answer.text)
        assert done == "[DONE]"
        deltas = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
        calls = [call for one in deltas for call in one["delta"].get("tool_calls", ())]
        assert [(call["index"], call["function"]["name"]) for call in calls] == [(0, "ask_page")]
        assert deltas[-1]["finish_reason"] == "tool_calls"
        assert [one["finish_reason"] for one in deltas[:-1]] == [None] * (len(deltas) - 1)


async def test_openais_stream_helper_and_its_loop_of_tools_go_through_two_rounds() -> None:
    model = ScriptedModel(MIXED, asks(CALL, CALL), "It is blue.")
    async with served(model) as gateway, gateway.openai() as client:
        messages: list[Any] = [QUESTION]
        for _ in range(3):
            async with client.chat.completions.stream(model="assistant", messages=messages, tools=TOOLS) as stream:
                async for _ in stream:
                    pass
                completion = await stream.get_final_completion()
            message = completion.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": f"r{place}"}]}
                for place, call in enumerate(message.tool_calls)
            ]
    assert message.content == "It is blue."
    told = sent(model)
    assert [role for role, _ in told] == ["user", "assistant", "tool", "tool", "assistant", "tool", "tool"]
    assert [text for role, text in told if role == "tool" and ">5<" not in text] == ["r0", "r0", "r1"]


async def test_state_of_a_vendor_comes_back_with_the_results() -> None:
    state = VendorState("model", {"signature": "s"})
    call = asks(CALL)
    model = ScriptedModel(Completion("", call.tool_calls, "tool_calls", vendor_state=state), "done")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.chat.completions.create(**ASK)
        message = first.choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "x"}
        await client.chat.completions.create(**{**ASK, "messages": [QUESTION, message, result]})
    assert "signature" in json.dumps(list(model.requests[-1].messages))


async def follow_up(http: Any, call_id: str, **headers: str) -> Any:
    function = {"name": "ask_page", "arguments": '{"question": "which?"}'}
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }
    messages = [QUESTION, said, {"role": "tool", "tool_call_id": call_id, "content": "blue"}]
    return await http.post("/v1/chat/completions", json={**ASK, "messages": messages}, headers=headers)


async def first_call(http: Any, **headers: str) -> str:
    answer = await http.post("/v1/chat/completions", json=ASK, headers=headers)
    call_id: str = answer.json()["choices"][0]["message"]["tool_calls"][0]["id"]
    return call_id


@pytest.mark.parametrize("settings", [{"client_tool_seconds": 0}, {"client_tool_bytes": 0}])
async def test_where_the_round_is_lost_the_history_of_the_client_is_what_the_model_reads(settings: Any) -> None:
    model = ScriptedModel(MIXED, "done")
    async with served(model, {"runs": settings}) as gateway, gateway.http() as http:
        call_id = await first_call(http)
        answer = await follow_up(http, call_id)
    assert answer.status_code == 200
    assert sent(model) == [("user", "go"), ("assistant", (None, [call_id])), ("tool", "blue")]


async def test_an_id_of_another_tenant_or_a_made_up_one_gets_at_nothing() -> None:
    model = ScriptedModel(MIXED, then="done")
    async with served(model, keys("acme", "evil")) as gateway, gateway.http() as http:
        call_id = await first_call(http, authorization="Bearer xmcp_acme")
        for stolen in (call_id, f"ct_{'0' * 32}_0", "c0", "x" * 4):
            answer = await follow_up(http, stolen, authorization="Bearer xmcp_evil")
            assert answer.status_code == 200
            assert [role for role, _ in sent(model)] == ["user", "assistant", "tool"]
        await follow_up(http, call_id, authorization="Bearer xmcp_acme")
    assert [role for role, _ in sent(model)] == ["user", "assistant", "tool", "tool"]


async def test_a_call_that_a_client_sends_many_times_brings_its_round_back_once() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1}), text="x" * 10_000), asks("ask_page"), "ok")
    async with served(model) as gateway, gateway.http() as http:
        call_id = await first_call(http)
        function = {"name": "ask_page", "arguments": "{}"}
        call = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }
        turn = [call, {"role": "tool", "tool_call_id": call_id, "content": "blue"}]
        answer = await http.post("/v1/chat/completions", json={**ASK, "messages": [QUESTION, *turn * 50]})
    assert answer.status_code == 200
    assert sum(len(message["content"] or "") for message in model.requests[-1].messages) < 30_000


async def test_a_name_that_a_tool_of_the_gateway_has_is_refused_with_that_name() -> None:
    model = ScriptedModel(then="hi")
    async with served(model) as gateway, gateway.http() as http:
        refused = await http.post("/v1/chat/completions", json={**ASK, "tools": [tool("other"), tool("add")]})
        native = await http.post("/chat", json={"input": "go", "client_tools": [tool("add")]})
        plain = await http.post(
            "/v1/chat/completions", json={**ASK, "model": "assistant:plain", "tools": [tool("add")]}
        )
    for answer, member in ((refused, "tools"), (native, "client_tools")):
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert (error["code"], error["param"]) == ("tool_name_clash", member)
        assert "'add'" in error["message"]
    assert plain.status_code == 200
    assert offered(model) == {"add"}


@pytest.mark.parametrize(
    ("wanted", "choice", "names"),
    [
        ("auto", None, {"add", "sales", "fail", "wait", "ask_page"}),
        ("none", "none", {"ask_page"}),
        ("required", "required", {"ask_page"}),
        ({"type": "function", "function": {"name": "ask_page"}}, "ask_page", {"ask_page"}),
    ],
)
async def test_a_choice_of_tools_is_one_among_those_of_the_client(wanted: Any, choice: Any, names: set[str]) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, "tool_choice": wanted})
    assert answer.status_code == 200
    assert model.requests[0].sampler.tool_choice == choice
    assert offered(model) == names


async def test_a_client_that_takes_one_call_at_a_time_gets_one() -> None:
    model = ScriptedModel(asks(CALL, CALL), "done")
    async with served(model) as gateway, gateway.openai() as client:
        first = await client.chat.completions.create(**ASK, parallel_tool_calls=False)
        message = first.choices[0].message
        (call,) = message.tool_calls
        result = {"role": "tool", "tool_call_id": call.id, "content": "blue"}
        await client.chat.completions.create(**{**ASK, "messages": [QUESTION, message, result]})
    answers = [text for role, text in sent(model) if role == "tool"]
    assert answers[0] == "blue"
    assert 'code="CANCELLED"' in answers[1]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools"),
        ({"tools": "x"}, "tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
        ({"functions": [{"name": "x"}]}, "functions"),
        ({"messages": [QUESTION, {"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "messages[1].tool_calls[0]"),
        ({"messages": [QUESTION, {"role": "tool", "tool_call_id": "x", "content": "y"}]}, "messages"),
        ({"messages": [QUESTION, {"role": "assistant", "content": "hi"}]}, "messages[1].role"),
    ],
)
async def test_what_is_wrong_is_refused_with_its_place(change: Any, param: str) -> None:
    model = ScriptedModel("hi")
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/v1/chat/completions", json={**ASK, **change})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert model.requests == []


async def test_the_native_chat_gives_the_calls_and_a_history_to_which_the_results_are_added() -> None:
    model = ScriptedModel(MIXED, "done", then="again")
    async with served(model) as gateway, gateway.http() as http:
        asked = {"input": "go", "client_tools": TOOLS, "history": True}
        first = (await http.post("/chat", json=asked)).json()
        assert (first["stop_reason"], first["answer"]) == ("tool_calls", None)
        (call,) = first["tool_calls"]
        assert (call["tool"], call["arguments"]) == CALL
        state = (await http.get(f"/runs/{first['run_id']}")).json()
        assert state["tool_calls"] == first["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["call_id"], "content": "blue"}
        second = await http.post("/chat", json={"messages": [*first["history"], result], "client_tools": TOOLS})
        assert second.json()["answer"] == "done"
        events = await http.post("/chat", json={**asked, "input": "x"}, headers={"accept": "text/event-stream"})
    assert [role for role, _ in sent(model, 1)] == ["user", "assistant", "tool", "tool"]
    assert sent(model, 1)[2] == ("tool", "blue")
    assert events_in(events.text)[-1][0] == "run.finished"


async def test_a_history_that_has_what_ran_inside_gets_it_back_no_second_time() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 1})), asks(CALL), "done")
    async with served(model) as gateway, gateway.http() as http:
        asked = {"input": "go", "client_tools": TOOLS, "history": True}
        first = (await http.post("/chat", json=asked)).json()
        result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["call_id"], "content": "blue"}
        await http.post("/chat", json={"messages": [*first["history"], result], "client_tools": TOOLS})
    assert [role for role, _ in sent(model)] == ["user", "assistant", "tool", "assistant", "tool"]


PARTS: list[Any] = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "go"}]}]
PAGE_TOOLS = {"ask_page": {"description": "Asks.", "parameters": {"type": "object"}}}


async def test_a_page_of_the_ai_sdk_gets_the_call_and_sends_its_output_in_the_same_message() -> None:
    model = ScriptedModel(asks(("add", {"a": 2, "b": 3}), text="I add."), MIXED, "done", "later")
    async with served(model) as gateway, gateway.http() as http:
        body = {"id": "chat-1", "messages": PARTS, "tools": PAGE_TOOLS}
        values = [value for _, _, value in events_in((await http.post("/ui/ai-sdk", json=body)).text)]
        calls = [one for one in values if one != "[DONE]" and one["type"] == "tool-input-available"]
        (call,) = [one for one in calls if "providerExecuted" not in one]
        assert (call["toolName"], call["input"]) == CALL
        assert values[-2]["finishReason"] == "tool-calls"
        parts: list[Any] = [
            {"type": "step-start"},
            {"type": "text", "text": "I add."},
            {"type": "dynamic-tool", "toolName": "add", "toolCallId": "c0", "state": "output-available", "output": "5"},
            {"type": "step-start"},
            {"type": "text", "text": "I ask."},
            {"type": "tool-ask_page", "toolCallId": call["toolCallId"], "input": call["input"]},
        ]
        answered = [*parts[:-1], {**parts[-1], "state": "output-available", "output": {"colour": "blue"}}]
        said = {"id": "2", "role": "assistant", "parts": answered}
        await http.post("/ui/ai-sdk", json={**body, "messages": [*PARTS, said]})
        assert [role for role, _ in sent(model)] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
        assert sent(model)[4] == ("tool", '{"colour":"blue"}')
        # The person goes on without an answer, in the same conversation.
        said = {"id": "2", "role": "assistant", "parts": [{**part, "state": "input-available"} for part in parts]}
        await http.post("/ui/ai-sdk", json={**body, "messages": [*PARTS, said, {**PARTS[0], "id": "3"}]})
    assert [role for role, _ in sent(model)] == ["user", "assistant", "tool", "assistant", "tool", "tool", "user"]
    assert "no result" in sent(model)[4][1]


async def test_an_ag_ui_client_gets_the_call_and_its_messages_are_joined() -> None:
    added = asks(("add", {"a": 1, "b": 1}), text="I add.")
    model = ScriptedModel(added, asks(CALL, ("add", {"a": 2, "b": 3}), CALL, text="I ask."), "done")
    run: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "context": [], "forwardedProps": {}}
    tools = [{"name": "ask_page", "description": "Asks.", "parameters": {"type": "object"}}]
    messages: list[Any] = [{"id": "1", "role": "user", "content": "go"}]
    async with served(model) as gateway, gateway.http() as http:
        answer = await http.post("/ui/ag-ui", json={**run, "tools": tools, "messages": messages})
        values = [value for _, _, value in events_in(answer.text)]
        began = [one for one in values if one["type"] == "TOOL_CALL_START" and "parentMessageId" in one]
        ids = [one["toolCallId"] for one in began]
        assert [one["toolCallName"] for one in began] == ["ask_page", "ask_page"]
        assert values[-1]["result"] == {"stopReason": "tool_calls"}
        function = {"name": "ask_page", "arguments": "{}"}
        messages += [
            {"id": "1a", "role": "assistant", "content": "I add."},
            {"id": "1b", "role": "assistant", "toolCalls": [{"id": "c0", "type": "function", "function": function}]},
            {"id": "1c", "role": "tool", "toolCallId": "c0", "content": "2"},
            {"id": "2", "role": "assistant", "content": "I ask."},
            {"id": "3", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": function}]},
            {"id": "4", "role": "tool", "toolCallId": "c1", "content": "5"},
            {"id": "5", "role": "assistant", "toolCalls": [{"id": ids[0], "type": "function", "function": function}]},
            {"id": "6", "role": "assistant", "toolCalls": [{"id": ids[1], "type": "function", "function": function}]},
            {"id": "7", "role": "tool", "toolCallId": ids[0], "content": "blue"},
            {"id": "8", "role": "tool", "toolCallId": ids[1], "content": "green"},
        ]
        await http.post("/ui/ag-ui", json={**run, "tools": tools, "messages": messages})
    told = sent(model)
    assert [role for role, _ in told] == ["user", "assistant", "tool", "assistant", "tool", "tool", "tool"]
    assert told[1] == ("assistant", ("I add.", ["c0"]))
    assert told[3] == ("assistant", ("I ask.", [ids[0], "c1", ids[1]]))
    assert (told[4][1], told[6][1]) == ("blue", "green")
    assert ">5<" in told[5][1]


def test_what_was_said_before_a_call_is_one_message_with_it_and_other_messages_stay() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    said: dict[str, Any] = {"role": "assistant", "content": "a"}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    one = {**said, "content": "a\n\na", "tool_calls": [call]}
    last = {**said, "content": None, "tool_calls": [call]}
    assert joined([QUESTION, said, said, {**last}, result, said]) == [QUESTION, one, result, said]
    assert joined([QUESTION, said, said]) == [QUESTION, said, said]
    assert joined([last, QUESTION])[1]["content"].startswith("There is no result")


async def test_what_a_page_sends_costs_a_time_that_grows_no_faster_than_its_size() -> None:
    def spent(size: int) -> float:
        said = {"role": "assistant", "content": "x"}
        call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
        calls = [{**said, "tool_calls": [{**call, "id": f"c{n}"}]} for n in range(size)]
        answers = [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(size)]
        parts = [{"type": "step-start"}] * (10 * size)
        began = time.process_time()
        for _ in range(3):
            assert len(joined([*calls, *answers])) == size + 1
            assert [*_of_parts({"role": "assistant", "parts": parts}, "messages[0]")] == [None]
        return time.process_time() - began

    spent(500)
    assert spent(20_000) < 200 * max(spent(1_000), 0.002)
