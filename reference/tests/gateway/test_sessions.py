"""Chats of a session: a caller sends what the person says, and the model knows what was said and done before."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import Any

import pytest
from support.clock import never
from support.gateways import served, until
from support.scripted_model import ScriptedModel, asks

from xmcp.chat.completions import VendorState
from xmcp.chat.errors import ErrorCategory, ProviderError
from xmcp.chat.messages import problem
from xmcp.gateway.runs.record import LEFT_OUT
from xmcp.providers.base import ModelRequest


def roles(request: ModelRequest) -> list[str]:
    """Return the roles of the messages that a model received."""
    return [message["role"] for message in request.messages]


def texts(request: ModelRequest) -> list[Any]:
    """Return the contents of the messages that a model received."""
    return [message["content"] for message in request.messages]


def hashed(key: str) -> str:
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


TENANTS = {"keys": [{"name": name, "tenant": name, "hash": hashed(name)} for name in ("a", "b")]}


def as_(tenant: str) -> dict[str, str]:
    return {"authorization": f"Bearer {tenant}"}


async def test_a_chat_of_a_session_knows_what_was_said_and_called_before() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2}), text="I add."), "It is 3.", "As I said: 3.")
    async with served(model) as up, up.http() as http:
        first = await http.post("/chat", json={"input": "1 + 2?", "session_id": "s"})
        second = await http.post("/chat", json={"input": "again?", "session_id": "s", "messages": []})
    assert roles(model.requests[2]) == ["user", "assistant", "tool", "assistant", "user"]
    assert "3" in texts(model.requests[2])[2]
    assert texts(model.requests[2])[3:] == ["It is 3.", "again?"]
    assert (first.headers["xmcp-history"], second.headers["xmcp-history"]) == ("new", "remembered")


async def test_a_turn_whose_calls_are_left_to_the_client_comes_into_the_session_with_their_results() -> None:
    tools = [{"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}]
    model = ScriptedModel("hello", asks("ask_page"), "while it is open", asks("ask_page"), "blue it is", "as said")
    async with served(model) as up, up.http() as http:

        async def say(**body: Any) -> Any:
            return await http.post("/chat", json={"session_id": "s", "client_tools": tools, **body})

        await say(input="hi")
        await say(input="which colour?")
        await say(input="never mind")
        assert texts(model.requests[2]) == ["hi", "hello", "never mind"]
        asked = (await say(input="which colour?", history=True)).json()
        (call,) = asked["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["call_id"], "content": "blue"}
        answered = await say(messages=[*asked["history"], result])
        assert answered.json()["answer"] == "blue it is"
        await say(input="and?")
    assert texts(model.requests[5])[-4:] == [None, "blue", "blue it is", "and?"]
    assert texts(model.requests[5])[:2] == ["hi", "hello"]


async def test_a_client_that_sends_back_only_the_turn_with_its_calls_keeps_the_session() -> None:
    tools = [{"type": "function", "function": {"name": "ask_page", "parameters": {"type": "object"}}}]
    calls = asks(("add", {"a": 1, "b": 2}), "ask_page")
    model = ScriptedModel("hello Ann", calls, "blue it is", "as said")
    async with served(model) as up, up.http() as http:
        await http.post("/chat", json={"session_id": "s", "input": "I am Ann"})
        asked = {"session_id": "s", "client_tools": tools}
        (call,) = (await http.post("/chat", json={**asked, "input": "which colour?"})).json()["tool_calls"]
        function = {"name": call["tool"], "arguments": call["text"]}
        turn = [
            {"role": "user", "content": "which colour?"},
            {"role": "assistant", "tool_calls": [{"id": call["call_id"], "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": call["call_id"], "content": "blue"},
        ]
        answered = await http.post("/chat", json={**asked, "messages": turn})
        await http.post("/chat", json={"session_id": "s", "input": "and?"})
    assert (answered.json()["answer"], answered.headers["xmcp-history"]) == ("blue it is", "remembered")
    assert texts(model.requests[2])[:3] == ["I am Ann", "hello Ann", "which colour?"]
    assert roles(model.requests[2])[3:] == ["assistant", "tool", "tool"]
    assert texts(model.requests[3])[:3] == ["I am Ann", "hello Ann", "which colour?"]


async def test_a_session_keeps_its_newest_turns() -> None:
    model = ScriptedModel(*(f"answer {number}" for number in range(5)))
    async with served(model, {"sessions": {"max_messages": 4}}) as up, up.http() as http:
        for number in range(5):
            await http.post("/chat", json={"input": f"question {number}", "session_id": "s"})
    assert texts(model.requests[4]) == ["question 2", "answer 2", "question 3", "answer 3", "question 4"]


async def test_a_chat_without_a_session_and_one_of_another_session_know_nothing() -> None:
    model = ScriptedModel(then="ok")
    async with served(model) as up, up.http() as http:
        for body in ({"session_id": "s"}, {}, {"session_id": "S"}, {"session_id": "s "}):
            await http.post("/chat", json={"input": "hi", **body})
    assert [len(request.messages) for request in model.requests] == [1, 1, 1, 1]


async def test_a_session_is_that_of_its_tenant_alone() -> None:
    model = ScriptedModel(then="ok")
    async with served(model, TENANTS) as up, up.http() as http:
        await http.post("/chat", json={"input": "of a", "session_id": "s"}, headers=as_("a"))
        answer = await http.post("/chat", json={"input": "of b", "session_id": "s"}, headers=as_("b"))
        assert (await http.get("/sessions/s", headers=as_("b"))).json()["messages"][0]["content"] == "of b"
        await http.delete("/sessions/s", headers=as_("b"))
        assert (await http.get("/sessions/s", headers=as_("b"))).status_code == 404
        assert (await http.get("/sessions/s", headers=as_("a"))).status_code == 200
        listed = (await http.get("/sessions", headers=as_("b"))).json()["sessions"]
    assert texts(model.requests[1]) == ["of b"]
    assert answer.headers["xmcp-history"] == "new"
    assert listed == []


async def test_a_second_chat_of_a_session_is_refused_while_the_first_runs_and_a_retry_joins_it() -> None:
    model = ScriptedModel(asks("wait"), then="ok")
    asked = {"input": "hold", "session_id": "s"}
    async with served(model) as up, up.http() as http:
        first = asyncio.create_task(http.post("/chat", json=asked, headers={"idempotency-key": "k"}))
        await until(lambda: up.shop.calls)
        busy = await http.post("/chat", json={"input": "other", "session_id": "s"})
        gone = await http.delete("/sessions/s")
        again = asyncio.create_task(http.post("/chat", json=asked, headers={"idempotency-key": "k"}))
        other = await http.post("/chat", json={"input": "other", "session_id": "t"})
        shown = (await http.get("/sessions/s")).json()
        run = up.gateway.runs.running[0]
        await until(lambda: run.readers == 2)
        run.cancel("caller")
        answers = await asyncio.gather(first, again)
        after = await http.post("/chat", json={"input": "other", "session_id": "s"})
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "session_busy")
    assert (gone.status_code, gone.json()["error"]["code"]) == (409, "session_busy")
    assert other.status_code == 200
    assert shown["busy"] is True
    assert [answer.status_code for answer in answers] == [499, 499]
    assert answers[1].headers["xmcp-replayed"] == "true"
    assert after.status_code == 200


async def test_a_chat_that_was_refused_leaves_its_session_free() -> None:
    limits = {"runs": {"max_running": 1, "max_waiting": 0}}
    async with served(ScriptedModel(asks("wait"), then="ok"), limits) as up, up.http() as http:
        holding = asyncio.create_task(http.post("/chat", json={"input": "hold"}))
        await until(lambda: up.shop.calls)
        refused = await http.post("/chat", json={"input": "hi", "session_id": "s"})
        up.gateway.runs.running[0].cancel("caller")
        await holding
        answer = await http.post("/chat", json={"input": "hi", "session_id": "s"})
    assert (refused.status_code, answer.status_code) == (429, 200)


async def test_a_chat_that_failed_or_was_cancelled_leaves_a_history_that_goes_on() -> None:
    failure = ProviderError("down", category=ErrorCategory.RATE_LIMIT, provider="p")
    model = ScriptedModel(failure, ["half an ", never], asks(("add", {"a": 1, "b": 2}), "wait"), then="Done.")
    async with served(model, max_turns=5) as up, up.http() as http:
        assert (await http.post("/chat", json={"input": "one", "session_id": "s"})).status_code == 429
        for words, begun in (("two", lambda: len(model.requests) == 2), ("three", lambda: "wait" in up.shop.calls)):
            chat = asyncio.create_task(http.post("/chat", json={"input": words, "session_id": "s"}))
            await until(begun)
            await until(lambda: up.gateway.runs.running and up.gateway.runs.running[0].state.seq > 2)
            up.gateway.runs.running[0].cancel("caller")
            await chat
        answer = await http.post("/chat", json={"input": "four", "session_id": "s"})
    assert answer.json()["answer"] == "Done."
    read = list(model.requests[-1].messages)
    assert problem(read) is None
    assert [message["content"] for message in read if message["role"] == "user"] == ["one", "two", "three", "four"]
    assert sum(message["role"] == "tool" for message in read) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        ProviderError("no", category=ErrorCategory.CONTENT, provider="p"),
        ProviderError("too long", category=ErrorCategory.CONTEXT, provider="p", status=400),
        ProviderError("messages.2: an image that is none", provider="p", status=400),
        ProviderError("messages.2: too large", provider="p", status=413),
    ],
    ids=str,
)
async def test_a_turn_that_the_vendor_refuses_is_no_part_of_its_session(refusal: ProviderError) -> None:
    model = ScriptedModel("hello", refusal, refusal, then="ok")
    async with served(model) as up, up.http() as http:

        async def say(words: str, session: str = "s") -> int:
            return (await http.post("/chat", json={"input": words, "session_id": session})).status_code

        assert await say("hi") == 200
        assert await say("poison") >= 400
        assert await say("poison", "new") >= 400
        assert (await http.get("/sessions/new")).status_code == 404
        assert [await say("go on"), await say("go on", "new")] == [200, 200]
    assert [texts(request) for request in model.requests[-2:]] == [["hi", "hello", "go on"], ["go on"]]


async def test_what_tools_have_done_before_the_vendor_refuses_their_results_is_part_of_its_session() -> None:
    refusal = ProviderError("no", category=ErrorCategory.CONTENT, provider="p", status=400)
    first, second = asks(("add", {"a": 1, "b": 2})), asks(("add", {"a": 3, "b": 4}), ("add", {"a": 5, "b": 6}))
    signed = replace(first, vendor_state=VendorState("model", {"signature": "s"}))
    model = ScriptedModel("hello", signed, second, refusal, then="ok")
    async with served(model) as up, up.http() as http:
        for words in ("hi", "pay", "go on"):
            await http.post("/chat", json={"input": words, "session_id": "s"})
    *before, one, other, last = model.requests[-1].messages
    assert [message["role"] for message in before] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert "signature" not in str(before)
    assert ">3<" in before[4]["content"]
    assert [len(message["tool_calls"]) for message in (before[3], before[5])] == [1, 2]
    assert [one["content"], other["content"]] == [LEFT_OUT, LEFT_OUT]
    assert last["content"] == "go on"
    assert up.shop.calls == ["add"] * 3


async def test_sessions_are_listed_a_page_at_a_time_shown_and_deleted() -> None:
    model = ScriptedModel(asks(("add", {"a": 1, "b": 2})), then="ok")
    async with served(model) as up, up.http() as http:
        for number in range(5):
            await http.post("/chat", json={"input": f"hi {number}", "session_id": f"s/{number}?ä"})
        await http.post("/chat", json={"input": "once more", "session_id": "s/1?ä"})
        listed, cursor, pages = [], "", 0
        while cursor is not None:
            page = (
                await http.get("/sessions", params={"limit": 2, "cursor": cursor} if cursor else {"limit": 2})
            ).json()
            listed += [one["id"] for one in page["sessions"]]
            cursor, pages = page["next"], pages + 1
        shown = (await http.get("/sessions/s%2F0%3F%C3%A4")).json()
        wrong = await http.get("/sessions", params={"cursor": "x"})
        assert (await http.delete("/sessions/s%2F0%3F%C3%A4")).status_code == 204
        assert (await http.delete("/sessions/s%2F0%3F%C3%A4")).status_code == 404
        answer = await http.post("/chat", json={"input": "hi", "session_id": "s/0?ä"})
    assert (listed, pages) == (["s/1?ä", "s/4?ä", "s/3?ä", "s/2?ä", "s/0?ä"], 3)
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert shown["id"] == "s/0?ä"
    assert wrong.status_code == 400
    assert answer.headers["xmcp-history"] == "new"


async def test_a_session_is_not_deleted_while_a_chat_of_a_front_end_goes_on() -> None:
    async with served(ScriptedModel("hello", ["half", never])) as up, up.http() as http:
        said = [{"role": "user", "content": "hi"}]
        await http.post("/chat", json={"messages": said, "session_id": "s"})
        more = [*said, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "more"}]
        asked = {"model": "assistant", "metadata": {"conversation_id": "s"}, "messages": more}
        running = asyncio.create_task(http.post("/v1/chat/completions", json=asked))
        await until(lambda: up.gateway.runs.running)
        refused = await http.delete("/sessions/s")
        up.gateway.runs.running[0].cancel("caller")
        await running
        assert (await http.delete("/sessions/s")).status_code == 204
        assert (await http.get("/sessions/s")).status_code == 404
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")


async def test_ids_that_are_tricks_open_nothing() -> None:
    async with served(ScriptedModel(then="ok")) as up, up.http() as http:
        for wrong in ("x" * 257, "", 5):
            answer = await http.post("/chat", json={"input": "hi", "session_id": wrong})
            assert answer.status_code == 400
        for path in ("x" * 5_000, "..%2F..%2Fetc%2Fpasswd", "%00", "s%2F..", "%F0%9F%92%A9", "%ff", "None", "null"):
            assert (await http.get(f"/sessions/{path}")).status_code == 404
            assert (await http.delete(f"/sessions/{path}")).status_code == 404


async def test_a_history_beyond_all_limits_is_given_to_nobody_twice_and_harms_no_other_session() -> None:
    limits = {"sessions": {"max_bytes": 2_000, "keep_bytes": 50_000}}
    model = ScriptedModel(then="ok")
    async with served(model, limits) as up, up.http() as http:
        await http.post("/chat", json={"input": "small", "session_id": "small"})
        messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": "x" * 400} for n in range(2_001)]
        giant = await http.post("/chat", json={"messages": messages, "session_id": "long"})
        newest = await http.post("/chat", json={"input": "y" * 10_000, "session_id": "long"})
        after = (await http.get("/sessions/long")).json()
        huge = await http.post("/chat", json={"input": "z" * 60_000, "session_id": "huge"})
        assert (await http.get("/sessions/huge")).status_code == 404
        assert (await http.get("/sessions/small")).status_code == 200
    assert [answer.status_code for answer in (giant, newest, huge)] == [200, 200, 200]
    # What the caller sent is given whole; what is remembered of it is the window.
    assert [len(request.messages) for request in model.requests[1:3]] == [2_001, 5]
    assert after["message_count"] == 2


async def test_sessions_that_are_forgotten_free_their_memory_and_their_tenant_pays() -> None:
    limits = {"sessions": {"max_bytes": 10_000, "keep_bytes": 100_000, "max_per_tenant": 50}, "runs": {"keep_bytes": 0}}
    async with served(ScriptedModel(then="ok"), {**TENANTS, **limits}) as up, up.http() as http:
        await http.post("/chat", json={"input": "hi", "session_id": "mine"}, headers=as_("b"))
        for number in range(60):
            body = {"input": "x" * 9_000, "session_id": f"{number}"}
            await http.post("/chat", json=body, headers=as_("a"))
        large = (await http.get("/sessions", params={"limit": 100}, headers=as_("a"))).json()["sessions"]
        for number in range(60):
            await http.post("/chat", json={"input": "x", "session_id": f"{number}"}, headers=as_("a"))
        small = (await http.get("/sessions", params={"limit": 100}, headers=as_("a"))).json()["sessions"]
        kept = await http.get("/sessions/mine", headers=as_("b"))
    assert [one["id"] for one in large] == [f"{number}" for number in range(59, 59 - len(large), -1)]
    assert 5 <= len(large) <= 11
    assert len(small) == 50
    assert kept.status_code == 200


async def test_a_run_that_is_kept_counts_with_what_was_remembered_for_it() -> None:
    async with served(ScriptedModel(then="ok"), {"runs": {"keep_bytes": 10_000}}) as up, up.http() as http:
        await http.post("/chat", json={"input": "x" * 9_000, "session_id": "s"})
        large = await http.post("/chat", json={"input": "hi", "session_id": "s"})
        small = await http.post("/chat", json={"input": "hi", "session_id": "t"})
        kept = [(await http.get(f"/runs/{answer.json()['run_id']}")).status_code for answer in (large, small)]
    assert kept == [404, 200]
