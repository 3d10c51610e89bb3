"""A chat as JSON: every event and record is valid against its schema, for every content of a chat."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pickle
from typing import Any

import jsonschema_rs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python
from starlette.responses import JSONResponse
from support.chats import chat
from support.scripted_model import ScriptedModel, asks
from support.scripted_server import ScriptedServer, in_turn

from xmcp.chat.audit_records import Trace
from xmcp.chat.errors import QuotaExceeded, error_to_json
from xmcp.chat.events import (
    CallReport,
    ChatChunk,
    ChatResult,
    ChatWarning,
    Done,
    LLMDelta,
    LLMRetry,
    LLMUsage,
    ToolDisplay,
    ToolError,
    ToolEvent,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
    ToolWarning,
)
from xmcp.chat.usage import ChatUsage, UsageRecord
from xmcp.providers import ProviderError
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse
from xmcp_models import DATA

SCHEMAS = {path.name: json.loads(path.read_text()) for path in DATA.glob("*.schema.json")}


def judge(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        SCHEMAS[f"{name}.schema.json"], retriever=lambda uri: SCHEMAS[uri.rpartition("/")[2]], validate_formats=True
    )


EVENT, RECORD = judge("chat_event"), judge("audit_record")

# -- chats, as odd as they can be -------------------------------------------------------------------------------------

texts = st.text(st.characters() | st.sampled_from("\ud800\udfff\u2028\u2029\x00<&"), max_size=8)
odd = st.sampled_from([b"\xff", object(), {1: 2}, {("a",): None}, math.nan, -math.inf, 10**400, {"a": {2, 3}}])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3) | st.tuples(inner),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
metas = objects | st.fixed_dictionaries(
    {},
    optional={
        "side_effects": st.sampled_from(["none", "all", 5]),
        "params": objects | values,
        "fields": st.just([{"pointer": "no pointer"}]) | st.just([{"pointer": "/a", "message": "m"}]),
        "error_id": texts,
        "vendor/x": values,
    },
)
errors = st.builds(
    ErrorInfo,
    st.sampled_from(["TIMEOUT", "X", "CANCELLED"]),
    texts,
    retry_after_ms=st.none() | st.integers(0, 2**53 - 1),
    meta=st.none() | metas,
)
envelopes = st.builds(
    DisplayEnvelope,
    type=st.just("json"),
    payload=objects,
    title=st.none() | texts,
    meta=st.none() | objects,
    fallback=st.none() | st.just(DisplayEnvelope(type="text", payload="\ud800")),
)
responses = st.builds(ToolResponse, st.just("f"), llm_output=texts, display=st.none() | envelopes) | st.builds(
    ToolResponse, st.just("f"), error=errors, display=st.none() | envelopes
)
counts = st.none() | st.integers(0, 2**40)
costs = st.none() | st.floats(0) | st.just(math.nan)
usages = st.builds(
    UsageRecord,
    input_tokens=counts,
    output_tokens=counts,
    cached_tokens=counts,
    cost_usd=costs,
    timestamp=st.just("2026-11-22T09:30:00.000+00:00"),
    session_id=st.none() | texts,
    tenant_id=st.none() | texts,
    provider=st.just("p"),
    model=texts.filter(bool),
)
reports = st.builds(
    CallReport,
    server=st.none() | texts,
    attempts=st.integers(0, 3),
    duration_ms=st.floats(0, 1e9),
    cached=st.booleans(),
    handed_on=st.none() | st.just({"a": "f"}),
)
documents = st.sampled_from(
    [ToolResponse("f", "told").to_xml(), ToolResponse("f", error=ErrorInfo("QUOTA_EXCEEDED", "m")).to_xml()]
)
messages = st.one_of(
    st.fixed_dictionaries({"role": st.just("user"), "content": texts | st.lists(objects, max_size=2)}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.none() | texts, "tool_calls": st.none(), "refusal": st.none()},
        optional={"x": values},
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": st.sampled_from(["c1", "c2"]), "content": documents | texts}
    ),
)
histories = st.lists(messages, max_size=4)
results = st.builds(
    lambda answer, displays, history, usage: ChatResult(
        answer=answer,
        display=displays[0] if displays else None,
        displays=displays,
        history=history,
        usage=usage,
        stop_reason="stop",
    ),
    st.none() | texts,
    st.lists(envelopes, max_size=2),
    histories,
    st.builds(
        ChatUsage, input_tokens=counts, output_tokens=counts, cached_tokens=counts, cost_usd=costs, llm_calls=counts
    ).filter(lambda usage: usage["llm_calls"] is not None),
)
turns = st.integers(0, 3)
calls = {"call_id": st.sampled_from(["c1", "c2"]), "tool_name": st.just("f"), "turn": turns}
retries = {"attempt": st.integers(1, 9), "wait_ms": st.integers(0), "error": errors}
KINDS: dict[type[ChatChunk], dict[str, Any]] = {
    LLMDelta: {"turn": turns, "text": texts},
    LLMRetry: {"turn": turns, **retries},
    LLMUsage: {"turn": turns, "usage": usages},
    ToolRequested: {**calls, "arguments": st.none() | objects, "text": texts},
    ToolStarted: {**calls, "report": reports},
    ToolRetry: {**calls, **retries},
    ToolResult: {**calls, "response": responses, "text": texts, "report": reports},
    ToolError: {**calls, "response": responses, "error": errors, "report": reports},
    ToolDisplay: {**calls, "envelope": envelopes},
    ToolWarning: {**calls, "text": texts},
    ChatWarning: {"turn": turns, "text": texts},
    Done: {"turn": turns, "result": results},
}
chunks = st.one_of([st.builds(kind, **fields) for kind, fields in KINDS.items()])
failures = st.sampled_from(
    [None, asyncio.CancelledError(), GeneratorExit(), ProviderError(""), QuotaExceeded("\ud800"), ValueError("secret")]
)


def strictly(text: str | bytes) -> Any:
    """JSON as a strict reader has it: no NaN, no half surrogates."""
    return orjson.loads(text)


# -- what always holds ------------------------------------------------------------------------------------------------


@given(chunks)
def test_every_chunk_becomes_a_valid_event_that_a_strict_reader_takes(chunk: ChatChunk) -> None:
    written = chunk.to_json()
    assert chunk.to_dict() == written
    EVENT.validate(written)
    assert strictly(json.dumps(written, allow_nan=False)) is not None
    assert written["type"] == chunk.type
    assert ("call_id" in written) == isinstance(chunk, ToolEvent)
    assert "response" not in written


@given(st.lists(chunks, max_size=8), histories, failures, st.none() | texts)
def test_every_record_of_every_chat_is_valid_and_they_are_numbered_without_gaps(
    chat: list[ChatChunk], history: list[dict[str, Any]], failure: BaseException | None, tenant: str | None
) -> None:
    trace = Trace(tenant_id=tenant)
    for chunk in chat:
        trace.take(chunk)
    trace.end(history, failure)
    for record in trace.records:
        RECORD.validate(record)
    lines = trace.to_jsonl().splitlines()  # splits at U+2028 too
    assert [strictly(line)["sequence"] for line in lines] == list(range(len(trace.records)))
    kinds = [record["kind"] for record in trace.records]
    assert kinds[0] == "chat_started"
    assert kinds[-1] == "chat_ended"
    assert kinds.count("chat_ended") == 1
    assert kinds.count("message") == len(history)
    asked = {chunk.call_id for chunk in chat if isinstance(chunk, ToolEvent)}
    ended = [record["tool_call"]["call_id"] for record in trace.records if record["kind"] == "tool_call"]
    assert sorted(ended) == sorted(asked)
    assert "secret" not in trace.to_jsonl()


# -- events -----------------------------------------------------------------------------------------------------------


def test_the_report_of_a_call_stands_in_its_event() -> None:
    report = CallReport("crm", 2, 41.5, cached=True, handed_on={"a": "before"})
    response = ToolResponse("f", "t")
    chunk = ToolResult(turn=1, call_id="c", tool_name="f", response=response, text="t", report=report)
    assert chunk.to_json() == {
        "type": "tool_result",
        "turn": 1,
        "call_id": "c",
        "tool_name": "f",
        "text": "t",
        "server": "crm",
        "attempts": 2,
        "duration_ms": 41.5,
        "cached": True,
        "handed_on": {"a": "before"},
    }


def test_an_error_keeps_of_its_meta_what_the_specification_allows() -> None:
    meta = {"side_effects": "none", "error_id": 5, "unknown": 1, "acme/x": 2, "fields": [{"pointer": "a"}]}
    written = error_to_json(ErrorInfo("TIMEOUT", "late", retry_after_ms=0, meta=meta))
    assert written == {
        "code": "TIMEOUT",
        "message": "late",
        "retryable": True,
        "category": "timeout",
        "retry_after_ms": 0,
        "meta": {"side_effects": "none", "acme/x": 2},
    }


def test_arguments_are_null_where_the_model_wrote_no_object() -> None:
    chunk = ToolRequested(turn=1, call_id="c", tool_name="f", text="[1", arguments=None)
    assert chunk.to_json() == {
        "type": "tool_call",
        "turn": 1,
        "call_id": "c",
        "tool_name": "f",
        "text": "[1",
        "arguments": None,
    }


def test_integers_of_any_size_stay_what_the_model_wrote() -> None:
    chunk = call(arguments={"n": 2**70})
    assert chunk.to_json()["arguments"] == {"n": 2**70}


def test_arguments_nested_too_deep_are_cut_and_nothing_fails() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    written = call(arguments={"a": deep}).to_json()
    EVENT.validate(written)
    assert "nested too deep" in json.dumps(written)


# -- traces -----------------------------------------------------------------------------------------------------------


def call(call_id: str = "c1", arguments: dict[str, Any] | None = {}) -> ToolRequested:  # noqa: B006
    return ToolRequested(turn=1, call_id=call_id, tool_name="f", arguments=arguments, text="")


def asked(*ids: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
    }


def answered(call_id: str, response: ToolResponse) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": response.to_xml()}


def test_the_messages_of_a_trace_are_the_history_that_the_chat_returned() -> None:
    trace = Trace("ch", session_id="s", tenant_id="t")
    history = [{"role": "user", "content": "a\u2028\ud800", "name": None}, {"role": "assistant", "content": None}]
    trace.end(history)
    kept = [record["message"] for record in trace.records if record["kind"] == "message"]
    assert kept == [{"role": "user", "content": "a\u2028\ufffd"}, {"role": "assistant", "content": None}]
    assert {(r["chat_id"], r["session_id"], r["tenant_id"]) for r in trace.records} == {("ch", "s", "t")}


def test_what_a_model_call_used_is_recorded_as_it_ends() -> None:
    trace = Trace()
    usage = UsageRecord(
        input_tokens=1,
        output_tokens=None,
        cached_tokens=0,
        cost_usd=0.5,
        timestamp="2026-11-22T09:30:00Z",
        session_id=None,
        tenant_id=None,
        provider="p",
        model="m",
    )
    trace.take(LLMUsage(turn=1, usage=usage))
    (record,) = trace.records_from(1)
    assert (record["kind"], record["usage"]) == ("usage", usage)


def test_calls_are_told_in_call_order_and_recorded_as_they_end() -> None:
    trace = Trace()
    error = ErrorInfo("TIMEOUT", "late")
    shown = ToolResponse("f", "x", DisplayEnvelope(type="text", payload="p"))
    for chunk in (
        call("c1", arguments={"a": 1}),
        call("c2", arguments=None),
        ToolResult(turn=1, call_id="c2", tool_name="f", response=shown, text="x", report=CallReport("s", 1, 2.5)),
        ToolError(
            turn=1,
            call_id="c1",
            tool_name="f",
            response=ToolResponse("f", error=error),
            error=error,
            report=CallReport("s", 3, 9.0),
        ),
    ):
        trace.take(chunk)
    assert [(c.call_id, c.outcome, c.attempts, c.displayed) for c in trace.calls] == [
        ("c1", "error", 3, False),
        ("c2", "ok", 1, True),
    ]
    first, second = (record["tool_call"] for record in trace.records_from(1))
    assert first == {
        "call_id": "c2",
        "tool_name": "f",
        "server": "s",
        "arguments": None,
        "outcome": "ok",
        "duration_ms": 2.5,
        "attempts": 1,
        "cached": False,
        "displayed": True,
    }
    assert (second["arguments"], second["error_code"]) == ({"a": 1}, "TIMEOUT")


@pytest.mark.parametrize(
    ("response", "outcome", "code"),
    [
        (ToolResponse("f", error=ErrorInfo("CANCELLED", "m")), "cancelled", "CANCELLED"),
        (ToolResponse("f", error=ErrorInfo("QUOTA_EXCEEDED", "m")), "error", "QUOTA_EXCEEDED"),
        (ToolResponse("f", "done"), "ok", None),
        (None, "cancelled", "CANCELLED"),
    ],
)
def test_a_call_whose_end_nobody_was_told_of_ended_as_the_history_says(
    response: ToolResponse | None, outcome: str, code: str | None
) -> None:
    trace = Trace()
    trace.take(call())
    trace.take(ToolStarted(turn=1, call_id="c1", tool_name="f", report=CallReport("s", attempts=1)))
    error = ErrorInfo("TIMEOUT", "m")
    trace.take(ToolRetry(turn=1, call_id="c1", tool_name="f", attempt=2, wait_ms=0, error=error))
    trace.end([asked("c1"), answered("c1", response)] if response else [])
    (record,) = (record["tool_call"] for record in trace.records if record["kind"] == "tool_call")
    assert (record["outcome"], record.get("error_code"), record["attempts"]) == (outcome, code, 2)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ProviderError("no", category="rate_limit"), "RATE_LIMIT"),
        (QuotaExceeded(tenant_id="t"), "QUOTA_EXCEEDED"),
        (asyncio.CancelledError(), "CANCELLED"),
        (GeneratorExit(), "CANCELLED"),
        (RuntimeError("secret"), "INTERNAL"),
    ],
)
def test_a_chat_that_failed_ends_with_why_and_without_a_stop_reason(failure: BaseException, code: str) -> None:
    trace = Trace()
    trace.end([], failure)
    last = trace.records[-1]
    assert (last["kind"], last["stop_reason"], last["error"]["code"]) == ("chat_ended", None, code)
    assert "secret" not in last["error"]["message"]


async def test_a_call_that_the_time_of_its_chat_ends_keeps_its_server_and_its_attempts_in_the_record() -> None:
    trace, acts = Trace(), {"hangs": lambda _: asyncio.Event().wait(), "after": in_turn("ok")}
    server = ScriptedServer(acts, after={"metadata": {"depends_on": ["hangs"]}})
    async for event in chat(ScriptedModel(asks("hangs", "after", "none")), server, chat_timeout=0.2).run():
        trace.take(event)
    kept = {call.tool_name: (call.outcome, call.server, call.attempts) for call in trace.calls}
    assert trace.calls[0].duration_ms > 0
    assert kept == {"hangs": ("error", "stand_in", 1), "after": ("error", "stand_in", 0), "none": ("error", None, 0)}


def shown_result() -> ChatResult:
    usage = ChatUsage(input_tokens=1, output_tokens=2, cached_tokens=None, cost_usd=None, llm_calls=1)
    inner = DisplayEnvelope(type="text", payload="b")
    shown = [
        DisplayEnvelope(type="text", payload="a", title="A", fallback=inner),
        DisplayEnvelope(type="group", payload=[inner]),
    ]
    history = [{"role": "user", "content": "?"}]
    return ChatResult(
        answer=None, display=shown[0], displays=shown, history=history, usage=usage, stop_reason="display"
    )


def test_a_result_goes_into_json_and_into_the_responses_of_web_frameworks_as_it_is() -> None:
    result = shown_result()
    expected = result.to_dict()
    assert expected["display"] == {
        "type": "text",
        "payload": "a",
        "title": "A",
        "fallback": {"type": "text", "payload": "b"},
    }
    assert json.loads(json.dumps(result)) == expected
    assert json.loads(json.dumps(result, indent=1, sort_keys=True)) == expected
    assert orjson.loads(orjson.dumps(result)) == expected
    assert json.loads(JSONResponse(result).body) == expected
    assert to_jsonable_python(result) == expected
    assert dict(result) == {**result} == expected


@pytest.mark.parametrize("again", [lambda r: r, copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_the_displays_of_a_result_are_envelopes_by_their_keys(again: Any) -> None:
    result = again(shown_result())
    display, displays = result["display"], result["displays"]
    assert isinstance(display, DisplayEnvelope)
    assert display == displays[0] == result.get("display")
    assert [type(one) for one in displays] == [DisplayEnvelope] * 2
    assert result.get("nothing", 7) == 7
    with pytest.raises(KeyError):
        result["nothing"]


def test_what_an_application_puts_into_a_result_is_what_it_finds_there() -> None:
    result = shown_result()
    result["display"] = None
    result["displays"] = ["mine"]
    assert (result["display"], result["displays"]) == (None, ["mine"])
    assert json.loads(json.dumps(result))["displays"] == ["mine"]


def test_an_error_goes_into_json() -> None:
    error = ErrorInfo("RATE_LIMIT", "Wait.", retry_after_ms=5)
    expected = {"code": "RATE_LIMIT", "message": "Wait.", "retryable": True, "retry_after_ms": 5}
    assert error.to_dict() == {**expected, "category": "rate_limited"}
    json.dumps(error.to_dict())


def test_a_chat_that_ended_well_has_its_stop_reason_even_if_the_consumer_left_with_the_last_event() -> None:
    trace = Trace()
    usage = ChatUsage(input_tokens=None, output_tokens=None, cached_tokens=None, cost_usd=None, llm_calls=0)
    result = ChatResult(answer="a", display=None, displays=[], history=[], usage=usage, stop_reason="stop")
    trace.take(Done(turn=1, result=result))
    trace.end([], GeneratorExit())
    trace.end([{"role": "user", "content": "again"}], None)
    assert [record["kind"] for record in trace.records] == ["chat_started", "chat_ended"]
    assert trace.records[-1]["stop_reason"] == "stop"
    assert "error" not in trace.records[-1]


def test_who_writes_records_as_they_come_gets_each_once() -> None:
    trace = Trace()
    written: list[dict[str, Any]] = []
    for number in range(3):
        trace.take(call(f"c{number}"))
        response = ToolResponse("f", "x")
        done = ToolResult(turn=1, call_id=f"c{number}", tool_name="f", response=response, text="x", report=CallReport())
        trace.take(done)
        written += trace.records_from(len(written))
    trace.end([])
    written += trace.records_from(len(written))
    assert written == trace.records
