"""Faults in the members of events, and in what an error says of an attempt before it (sections 10.2 and 11.4)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import turn
from .trace_builder import TABLE, TraceBuilder, call, error, failure, result, tool

READS = tool(read_only=True)


def told(**wrong: dict[str, Any]) -> TraceBuilder:
    """Return a chat with a call and all of its events; `wrong` has other members for those of a type."""
    s = TraceBuilder(READS)
    s.begin(events=True)
    s.ask()
    s.say("Let me look.", call())

    def tell(type_: str, **event: Any) -> None:
        s.tell(type_, **{**event, **wrong.get(type_, {})})

    tell("llm_delta", text="Let me look.")
    tell("usage")
    tell("tool_call", call_id="t1")
    tell("tool_started", call_id="t1")
    s.lost(s.called())
    tell("retry", call_id="t1")
    s.make()
    tell("tool_result", call_id="t1")
    s.ask()
    s.say("Seven.")
    tell("usage")
    tell("done")
    s.end("Seven.")
    return s


@breaks("XMCP-REC-001", profile="client")
def an_event_lacks_a_member(wrong: bool) -> Trace:
    s = told()
    for record in s.records:
        if wrong and getattr(record, "event", {}).get("type") == "retry":
            del record.event["wait_ms"]  # type: ignore[attr-defined]
    return s.trace


@breaks("XMCP-REC-001", profile="client")
def a_display_is_nobody_s(wrong: bool) -> Trace:
    s = turn(call())
    s.make()
    for type_ in ["tool_call", "tool_started", "tool_result"]:
        s.tell(type_, call_id="t1")
    s.tell("tool_display", envelope=TABLE) if wrong else s.tell("warning", text="none")
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def turns_count_from_nought(wrong: bool) -> Trace:
    return told(**{"llm_delta": {"turn": 0}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def a_call_is_of_another_turn(wrong: bool) -> Trace:
    return told(**{"tool_result": {"turn": 2}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def attempts_are_not_counted(wrong: bool) -> Trace:
    return told(**{"retry": {"attempt": 6}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def a_wait_is_told_as_none(wrong: bool) -> Trace:
    asks = {"code": "UPSTREAM_UNAVAILABLE", "message": "It starts.", "retryable": True, "category": "unavailable"}
    asks |= {"retry_after_ms": 2000}
    return told(retry={"error": asks, "wait_ms": 0 if wrong else 2000}).trace


@breaks("XMCP-REC-006", profile="client")
def the_text_of_a_result_is_left_out(wrong: bool) -> Trace:
    return told(**{"tool_result": {"text": ""}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def the_application_gets_the_text_that_xml_can_hold(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.answered(s.called(), "a\x0cb")
    lossy = result("a\ufffdb").replace(" tool_name", ' lossy="true" tool_name').replace("t>a", 't lossy="true">a')
    s.reply(content=lossy)
    s.tell("tool_result", call_id="t1", text="a\ufffdb" if wrong else "a\x0cb")
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def arguments_are_written_anew(wrong: bool) -> Trace:
    return told(**{"tool_call": {"text": '{"tag":"t1"}'}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def arguments_are_others(wrong: bool) -> Trace:
    return told(**{"tool_call": {"arguments": {}}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def the_name_is_the_server_s(wrong: bool) -> Trace:
    return told(**{"tool_started": {"tool_name": "srv.search"}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def another_code_is_told(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.failed(s.called())
    if wrong:
        s.tell("tool_error", call_id="t1", error=_OTHER)
    else:
        s.tell("tool_error", call_id="t1")
    s.reply()
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def another_category_is_told(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.failed(s.called())
    s.reply(content=error("CONFLICT").replace('code="CONFLICT"', 'code="CONFLICT" category="not_found"'))
    told = {"code": "CONFLICT", "message": "It failed.", "retryable": False}
    s.tell("tool_error", call_id="t1", error={**told, "category": "conflict" if wrong else "not_found"})
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_message_of_an_error_is_told_with_the_white_space_around_it(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.failed(s.called(), failure("CONFLICT", " It failed.\n"))
    s.reply(content=error("CONFLICT"))
    told = {"code": "CONFLICT", "message": " It failed.\n" if wrong else "It failed.", "retryable": False}
    s.tell("tool_error", call_id="t1", error={**told, "category": "conflict"})
    s.finish()
    s.tell("done")
    return s.trace


_OTHER = {"code": "INTERNAL", "message": "It failed.", "retryable": False, "category": "internal"}


def _with_result(wrong: bool, **changed: Any) -> Trace:
    """Return a chat whose `done` has a result with other members than the chat has."""
    s = told()
    done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    event: Any = done.event  # type: ignore[attr-defined]
    event["result"] = {**event["result"], **(changed if wrong else {})}
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_history_of_done_is_empty(wrong: bool) -> Trace:
    return _with_result(wrong, history=[])


@breaks("XMCP-REC-006", profile="client")
def requests_are_not_counted(wrong: bool) -> Trace:
    used = {"input_tokens": None, "output_tokens": None, "cached_tokens": None, "llm_calls": 99}
    return _with_result(wrong, usage=used)


@breaks("XMCP-REC-011", profile="client")
def the_last_request_has_no_usage_record(wrong: bool) -> Trace:
    s = told()
    usages = [one for one in s.records if getattr(one, "event", {}).get("type") == "usage"]
    if wrong:
        s.records.remove(usages[-1])
        done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
        done.event["result"]["usage"]["llm_calls"] = 1  # type: ignore[attr-defined]
    return s.trace


@breaks("XMCP-REC-011", profile="client")
def a_request_that_the_time_of_the_chat_ended_has_no_usage_record(wrong: bool) -> Trace:
    s = TraceBuilder(chat_timeout=5)
    s.begin(events=True)
    s.ask()
    s.say(failed=True, stalls=True)
    s.wait(5)
    if not wrong:
        s.tell("usage")
    s.tell("done")
    s.end(stop="timeout")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_first_display_is_not_named(wrong: bool) -> Trace:
    s = turn(call())
    for type_ in ["tool_call", "tool_started"]:
        s.tell(type_, call_id="t1")
    s.make(display=TABLE)
    s.tell("tool_result", call_id="t1")
    s.tell("tool_display", call_id="t1")
    s.tell("done")
    s.end(stop="display")
    done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    event: Any = done.event  # type: ignore[attr-defined]
    event["result"] = {**event["result"], "display": None if wrong else TABLE}
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_last_display_is_named(wrong: bool) -> Trace:
    other = {"type": "text", "payload": "Only seven."}
    s = turn(call(tag="t1"), call(tag="t2"))
    for id_, display in (("t1", TABLE), ("t2", other)):
        for type_ in ["tool_call", "tool_started"]:
            s.tell(type_, call_id=id_)
        s.make(id_, display=display)
        s.tell("tool_result", call_id=id_)
        s.tell("tool_display", call_id=id_, envelope=display)
    s.tell("done")
    s.end(stop="display")
    done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    event: Any = done.event  # type: ignore[attr-defined]
    event["result"] = {**event["result"], "display": other if wrong else TABLE}
    return s.trace


@breaks("XMCP-CLI-132", profile="client")
def a_lost_attempt_is_forgotten_at_the_end_of_the_chat(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS], chat_timeout=30.0)
    s.lost(s.called())
    s.wait(30)
    said = "none" if wrong else "unknown"
    meta = f'<meta>{{"side_effects":"{said}"}}</meta></error>'
    s.reply(content=error("TIMEOUT").replace("</error>", meta))
    s.end(stop="timeout")
    return s.trace


@breaks("XMCP-CLI-132", profile="client")
def a_lost_attempt_is_forgotten(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.lost(s.called())
    s.unreachable()
    said = "none" if wrong else "unknown"
    meta = f'<meta>{{"side_effects":"{said}"}}</meta></error>'
    s.reply(content=error("CONNECTION_FAILED").replace("</error>", meta))
    s.finish()
    return s.trace
