"""Faults of what stays of a turn in later histories: its calls, their arguments, their answers (section 11.1)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import FIRST, SEARCH, THEN, turn
from .trace_builder import NO_OBJECT, TraceBuilder, call, error, result, tool

Json = dict[str, Any]
HALF = "They sold forty"


def two_turns() -> TraceBuilder:
    """A chat with one call in each of its two turns, and a text beside the first."""
    s = turn(call(), text="Let me look.")
    s.make()
    s.ask()
    s.say("", call(tag="t2"))
    s.make("t2")
    return s


def without(history: list[Json], place: int, **changed: Any) -> list[Json]:
    """Return a history with another message in one place."""
    return [*history[:place], {**history[place], **changed}, *history[place + 1 :]]


@breaks("XMCP-CLI-003", profile="client")
def an_answer_is_gone_two_turns_later(wrong: bool) -> Trace:
    s = two_turns()
    if wrong:
        s.histories["a"] = without(s.histories["a"], 2, content=result("(removed)"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-006", profile="client")
def the_text_beside_calls_is_gone_two_turns_later(wrong: bool) -> Trace:
    s = two_turns()
    if wrong:
        s.histories["a"] = without(s.histories["a"], 1, content="")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-006", profile="client")
def what_broke_off_stands_before_the_text_beside_calls(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH)
    s.begin()
    s.ask()
    s.say("Let me", failed=True)
    s.ask()
    s.say("Let me look.", call())
    if wrong:
        s.histories["a"] = without(s.histories["a"], 1, content="Let meLet me look.")
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-007", profile="client")
def arguments_are_gone_two_turns_later(wrong: bool) -> Trace:
    s = two_turns()
    if wrong:
        entry = s.histories["a"][1]["tool_calls"][0]
        bare = [{**entry, "function": {**entry["function"], "arguments": "{}"}}]
        s.histories["a"] = without(s.histories["a"], 1, tool_calls=bare)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-007", profile="client")
def arguments_are_in_the_history_as_they_were_sent(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2", part="nut"), tools=[FIRST, THEN])
    s.make("t1", structured={"part": "bolt"})
    s.answered(s.called("t2", part="bolt"))
    s.reply("t2")
    if wrong:
        calls = [dict(entry) for entry in s.histories["a"][1]["tool_calls"]]
        calls[1]["function"] = {**calls[1]["function"], "arguments": call("then", "t2", part="bolt")["arguments"]}
        s.histories["a"] = without(s.histories["a"], 1, tool_calls=calls)
    s.finish()
    return s.trace


def left_out(s: TraceBuilder, id_: str) -> None:
    """Take a call and its answer out of the history."""
    before = s.histories["a"]
    calls = [entry for entry in before[1]["tool_calls"] if entry["id"] != id_]
    kept = [message for message in before if message.get("tool_call_id") != id_]
    s.histories["a"] = without(kept, 1, tool_calls=calls)


@breaks("XMCP-CLI-123", profile="client")
def a_call_is_left_out(wrong: bool) -> Trace:
    s = turn(call(), call(tag="t2"))
    s.make()
    if wrong:
        left_out(s, "t2")
    else:
        s.make("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-011", profile="client")
def a_call_of_an_unknown_tool_is_left_out(wrong: bool) -> Trace:
    s = turn(call(), call("missing", "t2"))
    s.make()
    s.reply("t2", error("UNKNOWN_TOOL", name="missing"))
    if wrong:
        left_out(s, "t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-010", profile="client")
def a_call_that_cannot_be_read_is_left_out(wrong: bool) -> Trace:
    s = turn(call(), call(id_="t2", written="{oops"))
    s.make()
    s.reply("t2", error("VALIDATION_FAIL", meta=NO_OBJECT))
    if wrong:
        left_out(s, "t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def arguments_are_judged_by_the_client(wrong: bool) -> Trace:
    counts = tool("count", input_schema={"type": "object", "properties": {"tag": {}, "most": {"type": "integer"}}})
    s = turn(call("count", most="7"), tools=[counts])
    if wrong:
        s.reply(content=error("VALIDATION_FAIL", name="count"))
    else:
        s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-031", profile="client")
def a_value_that_fits_is_refused(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[tool("first", provides="part"), THEN])
    s.make("t1", "bolt")
    if wrong:
        s.reply("t2", error("DEPENDENCY_FAILED", name="then"))
    else:
        s.answered(s.called("t2", part="bolt"))
        s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-020", profile="client")
def a_call_waits_for_one_on_which_it_does_not_depend(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("search", "t2"), call("then", "t3"), tools=[FIRST, SEARCH, THEN])
    one, slow = s.called("t1"), s.called("t2")
    s.wait(1)
    s.answered(one)
    third = 0 if wrong else s.called("t3")
    s.wait(2)
    s.answered(slow)
    s.answered(s.called("t3") if wrong else third)
    for id_ in ("t1", "t2", "t3"):
        s.reply(id_)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-116", profile="client")
def what_had_come_when_the_time_was_over_is_lost(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, chat_timeout=2)
    s.begin()
    s.ask()
    s.say(HALF, failed=True, stalls=True)
    s.wait(2)
    kept = [] if wrong else [{"role": "assistant", "content": HALF}]
    s.end(None if wrong else HALF, stop="timeout", history=[*s.histories["a"], *kept])
    return s.trace
