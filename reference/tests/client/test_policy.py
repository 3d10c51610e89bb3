"""A call through the pipeline: retries, breaker, cache, parameters, approval, middleware."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import logging
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from support.chats import answers_in, by_type, chat, events_of, make_pipeline
from support.clock import Clock
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer, in_turn

from xmcp.chat.errors import CallFailed, QuotaExceeded
from xmcp.client.calls.app_parameters import hidden
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.retry_policy import RetryPolicy
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import LLMState, Middleware, Stack, ToolState
from xmcp.client.loop import turn
from xmcp.client.slots import Slots
from xmcp.client.tools.catalogue import build
from xmcp.client.tools.input_schema import declared
from xmcp.client.tools.schemas import offered
from xmcp.providers import Completion, ProviderError, Usage
from xmcp.storage import MemoryBreakers, MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

READ_ONLY = {"annotations": {"readOnlyHint": True}}
CACHEABLE = {"annotations": {"readOnlyHint": True}, "metadata": {"cacheable": True}}
LATE = ErrorInfo("DB_TIMEOUT", "late")
LOST = CallFailed(ErrorInfo("CONNECTION_FAILED", "gone", meta={"side_effects": "unknown"}), transport=True)


async def test_a_retryable_failure_of_a_tool_that_changes_nothing_is_tried_again_and_told() -> None:
    server = ScriptedServer({"read": in_turn(LATE, LATE, "found")}, read=READ_ONLY)
    told = by_type(await events_of(chat(ScriptedModel(asks("read")), server)))
    assert [(e.attempt, e.error and e.error.code, e.call_id) for e in told["retry"]] == [
        (1, "DB_TIMEOUT", "c0"),
        (2, "DB_TIMEOUT", "c0"),
    ]
    assert told["tool_error"] == []
    assert [(e.text, e.report and e.report.attempts) for e in told["tool_result"]] == [("found", 3)]
    assert server.count("read") == 3


@pytest.mark.parametrize(
    ("earlier", "last", "known"),
    [
        ("unknown", "none", "unknown"),
        ("partial", "none", "unknown"),
        (None, "none", "unknown"),
        ("none", "none", "none"),
        ("unknown", "unknown", "unknown"),
        ("none", "unknown", "unknown"),
    ],
)
@pytest.mark.parametrize("final", [True, False])
async def test_what_an_earlier_attempt_may_have_changed_is_not_forgotten(
    earlier: str | None, last: str, known: str, final: bool
) -> None:
    def failure(effects: str | None, code: str) -> CallFailed:
        meta = {"side_effects": effects} if effects else None
        return CallFailed(ErrorInfo(code, "gone", retryable=code != "AUTH_REQUIRED", meta=meta))

    ending = failure(last, "AUTH_REQUIRED" if final else "CONNECTION_FAILED")
    server = ScriptedServer({"read": in_turn(failure(earlier, "CONNECTION_FAILED"), ending)}, read=READ_ONLY)
    model = ScriptedModel(asks("read"))
    await events_of(chat(model, server, retry=RetryPolicy(max_attempts=2, backoff_base=0)))
    error = answers_in(model.requests[1].messages)["c0"].error
    assert error is not None
    assert (error.code, (error.meta or {})["side_effects"]) == (ending.error.code, known)


async def test_the_last_failure_goes_to_the_model() -> None:
    server = ScriptedServer({"read": in_turn(LATE)}, read=READ_ONLY)
    model = ScriptedModel(asks("read"))
    await events_of(chat(model, server, retry=RetryPolicy(max_attempts=2)))
    assert server.count("read") == 2
    assert answers_in(model.requests[1].messages)["c0"].error == LATE


@pytest.mark.parametrize("described", [{}, {"annotations": {"destructiveHint": False}}])
async def test_a_tool_that_might_change_something_is_not_called_twice(described: dict[str, Any]) -> None:
    server = ScriptedServer({"write": in_turn(LATE, "done")}, write=described)
    told = by_type(await events_of(chat(ScriptedModel(asks("write")), server)))
    assert server.count("write") == 1
    assert (told["retry"], len(told["tool_error"])) == ([], 1)


async def test_a_call_that_never_left_is_made_again_whatever_the_tool_does() -> None:
    never_left = CallFailed(ErrorInfo("CONNECTION_FAILED", "down", meta={"side_effects": "none"}), transport=True)
    server = ScriptedServer({"write": in_turn(never_left, "done")})
    told = by_type(await events_of(chat(ScriptedModel(asks("write")), server)))
    assert [e.text for e in told["tool_result"]] == ["done"]


async def test_the_wait_is_what_the_server_asks_for_and_a_wait_too_long_is_no_wait() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    patient = ErrorInfo("RATE_LIMIT", "m", True, 90_000)
    server = ScriptedServer({"read": in_turn(patient, "ok")}, read=READ_ONLY)
    policy = RetryPolicy(max_elapsed=200)
    await events_of(chat(ScriptedModel(asks("read")), server, sleep=sleep, retry=policy))
    assert waits == [90.0]
    server = ScriptedServer({"read": in_turn(ErrorInfo("RATE_LIMIT", "m", True, 120_001), "ok")}, read=READ_ONLY)
    told = by_type(await events_of(chat(ScriptedModel(asks("read")), server, sleep=sleep, retry=policy)))
    assert (waits, server.count("read"), len(told["tool_error"])) == ([90.0], 1, 1)


async def test_a_wait_longer_than_the_chat_has_left_is_no_wait() -> None:
    server = ScriptedServer({"read": in_turn(ErrorInfo("RATE_LIMIT", "m", True, 60_000), "ok")}, read=READ_ONLY)
    told = by_type(await events_of(chat(ScriptedModel(asks("read")), server, chat_timeout=30, sleep=asyncio.sleep)))
    assert (server.count("read"), len(told["tool_error"])) == (1, 1)


async def test_a_slot_is_free_while_a_call_waits_for_its_next_attempt() -> None:
    waiting = asyncio.Event()

    async def sleep(_: float) -> None:
        waiting.set()
        await asyncio.sleep(0.01)

    async def other(_: Any) -> str:
        await waiting.wait()
        return "other"

    server = ScriptedServer({"read": in_turn(LATE, "ok"), "other": other}, read=READ_ONLY)
    slots = Slots(1)
    told = by_type(await events_of(chat(ScriptedModel(asks("read", "other")), server, slots=slots, sleep=sleep)))
    assert [e.text for e in told["tool_result"]] == ["other", "ok"]


async def test_a_breaker_opens_after_lost_connections_and_time_outs_and_one_probe_decides() -> None:
    clock = Clock()
    breakers = MemoryBreakers(threshold=2, reset_after=10, clock=clock)
    server = ScriptedServer({"t": in_turn(LOST, LOST, LOST, "back")})
    pipeline = make_pipeline(breakers=breakers)

    async def code() -> str:
        model = ScriptedModel(asks("t"))
        await events_of(chat(model, server, pipeline=pipeline))
        error = answers_in(model.requests[1].messages)["c0"].error
        return error.code if error else "ok"

    assert [await code() for _ in range(4)] == ["CONNECTION_FAILED"] * 2 + ["CIRCUIT_OPEN"] * 2
    assert server.count("t") == 2
    clock.now = 10
    assert await code() == "CONNECTION_FAILED"
    assert await code() == "CIRCUIT_OPEN"
    clock.now = 20
    assert [await code(), await code()] == ["ok", "ok"]


async def test_an_open_breaker_says_when_to_come_back_and_holds_only_its_own_server() -> None:
    pipeline = make_pipeline(breakers=MemoryBreakers(threshold=1, reset_after=7, clock=Clock()))
    down, up = ScriptedServer({"t": in_turn(LOST)}, "down"), ScriptedServer({"u": in_turn("ok")}, "up")
    model = ScriptedModel(asks("t"), asks("t", "u"))
    told = by_type(await events_of(chat(model, down, up, pipeline=pipeline)))
    error = answers_in(model.requests[2].messages)["c0_1"].error
    assert error is not None
    assert (error.code, error.retryable, error.retry_after_ms) == ("CIRCUIT_OPEN", True, 7000)
    assert [e.text for e in told["tool_result"]] == ["ok"]


async def test_what_an_open_breaker_holds_back_after_an_attempt_may_have_changed_something() -> None:
    pipeline = make_pipeline(breakers=MemoryBreakers(threshold=1, reset_after=7, clock=Clock()))
    server = ScriptedServer({"read": in_turn(LOST)}, read=READ_ONLY)
    model = ScriptedModel(asks("read"), asks("read"))
    await events_of(chat(model, server, pipeline=pipeline))
    errors = [answer.error for answer in answers_in(model.requests[-1].messages).values()]
    assert [(error.code, (error.meta or {})["side_effects"]) for error in errors if error is not None] == [
        ("CIRCUIT_OPEN", "unknown"),
        ("CIRCUIT_OPEN", "none"),
    ]


async def test_a_tools_own_errors_never_open_a_breaker_and_a_time_out_does() -> None:
    never = asyncio.Event()
    server = ScriptedServer({"fails": in_turn(LATE), "hangs": lambda _: never.wait()})
    breakers = MemoryBreakers(threshold=2, reset_after=7, clock=Clock())
    pipeline = make_pipeline(breakers=breakers, timeout=0.01)
    await events_of(chat(ScriptedModel(asks(*["fails"] * 4)), server, pipeline=pipeline))
    model = ScriptedModel(asks("hangs"), asks("hangs"), asks("fails"))
    await events_of(chat(model, server, pipeline=pipeline))
    codes = [answer.error and answer.error.code for answer in answers_in(model.requests[-1].messages).values()]
    assert codes == ["TIMEOUT", "TIMEOUT", "CIRCUIT_OPEN"]


async def test_stores_that_fail_are_a_line_in_the_log_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def admit(self, server: str) -> Any:
            raise OSError("redis://:secret@host is gone")

        record = get = set = admit

    server = ScriptedServer({"t": in_turn("ok")}, t=CACHEABLE)
    cache = ResponseCache(Broken(), None, EventLog())  # type: ignore[arg-type]
    told = by_type(await events_of(chat(ScriptedModel(asks("t")), server, breakers=Broken(), cache=cache)))
    assert [e.text for e in told["tool_result"]] == ["ok"]
    assert "secret" not in caplog.text
    assert [r.xmcp["operation"] for r in caplog.records if r.name == "xmcp"] == ["get", "admit", "set"]  # type: ignore[attr-defined]


def cached(**options: Any) -> dict[str, Any]:
    return {"cache": ResponseCache(MemoryCache(), None, EventLog()), **options}


async def test_equal_calls_of_a_cacheable_tool_are_answered_from_the_cache_without_the_server() -> None:
    server = ScriptedServer({"t": lambda a: (f"rows {a}", {"rows": 3})}, t=CACHEABLE)
    pipeline = make_pipeline(**cached())
    first = by_type(await events_of(chat(ScriptedModel(asks(("t", {"a": 1, "b": 2}))), server, pipeline=pipeline)))
    again = by_type(await events_of(chat(ScriptedModel(asks(("t", '{"b":2,"a":1}'))), server, pipeline=pipeline)))
    assert server.count("t") == 1
    assert first["tool_result"][0].text == again["tool_result"][0].text
    assert (again["tool_started"], again["tool_result"][0].report and again["tool_result"][0].report.cached) == (
        [],
        True,
    )


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"tenant": "other"}, 2),
        ({"tenant": None}, 2),
        ({"arguments": {"a": 2}}, 2),
        ({"arguments": {"a": True}}, 2),
        ({"arguments": {"a": "1"}}, 2),
        ({"description": "another"}, 2),
        ({"server": "elsewhere"}, 2),
    ],
)
async def test_nothing_is_answered_with_what_was_answered_to_something_else(change: dict[str, Any], count: int) -> None:
    pipeline, calls = make_pipeline(**cached()), 0
    for tenant, arguments, description, name in (
        ("mine", {"a": 1}, "d", "here"),
        (
            change.get("tenant", "mine"),
            change.get("arguments", {"a": 1}),
            change.get("description", "d"),
            change.get("server", "here"),
        ),
    ):
        server = ScriptedServer({"t": in_turn("ok")}, name, t={**CACHEABLE, "description": description})
        await events_of(chat(ScriptedModel(asks(("t", arguments))), server, tenant=tenant, pipeline=pipeline))
        calls += server.count("t")
    assert calls == count


TRANSIENT = ToolResponse("t", "x", DisplayEnvelope(type="text", payload="p", meta={"transient": True}))


@pytest.mark.parametrize(
    ("tool", "described", "answer", "count", "options"),
    [
        ("t", {}, "ok", 2, {}),
        ("t", READ_ONLY, "ok", 2, {}),
        ("t", READ_ONLY, "ok", 1, {"cache_read_only": True}),
        ("t", CACHEABLE, ErrorInfo("NOT_FOUND", "m"), 2, {}),
        ("t", CACHEABLE, TRANSIENT, 2, {}),
        ("health_check", CACHEABLE, "ok", 2, {"cache_read_only": True}),
    ],
)
async def test_what_may_be_kept_is_kept_and_nothing_else(
    tool: str, described: dict[str, Any], answer: Any, count: int, options: dict[str, Any]
) -> None:
    server = ScriptedServer({tool: in_turn(answer)}, **{tool: described})
    pipeline = make_pipeline(**cached(**options))
    for _ in range(2):
        await events_of(chat(ScriptedModel(asks(tool)), server, pipeline=pipeline, settings={"display": "continue"}))
    assert server.count(tool) == count


async def test_a_cached_display_is_shown_again_and_a_cached_result_is_handed_on() -> None:
    shown = ToolResponse("t", "x", DisplayEnvelope(type="table", payload=[{"a": 1}]))
    server = ScriptedServer(
        {"t": lambda _: (shown, {"rows": [1]}), "u": lambda a: str(a)},
        t=CACHEABLE,
        u={"metadata": {"depends_on": ["t"]}, "inputSchema": {"type": "object", "properties": {"rows": {}}}},
    )
    pipeline = make_pipeline(**cached())
    for _ in range(2):
        told = by_type(await events_of(chat(ScriptedModel(asks("t", "u")), server, pipeline=pipeline)))
        assert [e.envelope and e.envelope.payload for e in told["tool_display"]] == [[{"a": 1}]]
    assert (server.count("t"), server.calls[-1]) == (1, ("u", {"rows": [1]}))


async def test_equal_calls_at_once_are_one_call_and_who_leaves_leaves_the_others_their_answer() -> None:
    gate = asyncio.Event()

    async def slow(_: Any) -> str:
        await gate.wait()
        return "ok"

    server = ScriptedServer({"t": slow}, t=CACHEABLE)
    pipeline, tasks = make_pipeline(**cached()), asyncio.all_tasks()
    running = [
        asyncio.create_task(events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline))) for _ in range(9)
    ]
    await server.called.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    running[0].cancel()
    await asyncio.wait({running[0]})
    gate.set()
    results = await asyncio.gather(*running[1:])
    assert [by_type(told)["tool_result"][0].text for told in results] == ["ok"] * 8
    assert server.count("t") == 1
    assert asyncio.all_tasks() == tasks


class ReplacingArguments(Middleware):
    async def after_tool(self, state: ToolState) -> None:
        state.arguments = {"q": "redacted"}


class EditingArguments(Middleware):
    async def after_tool(self, state: ToolState) -> None:
        state.arguments["q"] = "redacted"


@pytest.mark.parametrize("hook", [ReplacingArguments, EditingArguments])
async def test_a_call_goes_on_for_others_with_the_arguments_that_it_began_with(hook: Any) -> None:
    gate = asyncio.Event()

    async def fails_later(_: Any) -> ErrorInfo:
        await gate.wait()
        return ErrorInfo("UPSTREAM_UNAVAILABLE", "m")

    server = ScriptedServer({"t": in_turn(fails_later, lambda given: f"about {given['q']}")}, t=CACHEABLE)
    pipeline = make_pipeline(**cached(middleware=Stack([hook()])))

    def asked() -> Any:
        return events_of(chat(ScriptedModel(asks(("t", {"q": "a"}))), server, pipeline=pipeline))

    first, second = asyncio.create_task(asked()), asyncio.create_task(asked())
    await server.called.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    # The hook of the chat that began the call runs now, while the call goes on for the other one.
    first.cancel()
    await asyncio.wait({first})
    gate.set()
    assert by_type(await second)["tool_result"][0].text == "about a"
    assert by_type(await asked())["tool_result"][0].text == "about a"
    assert server.calls == [("t", {"q": "a"}), ("t", {"q": "a"})]


async def test_a_call_that_nobody_waits_for_any_more_is_cancelled_at_its_server() -> None:
    never = asyncio.Event()
    server = ScriptedServer({"t": lambda _: never.wait()}, t=CACHEABLE)
    pipeline, tasks = make_pipeline(**cached()), asyncio.all_tasks()
    running = [
        asyncio.create_task(events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline))) for _ in range(2)
    ]
    await server.called.wait()
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    assert (server.running, asyncio.all_tasks()) == (0, tasks)


FILLED = {"inputSchema": {"type": "object", "properties": {"user": {}, "q": {}}, "required": ["user"]}}


async def test_parameters_of_the_application_take_the_place_of_what_the_model_wrote() -> None:
    server = ScriptedServer({"t": lambda a: str(a)}, t=FILLED)

    async def user(state: ToolState) -> str:
        return f"{state.tenant_id}/{state.tool_name}"

    model = ScriptedModel(asks(("t", {"q": 1, "user": "root"})))
    told = by_type(await events_of(chat(model, server, tenant="acme", params={"user": user, "other": 3})))
    assert server.calls == [("t", {"q": 1, "user": "acme/t"})]
    assert "'user'" in (told["warning"][0].text or "")


@pytest.mark.parametrize("value", [None, lambda state: None, lambda state: {}["user"]])
async def test_a_parameter_without_a_value_is_an_error_where_the_tool_needs_it(value: Any) -> None:
    server = ScriptedServer({"t": in_turn("ok")}, t=FILLED)
    model = ScriptedModel(asks("t"))
    await events_of(chat(model, server, params={"user": value}))
    error = answers_in(model.requests[1].messages)["c0"].error
    assert error is not None
    assert (error.code, server.calls) == ("MISSING_SERVER_PARAM", [])


async def test_a_parameter_that_the_application_fails_to_give_ends_the_call_whether_or_not_the_tool_needs_it() -> None:
    def broken(_: ToolState) -> str:
        raise RuntimeError("the vault is shut")

    for schema in (FILLED, {"inputSchema": {"type": "object", "properties": {"user": {}}}}):
        server = ScriptedServer({"t": in_turn("ok")}, t=schema)
        model = ScriptedModel(asks("t"))
        await events_of(chat(model, server, params={"user": broken}))
        error = answers_in(model.requests[1].messages)["c0"].error
        assert error is not None
        assert (error.code, "vault" in error.message, server.calls) == ("INTERNAL", False, [])


async def _no(state: ToolState) -> bool:
    return False


async def _never(state: ToolState) -> bool:
    await asyncio.Event().wait()
    return True


def _broken(state: ToolState) -> bool:
    raise RuntimeError("secret")


@pytest.mark.parametrize(
    ("approve", "said"),
    [
        (lambda state: False, "did not approve"),
        (lambda state: "Not on a Sunday.", "Not on a Sunday."),
        (_no, "did not approve"),
        (_never, "in time"),
        (_broken, "did not approve"),
        (lambda state: 1, "did not approve"),
    ],
)
async def test_a_call_that_is_not_approved_is_not_made_and_the_model_is_told(approve: Any, said: str) -> None:
    server = ScriptedServer({"t": in_turn("ok")})
    model = ScriptedModel(asks("t"))
    await events_of(chat(model, server, approve=approve, approval_timeout=0.05))
    error = answers_in(model.requests[1].messages)["c0"].error
    assert error is not None
    assert (error.code, server.calls) == ("FORBIDDEN", [])
    assert said in error.message
    assert "secret" not in error.message


async def test_who_approves_sees_the_call_and_an_approved_call_is_made() -> None:
    seen: list[tuple[str, dict[str, Any], bool]] = []

    def approve(state: ToolState) -> bool:
        seen.append((state.tool_name, state.arguments, state.read_only))
        return True

    server = ScriptedServer({"t": in_turn("ok")}, t=READ_ONLY)
    await events_of(chat(ScriptedModel(asks(("t", {"a": 1}))), server, approve=approve))
    assert (seen, server.calls) == ([("t", {"a": 1}, True)], [("t", {"a": 1})])


async def test_an_approval_without_a_time_limit_is_waited_for() -> None:
    async def approve(_: ToolState) -> bool:
        await asyncio.sleep(0)
        return True

    server = ScriptedServer({"t": in_turn("ok")})
    await events_of(chat(ScriptedModel(asks("t")), server, approve=approve, approval_timeout=None))
    assert server.count("t") == 1


class Notes(Middleware):
    def __init__(self, notes: list[Any], name: str = "") -> None:
        self.notes, self.name = notes, name

    async def before_llm(self, state: LLMState) -> None:
        self.notes.append(f"{self.name}before_llm {state.turn}")

    async def after_llm(self, state: LLMState) -> None:
        used = state.usage and state.usage["input_tokens"]
        self.notes.append(f"{self.name}after_llm {type(state.error).__name__} {used}")

    def before_tool(self, state: ToolState) -> None:  # type: ignore[override]
        self.notes.append(f"{self.name}before_tool {state.tool_name} {state.tenant_id}")

    async def after_tool(self, state: ToolState) -> None:
        said = state.response and (state.response.error or state.response.llm_output)
        self.notes.append(f"{self.name}after_tool {said}")


async def test_middleware_goes_around_every_model_call_and_every_tool_call_in_order() -> None:
    notes: list[Any] = []
    server = ScriptedServer({"t": in_turn("ok")})
    model = ScriptedModel(Completion("", asks("t").tool_calls, usage=Usage(7, 1, 0)))
    stack = Stack([Notes(notes, "a "), Notes(notes, "b ")])
    await events_of(chat(model, server, tenant="acme", middleware=stack))
    assert notes == [
        "a before_llm 1",
        "b before_llm 1",
        "b after_llm NoneType 7",
        "a after_llm NoneType 7",
        "a before_tool t acme",
        "b before_tool t acme",
        "b after_tool ok",
        "a after_tool ok",
        "a before_llm 2",
        "b before_llm 2",
        "b after_llm NoneType None",
        "a after_llm NoneType None",
    ]


async def test_middleware_sees_out_what_it_let_in_also_when_that_failed_or_was_cancelled() -> None:
    notes: list[Any] = []
    never = asyncio.Event()
    server = ScriptedServer({"t": lambda _: never.wait()})
    model = ScriptedModel(asks("t"))
    running = chat(model, server, middleware=Stack([Notes(notes)]))
    events = running.run()
    async for event in events:
        if event.type == "tool_started":
            break
    await events.aclose()
    assert notes[-1] == "after_tool None"
    notes.clear()
    with pytest.raises(ProviderError):
        await events_of(chat(ScriptedModel(ProviderError("down")), middleware=Stack([Notes(notes)])))
    assert notes == ["before_llm 1", "after_llm ProviderError None"]


async def test_middleware_can_answer_in_the_tools_place_and_change_what_goes_in_and_out() -> None:
    class Changes(Middleware):
        async def before_tool(self, state: ToolState) -> ToolResponse | ErrorInfo | None:
            if state.tool_name == "t":
                return ErrorInfo("FORBIDDEN", "not here")
            state.arguments = {**state.arguments, "added": 1}
            return None

        async def after_tool(self, state: ToolState) -> None:
            if state.response is not None and state.response.llm_output:
                state.response = ToolResponse(state.tool_name, state.response.llm_output.upper())

    server = ScriptedServer({"t": in_turn("ok"), "u": lambda a: str(a)})
    model = ScriptedModel(asks("t", "u"))
    await events_of(chat(model, server, middleware=Stack([Changes()])))
    answers = answers_in(model.requests[1].messages)
    assert answers["c0"].error == ErrorInfo("FORBIDDEN", "not here")
    assert answers["c1"].llm_output == "{'ADDED': 1}"
    assert server.calls == [("u", {"added": 1})]


async def test_a_hook_that_fails_before_a_call_fails_the_call_and_one_after_it_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fails(Middleware):
        async def before_tool(self, state: ToolState) -> None:
            if state.tool_name == "t":
                raise ValueError("secret")

        async def after_tool(self, state: ToolState) -> None:
            raise ValueError("secret")

    server = ScriptedServer({"t": in_turn("ok"), "u": in_turn("fine")})
    model = ScriptedModel(asks("t", "u"))
    await events_of(chat(model, server, middleware=Stack([Fails()])))
    answers = answers_in(model.requests[1].messages)
    assert answers["c0"].error is not None
    assert (answers["c0"].error.code, answers["c1"].llm_output) == ("INTERNAL", "fine")
    assert "secret" not in str(model.requests[1].messages)
    assert [r.getMessage().split()[0] for r in caplog.records if r.levelno == logging.ERROR] == [
        "call_crashed",
        "middleware_failed",
    ]


async def test_a_quota_stops_a_chat_before_the_model_is_asked_and_leaves_a_history_to_go_on_from(valid: Any) -> None:
    class Quota(Middleware):
        async def before_llm(self, state: LLMState) -> None:
            if state.turn == 2:
                raise QuotaExceeded(tenant_id=state.tenant_id, quota="tokens", used=90, limit=80)

    model = ScriptedModel(asks("t"))
    running = chat(model, ScriptedServer({"t": in_turn("ok")}), tenant="acme", middleware=Stack([Quota()]))
    with pytest.raises(QuotaExceeded, match="of tenant 'acme' of tokens is used up: 90 of 80") as caught:
        await events_of(running)
    assert len(model.requests) == 1
    assert caught.value.history is not None
    valid(caught.value.history)
    assert [m["role"] for m in caught.value.history] == ["user", "assistant", "tool"]
    assert caught.value.usage is not None
    assert caught.value.usage["llm_calls"] == 1


async def test_a_quota_on_tool_calls_stops_the_chat_and_every_call_is_answered(valid: Any) -> None:
    class Quota(Middleware):
        async def before_tool(self, state: ToolState) -> None:
            if state.tool_name == "t":
                await asyncio.sleep(0)
                raise QuotaExceeded("no more")

    never, tasks = asyncio.Event(), asyncio.all_tasks()
    server = ScriptedServer({"t": in_turn("ok"), "hangs": lambda _: never.wait()})
    running = chat(ScriptedModel(asks("hangs", "t")), server, middleware=Stack([Quota()]))
    with pytest.raises(QuotaExceeded, match="no more") as caught:
        await events_of(running)
    assert caught.value.history is not None
    valid(caught.value.history)
    codes = [answer.error and answer.error.code for answer in answers_in(caught.value.history).values()]
    assert codes == ["CANCELLED", "QUOTA_EXCEEDED"]
    assert (server.running, asyncio.all_tasks()) == (0, tasks)


def test_an_object_without_hooks_is_no_middleware() -> None:
    for wrong in (object(), Middleware, "before_llm"):
        with pytest.raises(TypeError, match="before_llm, after_llm"):
            Stack([wrong])


async def test_a_hook_that_is_cancelled_on_the_way_out_keeps_no_other_from_its_turn() -> None:
    inside, notes = asyncio.Event(), list[str]()

    class Slow(Middleware):
        async def after_tool(self, state: ToolState) -> None:
            inside.set()
            await asyncio.Event().wait()

    server = ScriptedServer({"t": in_turn("ok")})
    stack = Stack([Notes(notes), Slow()])
    task = asyncio.create_task(events_of(chat(ScriptedModel(asks("t")), server, middleware=stack)))
    await inside.wait()
    task.cancel()
    await asyncio.wait({task})
    assert notes[-1] == "after_tool ok"


async def test_calls_that_wait_for_a_slot_are_held_back_when_the_breaker_opens_meanwhile() -> None:
    async def gone(_: Any) -> None:
        await asyncio.sleep(0)
        raise LOST

    server = ScriptedServer({"t": gone})
    pipeline = make_pipeline(
        slots=Slots(1), breakers=MemoryBreakers(2, 1000, clock=Clock()), retry=RetryPolicy(max_attempts=1)
    )
    model = ScriptedModel(asks(*["t"] * 9))
    told = by_type(await events_of(chat(model, server, pipeline=pipeline)))
    codes = [error and error.code for error in (a.error for a in answers_in(model.requests[1].messages).values())]
    assert codes == ["CONNECTION_FAILED"] * 2 + ["CIRCUIT_OPEN"] * 7
    assert (server.count("t"), len(told["tool_started"])) == (2, 2)


USER: dict[str, Any] = {"properties": {"user_id": {"type": "string"}}, "required": ["user_id"]}
HIDDEN_IN: dict[str, dict[str, Any]] = {
    "allOf": {"type": "object", "allOf": [USER, {"properties": {"q": {}}}]},
    "anyOf": {"type": "object", "anyOf": [USER, {"properties": {"q": {}}}]},
    "oneOf in allOf": {"type": "object", "allOf": [{"oneOf": [USER, {"properties": {"q": {}}}]}]},
    "a reference in allOf": {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/who"}],
        "properties": {"q": {}},
        "$defs": {"who": USER},
    },
    "a reference": {
        "$ref": "#/$defs/all",
        "$defs": {
            "all": {"type": "object", "properties": {**USER["properties"], "q": {"$ref": "#/$defs/q"}}},
            "q": {"type": "integer"},
        },
    },
    "beside a reference": {
        "type": "object",
        "$ref": "#/$defs/rest",
        **USER,
        "$defs": {"rest": {"properties": {"q": {}}}},
    },
    "itself, and again in a part": {
        "type": "object",
        "properties": {**USER["properties"], "q": {}},
        "anyOf": [{"required": ["user_id"]}, {"required": ["q"]}],
    },
}


@pytest.mark.parametrize("where", HIDDEN_IN)
async def test_a_parameter_of_the_application_is_hidden_and_set_wherever_the_schema_has_it(where: str) -> None:
    server = ScriptedServer({"t": lambda a: "ok"}, t={"inputSchema": HIDDEN_IN[where]})
    entry = build([(server, server.listing)], 1).entries["t"]
    assert hidden({"user_id": "me"}, entry) == ["user_id"]
    shown = offered(entry, {"t": entry}, ["user_id"])["function"]["parameters"]
    jsonschema_rs.Draft202012Validator(shown)  # refuses references to what is not there
    assert "user_id" not in json.dumps(shown)
    assert '"q"' in json.dumps(shown)
    model = ScriptedModel(asks(("t", {"user_id": "victim", "q": 1})))
    events = by_type(await events_of(chat(model, server, params={"user_id": "me"})))
    assert server.calls == [("t", {"user_id": "me", "q": 1})]
    assert "'user_id'" in (events["warning"][0].text or "")


async def test_a_name_of_the_application_that_no_schema_knows_is_never_the_models_to_set() -> None:
    server = ScriptedServer({"t": lambda a: "ok"}, t={"inputSchema": {"type": "object", "properties": {"q": {}}}})
    model = ScriptedModel(asks(("t", {"user_id": "victim", "q": 1})))
    await events_of(chat(model, server, params={"user_id": "me"}))
    assert server.calls == [("t", {"q": 1})]


def test_a_schema_that_refers_to_itself_many_times_is_looked_through_at_once() -> None:
    parts = 0

    class Counted(dict[str, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            nonlocal parts
            parts += 1
            assert parts < 100, "the same parts are looked at again and again"
            return super().get(key, default)

    looped = Counted({"anyOf": [{"$ref": "#/$defs/a"}] * 20, "properties": {"user_id": {}}})
    schema = {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": looped}}
    assert declared(schema) == {"user_id"}


class InPlace(Middleware):
    """Changes the response itself, not what it stands in."""

    async def after_tool(self, state: ToolState) -> None:
        assert state.response is not None
        if state.tool_name == "says":
            state.response.llm_output = "masked"
        if state.response.display is not None:
            state.response.display.payload[0]["name"] = "masked"  # type: ignore[index]


async def test_a_response_that_a_hook_changed_in_place_is_what_everybody_gets() -> None:
    server = ScriptedServer(
        {
            "says": lambda _: ("secret", {"says": "secret"}),
            "shows": lambda _: ToolResponse("shows", "x", DisplayEnvelope(type="table", payload=[{"name": "secret"}])),
            "uses": lambda a: f"got {a}",
        },
        says={"metadata": {"provides": "says"}},
        uses={
            "metadata": {"depends_on": ["says"]},
            "inputSchema": {"type": "object", "properties": {"says": {"type": "string"}}},
        },
    )
    model = ScriptedModel(asks("says", "shows", "uses"))
    told = await events_of(chat(model, server, middleware=Stack([InPlace()])))
    assert server.calls[-1] == ("uses", {"says": "masked"})
    assert "secret" not in str(model.requests[1].messages)
    assert "secret" not in str(told)
    assert str(model.requests[1].messages).count("masked") == 3


class Document:
    """A document as a server wrote it, in no way that we would."""

    error = None

    def to_xml(self) -> str:
        return "<tool_response  tool_name='t'>\n <llm_output>a &#38; b</llm_output>\n</tool_response>\n"


class Looks(Middleware):
    async def after_tool(self, state: ToolState) -> None:
        assert state.response is not None
        assert state.response.llm_output == "a & b"


@pytest.mark.parametrize("hooks", [[], [Looks()]])
async def test_a_response_that_no_hook_changed_reaches_the_model_byte_for_byte(hooks: list[Any]) -> None:
    server = ScriptedServer(
        {"t": lambda _: (Document(), {"n": 3}), "u": lambda a: str(a)},
        u={"metadata": {"depends_on": ["t"]}, "inputSchema": {"type": "object", "properties": {"n": {}}}},
    )
    model = ScriptedModel(asks("t", "u"))
    await events_of(chat(model, server, middleware=Stack(hooks)))
    assert model.requests[1].messages[2]["content"] == Document().to_xml()
    assert server.calls[-1] == ("u", {"n": 3})


@pytest.fixture
async def unraisable() -> AsyncIterator[list[Any]]:
    """What the event loop could only complain of."""
    heard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["message"]))
    yield heard
    gc.collect()
    await asyncio.sleep(0)
    assert heard == []


class Dated(Middleware):
    def before_tool(self, state: ToolState) -> ToolResponse | None:  # type: ignore[override]
        if state.tool_name != "t":
            return None
        rows = [[datetime.date(2024, 1, 1)]]
        return ToolResponse("t", "see", DisplayEnvelope(type="table", payload={"columns": ["d"], "rows": rows}))


async def test_a_response_of_a_hook_that_cannot_be_written_is_a_crash_of_its_call_alone(
    unraisable: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    model, server = ScriptedModel(asks("t", "u")), ScriptedServer({"t": in_turn("ok"), "u": in_turn("fine")})
    async with asyncio.timeout(5):
        told = by_type(await events_of(chat(model, server, middleware=Stack([Dated()]))))
    assert [event.report and event.report.server for event in told["tool_error"]] == ["stand_in"]
    answers = answers_in(model.requests[1].messages)
    error = answers["c0"].error
    assert error is not None
    assert (error.code, answers["c1"].llm_output) == ("INTERNAL", "fine")
    (logged,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged.getMessage().startswith("call_crashed")
    assert (error.meta or {})["error_id"] in logged.getMessage()


@pytest.mark.parametrize("broken", ["context_budget.for_model", "dependencies.fill_arguments", "meta_tools.answer"])
async def test_whatever_breaks_on_the_way_to_the_model_is_answered_and_logged_and_not_left_to_the_loop(
    broken: str, unraisable: list[Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = broken.partition(".")
    whole, calls = getattr(getattr(turn, module), name), []

    def breaks(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise RecursionError("secret")
        return whole(*args, **options)

    monkeypatch.setattr(getattr(turn, module), name, breaks)
    server = ScriptedServer({"t": in_turn("ok"), "u": in_turn("fine")}, u={"metadata": {"depends_on": ["t"]}})
    names: Any = {"context_budget": ["t"], "dependencies": ["t", "u"], "meta_tools": [("__think__", {"thought": "x"})]}[
        module
    ]
    model = ScriptedModel(asks(*names))
    async with asyncio.timeout(5):
        await events_of(chat(model, server, meta_tools=True))
    *others, answer = [*answers_in(model.requests[1].messages).values()]
    assert answer.error is not None
    assert (answer.error.code, [other.error for other in others]) == ("INTERNAL", [None] * len(others))
    assert "secret" not in str(model.requests[1].messages)
    assert [r.getMessage().split()[0] for r in caplog.records if r.levelno == logging.ERROR] == ["call_crashed"]


@pytest.mark.parametrize("value", [Decimal("1.5"), float("inf"), float("nan"), {1, 2}], ids=str)
async def test_a_call_with_arguments_that_are_no_json_is_made_and_not_kept(value: Any) -> None:
    server = ScriptedServer(
        {"t": lambda a: str(a["p"])}, t={**CACHEABLE, "inputSchema": {"type": "object", "properties": {"p": {}}}}
    )
    pipeline = make_pipeline(**cached(params={"p": value}))
    for _ in range(2):
        told = by_type(await events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline)))
        assert [e.text for e in told["tool_result"]] == [str(value)]
    assert server.count("t") == 2


async def test_answers_to_different_infinite_numbers_are_not_taken_for_each_other() -> None:
    values = [float("inf"), float("-inf"), None]
    server = ScriptedServer(
        {"t": lambda a: str(a.get("p"))}, t={**CACHEABLE, "inputSchema": {"type": "object", "properties": {"p": {}}}}
    )
    pipeline = make_pipeline(**cached(params={"p": lambda _: values.pop(0)}))
    said = []
    for _ in range(3):
        told = by_type(await events_of(chat(ScriptedModel(asks("t")), server, pipeline=pipeline)))
        said += [event.text for event in told["tool_result"]]
    assert said == ["inf", "-inf", "None"]


@pytest.mark.parametrize(("hook", "effects"), [("before_tool", "none"), ("answer", "unknown")])
async def test_a_crash_says_whether_the_server_was_asked(hook: str, effects: str) -> None:
    class Fails(Middleware):
        async def before_tool(self, state: ToolState) -> None:
            if hook == "before_tool":
                raise ValueError

        async def after_tool(self, state: ToolState) -> None:
            if hook == "answer":
                state.response = "no response"  # type: ignore[assignment]

    model = ScriptedModel(asks("t"))
    await events_of(chat(model, ScriptedServer({"t": in_turn("ok")}), middleware=Stack([Fails()])))
    error = answers_in(model.requests[1].messages)["c0"].error
    assert error is not None
    assert (error.code, (error.meta or {})["side_effects"]) == ("INTERNAL", effects)
