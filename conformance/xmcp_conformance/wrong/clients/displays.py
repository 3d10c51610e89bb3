"""Faults in reading answers, in displays and in events (sections 2.5, 3.5, 6.4, 10.2 and 11.6)."""

from __future__ import annotations

import json
from typing import Any

from xmcp_conformance.profiles.client.trace import INVALID_PARAMS, Server, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import FIRST, THEN, turn
from .trace_builder import TABLE, TraceBuilder, call, error, failure, result, tool

INNER = result("inner")
PLAIN = [Server(xmcp=False)]
LARGE = {**TABLE, "payload": [{"part": "b" * 99}]}
OTHER = {"type": "text", "payload": "Only seven."}
THANKS = "Thank you, Ada."
SHOWN = "[text, 15 characters: shown to the person, not visible to you]"


@breaks("XMCP-MCP-010", profile="client")
def a_stranger_s_text_is_read_as_a_document(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), INNER)
    s.reply(content=INNER if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-010", profile="client")
def a_stranger_s_error_is_read_as_one(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), error("CONFLICT"))
    s.reply(content=error("CONFLICT") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-043", profile="client")
def the_text_of_a_plain_result_is_read_as_a_document(wrong: bool) -> Trace:
    s = turn(call(), servers=[Server(plain=True)])
    s.answered(s.called(), INNER, plain=True)
    s.reply(content=INNER if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-043", profile="client")
def the_code_of_a_plain_result_is_lost(wrong: bool) -> Trace:
    s = turn(call(), servers=[Server(plain=True)])
    s.failed(s.called(), failure("CONFLICT"), plain=True)
    s.reply(content=error("TOOL_ERROR") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-RSP-029", profile="client")
def the_mark_of_lost_characters_is_left_out(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), "a\ufffdb", lossy=True)
    marked = result("a\ufffdb").replace("<tool_response", '<tool_response lossy="true"')
    s.reply(content=result("a\ufffdb") if wrong else marked)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-040", profile="client")
def a_stranger_s_code_is_lost(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.failed(s.called(), failure("CONFLICT"), structured={"code": "CONFLICT"})
    s.reply(content=error("TOOL_ERROR") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-040", profile="client")
def a_stranger_s_failure_gets_other_words(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.failed(s.called(), failure("TOOL_ERROR", "Only five are left."))
    s.reply(content=error("TOOL_ERROR", "The tool failed.") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-011", profile="client")
def what_looks_like_markup_is_refused(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), "<p>found")
    s.reply(content=error("INVALID_XML") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-012", profile="client")
def what_cannot_be_read_is_an_empty_result(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), "<tool_response", readable=False)
    s.reply(content=result("") if wrong else error("INVALID_XML"))
    s.finish()
    return s.trace


@breaks("XMCP-MCP-041", profile="client")
def a_refusal_of_the_protocol_is_an_error_of_the_tool(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("VALIDATION_FAIL"), protocol_error=INVALID_PARAMS)
    s.reply(content=error("TOOL_ERROR") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-052", profile="client")
def a_failure_without_an_error_is_a_result(wrong: bool) -> Trace:
    s = turn(call())
    s.flagged(s.called())
    s.reply(content=result("Only five are left.") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-052", profile="client")
def the_text_of_a_failure_is_lost(wrong: bool) -> Trace:
    s = turn(call())
    s.flagged(s.called())
    s.reply(content=error("TOOL_ERROR", "The tool failed.") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-052", profile="client")
def a_failure_without_an_error_gets_another_code(wrong: bool) -> Trace:
    s = turn(call())
    s.flagged(s.called())
    s.reply(content=error("INTERNAL", "Only five are left.") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-013", profile="client")
def the_model_reads_what_could_not_be_read(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), "<tool_response", readable=False)
    s.reply(content=error("INVALID_XML", f"Not readable: {'<tool_response' if wrong else 'not well-formed'}"))
    s.finish()
    return s.trace


def _unreadable(said: str) -> Trace:
    """Return a chat in which a document cannot be read, and the model is told more beside."""
    s = turn(call())
    s.answered(s.called(), "<tool_response tool_name='search'><llm_output>It is 4711, and more.", readable=False)
    s.reply(content=error("INVALID_XML", f"The answer of search is not a document{said}"))
    s.finish()
    return s.trace


@breaks("XMCP-MCP-013", profile="client")
def the_model_reads_what_stands_before_the_fault(wrong: bool) -> Trace:
    return _unreadable(": 4711, and more." if wrong else ": <llm_output> has no end")


@breaks("XMCP-MCP-013", profile="client")
def the_model_reads_it_without_its_tags(wrong: bool) -> Trace:
    return _unreadable(". It said: It is 4711, and more." if wrong else ".")


@breaks("XMCP-RSP-072", profile="client")
def a_bad_display_costs_the_document(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), bad_display=True)
    s.reply(content=error("INVALID_XML") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-RSP-072", profile="client")
def a_bad_display_alone_is_a_failure_of_the_client(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), None, bad_display=True)
    s.reply(content=error("INTERNAL") if wrong else result(""))
    s.finish()
    return s.trace


@breaks("XMCP-RSP-072", profile="client")
def a_bad_display_is_dropped_in_silence(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), bad_display=True)
    if not wrong:
        s.tell("warning", call_id="t1", text="a display was dropped")
    s.reply()
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-RSP-072", profile="client")
def a_bad_display_is_dropped_beside_a_warning_of_another_call(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.answered(s.called("t1"), bad_display=True)
    s.reply("t1")
    s.make("t2")
    s.tell("warning", call_id="t2" if wrong else "t1", text="a display was dropped")
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_what_is_for_the_user(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), for_user=THANKS)
    s.reply(content=result(f"found\n{THANKS if wrong else SHOWN}"))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_reference_quotes_the_beginning(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), for_user=THANKS)
    s.reply(content=result(f"found\n{f'[{THANKS[:12]}...]' if wrong else SHOWN}"))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_it_in_an_error(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.failed(s.called(), failure("TOOL_ERROR"), for_user=THANKS)
    s.reply(content=error("TOOL_ERROR", f"It failed.\n{THANKS}") if wrong else None)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "markdown", "payload": f"**{THANKS}**"}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_it_in_the_data_that_stand_for_a_text(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), None, for_user=THANKS, structured={"said": THANKS})
    s.reply(content=result(f'{{"said":"{THANKS}"}}' if wrong else ""))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_it_in_the_data_in_another_order(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    card = '{"name":"Cy","card":"4711"}' if wrong else '{"name":"Cy","card":"0815"}'
    s.answered(s.called(), None, for_user=card, structured={"of": {"card": "4711", "name": "Cy"}})
    s.reply(content=result('{"of":{"card":"4711","name":"Cy"}}'))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": card}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_it_beside_words_of_the_server_that_have_it_too(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), f"The person reads: {THANKS}", for_user=THANKS)
    s.reply(content=result(f"The person reads: {THANKS}\n{THANKS}") if wrong else None)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-045", profile="client")
def the_model_reads_it_beside_a_message_of_the_server_that_has_it_too(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("NOT_FOUND", f"It said: {THANKS}"), for_user=THANKS)
    told = error("NOT_FOUND", f"It said: {THANKS}")
    s.reply(content=told.replace("</error>", f'<meta>{{"acme/said":"{THANKS}"}}</meta></error>') if wrong else told)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-046", profile="client")
def what_is_for_the_user_is_shown_to_nobody(wrong: bool) -> Trace:
    s = turn(call(), servers=PLAIN)
    s.answered(s.called(), for_user=THANKS)
    s.reply()
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[] if wrong else [{"type": "text", "payload": THANKS}])
    return s.trace


@breaks("XMCP-MCP-046", profile="client")
def the_same_words_are_shown_once(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), servers=PLAIN)
    s.make("t1", for_user=THANKS)
    s.make("t2", for_user=THANKS)
    s.ask()
    s.say("Seven.")
    shown = {"type": "text", "payload": THANKS}
    s.end("Seven.", displays=[shown] if wrong else [shown, shown])
    return s.trace


@breaks("XMCP-DSP-040", profile="client")
def a_large_display_stands_before_the_model(wrong: bool) -> Trace:
    s = turn(call(), display="continue", display_budget=90)
    s.answered(s.called(), display=LARGE)
    s.reply(content=result("found", LARGE if wrong else reference()))
    s.finish()
    return s.trace


@breaks("XMCP-DSP-041", profile="client")
def a_large_display_leaves_nothing_behind(wrong: bool) -> Trace:
    s = turn(call(), display="continue", display_budget=90)
    s.answered(s.called(), display=LARGE)
    s.reply(content=result("found", None if wrong else reference()))
    s.finish()
    return s.trace


@breaks("XMCP-DSP-041", profile="client")
def a_large_display_of_a_plain_result_leaves_nothing_behind(wrong: bool) -> Trace:
    s = turn(call(), display="continue", display_budget=90, servers=[Server(plain=True)])
    s.answered(s.called(), display=LARGE, plain=True)
    s.reply(content=result("found", None if wrong else reference()))
    s.finish()
    return s.trace


@breaks("XMCP-DSP-041", profile="client")
def a_reference_in_a_given_history_has_no_title(wrong: bool) -> Trace:
    asked = {"name": "search", "arguments": "{}"}
    before: list[dict[str, Any]] = [
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": asked}]},
    ]
    told = {name: value for name, value in reference().items() if not wrong or name != "title"}
    given, sent = ({"role": "tool", "tool_call_id": "c1", "content": result("found", one)} for one in (LARGE, told))
    s = TraceBuilder(display_budget=90)
    s.begin("And now?", *before, given)
    s.histories["a"][2] = sent
    s.finish()
    return s.trace


def reference() -> dict[str, Any]:
    length = len(json.dumps(LARGE, separators=(",", ":")))
    return {"type": "x-xmcp-reference", "title": "Stock", "payload": {"type": "table", "bytes": length}}


@breaks("XMCP-DSP-042", profile="client")
def the_person_gets_the_reference(wrong: bool) -> Trace:
    s = turn(call(), display_budget=90)
    s.answered(s.called(), display=LARGE)
    s.reply(content=result("found", reference()))
    s.end(stop="display", displays=[reference() if wrong else LARGE])
    return s.trace


@breaks("XMCP-DSP-042", profile="client")
def the_person_does_not_get_a_display_again_that_a_cache_has(wrong: bool) -> Trace:
    s = TraceBuilder(tool(cacheable=True, read_only=True), cache=True, display="continue")
    s.begin()
    s.ask()
    s.say("", call(id_="a"))
    s.make("a", display=TABLE)
    s.ask()
    s.say("", call(id_="b"))
    s.reply("b", result("found", TABLE))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[TABLE] if wrong else [TABLE, TABLE])
    return s.trace


@breaks("XMCP-DSP-042", profile="client")
def the_person_is_never_told_of_a_display(wrong: bool) -> Trace:
    s = turn(call())
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.make(display=TABLE)
    s.tell("tool_result", call_id="t1")
    if not wrong:
        s.tell("tool_display", call_id="t1", envelope=TABLE)
    s.tell("done")
    s.end(stop="display")
    return s.trace


@breaks("XMCP-CLI-060", profile="client")
def it_goes_on_after_the_answer_was_shown(wrong: bool) -> Trace:
    s = turn(call())
    s.make(display=TABLE)
    if wrong:
        s.finish()
    else:
        s.end(stop="display")
    return s.trace


@breaks("XMCP-CLI-060", profile="client")
def a_predecessor_without_a_display_keeps_it_going(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[FIRST, THEN])
    s.make("t1")
    s.make("t2", display=TABLE)
    if wrong:
        s.finish()
    else:
        s.end(stop="display")
    return s.trace


@breaks("XMCP-CLI-061", profile="client")
def one_display_of_two_ends_the_chat(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.make("t1", display=TABLE)
    s.make("t2")
    if wrong:
        s.end(stop="display")
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-013", profile="client")
def a_failure_beside_a_display_ends_the_chat(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.make("t1", display=TABLE)
    s.failed(s.called("t2"))
    s.reply("t2")
    if wrong:
        s.end(stop="display")
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-013", profile="client")
def a_failure_crashes_the_chat_and_leaves_no_history(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called())
    s.reply()
    if wrong:
        s.end(failure="crashed", history=[])
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-013", profile="client")
def a_failure_crashes_the_chat(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called())
    s.reply()
    if wrong:
        s.end(failure="crashed")
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-062", profile="client")
def it_ends_although_told_to_go_on(wrong: bool) -> Trace:
    s = turn(call(), display="continue")
    s.make(display=TABLE)
    if wrong:
        s.end(stop="display")
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-063", profile="client")
def displays_come_as_they_were_answered(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    one, two = s.called("t1"), s.called("t2")
    s.answered(two, display=OTHER)
    s.answered(one, display=TABLE)
    s.reply("t1")
    s.reply("t2")
    s.end(stop="display", displays=[OTHER, TABLE] if wrong else [TABLE, OTHER])
    return s.trace


@breaks("XMCP-CLI-064", profile="client")
def a_failing_callback_fails_the_call(wrong: bool) -> Trace:
    s = turn(call(), display="continue")
    s.answered(s.called(), display=TABLE)
    s.call_back(fails=True)
    s.reply(content=error("INTERNAL") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-064", profile="client")
def a_failing_callback_changes_the_error(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called())
    s.call_back(fails=True)
    s.reply(content=error("INTERNAL") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-064", profile="client")
def a_failing_callback_ends_the_chat(wrong: bool) -> Trace:
    s = turn(call(), display="continue")
    s.answered(s.called(), display=TABLE)
    s.call_back(fails=True)
    s.reply()
    if wrong:
        s.end(failure="crashed")
    else:
        s.finish()
    return s.trace


@breaks("XMCP-CLI-064", profile="client")
def a_failing_callback_is_answered_as_an_open_breaker(wrong: bool) -> Trace:
    s = turn(call(), display="continue", breaker_threshold=5)
    s.answered(s.called(), display=TABLE)
    s.call_back(fails=True)
    s.reply(content=error("CIRCUIT_OPEN", retry_after_ms=1000) if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-064", profile="client")
def a_final_error_becomes_an_open_breaker_after_a_failing_callback(wrong: bool) -> Trace:
    s = turn(call(), breaker_threshold=5)
    s.failed(s.called())
    s.call_back(fails=True)
    s.reply(content=error("CIRCUIT_OPEN", retry_after_ms=1000) if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-REC-002", profile="client")
def a_result_is_told_before_its_start(wrong: bool) -> Trace:
    s = turn(call())
    s.make()
    first = ["tool_call", "tool_started", "tool_result"]
    for type_ in ["tool_call", "tool_result", "tool_started"] if wrong else first:
        s.tell(type_, call_id="t1")
    s.finish()
    s.tell("done")
    return s.trace


@breaks("XMCP-REC-003", profile="client")
def something_follows_the_end(wrong: bool) -> Trace:
    s = turn()
    s.end(stop="empty")
    s.tell("done")
    if wrong:
        s.tell("warning", text="One thing more.")
    return s.trace


@breaks("XMCP-REC-003", profile="client")
def of_a_chat_nothing_is_told(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    if not wrong:
        s.tell("done")
    return s.trace


@breaks("XMCP-REC-005", profile="client")
def a_failed_chat_just_stops(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.tell("llm_delta", text="Sev")
    s.say("Sev", failed=True)
    if not wrong:
        s.tell("failed")
    s.end(failure="provider")
    return s.trace


@breaks("XMCP-REC-005", profile="client")
def of_a_failed_chat_nothing_is_told(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say(failed=True)
    if not wrong:
        s.tell("failed")
    s.end(failure="provider")
    return s.trace


@breaks("XMCP-CLI-075", profile="client")
def text_that_broke_off_stays(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.tell("llm_delta", text="Sev")
    s.say("Sev", failed=True)
    if not wrong:
        s.tell("retry")
    s.ask()
    s.tell("llm_delta", text="Seven.")
    s.say("Seven.")
    s.end("Seven.")
    s.tell("done")
    return s.trace
