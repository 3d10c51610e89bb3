"""One chat over every vendor: its history is the same whoever ran it, and goes on with any other; real SDKs throughout.

Beside it: one chat over three vendors of which two fail.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.mcp_servers import plain
from support.vendors.anthropic_messages import AnthropicMessages
from support.vendors.chat_completions import ChatCompletions
from support.vendors.every import EVERY
from support.vendors.gemini import Gemini
from support.vendors.stand_in import StandIn

from xmcp.chat.usage import Usage
from xmcp.chat.vendor_state import VENDOR_STATE_KEY
from xmcp.client import AIClient
from xmcp.providers import ErrorCategory, ToolCall
from xmcp.providers.contract import Answer, BreaksOff, Refusal, Said, Scripted

QUERY = "What is 1 + 2, and 3 + 4?"


def call(name: str, **arguments: int) -> ToolCall:
    return ToolCall(
        "_".join(["call", name, *map(str, arguments.values())]), name, json.dumps(arguments, separators=(",", ":"))
    )


SCRIPT: Sequence[Answer] = (
    Answer("I add é first.", (call("add", a=1, b=2),), "tool_calls", reasoning="Hm."),
    Answer("", (call("add", a=3, b=4), call("nothing"), call("add", a=5)), "tool_calls", reasoning="Hm."),
    Answer("Once more.", (call("fail"),), "tool_calls"),
    Answer("They are 3 and 7.", reasoning="Hm."),
)


async def chat(stand_in: StandIn, history: Sequence[Any], *answers: Scripted, query: str = QUERY) -> Any:
    stand_in.answers(*answers)
    async with AIClient([plain()], llm_provider=stand_in.provider) as ai:
        return await ai.chat(query, [*history])


def common(history: Sequence[Any]) -> list[Any]:
    """Return a history without what is its vendor's: states, and ids, which are numbered."""
    numbers: dict[str, int] = {}
    written = []
    for message in history:
        one = {name: value for name, value in message.items() if name != VENDOR_STATE_KEY}
        if "tool_calls" in one:
            one["tool_calls"] = [
                {**made, "id": numbers.setdefault(made["id"], len(numbers))} for made in one["tool_calls"]
            ]
        if "tool_call_id" in one:
            one["tool_call_id"] = numbers[one["tool_call_id"]]
        written.append(one)
    return written


def states(messages: Sequence[Said]) -> list[Any]:
    return [said.state or None for said in messages if said.role == "assistant"]


@pytest.fixture(scope="module")
def histories() -> dict[type[StandIn], list[Any]]:
    """The history of the same chat with each vendor."""

    async def run(vendor: type[StandIn]) -> list[Any]:
        async with vendor() as stand_in:
            result = await chat(stand_in, [], *SCRIPT)
            assert result["answer"] == "They are 3 and 7."
            return json.loads(json.dumps(result["history"]))  # type: ignore[no-any-return]

    return {vendor: asyncio.run(run(vendor)) for vendor in EVERY}


@pytest.mark.slow
def test_the_same_chat_has_the_same_history_whichever_vendor_ran_it(histories: Any, valid: Any) -> None:
    first = common(histories[EVERY[0]])
    assert [message["role"] for message in first] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    for vendor, history in histories.items():
        valid(history)
        assert common(history) == first, vendor


@pytest.mark.slow
@pytest.mark.parametrize("ran", EVERY, ids=lambda vendor: vendor.__name__)
async def test_a_history_goes_on_with_every_other_vendor_and_back_with_its_state_unchanged(
    histories: Any, ran: type[StandIn]
) -> None:
    """A stand-in refuses what its vendor would not understand, and fails the test at its end."""
    history = histories[ran]
    async with AsyncExitStack() as open_:
        own = await open_.enter_async_context(ran())
        await chat(own, history, Answer("mine"), query="again")
        kept = states(own.asked[-1].messages)
        assert any(kept) is ("reasoning" not in own.lacks)
        for other in EVERY:
            guest = await open_.enter_async_context(other())
            longer = (
                await chat(
                    guest,
                    history,
                    Answer("", (call("add", a=8, b=9),), "tool_calls", reasoning="Hm."),
                    Answer("Seventeen."),
                    query="and 8 + 9?",
                )
            )["history"]
            told = guest.asked[-1].messages
            assert [said.text for said in told if said.role == "user"] == [QUERY, "and 8 + 9?"]
            assert [said.text for said in told if said.role == "tool"] == [
                message["content"] for message in longer if message["role"] == "tool"
            ]
            asked = [json.loads(made.arguments) for said in told for made in said.calls]
            assert asked == [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {}, {"a": 5}, {}, {"a": 8, "b": 9}]
            if guest.provider.name != own.provider.name:
                assert not any(states(told)[: len(kept)]), "the state of another vendor is not sent"
                assert "Hm." not in json.dumps(guest.bodies[0])
            assert longer[: len(history)] == history
            await chat(own, longer, Answer("mine again"), query="back")
            assert states(own.asked[-1].messages)[: len(kept)] == kept


THREE = (ChatCompletions, AnthropicMessages, Gemini)


@pytest.mark.parametrize("order", list(itertools.permutations(THREE)), ids=lambda order: order[0].__name__)
async def test_of_three_vendors_two_fail_and_the_chat_is_one(order: Sequence[type[StandIn]]) -> None:
    """The first refuses the key, the second breaks off twice, the third answers two turns."""
    records: list[Any] = []
    async with AsyncExitStack() as open_:
        first, second, third = [await open_.enter_async_context(vendor()) for vendor in order]
        first.answers(Refusal(ErrorCategory.AUTH))
        second.answers(BreaksOff("The sum is"))
        third.answers(
            Answer("I add.", (call("add", a=1, b=2),), "tool_calls", usage=Usage(100, 7, 1)),
            Answer("The sum is 3.", usage=Usage(200, 9, 2)),
        )
        others = [(one.provider, None) for one in (second, third)]
        names = [one.provider.name for one in (first, second, third)]
        async with AIClient(
            [plain()], llm_provider=first.provider, fallback_models=others, usage_sink=records.append
        ) as ai:
            chunks = [chunk async for chunk in ai.stream_chat(QUERY, [])]
        assert [len(one.asked) for one in (first, second, third)] == [1, 2, 2], "the chat stays with who answered"
        # What a person sees who discards the text of the turn at each retry, as LLMRetry says.
        shown: dict[int, str] = {}
        for chunk in chunks:
            if chunk.type == "llm_delta":
                shown[chunk.turn] = shown.get(chunk.turn, "") + chunk.text
            elif chunk.type == "retry":
                shown[chunk.turn] = ""
        assert shown == {1: "I add.", 2: "The sum is 3."}
        retries = [chunk for chunk in chunks if chunk.type == "retry"]
        assert [(one.turn, one.attempt, one.error.code) for one in retries] == [
            (1, 1, "AUTH_REQUIRED"),
            (1, 2, "UPSTREAM_UNAVAILABLE"),
            (1, 3, "UPSTREAM_UNAVAILABLE"),
        ]
        result: Any = chunks[-1]
        told = result.result
        assert [one["role"] for one in told["history"]] == ["user", "assistant", "tool", "assistant"]
        assert told["answer"] == "The sum is 3."
        # Who was paid: nobody for a refusal; for what broke off it is an estimate.
        assert [(one["provider"], one.get("estimated", False)) for one in records] == [
            (names[1], True),
            (names[1], True),
            (names[2], False),
            (names[2], False),
        ]
        assert [(one["input_tokens"], one["output_tokens"]) for one in records[2:]] == [(100, 7), (200, 9)]
        assert told["usage"]["llm_calls"] == 4
        assert told["usage"]["output_tokens"] == sum(one["output_tokens"] for one in records)
