"""Faults in the usage records of requests to a model, and in their sum (section 10.3)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .events import told, with_result
from .trace_builder import USAGE, TraceBuilder


@breaks("XMCP-REC-006", profile="client")
def requests_are_not_counted(wrong: bool) -> Trace:
    used = {"input_tokens": None, "output_tokens": None, "cached_tokens": None, "llm_calls": 99}
    return with_result(wrong, usage=used)


@breaks("XMCP-REC-006", profile="client")
def tokens_of_an_earlier_request_are_counted_again(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say("Seven.", counts={"input": 9, "output": 3})
    s.tell("usage", usage={**USAGE, "input_tokens": 18 if wrong else 9})
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_usage_of_the_last_request_is_that_of_the_chat(wrong: bool) -> Trace:
    used = {"input_tokens": 9, "output_tokens": 3, "cached_tokens": None, "llm_calls": 2}
    return with_result(wrong, usage=used)


@breaks("XMCP-REC-006", profile="client")
def no_usage_is_known_where_one_record_lacks_a_count(wrong: bool) -> Trace:
    s = told()
    usages: list[Any] = [one for one in s.records if getattr(one, "event", {}).get("type") == "usage"]
    usages[-1].event["usage"] = {**usages[-1].event["usage"], "input_tokens": None}
    done: Any = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    done.event["result"]["usage"]["input_tokens"] = None if wrong else USAGE["input_tokens"]
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def the_usage_of_a_request_is_told_after_its_calls(wrong: bool) -> Trace:
    s = told()
    usage = next(one for one in s.records if getattr(one, "event", {}).get("type") == "usage")
    called = next(n for n, one in enumerate(s.records) if getattr(one, "event", {}).get("type") == "tool_call")
    if wrong:
        s.records.insert(called + 1, usage)
        s.records.remove(usage)
    return s.trace


@breaks("XMCP-REC-010", profile="client")
def tokens_that_nobody_counted(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say("Seven.", counts={"input": 9, "output": 3})
    s.tell("usage", usage={**USAGE, "cached_tokens": 0 if wrong else None})
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-010", profile="client")
def reasoning_that_nobody_counted(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say("Seven.", counts={"input": 9, "output": 3})
    s.tell("usage", usage={**USAGE, **({"reasoning_tokens": 0} if wrong else {})})
    s.tell("done")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-REC-006", profile="client")
def reasoning_of_a_chat_is_that_of_its_last_request(wrong: bool) -> Trace:
    s = told()
    usages: list[Any] = [one for one in s.records if getattr(one, "event", {}).get("type") == "usage"]
    for one in usages:
        one.event["usage"] = {**one.event["usage"], "reasoning_tokens": 2}
    done: Any = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
    done.event["result"]["usage"]["reasoning_tokens"] = 2 if wrong else 2 * len(usages)
    return s.trace


@breaks("XMCP-REC-011", profile="client")
def the_last_request_has_no_usage_record(wrong: bool) -> Trace:
    s = told()
    usages = [one for one in s.records if getattr(one, "event", {}).get("type") == "usage"]
    if wrong:
        s.records.remove(usages[-1])
        done = next(one for one in s.records if getattr(one, "event", {}).get("type") == "done")
        used = {"llm_calls": 1, "input_tokens": USAGE["input_tokens"], "output_tokens": USAGE["output_tokens"]}
        done.event["result"]["usage"].update(used)  # type: ignore[attr-defined]
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
