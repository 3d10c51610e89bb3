"""Faults in what a client says in the errors that it makes, beside their codes (section 11.4)."""

from __future__ import annotations

from xmcp_conformance.profiles.client.trace import INVALID_PARAMS, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import FIRST, SEARCH, THEN, turn
from .trace_builder import NO_OBJECT, call, error, failure

_LATER = 30_000


@breaks("XMCP-CLI-010", profile="client")
def broken_arguments_can_be_sent_again_as_they_are(wrong: bool) -> Trace:
    s = turn(call(written="[1]"))
    s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT, retryable=wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-010", profile="client")
def broken_arguments_are_named_by_no_pointer(wrong: bool) -> Trace:
    s = turn(call(written="[1]"))
    s.reply(content=error("VALIDATION_FAIL", meta=None if wrong else NO_OBJECT))
    s.finish()
    return s.trace


@breaks("XMCP-MCP-041", profile="client")
def arguments_that_the_protocol_refused_are_named(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("VALIDATION_FAIL"), protocol_error=INVALID_PARAMS)
    s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT if wrong else None))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-011", profile="client")
def a_tool_that_there_is_not_is_there_later(wrong: bool) -> Trace:
    s = turn(call("nowhere"))
    s.reply(content=error("UNKNOWN_TOOL", name="nowhere", retryable=wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-035", profile="client")
def a_call_whose_need_failed_can_be_made_again_alone(wrong: bool) -> Trace:
    s = turn(call("first"), call("then", "t2"), tools=[FIRST, THEN])
    s.failed(s.called())
    s.reply()
    s.reply("t2", error("DEPENDENCY_FAILED", name="then", retryable=wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-041", profile="client")
def a_late_call_is_final(wrong: bool) -> Trace:
    s = turn(call(), tool_timeout=5)
    number = s.called()
    s.wait(5)
    s.late(number)
    s.reply(content=error("TIMEOUT", retryable=not wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def a_call_that_was_held_back_is_final(wrong: bool) -> Trace:
    s = turn(call(), breaker_threshold=1)
    s.lost(s.called())
    s.reply()
    s.ask()
    s.say("", call(tag="t2"))
    waits = error("CIRCUIT_OPEN", retry_after_ms=_LATER)
    s.reply("t2", waits.replace('retryable="true"', 'retryable="false"') if wrong else waits)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-105", profile="client")
def a_call_above_the_limit_is_final(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), max_calls_per_turn=1)
    s.make("t1")
    s.reply("t2", error("RATE_LIMIT", retryable=not wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-125", profile="client")
def a_lost_call_is_final(wrong: bool) -> Trace:
    s = turn(call(), tools=[SEARCH])
    s.lost(s.called())
    s.reply(content=error("CONNECTION_FAILED", retryable=not wrong))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-132", profile="client")
def a_late_call_changed_nothing(wrong: bool) -> Trace:
    s = turn(call(), tool_timeout=5)
    number = s.called()
    s.wait(5)
    s.late(number)
    s.reply(content=error("TIMEOUT", meta={"side_effects": "none" if wrong else "unknown"}))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-132", profile="client")
def a_call_that_the_protocol_refused_changed_nothing(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("VALIDATION_FAIL"), protocol_error=INVALID_PARAMS)
    s.reply(content=error("VALIDATION_FAIL", meta={"side_effects": "none"} if wrong else None))
    s.finish()
    return s.trace


@breaks("XMCP-MCP-012", profile="client")
def an_answer_that_cannot_be_read_can_be_asked_for_again(wrong: bool) -> Trace:
    s = turn(call())
    s.garbled(s.called())
    s.reply(content=error("INVALID_XML", retryable=wrong))
    s.finish()
    return s.trace
