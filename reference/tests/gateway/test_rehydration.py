"""Front ends that keep the conversation themselves send what they showed; the model gets back what it had read."""

from __future__ import annotations

from typing import Any

import pytest
from support.gateways import Served, served
from support.scripted_model import ScriptedModel, asks

from xmcp.gateway.sessions.rehydration import rehydrated

CALL = {"id": "c0", "type": "function", "function": {"name": "add", "arguments": "{}"}}
CHAT = {"x-openwebui-chat-id": "chat-1"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def with_tool(question: str, before: str, answer: str) -> list[dict[str, Any]]:
    asked = {"role": "assistant", "content": before or None, "tool_calls": [CALL]}
    return [user(question), asked, {"role": "tool", "tool_call_id": "c0", "content": "3"}, said(answer)]


ONE, TWO, THREE = [user("one"), said("1")], with_tool("two", "I add.", "It is 3."), [user("three"), said("4")]
SYSTEM = {"role": "system", "content": "be kind"}


@pytest.mark.parametrize(
    ("sent", "remembered", "expected"),
    [
        ([*ONE, user("two"), said("I add.\n\nIt is 3.")], [*ONE, *TWO], [*ONE, *TWO]),
        ([SYSTEM, user("two"), said("I add.\n\n| table |\n\nIt is 3.\n")], [*TWO], [SYSTEM, *TWO]),
        ([user("two"), said("I add."), said("It is 3.")], [SYSTEM, *TWO], [*TWO]),
        # The window of what is remembered begins later.
        ([*ONE, user("two"), said("I add. It is 3.")], [*TWO], [*ONE, *TWO]),
        # The window of the front end does.
        ([user("three"), said("4")], [*TWO, *THREE], [*THREE]),
        ([SYSTEM, user("two"), said("I add. It is 3.")], [*ONE, *TWO, *THREE], [SYSTEM, *TWO]),
        # The person goes back to an earlier turn.
        ([user("two"), said("I add. It is 3.")], [*TWO, *THREE], [*TWO]),
        ([{"role": "user", "content": [{"type": "text", "text": "two"}]}, said("I add. It is 3.")], [*TWO], [*TWO]),
        # Something else is said, answered, or missing.
        ([user("two!"), said("I add. It is 3.")], [*TWO], None),
        ([user("two"), said("I add. It is 4.")], [*TWO], None),
        ([user("two"), said("It is 3. I add.")], [*TWO], None),
        ([user("one"), said("1 and more")], [*ONE], None),
        ([user("two")], [*TWO], None),
        ([user("one"), said("2"), *THREE], [*ONE, *THREE], None),
        ([], [*TWO], None),
        ([*TWO], [], None),
        # It has all of it already.
        ([*TWO], [*TWO], None),
    ],
)
def test_what_was_shown_is_replaced_by_what_it_was(sent: Any, remembered: Any, expected: Any) -> None:
    assert rehydrated(sent, remembered) == expected


async def completion(up: Served, *messages: dict[str, Any], **options: Any) -> tuple[str, str]:
    """Return the answer of `/v1/chat/completions`, and what it says of the history."""
    headers = options.pop("headers", CHAT)
    body = {"model": "assistant", "messages": messages, **options}
    async with up.http() as http:
        answer = await http.post("/v1/chat/completions", json=body, headers=headers)
    return answer.json()["choices"][0]["message"]["content"], answer.headers.get("xmcp-history")


async def test_the_results_of_tools_are_there_in_the_next_turn_of_a_front_end() -> None:
    show = asks(("sales", {"region": "EMEA", "show_user": True}), text="Here.")
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2}), text="I add."), "It is 3.", show, "Above.", then="ok")
    async with served(model, display="continue") as up:
        first, told_first = await completion(up, user("1 + 2?"))
        second, told_second = await completion(up, user("1 + 2?"), said(first), user("sales?"))
        history = [user("1 + 2?"), said(first), user("sales?"), said(second)]
        _, told_third = await completion(up, *history, user("thanks"))
    assert (told_first, told_second, told_third) == ("new", "remembered", "remembered")
    assert "|" in second  # the display, as Markdown
    read = model.requests[-1].messages
    assert [one["role"] for one in read] == ["user", *("assistant", "tool", "assistant", "user") * 2]
    assert "42" in read[6]["content"]


async def test_a_history_that_was_changed_goes_as_it_was_sent_and_is_what_is_remembered_then() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", then="ok")
    async with served(model) as up:
        await completion(up, user("1 + 2?"))
        _, told = await completion(up, user("1 + 2?"), said("It is 5."), user("sure?"))
        sent = [user("1 + 2?"), said("It is 5."), user("sure?")]
        _, again = await completion(up, *sent, said("ok"), user("hm"))
    assert (told, again) == ("as-sent", "remembered")
    assert list(model.requests[2].messages) == sent


async def test_a_conversation_can_be_named_in_metadata_and_without_a_name_nothing_is_said_of_it() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", then="ok")
    named: dict[str, Any] = {"metadata": {"conversation_id": "c"}, "headers": {}}
    async with served(model) as up:
        await completion(up, user("1 + 2?"), **named)
        assert (await completion(up, user("1 + 2?"), said("It is 3."), user("sure?"), **named))[1] == "remembered"
        assert (await completion(up, user("1 + 2?"), said("It is 3."), user("sure?"), headers={}))[1] is None


async def test_a_request_for_a_title_does_not_take_the_place_of_the_conversation() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), "It is 3.", then="A title")
    async with served(model) as up:
        await completion(up, user("1 + 2?"))
        await completion(up, user("Write a title for: 1 + 2?"))
        await completion(up, user("Tags?"), said("?"), user("Tags!"), model="assistant:plain")
        _, told = await completion(up, user("1 + 2?"), said("It is 3."), user("sure?"))
    assert told == "remembered"


def answered(call_id: str) -> list[dict[str, Any]]:
    """Return a turn that ends with the result of a call."""
    return [
        user("colour?"),
        {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": call_id}]},
        {"role": "tool", "tool_call_id": call_id, "content": "blue"},
    ]


LEFT = answered(f"ct_{'0' * 32}_0")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([*LEFT], [*ONE, *TWO, *LEFT]),
        ([SYSTEM, *LEFT], [SYSTEM, *ONE, *TWO, *LEFT]),
        ([user("two"), said("I add. It is 3."), *LEFT], [*TWO, *LEFT]),
        ([user("another"), said("one"), *LEFT], None),
        (answered("c9"), None),
        ([*LEFT, said("It is blue.")], None),
    ],
)
def test_a_turn_with_results_of_the_client_follows_what_is_remembered(sent: list[Any], expected: Any) -> None:
    assert rehydrated(sent, [*ONE, *TWO], goes_on=True) == expected
    assert rehydrated(sent, [*ONE, *TWO]) is None
