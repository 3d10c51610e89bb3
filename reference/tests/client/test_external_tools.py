"""Tools that the application runs itself: a call of one ends the chat, which goes on with its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from support.clock import never
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp import AIClient, Conversation, DisplayEnvelope, SamplerConfig, SyncAIClient
from xmcp.client import ChatWarning, Done, ToolRequested, ToolResult
from xmcp.wire import ToolResponse

Valid = Callable[[list[dict[str, Any]]], None]


def tool(name: str, **parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": parameters}
    return {"type": "function", "function": {"name": name, "description": "Of the page.", "parameters": schema}}


ASK = tool("ask_page", question={"type": "string"})
SHOWS = ToolResponse("show", "a", display=DisplayEnvelope(type="text", payload="a"))


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[one["function"]["name"] for one in request.tools.tools] for request in model.requests]


async def test_a_call_of_the_application_ends_the_chat_and_its_result_continues_it(valid: Valid) -> None:
    model = ScriptedModel(asks(("ask_page", {"question": "which?"}), text="I ask."), "It is blue.")
    async with AIClient([ScriptedServer({"add": "5"})], llm_provider=model) as ai:
        first = await ai.chat("colour?", [], external_tools=[ASK])
        assert (first["stop_reason"], first["answer"]) == ("tool_calls", None)
        (call,) = first.open_calls
        assert (call.tool_name, call.arguments, call.text) == (
            "ask_page",
            {"question": "which?"},
            '{"question": "which?"}',
        )
        valid(first["history"])
        assert 'code="CANCELLED"' in first["history"][-1]["content"]
        second = await ai.chat(None, first.answered({call.call_id: "blue"}), external_tools=[ASK])
    assert (second["stop_reason"], second["answer"]) == ("stop", "It is blue.")
    assert offered(model) == [["add", "ask_page"]] * 2
    said = [(one["role"], one["content"]) for one in model.requests[1].messages]
    assert said == [("user", "colour?"), ("assistant", "I ask."), ("tool", "blue")]
    assert second.open_calls == []


async def test_other_calls_of_the_turn_are_made_at_once_and_the_model_reads_all_results_in_call_order(
    valid: Valid,
) -> None:
    model = ScriptedModel(asks("ask_page", ("add", {}), "ask_page", "add"), "done")
    server = ScriptedServer({"add": "5"})
    async with AIClient([server], llm_provider=model) as ai:
        events = [event async for event in ai.stream_chat("q", [], external_tools=[ASK])]
        result = events[-1].result
        assert [event.call_id for event in events if isinstance(event, ToolRequested)] == ["c0", "c1", "c2", "c3"]
        assert [event.call_id for event in events if isinstance(event, ToolResult)] == ["c1", "c3"]
        assert [call.call_id for call in result.open_calls] == ["c0", "c2"]
        valid(result["history"])
        await ai.chat(None, result.answered({"c0": "one", "c2": "two"}), external_tools=[ASK])
    told = [one["content"] for one in model.requests[1].messages if one["role"] == "tool"]
    assert (told[0], told[2]) == ("one", "two")
    assert all(">5<" in text for text in told[1::2])


async def test_a_history_with_open_calls_can_be_continued_without_their_results() -> None:
    model = ScriptedModel(asks("ask_page"), "never mind")
    async with AIClient([], llm_provider=model) as ai:
        first = await ai.chat("q", [], external_tools=[ASK])
        again = await ai.chat("Leave it.", first["history"])
    assert again["answer"] == "never mind"
    assert offered(model) == [["ask_page"], []]


async def test_arguments_that_cannot_be_read_are_answered_at_once_and_the_model_asked_again() -> None:
    model = ScriptedModel(asks(("ask_page", "{no")), asks(("ask_page", {"question": "x"})))
    async with AIClient([], llm_provider=model) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
    assert 'code="VALIDATION_FAIL"' in model.requests[1].messages[-1]["content"]
    assert [call.arguments for call in result.open_calls] == [{"question": "x"}]


async def test_calls_above_the_limit_of_a_turn_are_not_handed_out(valid: Valid) -> None:
    model = ScriptedModel(asks("ask_page", "ask_page", "ask_page"))
    async with AIClient([], llm_provider=model, max_calls_per_turn=2) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
    assert [call.call_id for call in result.open_calls] == ["c0", "c1"]
    assert 'code="RATE_LIMIT"' in result["history"][-1]["content"]
    valid(result["history"])


async def test_open_calls_go_before_displays_and_after_a_question_and_the_time_limit(valid: Valid) -> None:
    server = ScriptedServer({"show": SHOWS, "hang": never})
    shown: list[Any] = []
    model = ScriptedModel(asks("ask_page", "show"))
    async with AIClient([server], llm_provider=model, on_display=lambda one, _: shown.append(one)) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
    assert result["stop_reason"] == "tool_calls"
    assert len(shown) == len(result["displays"]) == 1
    question = ("__clarify__", {"question": "Which?"})
    async with AIClient([], llm_provider=ScriptedModel(asks("ask_page", question)), meta_tools=True) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
    assert (result["stop_reason"], result["answer"], result.open_calls) == ("clarify", "Which?", [])
    valid(result["history"])
    late = ScriptedModel(asks("ask_page", "hang"))
    told: list[Any] = []
    async with AIClient(
        [server], llm_provider=late, chat_timeout=0.05, on_error=lambda one, _: told.append(one.code)
    ) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
    assert told == ["TIMEOUT", "TIMEOUT"]
    assert (result["stop_reason"], result.open_calls) == ("timeout", [])
    assert 'code="TIMEOUT"' in result["history"][-2]["content"]
    valid(result["history"])


async def test_a_chat_that_is_cancelled_beside_an_open_call_leaves_a_valid_history(valid: Valid) -> None:
    began = asyncio.Event()

    async def hang(_: Any) -> Any:
        began.set()
        return await never()

    model = ScriptedModel(asks("ask_page", "hang"))
    async with AIClient([ScriptedServer({"hang": hang})], llm_provider=model) as ai:
        stream = ai.stream_chat("q", [], external_tools=[ASK])

        async def read() -> None:
            async for _ in stream:
                pass

        task = asyncio.create_task(read())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream.aclose()
    valid(stream.history)


async def test_hooks_see_no_call_of_the_application() -> None:
    asked: list[str] = []
    model = ScriptedModel(asks("ask_page", "add"))
    async with AIClient(
        [ScriptedServer({"add": "5"})], llm_provider=model, approve=lambda call: asked.append(call.tool_name) or True
    ) as ai:
        await ai.chat("q", [], external_tools=[ASK])
    assert asked == ["add"]


async def test_a_name_that_a_server_has_too_is_refused_unless_that_tool_is_left_out() -> None:
    model = ScriptedModel(asks("add"))
    server = ScriptedServer({"add": "5", "other": "6"})
    async with AIClient([server], llm_provider=model) as ai:
        with pytest.raises(ValueError, match="external_tools has a tool 'add'"):
            ai.stream_chat("q", [], external_tools=[tool("add")])
        result = await ai.chat("q", [], tools=["other"], external_tools=[tool("add")])
    assert [call.tool_name for call in result.open_calls] == ["add"]
    assert offered(model) == [["other", "add"]]


async def test_a_tool_of_a_server_that_comes_later_does_not_take_the_place_of_one_of_the_application() -> None:
    server = ScriptedServer({"other": "6"})

    async def grows(_: Any) -> Any:
        server.acts["add"] = "5"
        await ai.refresh_tools()
        return asks("other")

    model = ScriptedModel(grows, asks("add"))
    async with AIClient([server], llm_provider=model) as ai:
        result = await ai.chat("q", [], external_tools=[tool("add")])
        assert [call.tool_name for call in result.open_calls] == ["add"]
    assert offered(model) == [["other", "add"]] * 2


async def test_a_provider_without_tools_is_warned_of() -> None:
    model = ScriptedModel("hi", supports_tools=False)
    async with AIClient([], llm_provider=model) as ai:
        events = [event async for event in ai.stream_chat("q", [], external_tools=[ASK])]
    assert any(isinstance(event, ChatWarning) and "takes no tools" in event.text for event in events)


async def test_a_choice_can_name_a_tool_of_the_application() -> None:
    model = ScriptedModel("a")
    async with AIClient([ScriptedServer({"add": "5"})], llm_provider=model) as ai:
        chosen = SamplerConfig(tool_choice="ask_page")
        await ai.chat("q", [], tools=[], external_tools=[ASK], sampler=chosen)
    assert model.requests[0].sampler.tool_choice == "ask_page"
    assert offered(model) == [["ask_page"]]


@dataclass
class Colour:
    name: str


async def test_a_typed_answer_comes_after_the_result() -> None:
    model = ScriptedModel(asks("ask_page"), '{"name": "blue"}')
    async with AIClient([], llm_provider=model) as ai:
        first = await ai.chat("q", [], external_tools=[ASK], answer_type=Colour)
        assert first.value is None
        last = await ai.chat(None, first.answered({"c0": "blue"}), external_tools=[ASK], answer_type=Colour)
    assert last.value == Colour("blue")


async def test_a_conversation_and_the_client_without_await_continue_with_results() -> None:
    model = ScriptedModel(asks("ask_page"), "blue", asks("ask_page"), "green")
    async with AIClient([], llm_provider=model) as ai:
        talk = Conversation(ai)
        reply = await talk.chat("q", external_tools=[ASK])
        assert [call.call_id for call in reply.open_calls] == ["c0"]
        talk.answer_calls({"c0": "it is blue"})
        assert (await talk.chat(None, external_tools=[ASK])).answer == "blue"
        assert [one["content"] for one in talk.history if one["role"] == "tool"] == ["it is blue"]

    def chat() -> str | None:
        with SyncAIClient([], llm_provider=model) as ai:
            first = ai.chat("q", [], external_tools=[ASK])
            return ai.chat(None, first.answered({"c0": "x"}), external_tools=[ASK])["answer"]

    assert await asyncio.to_thread(chat) == "green"


async def test_the_last_event_of_a_stream_has_the_open_calls() -> None:
    async with AIClient([], llm_provider=ScriptedModel(asks("ask_page"))) as ai:
        *_, last = [event async for event in ai.stream_chat("q", [], external_tools=[ASK])]
    assert isinstance(last, Done)
    assert [call.call_id for call in last.result.open_calls] == ["c0"]
    assert last.to_json()["result"]["stop_reason"] == "tool_calls"


async def test_results_must_fit_the_open_calls() -> None:
    async with AIClient([], llm_provider=ScriptedModel(asks("ask_page"))) as ai:
        result = await ai.chat("q", [], external_tools=[ASK])
        with pytest.raises(ValueError, match="'c0' has no result"):
            result.answered({})
        with pytest.raises(ValueError, match="'c7' is not that of a call"):
            result.answered({"c0": "x", "c7": "y"})
        with pytest.raises(ValueError, match="'c0' has a result that is no text"):
            result.answered({"c0": 5})  # type: ignore[dict-item]


@pytest.mark.parametrize("history", [[], [{"role": "assistant", "content": "hi"}]])
async def test_without_a_query_there_must_be_something_to_answer(history: list[dict[str, Any]]) -> None:
    async with AIClient([], llm_provider=ScriptedModel("hi")) as ai:
        with pytest.raises(ValueError, match="nothing to answer"):
            await ai.chat(None, history)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ask", "must be a list"),
        ([{"name": "x"}], r"external_tools\[0\] must be a tool"),
        ([tool("a b")], r"external_tools\[0\].function.name must have"),
        ([tool("x" * 65)], r"\.name must have 1 to 64"),
        ([tool("__clarify__")], "of the client itself"),
        ([tool("a"), tool("a")], "two tools with the name 'a'"),
        ([tool(f"t{n}") for n in range(129)], "128 are the most"),
        ([{"function": {"name": "a", "parameters": []}}], "parameters must be a JSON Schema"),
        ([{"function": {"name": "a", "description": 5}}], "description must be a text"),
        ([tool("a", x={"description": "y" * 1_100_000})], "more than 1,048,576 bytes"),
    ],
)
async def test_what_are_no_tools_is_refused_with_the_place(given: Any, told: str) -> None:
    async with AIClient([], llm_provider=ScriptedModel("hi")) as ai:
        with pytest.raises((TypeError, ValueError), match=told):
            ai.stream_chat("q", [], external_tools=given)


async def test_a_tool_without_parameters_gets_an_empty_schema() -> None:
    model = ScriptedModel("hi")
    async with AIClient([], llm_provider=model) as ai:
        await ai.chat("q", [], external_tools=[{"type": "function", "function": {"name": "now", "strict": True}}])
    (sent,) = model.requests[0].tools.tools
    schema = {"type": "object", "properties": {}}
    assert sent["function"] == {"name": "now", "description": "", "parameters": schema, "strict": True}
