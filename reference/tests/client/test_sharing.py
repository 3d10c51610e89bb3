"""Sharing of lists and dicts: no change is visible to a party that should not see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from support.chats import by_type, chat, events_of, make_pipeline
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.chat import messages
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import LLMState, Middleware, Stack, ToolState
from xmcp.providers import ProviderError
from xmcp.storage import MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

CALL: Any = {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}
SPOKEN: list[Any] = [
    {"role": "system", "content": [{"type": "text", "text": "rules"}]},
    {"role": "user", "content": "before"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "A"},
    {"role": "assistant", "content": "so"},
]
"""A history whose messages hold lists and dicts of their own."""


def spoken() -> list[Any]:
    return json.loads(json.dumps(SPOKEN))  # type: ignore[no-any-return]


def ruin(history: Any) -> None:
    """What a hook might make of a history it was given, at every depth."""
    history[0]["content"][0]["text"] = "ruined"
    history[2]["tool_calls"][0]["function"]["arguments"] = "ruined"
    for message in history:
        message["role"] = "ruined"
    history.clear()


def insert(told: Any) -> None:
    told.insert(0, {"role": "system", "content": "changed: only for the model"})


def pop(told: Any) -> None:
    told.pop(0)


def mask(told: Any) -> None:
    told[-1]["content"] = "changed: masked"


def mask_deeply(told: Any) -> None:
    told[0]["content"][0]["text"] = "changed: masked"


@pytest.mark.parametrize(
    ("change", "first", "last"),
    [
        (insert, "changed: only for the model", "query"),
        (pop, "before", "query"),
        (mask, [{"type": "text", "text": "rules"}], "changed: masked"),
        (mask_deeply, [{"type": "text", "text": "changed: masked"}], "query"),
    ],
)
async def test_what_a_hook_makes_of_the_messages_is_sent_and_stands_in_no_history(
    change: Callable[[Any], None], first: Any, last: str
) -> None:
    class Changes(Middleware):
        async def before_llm(self, state: LLMState) -> None:
            if state.turn == 1:
                change(state.messages)

    model, given = ScriptedModel("hi"), spoken()
    told = await events_of(chat(model, history=given, middleware=Stack([Changes()])))
    sent = model.requests[0].messages
    assert (sent[0]["content"], sent[-1]["content"]) == (first, last)
    assert told[-1].result is not None
    assert told[-1].result["history"] == [
        *SPOKEN,
        {"role": "user", "content": "query"},
        {"role": "assistant", "content": "hi"},
    ]
    assert given == SPOKEN


def test_a_chat_shares_nothing_with_the_messages_it_began_with() -> None:
    given = spoken()
    ruin(messages.begin(given, "q"))
    assert given == SPOKEN


async def test_a_hook_that_changes_the_history_it_is_given_changes_no_other() -> None:
    told_hooks: list[int] = []

    def look(_: Any, history: Any) -> None:
        told_hooks.append(len(history))
        ruin(history)

    shown = ToolResponse("shows", "x", DisplayEnvelope(type="text", payload="p"))
    server = ScriptedServer({"shows": lambda _: shown, "fails": lambda _: ErrorInfo("NOT_FOUND", "m")})
    model = ScriptedModel(asks("shows", "fails"), "done")
    told = await events_of(chat(model, server, history=spoken(), on_display=look, on_error=look))
    assert told_hooks == [len(SPOKEN) + 4] * 2
    assert told[-1].result is not None
    history = told[-1].result["history"]
    assert [message["role"] for message in history[len(SPOKEN) :]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert (history[: len(SPOKEN)], history[:-1]) == (SPOKEN, [*model.requests[1].messages])


async def test_the_history_of_an_exception_is_its_catchers_own() -> None:
    running = chat(
        ScriptedModel(ProviderError("no", category="auth")), history=spoken(), on_error=lambda _, given: ruin(given)
    )
    with pytest.raises(ProviderError) as caught:
        await events_of(running)
    whole = [*SPOKEN, {"role": "user", "content": "query"}]
    assert caught.value.history == whole
    ruin(caught.value.history)
    assert running.messages == whole


WRITTEN: dict[str, Any] = {"to": "bob", "how": {"fast": True}}


async def test_who_changes_the_arguments_of_an_event_changes_no_call() -> None:
    server = ScriptedServer({"t": lambda a: "ok"})
    async with aclosing(chat(ScriptedModel(asks(("t", WRITTEN))), server).run()) as events:
        async for event in events:
            if event.type == "tool_call":
                assert event.arguments is not None
                event.arguments["how"]["fast"] = False
                event.arguments["to"] = "mallory"
    assert server.calls == [("t", WRITTEN)]


async def test_a_hook_that_adds_a_secret_to_the_arguments_adds_it_to_no_event() -> None:
    class Signs(Middleware):
        async def before_tool(self, state: ToolState) -> None:
            state.arguments["key"] = "secret"
            state.arguments["how"]["key"] = "secret"

    server = ScriptedServer({"t": lambda a: "ok"})
    told = by_type(await events_of(chat(ScriptedModel(asks(("t", WRITTEN))), server, middleware=Stack([Signs()]))))
    assert server.calls == [("t", {"to": "bob", "how": {"fast": True, "key": "secret"}, "key": "secret"})]
    assert told["tool_call"][0].arguments == WRITTEN


async def test_a_tool_that_takes_its_arguments_apart_gets_them_whole_in_the_next_attempt() -> None:
    seen: list[Any] = []
    after: list[Any] = []

    def t(arguments: dict[str, Any]) -> Any:
        seen.append(dict(arguments))
        arguments.clear()
        return "ok" if len(seen) == 2 else ErrorInfo("DB_TIMEOUT", "late", True, meta={"side_effects": "none"})

    class Looks(Middleware):
        async def after_tool(self, state: ToolState) -> None:
            after.append(state.arguments)

    server = ScriptedServer({"t": t})
    await events_of(chat(ScriptedModel(asks(("t", WRITTEN))), server, middleware=Stack([Looks()])))
    assert (seen, after) == ([WRITTEN] * 2, [WRITTEN])


class Adds(Middleware):
    """Writes for whom the answer is into the answer itself."""

    async def after_tool(self, state: ToolState) -> None:
        assert state.response is not None
        assert state.response.display is not None
        state.response.llm_output = f"{state.response.llm_output}, for {state.tenant_id}/{state.chat.state['who']}"
        state.response.display.payload.append({"for": state.chat.state["who"]})  # type: ignore[union-attr]


async def test_each_of_those_that_waited_for_one_call_has_a_response_of_its_own() -> None:
    gate = asyncio.Event()

    async def slow(_: Any) -> ToolResponse:
        await gate.wait()
        return ToolResponse("t", "rows", DisplayEnvelope(type="table", payload=[{"a": 1}]))

    server = ScriptedServer({"t": slow}, t={"metadata": {"cacheable": True}})
    pipeline = make_pipeline(cache=ResponseCache(MemoryCache(), None, EventLog()), middleware=Stack([Adds()]))

    async def one(who: int) -> tuple[Any, Any]:
        running = chat(ScriptedModel(asks("t")), server, tenant="acme", pipeline=pipeline)
        running._scope.context.state["who"] = who
        told = by_type(await events_of(running))
        envelope = told["tool_display"][0].envelope
        return told["tool_result"][0].text, envelope and envelope.payload

    waiting = [asyncio.create_task(one(who)) for who in range(3)]
    await server.called.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    answers = [await task for task in waiting] + [await one(3)]
    assert answers == [(f"rows, for acme/{who}", [{"a": 1}, {"for": who}]) for who in range(4)]
    assert server.count("t") == 1
