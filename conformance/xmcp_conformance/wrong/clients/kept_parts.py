"""Faults in what is left of a server's answer: members of an error, and what stands beside a display (6.4, 11.1)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Server, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import FILLED_IN, turn
from .trace_builder import TABLE, TraceBuilder, call, failure, result, tool

PLAIN = [Server(plain=True)]
LATE: dict[str, Any] = {"code": "DB_TIMEOUT", "message": "late", "retryable": True}
THANKS = "Thank you, Ada."
USER = {"type": "object", "properties": {"tag": {}, "user": {}}, "allOf": [{"required": ["user"]}]}


def _document(attributes: str, meta: str = "") -> str:
    return f'<tool_response tool_name="search"><error code={attributes}>late{meta}</error></tool_response>'


@breaks("XMCP-CLI-003", profile="client")
def the_side_effects_of_an_error_are_lost(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), {**LATE, "side_effects": "partial"})
    meta = "" if wrong else '<meta>{"side_effects":"partial"}</meta>'
    s.reply(content=_document('"DB_TIMEOUT" retryable="true"', meta))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def the_category_of_an_unknown_code_is_lost(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("X_ODD", "late", category="not_found"))
    s.reply(content=_document('"X_ODD"' if wrong else '"X_ODD" category="not_found"'))
    s.finish()
    return s.trace


@breaks("XMCP-MCP-043", profile="client")
def the_wait_of_a_plain_result_is_lost(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.failed(s.called(), {**LATE, "retry_after_ms": 700}, plain=True)
    wait = "" if wrong else ' retry_after_ms="700"'
    s.reply(content=_document(f'"DB_TIMEOUT" retryable="true"{wait}'))
    s.finish()
    return s.trace


@breaks("XMCP-RSP-072", profile="client")
def what_was_filled_in_goes_with_a_bad_display(wrong: bool) -> Trace:
    s = turn(call())
    text = '<tool_response tool_name="search"><llm_output>found</llm_output>{}{}</tool_response>'
    s.answered(s.called(), bad_display=True, document=text.format("<display>{oops</display>", FILLED_IN))
    s.reply(content=text.format("", "" if wrong else FILLED_IN))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-063", profile="client")
def a_block_comes_before_the_display_of_its_tool(wrong: bool) -> Trace:
    s = turn(call(), display="continue")
    s.answered(s.called(), display=TABLE, for_user=THANKS)
    s.reply(content=result("found", TABLE))
    s.ask()
    s.say("Seven.")
    block = {"type": "text", "payload": THANKS}
    s.end("Seven.", displays=[block, TABLE] if wrong else [TABLE, block])
    return s.trace


@breaks("XMCP-CLI-083", profile="client")
def a_call_is_made_without_what_its_tool_requires(wrong: bool) -> Trace:
    s = turn(call(), tools=[tool(input_schema=USER)], params={"user": None})
    if wrong:
        s.make()
    else:
        s.reply(content=_document('"MISSING_SERVER_PARAM"'))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-011", profile="client")
def a_call_that_was_not_made_may_have_changed_something(wrong: bool) -> Trace:
    s = turn(call("unknown"))
    said = "unknown" if wrong else "none"
    s.reply(content=_document('"UNKNOWN_TOOL"', f'<meta>{{"side_effects":"{said}"}}</meta>'))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def the_words_of_a_protocol_error_are_cut(wrong: bool) -> Trace:
    s = turn(call(), servers=[Server(xmcp=False)])
    s.failed(s.called(), failure("TOOL_ERROR", "late"), protocol_error=-32603)
    s.reply(content=_document('"TOOL_ERROR"').replace("late", "l" if wrong else "late"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-063", profile="client")
def a_display_is_listed_twice(wrong: bool) -> Trace:
    s = turn(call())
    s.make(display=TABLE)
    s.end(stop="display", displays=[TABLE] * 2 if wrong else [TABLE])
    return s.trace


@breaks("XMCP-CLI-086", profile="client")
def the_first_of_two_summaries_counts(wrong: bool) -> Trace:
    s = TraceBuilder(meta_tools=["__summarize__"])
    s.begin("How many?", {"role": "user", "content": "Hello."})
    s.ask()
    summaries = ("They said hello.", "They were polite.")
    s.say("", *(call("__summarize__", f"t{number}", summary=one) for number, one in enumerate(summaries)))
    for number in range(2):
        s.reply(f"t{number}", content=result("Done."))
    s.histories["a"][0] = {"role": "user", "content": summaries[0 if wrong else 1]}
    s.finish()
    return s.trace
