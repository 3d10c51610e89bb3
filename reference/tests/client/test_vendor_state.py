"""State that a vendor must get back: it comes back to that vendor unchanged, and no other vendor sees it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from support.chats import chat, events_of
from support.clock import never, run
from support.scripted_model import Answer, ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat import ChatChunk, Completion, ProviderError, ToolSchemas, VendorState, messages
from xmcp.chat.json_schemas import validator
from xmcp.chat.vendor_state import VENDOR_STATE_KEY, for_vendor, vendor_state, with_vendor_state
from xmcp.client import AIClient, Conversation
from xmcp.providers.formats.chat_completions import request_body
from xmcp_models.registry import PREFIX

THOUGHT: Any = {"blocks": [{"type": "thinking", "thinking": "Hm. \u2028", "signature": "c2ln=="}], "n": 2**70}


def thinking(*answers: Answer) -> ScriptedModel:
    """A model of a vendor that signs what it thinks, and must get it back."""
    return ScriptedModel(*answers, name="thinking")


def states(seen: Sequence[Any]) -> list[VendorState | None]:
    """The state in each assistant message."""
    return [vendor_state(message) for message in seen if message["role"] == "assistant"]


def thought(number: int, vendor: str = "thinking") -> VendorState:
    return VendorState(vendor, {**THOUGHT, "turn": number})


def with_state(completion: Completion, number: int, vendor: str = "thinking") -> Completion:
    return Completion(completion.text, completion.tool_calls, vendor_state=thought(number, vendor))


def server() -> ScriptedServer:
    return ScriptedServer({"look": lambda _: "seen"})


async def test_a_vendor_gets_its_state_back_with_every_turn() -> None:
    model = thinking(with_state(asks("look"), 1), with_state(asks("look"), 2), with_state(Completion("done"), 3))
    told = await events_of(chat(model, server()))
    assert [states(request.messages) for request in model.requests] == [[], [thought(1)], [thought(1), thought(2)]]
    done = told[-1]
    assert done.type == "done"
    assert states(done.result["history"]) == [thought(1), thought(2), thought(3)]
    assert messages.problem(done.result["history"]) is None
    validator("chat_event").validate(done.to_json())


def test_an_answer_that_broke_off_with_the_time_of_the_chat_has_no_state_of_an_earlier_turn() -> None:
    model = thinking(with_state(asks("look"), 1), ["so far", never])

    async def main() -> list[ChatChunk]:
        return await events_of(chat(model, server(), chat_timeout=5))

    told = run(main())
    done = told[-1]
    assert done.type == "done"
    assert (done.result["stop_reason"], states(done.result["history"])) == ("timeout", [thought(1), None])


async def test_a_fallback_of_another_vendor_does_not_see_it_and_the_vendor_does_again() -> None:
    busy = ProviderError("busy", category="rate_limit", provider="thinking")
    first = thinking(with_state(asks("look"), 1), busy)
    other = ScriptedModel(with_state(asks("look"), 2, "other"), Completion("done"), name="other")
    told = await events_of(chat((first, other), server()))
    assert states(first.requests[1].messages) == [thought(1)]
    assert [states(request.messages) for request in other.requests] == [[None], [None, thought(2, "other")]]
    assert PREFIX not in str(other.requests[0].messages)
    done = told[-1]
    assert done.type == "done"
    assert states(done.result["history"]) == [thought(1), thought(2, "other"), None]
    again = thinking(Completion("again"))
    await events_of(chat(again, server(), history=done.result["history"]))
    assert states(again.requests[0].messages) == [thought(1), None, None]


async def test_snapshots_and_records_keep_it() -> None:
    model = thinking(with_state(Completion("one"), 1), with_state(Completion("two"), 2))
    async with AIClient([], llm_provider=model) as ai:
        conversation = Conversation(ai)
        await conversation.chat("first")
        snapshot = json.dumps(conversation.snapshot())
        kept = [r["message"] for r in conversation.traces[0].records if r["kind"] == "message"]
        resumed = Conversation.resume(ai, snapshot)
        await resumed.chat("second")
    assert states(kept) == [thought(1)]
    assert states(model.requests[1].messages) == [thought(1)]
    assert states(resumed.history) == [thought(1), thought(2)]


@pytest.mark.parametrize("schema", ["snapshot", "audit_record"])
def test_the_schemas_take_a_message_with_it(schema: str) -> None:
    message = with_vendor_state(messages.assistant_message("hi"), thought(1))
    common = {"session_id": None, "tenant_id": None}
    time = "2026-11-22T09:30:00.000+00:00"
    value: dict[str, Any] = {
        "snapshot": {"format": "xmcp-conversation", "version": 1, "created_at": time, "history": [message], **common},
        "audit_record": {
            "kind": "message",
            "chat_id": "c",
            "sequence": 0,
            "timestamp": time,
            "message": message,
            **common,
        },
    }[schema]
    validator(schema).validate(value)


def history(*members: tuple[str, Any]) -> list[dict[str, Any]]:
    spoken = [messages.user_message("q"), messages.assistant_message("a")]
    return [*spoken, {**messages.assistant_message("b"), **dict(members)}]


@pytest.mark.parametrize(
    "member", [{"vendor": "openai", "value": {"id": "rs_1"}}, {"vendor": "thinking", "value": THOUGHT}, {}, "odd", 5]
)
def test_a_request_in_the_chat_completions_format_has_the_same_bytes_as_without_it(member: Any) -> None:
    tools = ToolSchemas.of([])
    plain, kept = history(), history((VENDOR_STATE_KEY, member))
    assert request_body("m", kept, tools) == request_body("m", plain, tools)
    assert kept == history((VENDOR_STATE_KEY, member))


def test_a_vendor_of_that_format_gets_its_own_members_back_and_no_others() -> None:
    tools, own = ToolSchemas.of([]), {"reasoning_details": [{"signature": "s"}]}
    kept = history((VENDOR_STATE_KEY, {"vendor": "mine", "value": own}))
    kept[1] = with_vendor_state(kept[1], thought(1))
    assert request_body("m", kept, tools, vendor="mine") == request_body("m", history(*own.items()), tools)
    assert request_body("m", kept, tools, vendor="other") == request_body("m", history(), tools)


def test_messages_without_it_are_passed_on_as_they_are() -> None:
    plain = history()
    assert for_vendor(plain, "thinking") is plain
    assert with_vendor_state(plain[1], None) is plain[1]
    kept = history((VENDOR_STATE_KEY, {"vendor": "thinking", "value": 1}))
    seen = for_vendor(kept, "other")
    assert (seen[0] is kept[0], seen[2]) == (True, history()[2])
    assert for_vendor(kept, "thinking") == kept
