"""What a model writes as its reasoning: events as it arrives, and nothing else of a chat."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel
from support import clock
from support.chats import chat, events_of
from support.clock import never
from support.mcp_servers import plain
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer
from support.vendors.every import EVERY
from support.vendors.stand_in import StandIn

from xmcp import AIClient, Conversation, SyncAIClient
from xmcp.chat.audit_records import Trace
from xmcp.chat.completions import Completion
from xmcp.chat.events import LLMReasoning
from xmcp.providers import ProviderError, Reasoning, ScriptedProvider, ToolCall, Turn
from xmcp.providers.contract import Answer

THOUGHT = "They want bolts: "


def told_of(events: list[Any]) -> list[tuple[str, str]]:
    """Return the texts and thoughts of events, and where they became void."""
    kinds = ("llm_delta", "llm_reasoning", "retry")
    return [(event.type, getattr(event, "text", "")) for event in events if event.type in kinds]


async def test_it_is_told_as_it_arrives_and_no_part_of_answer_or_history() -> None:
    calls = (ToolCall("c0", "find", "{}"),)
    first = [Reasoning(THOUGHT), Reasoning("so "), "I ", Reasoning("search."), "look.", Completion("I look.", calls)]
    model = ScriptedModel(first, [Reasoning("Seven."), "7", Completion("7")])
    events = await events_of(chat(model, ScriptedServer({"find": "7"})))
    assert told_of(events) == [
        ("llm_reasoning", THOUGHT),
        ("llm_reasoning", "so "),
        ("llm_delta", "I "),
        ("llm_reasoning", "search."),
        ("llm_delta", "look."),
        ("llm_reasoning", "Seven."),
        ("llm_delta", "7"),
    ]
    assert events[0].to_json() == {"type": "llm_reasoning", "turn": 1, "text": THOUGHT}
    result = events[-1].result
    assert result["answer"] == "7"
    sent = json.dumps([result["history"], *(list(request.messages) for request in model.requests)])
    assert "bolts" not in sent
    assert "Seven." not in sent


async def test_what_broke_off_is_void_with_its_text_and_another_model_begins_anew() -> None:
    broken = ProviderError("broke", category="network", began=True)
    first = ScriptedModel([Reasoning("old"), "ol", broken], [Reasoning("older"), broken])
    other = ScriptedModel([Reasoning("new"), "ok", Completion("ok")])
    events = await events_of(chat((first, other)))
    assert told_of(events) == [
        ("llm_reasoning", "old"),
        ("llm_delta", "ol"),
        ("retry", ""),
        ("llm_reasoning", "older"),
        ("retry", ""),
        ("llm_reasoning", "new"),
        ("llm_delta", "ok"),
    ]


async def test_a_failure_after_nothing_but_reasoning_is_no_answer_that_began() -> None:
    """Its provider decides what began; a person sees a `retry` in any case."""
    down = ProviderError("down", category="network")
    first, other = ScriptedModel([Reasoning("old"), down]), ScriptedModel("ok")
    events = await events_of(chat((first, other)))
    assert told_of(events) == [("llm_reasoning", "old"), ("retry", ""), ("llm_delta", "ok")]
    assert (len(first.requests), len(other.requests)) == (1, 1)


def test_a_model_that_thinks_is_not_silent() -> None:
    async def main() -> list[Any]:
        async def thinks(_: Any) -> Any:
            for _ in range(20):
                await asyncio.sleep(0.9)
                yield Reasoning("hm ")
            await asyncio.sleep(0.9)
            yield "ok"
            yield Completion("ok")

        return await events_of(chat(ScriptedModel(thinks), settings={"llm_timeout": 1.0}))

    events = clock.run(main())
    assert events[-1].result["answer"] == "ok"
    assert told_of(events)[-1] == ("llm_delta", "ok")


def test_a_model_that_thinks_and_falls_silent_is_given_up() -> None:
    async def main() -> list[Any]:
        silent = ScriptedModel([Reasoning("hm"), never])
        return await events_of(chat((silent, ScriptedModel("ok")), settings={"llm_timeout": 1.0}))

    events = clock.run(main())
    assert told_of(events) == [("llm_reasoning", "hm"), ("retry", ""), ("llm_delta", "ok")]


def test_the_time_of_a_chat_that_ends_in_a_thought_leaves_none_of_it() -> None:
    async def main() -> list[Any]:
        return await events_of(chat(ScriptedModel([Reasoning(THOUGHT), never]), chat_timeout=2.0))

    done = clock.run(main())[-1]
    assert (done.result["stop_reason"], done.result["answer"]) == ("timeout", None)
    assert [message["role"] for message in done.result["history"]] == ["user"]


async def test_an_empty_piece_is_no_event_and_one_that_is_no_text_is_the_provider_s_failure() -> None:
    events = await events_of(chat(ScriptedModel([Reasoning(""), "ok", Completion("ok")])))
    assert told_of(events) == [("llm_delta", "ok")]
    wrong: Any = Reasoning(7)  # type: ignore[arg-type]
    with pytest.raises(ProviderError, match="a piece of text that is a int"):
        await events_of(chat(ScriptedModel([wrong, Completion("ok")])))


class Total(BaseModel):
    total: int


async def test_a_typed_answer_is_read_without_the_reasoning_and_asking_again_voids_it() -> None:
    model = ScriptedModel([Reasoning('{"total": 1}'), "two", Completion("two")], [Reasoning("hm"), '{"total": 2}'])
    model.answers[1].append(Completion('{"total": 2}'))
    async with AIClient([], llm_provider=model) as ai:
        stream = ai.stream_chat("q", [], answer_type=Total)
        events = [event async for event in stream]
    assert [kind for kind, _ in told_of(events)] == [
        "llm_reasoning",
        "llm_delta",
        "retry",
        "llm_reasoning",
        "llm_delta",
    ]
    assert events[-1].result.value == Total(total=2)  # type: ignore[union-attr]


async def test_audit_records_and_conversations_leave_it_out() -> None:
    model = ScriptedModel(asks("add", text="I add."), [Reasoning(THOUGHT), "ok", Completion("ok")])
    trace = Trace()
    async with AIClient([plain()], llm_provider=model) as ai:
        conversation = Conversation(ai)
        async for event in conversation.stream_chat("q"):
            trace.take(event)
        trace.end(conversation.history)
        assert "bolts" not in json.dumps(conversation.snapshot())
    assert "bolts" not in trace.to_jsonl()


def test_the_embedded_model_thinks_and_the_client_without_await_tells_it() -> None:
    provider = ScriptedProvider([Turn("It is seven.", reasoning="Three and four and nothing else.")])
    with SyncAIClient([], llm_provider=provider) as ai:
        events = list(ai.stream_chat("q", []))
        (sent, *_) = list(ai.stream_chat("q", []).sse(types={"llm_reasoning"}))
    thoughts = [event for event in events if isinstance(event, LLMReasoning)]
    assert "".join(event.text for event in thoughts) == "Three and four and nothing else."
    assert len(thoughts) > 1
    assert events[0] == thoughts[0]
    assert sent.startswith('event: llm_reasoning\ndata: {"type":"llm_reasoning","turn":1,"text":"Three')


@pytest.mark.parametrize("vendor", EVERY, ids=lambda vendor: vendor.__name__)
async def test_it_is_told_of_every_vendor_that_shows_it(vendor: type[StandIn]) -> None:
    async with vendor() as stand_in:
        if "shown_reasoning" in stand_in.lacks:
            pytest.skip("the vendor shows none")
        stand_in.answers(Answer("ok", reasoning=THOUGHT))
        async with AIClient([], llm_provider=stand_in.provider) as ai:
            events = [event async for event in ai.stream_chat("q", [])]
    assert "".join(text for kind, text in told_of(events) if kind == "llm_reasoning") == THOUGHT
    assert events[-1].result["answer"] == "ok"  # type: ignore[union-attr]
