"""The stages of a tool call: their order, and how a response that a hook changed is recognized."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from support.chats import by_type, chat, events_of, make_pipeline
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer

from xmcp.client.calls import pipeline, server_results
from xmcp.client.calls.active_call import ActiveCall, Next
from xmcp.client.calls.breaker_guard import BreakerGuard
from xmcp.client.calls.cache import ResponseCache
from xmcp.client.calls.pipeline import Pipeline, stages_of
from xmcp.client.calls.server_results import Reading
from xmcp.client.calls.tool_hooks import snapshot
from xmcp.client.hooks.log import EventLog
from xmcp.client.hooks.middleware import Middleware, Stack
from xmcp.client.slots import Slots
from xmcp.storage import MemoryBreakers, MemoryCache
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse, encode

EVERYTHING: dict[str, Callable[[], Any]] = {
    "middleware": lambda: Stack([Middleware()]),
    "approve": lambda: lambda _: True,
    "params": lambda: {"p": 1},
    "cache": lambda: ResponseCache(MemoryCache(), None, EventLog()),
    "breakers": MemoryBreakers,
}


def names(**policy: Any) -> list[str]:
    return [stage.__name__ for stage in stages_of(make_pipeline(**policy))]  # type: ignore[attr-defined]


async def test_the_stages_of_a_call_in_their_order() -> None:
    assert names(**{option: make() for option, make in EVERYTHING.items()}) == [
        "refuse_unusable_arguments",
        "run_hooks",
        "ask_approval",
        "fill_parameters",
        "settle_arguments",
        "use_cache",
        "retry",
        "read_result",
        "in_a_slot",
        "ask_the_breaker",
        "ask_the_server",
    ]


async def test_a_stage_that_would_do_nothing_is_left_out() -> None:
    always = ["refuse_unusable_arguments", "settle_arguments", "retry", "read_result", "in_a_slot", "ask_the_server"]
    assert names() == always
    for option, make in EVERYTHING.items():
        (more,) = set(names(**{option: make()})) - set(always)
        assert more in ("run_hooks", "ask_approval", "fill_parameters", "use_cache", "ask_the_breaker")


async def test_stages_are_composed_once_for_a_client_and_anew_for_a_changed_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    composed: list[Pipeline] = []

    def counted(settings: Pipeline) -> Any:
        composed.append(settings)
        return stages_of(settings)

    monkeypatch.setattr(pipeline, "stages_of", counted)
    made = make_pipeline()
    for _ in range(2):
        model, server = ScriptedModel(asks("t", "t")), ScriptedServer({"t": lambda _: "ok"})
        await events_of(chat(model, server, pipeline=made))
    assert composed == [made]
    again = replace(made, slots=Slots(1))
    assert composed == [made, again]


async def test_a_stage_sees_the_call_and_may_answer_in_the_place_of_those_that_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answers(call: ActiveCall, proceed: Next) -> Reading:
        if call.name == "t":
            return Reading(ToolResponse("t", f"{call.arguments} {call.entry.server.name} {call.deadline()}"))
        return await proceed(call)

    monkeypatch.setattr(pipeline, "stages_of", lambda settings: (answers, *stages_of(settings)))
    model, server = ScriptedModel(asks(("t", {"a": 1}), "u")), ScriptedServer({"t": str, "u": lambda _: "real"})
    told = await events_of(chat(model, server))
    assert [event.text for event in told if event.type == "tool_result"] == ["{'a': 1} stand_in None", "real"]
    assert [name for name, _ in server.calls] == ["u"]


def response() -> ToolResponse:
    return ToolResponse(
        "t",
        "text",
        DisplayEnvelope(
            type="group",
            payload=[DisplayEnvelope(type="table", payload=[{"a": [1, {"b": 2}]}]), {"type": "text", "payload": "x"}],
            title="title",
            fallback=DisplayEnvelope(type="text", payload="x"),
            meta={"k": [1]},
            more={"unknown": ["member"]},  # type: ignore[call-arg]
        ),
        call_id="c",
        format="text/plain",
        server_populated={"values": {"p": 1}},
    )


def failure() -> ToolResponse:
    return ToolResponse("t", error=ErrorInfo("X_ODD", "message", retry_after_ms=1, meta={"params": {"a": [1]}}))


def _set(name: str, value: Any) -> Callable[[ToolResponse], None]:
    return lambda changed: setattr(changed, name, value)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "llm_output": _set("llm_output", "other"),
    "no llm_output": _set("llm_output", None),
    "tool_name": _set("tool_name", "u"),
    "call_id": _set("call_id", None),
    "format": _set("format", None),
    "truncated": _set("truncated", True),
    "lossy": _set("lossy", True),
    "version": _set("version", "1.1"),
    "no display": _set("display", None),
    "another display": _set("display", DisplayEnvelope(type="text", payload="y")),
    "title": lambda r: setattr(r.display, "title", "other"),
    "cell of a table in a group": lambda r: r.display.payload[0].payload[0]["a"][1].update(b=3),
    "number to float": lambda r: r.display.payload[0].payload[0]["a"].__setitem__(0, 1.0),
    "number to bool": lambda r: r.display.payload[0].payload[0]["a"].__setitem__(0, True),
    "row more": lambda r: r.display.payload[0].payload.append({}),
    "member of a group": lambda r: r.display.payload[1].update(payload="y"),
    "fallback": lambda r: setattr(r.display.fallback, "payload", "y"),
    "meta of a display": lambda r: r.display.meta["k"].append(2),
    "unknown member of a display": lambda r: r.display.more["unknown"].clear(),
    "what the server filled in": lambda r: r.server_populated["values"].update(p=2),
    "nothing the server filled in": _set("server_populated", None),
    "what orjson cannot write": lambda r: r.display.meta.update(k=2**70),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_response_in_place_is_noticed(change: str) -> None:
    changed = response()
    before = snapshot(changed)
    CHANGES[change](changed)
    assert snapshot(changed) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.error.meta["params"]["a"].append(2),
        lambda r: r.error.meta.clear(),
        lambda r: setattr(r, "error", replace(r.error, message="other")),
        lambda r: setattr(r, "error", replace(r.error, retry_after_ms=2)),
        lambda r: setattr(r, "error", replace(r.error, retryable=True)),
        lambda r: setattr(r, "error", replace(r.error, category="auth")),
        lambda r: setattr(r, "error", None),
    ],
)
def test_every_change_of_an_error_is_noticed(change: Callable[[ToolResponse], None]) -> None:
    changed = failure()
    before = snapshot(changed)
    change(changed)
    assert snapshot(changed) != before


@pytest.mark.parametrize("make", [response, failure])
def test_an_equal_response_is_no_change_whatever_object_it_is(make: Callable[[], ToolResponse]) -> None:
    assert snapshot(make()) == snapshot(make()) == snapshot(deepcopy(make()))


@pytest.mark.parametrize("change", ["format", "truncated"])
def test_what_is_written_only_with_a_text_is_no_change_of_a_response_without_one(change: str) -> None:
    changed = replace(response(), llm_output=None, format=None)
    before, document = snapshot(changed), encode(changed, check=False)
    setattr(changed, change, "text/plain" if change == "format" else True)
    assert encode(changed, check=False) == document
    assert snapshot(changed) == before


def with_meta(value: Any) -> ToolResponse:
    made = response()
    assert made.display is not None
    made.display.meta = {"k": value}
    return made


@pytest.mark.parametrize("value", [2**70, "\ud800", MappingProxyType({"a": 1}), {1: 2}, datetime.date(2024, 1, 1)])
def test_what_orjson_does_not_write_is_compared_as_it_is_encoded(value: Any) -> None:
    before = snapshot(with_meta(value))
    assert isinstance(before, str)
    assert snapshot(with_meta(value)) == before != snapshot(with_meta(1))


def test_a_value_without_a_json_form_is_an_error() -> None:
    with pytest.raises(TypeError, match="display"):
        snapshot(with_meta(object()))


class Recording(MemoryBreakers):
    """A store that keeps the outcomes it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[str] = []

    async def record(self, server: str, admitted: Any, outcome: Any) -> Any:
        self.outcomes.append(outcome)
        return await super().record(server, admitted, outcome)


async def test_a_result_is_read_when_its_slot_is_free_and_its_server_was_reported_as_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, slots = Recording(), Slots(1)
    seen: list[Any] = []

    def crashing(*_: Any, **__: Any) -> Reading:
        seen.append((slots.all_taken, [*store.outcomes]))
        raise RecursionError

    monkeypatch.setattr(server_results, "read", crashing)
    server = ScriptedServer({"t": lambda _: "ok"})
    told = by_type(await events_of(chat(ScriptedModel(asks("t")), server, slots=slots, breakers=store)))
    assert seen == [(False, ["ok"])]
    assert [e.error and e.error.code for e in told["tool_error"]] == ["INTERNAL"]
    assert store.outcomes == ["ok"]


class Waiting(MemoryBreakers):
    """A store that says nothing about whether it waits, and does."""

    async def record(self, *args: Any) -> Any:
        await asyncio.sleep(0)
        return await super().record(*args)


class Wrapping:
    """A store that waits, and delegates to another one whatever it does not have itself."""

    def __init__(self) -> None:
        self._inner = MemoryBreakers()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def admit(self, server: str) -> Any:
        await asyncio.sleep(0)
        return await self._inner.admit(server)

    async def record(self, *args: Any) -> Any:
        await asyncio.sleep(0)
        return await self._inner.record(*args)


class Declaring(MemoryBreakers):
    """A store that says itself that it does not wait."""

    never_waits = True


@pytest.mark.parametrize(
    ("store", "waits"), [(MemoryBreakers, False), (Waiting, True), (Wrapping, True), (Declaring, False)]
)
async def test_only_a_store_that_never_waits_is_asked_without_a_task_of_its_own(store: Any, waits: bool) -> None:
    server: Any = ScriptedServer({})
    ticket = await BreakerGuard(store()).admit(server, EventLog())
    before = len(asyncio.all_tasks())
    seen: list[int] = []
    asyncio.get_running_loop().call_soon(lambda: seen.append(len(asyncio.all_tasks()) - before))
    await ticket.report("ok")
    await asyncio.sleep(0)
    assert seen == [1 if waits else 0]
