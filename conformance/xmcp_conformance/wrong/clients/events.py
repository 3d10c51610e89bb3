"""Faults in the members of events, and in what an error says of an attempt before it (sections 10.2 and 11.4)."""

from __future__ import annotations

from dataclasses import replace
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
    s = told(retry={"error": asks, "wait_ms": 0 if wrong else 2000})
    at = next(n for n, one in enumerate(s.records) if getattr(one, "event", {}).get("type") == "retry")
    s.records[at + 1 :] = [replace(one, time=2.0) for one in s.records[at + 1 :]]
    failed: Any = s.records[at - 1]
    s.records[at - 1] = replace(failed, outcome="error", error=asks)
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_text_of_a_turn_runs_together(wrong: bool) -> Trace:
    return told(**{"llm_delta": {"text": "Letmelook."}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def a_retry_tells_of_another_failure(wrong: bool) -> Trace:
    asks = {"code": "UPSTREAM_UNAVAILABLE", "message": "It starts.", "retryable": True, "category": "unavailable"}
    s = told(retry={"error": _OTHER if wrong else asks})
    at = next(n for n, one in enumerate(s.records) if getattr(one, "event", {}).get("type") == "retry")
    failed: Any = s.records[at - 1]
    s.records[at - 1] = replace(failed, outcome="error", error=asks)
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def a_longer_wait_is_told(wrong: bool) -> Trace:
    return told(**{"retry": {"wait_ms": 900}} if wrong else {}).trace


@breaks("XMCP-REC-006", profile="client")
def no_wait_is_told_of_one_that_waits_for_no_slot(wrong: bool) -> Trace:
    s = told(**{} if wrong else {"retry": {"wait_ms": 900}})
    at = next(n for n, one in enumerate(s.records) if getattr(one, "event", {}).get("type") == "retry")
    s.records[at + 1 :] = [replace(one, time=0.9) for one in s.records[at + 1 :]]
    return s.trace


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
def an_alias_is_told_with_the_category_of_no_code(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.failed(s.called(), failure("RATE_LIMITED"))
    told = {"code": "RATE_LIMITED", "message": "It failed.", "retryable": False}
    s.tell("tool_error", call_id="t1", error={**told, "category": "internal" if wrong else "rate_limited"})
    s.reply()
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


def _with_hints(**told: Any) -> Trace:
    """Return a chat in which a call fails with hints for a retry, whose event has others in `told`."""
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.failed(s.called(), failure("X_BUSY", retryable=True, retry_after_ms=90, side_effects="none"))
    meta = '<meta>{"side_effects":"none"}</meta></error>'
    s.reply(content=error("X_BUSY", retry_after_ms=90).replace("</error>", meta))
    right = {"code": "X_BUSY", "message": "It failed.", "retryable": True, "category": "internal"}
    right |= {"retry_after_ms": 90, "meta": {"side_effects": "none"}}
    s.tell("tool_error", call_id="t1", error={**right, **told})
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def an_error_is_told_as_final(wrong: bool) -> Trace:
    return _with_hints(**{"retryable": False} if wrong else {})


@breaks("XMCP-REC-006", profile="client")
def an_error_is_told_with_another_wait(wrong: bool) -> Trace:
    return _with_hints(**{"retry_after_ms": 0} if wrong else {})


@breaks("XMCP-REC-006", profile="client")
def what_an_error_changed_is_not_told(wrong: bool) -> Trace:
    return _with_hints(**{"meta": {}} if wrong else {})


@breaks("XMCP-REC-006", profile="client")
def a_chat_whose_connection_broke_is_told_to_have_failed_inside(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say(failed=True, failure="network")
    if wrong:
        s.tell("failed", error=_OTHER)
    else:
        s.tell("failed")
    s.end(failure="provider")
    return s.trace


_OTHER = {"code": "INTERNAL", "message": "It failed.", "retryable": False, "category": "internal"}


def with_result(wrong: bool, **changed: Any) -> Trace:
    """Return a chat whose `done` has a result with other members than the chat has."""
    s = told()
    done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    event: Any = done.event  # type: ignore[attr-defined]
    event["result"] = {**event["result"], **(changed if wrong else {})}
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_history_of_done_is_empty(wrong: bool) -> Trace:
    return with_result(wrong, history=[])


@breaks("XMCP-REC-006", profile="client")
def done_has_no_history(wrong: bool) -> Trace:
    s = told()
    done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    result = dict(done.event["result"])  # type: ignore[attr-defined]
    if wrong:
        del result["history"]
    done.event["result"] = result  # type: ignore[attr-defined]
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def failed_has_no_history(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say(failed=True, failure="network")
    s.tell("failed")
    failed = s.records[-1]
    if wrong:
        del failed.event["history"]  # type: ignore[attr-defined]
    s.end(failure="provider")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def a_result_of_a_cache_is_told_without_its_text(wrong: bool) -> Trace:
    s = TraceBuilder(tool(cacheable=True, read_only=True), cache=True)
    s.begin(events=True)
    s.ask()
    s.say("", call(id_="a"))
    s.tell("tool_call", call_id="a")
    s.tell("tool_started", call_id="a")
    s.make("a")
    s.tell("tool_result", call_id="a")
    s.ask()
    s.say("", call(id_="b"))
    s.tell("tool_call", call_id="b")
    s.reply("b", result("found"))
    s.tell("tool_result", call_id="b", text="" if wrong else "found")
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
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
def a_lost_attempt_is_forgotten_when_credentials_are_refused(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.lost(s.called())
    s.outside(s.called(), "AUTH_REQUIRED", "none")
    said = "none" if wrong else "unknown"
    meta = f'<meta>{{"side_effects":"{said}"}}</meta></error>'
    s.reply(content=error("AUTH_REQUIRED").replace("</error>", meta))
    s.finish()
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


@breaks("XMCP-REC-006", profile="client")
def a_call_that_was_not_made_has_begun(wrong: bool) -> Trace:
    s = turn(call("unknown"))
    s.tell("tool_call", call_id="t1")
    if wrong:
        s.tell("tool_started", call_id="t1")
    s.reply(content=error("UNKNOWN_TOOL"))
    told = {"code": "UNKNOWN_TOOL", "message": "It failed.", "retryable": False, "category": "not_found"}
    s.tell("tool_error", call_id="t1", error=told)
    s.finish()
    s.tell("done")
    return s.trace
