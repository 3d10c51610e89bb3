"""Faults in whose a display or a warning is, as events tell it (section 10.2)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Server, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import turn
from .trace_builder import TABLE, call


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


@breaks("XMCP-REC-006", profile="client")
def a_display_of_a_block_is_named(wrong: bool) -> Trace:
    thanks = {"type": "text", "payload": "Thank you, Ada."}
    s = turn(call(), servers=[Server(xmcp=False)])
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.answered(s.called(), for_user=thanks["payload"])
    s.reply()
    s.tell("tool_result", call_id="t1")
    s.tell("tool_display", call_id="t1", envelope=thanks)
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.", displays=[thanks])
    done: Any = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    done.event["result"]["display"] = thanks if wrong else None
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def a_display_is_told_of_another_call(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    for id_ in ("t1", "t2"):
        s.tell("tool_call", call_id=id_)
        s.tell("tool_started", call_id=id_)
    s.make("t1", display=TABLE)
    s.make("t2")
    for id_ in ("t1", "t2"):
        s.tell("tool_result", call_id=id_)
    s.tell("tool_display", call_id="t2" if wrong else "t1", envelope=TABLE)
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def a_block_is_told_of_another_call(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), servers=[Server(xmcp=False)])
    thanks = {"type": "text", "payload": "Thank you, Ada."}
    for id_ in ("t1", "t2"):
        s.tell("tool_call", call_id=id_)
        s.tell("tool_started", call_id=id_)
    s.make("t1", for_user=thanks["payload"])
    s.make("t2")
    for id_ in ("t1", "t2"):
        s.tell("tool_result", call_id=id_)
    s.tell("tool_display", call_id="t2" if wrong else "t1", envelope=thanks)
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.", displays=[thanks])
    done: Any = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    done.event["result"]["display"] = None
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_warning_of_a_dropped_display_is_of_no_call(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), bad_display=True)
    s.tell("warning", text="a display was dropped", **{} if wrong else {"call_id": "t1"})
    s.reply()
    s.finish()
    s.tell("done")
    return s.trace
