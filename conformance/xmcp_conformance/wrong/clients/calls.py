"""Faults of the history, of arguments and of the calls of one turn (sections 5.2 and 11.1 to 11.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xmcp_conformance.profiles.client.trace import Server, Trace
from xmcp_conformance.wrong.registry import breaks

from .trace_builder import NO_OBJECT, TraceBuilder, call, error, failure, result, tool

SEARCH = tool("search")
STOCK = tool("stock", "part")
FIRST = tool("first")
THEN = tool("then", "part", depends_on=["first"])
THEN_LIST = tool(
    "then",
    depends_on=["first"],
    input_schema={"properties": {"tag": {}, "part": {"type": "array"}}, "required": ["part"]},
)
OLD: dict[str, Any] = {"role": "user", "content": "Hello."}
FILLED_IN = '<server_populated>{"values":{"user_id":"u-17"}}</server_populated>'
MARKDOWN = '<llm_output format="text/markdown">'


def turn(*calls: dict[str, str], tools: Any = (SEARCH,), text: str = "", **setup: Any) -> TraceBuilder:
    """A chat up to the model's first answer."""
    builder = TraceBuilder(*tools, **setup)
    builder.begin()
    builder.ask()
    builder.say(text, *calls)
    return builder


@breaks("XMCP-CLI-001", profile="client")
def the_given_list_grows(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin("How many?", OLD)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", given=[OLD, OLD] if wrong else [OLD])
    return s.trace


@breaks("XMCP-CLI-002", profile="client")
def an_answer_is_lost(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.make("t1")
    s.answered(s.called("t2"))
    if not wrong:
        s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-002", profile="client")
def the_answers_are_in_another_order(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.answered(s.called("t1"))
    s.answered(s.called("t2"))
    for id_ in ["t2", "t1"] if wrong else ["t1", "t2"]:
        s.reply(id_)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-002", profile="client")
def a_callback_sees_a_call_without_its_answer(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called())
    s.call_back(history=s.histories["a"][: 2 if wrong else 1])
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-002", profile="client")
def the_calls_go_and_their_answers_stay(wrong: bool) -> Trace:
    s = turn(call())
    s.make()
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    history = s.histories["a"]
    s.begin("And now?", *history[2 if wrong else 0 :], chat="b")
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def the_text_stands_bare_in_the_message(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), "found")
    s.reply(content="found" if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def the_model_reads_another_text(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), " 7 bolts ")
    s.reply(content=result("7 bolts") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def a_result_becomes_an_error(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called())
    s.reply(content=error("INTERNAL") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def a_document_written_anew_has_lost_what_the_server_filled_in(wrong: bool) -> Trace:
    s = turn(call())
    written = result().replace("</tool_response>", f"{FILLED_IN}</tool_response>").replace("<llm_output>", MARKDOWN)
    s.answered(s.called(), document=written)
    s.reply(content=written.replace(FILLED_IN, "") if wrong else written)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def a_document_written_anew_has_lost_the_format(wrong: bool) -> Trace:
    s = turn(call())
    written = result().replace("<llm_output>", MARKDOWN)
    s.answered(s.called(), document=written)
    s.reply(content=result() if wrong else written.replace("<tool_response", '<tool_response version="1.0"'))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def an_error_of_its_own_has_the_category_of_another_code(wrong: bool) -> Trace:
    s = turn(call(written="[1]"))
    category = "internal" if wrong else "invalid_input"
    s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT).replace("<error ", f'<error category="{category}" '))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-004", profile="client")
def a_cancelled_call_is_an_internal_error(wrong: bool) -> Trace:
    s = turn(call())
    number = s.called()
    s.cancel()
    s.cancelled(number)
    s.reply(content=error("INTERNAL") if wrong else None)
    s.end(failure="cancelled")
    return s.trace


@breaks("XMCP-CLI-004", profile="client")
def a_call_that_was_not_made_before_the_chat_ended_is_an_internal_error(wrong: bool) -> Trace:
    s = turn(call())
    s.cancel()
    s.reply(content=error("INTERNAL" if wrong else "CANCELLED"))
    s.end(failure="cancelled")
    return s.trace


@breaks("XMCP-CLI-004", profile="client")
def a_call_that_waits_at_the_end_of_the_chat_blames_the_call_it_waits_for(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[FIRST, THEN])
    number = s.called("t1")
    s.cancel()
    s.cancelled(number)
    s.reply("t1")
    s.reply("t2", error("DEPENDENCY_FAILED" if wrong else "CANCELLED"))
    s.end(failure="cancelled")
    return s.trace


@breaks("XMCP-CLI-004", profile="client")
def a_call_that_waits_when_the_time_is_over_blames_a_call_that_would_be_repeated(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[FIRST, THEN], chat_timeout=3.0)
    s.failed(s.called("t1"), failure("RATE_LIMIT", retryable=True, retry_after_ms=2000))
    s.wait(3.0)
    s.reply("t1", error("TIMEOUT"))
    s.reply("t2", error("DEPENDENCY_FAILED" if wrong else "TIMEOUT"))
    s.end(stop="timeout")
    return s.trace


@breaks("XMCP-CLI-005", profile="client")
def two_calls_share_an_id(wrong: bool) -> Trace:
    s = turn(call(tag="t1", id_="x"), call(tag="t2", id_="x"))
    given = ["x", "x" if wrong else "y"]
    for entry, id_ in zip(s.histories["a"][-1]["tool_calls"], given, strict=True):
        entry["id"] = id_
    for tag, id_ in zip(["t1", "t2"], given, strict=True):
        s.answered(s.called("x", tag=tag))
        s.reply("x", as_id=id_)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-005", profile="client")
def the_second_of_two_calls_keeps_the_id_of_both(wrong: bool) -> Trace:
    s = turn(call(tag="t1", id_="x"), call(tag="t2", id_="x"))
    given = ["y", "x"] if wrong else ["x", "y"]
    for entry, id_ in zip(s.histories["a"][-1]["tool_calls"], given, strict=True):
        entry["id"] = id_
    for tag, id_ in zip(["t1", "t2"], given, strict=True):
        s.answered(s.called("x", tag=tag))
        s.reply("x", as_id=id_)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-006", profile="client")
def the_text_beside_a_call_is_dropped(wrong: bool) -> Trace:
    s = turn(call(), text="I look it up.")
    if wrong:
        s.histories["a"][-1]["content"] = None
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-007", profile="client")
def broken_arguments_stay_in_the_history(wrong: bool) -> Trace:
    s = turn(call(written='{"tag": "t1", '))
    if wrong:
        s.histories["a"][-1]["tool_calls"][0]["function"]["arguments"] = '{"tag": "t1", '
    s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-007", profile="client")
def broken_arguments_become_a_member_of_the_object(wrong: bool) -> Trace:
    s = turn(call(written='{"tag": "t1", '))
    if wrong:
        s.histories["a"][-1]["tool_calls"][0]["function"]["arguments"] = '{"INVALID_JSON": "{"}'
    s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-010", profile="client")
def broken_arguments_are_mended(wrong: bool) -> Trace:
    s = turn(call(written='{"tag": "t1", '))
    if wrong:
        s._written["t1"][1]["arguments"] = '{"tag": "t1"}'
        s.make()
    else:
        s.reply(content=error("VALIDATION_FAIL", meta=NO_OBJECT))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-010", profile="client")
def a_list_of_arguments_is_an_internal_error(wrong: bool) -> Trace:
    s = turn(call(written="[1]"))
    s.reply(content=error("INTERNAL" if wrong else "VALIDATION_FAIL", meta=NO_OBJECT))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-011", profile="client")
def a_tool_that_is_not_offered_is_called(wrong: bool) -> Trace:
    s = turn(call("find"))
    if wrong:
        s.answered(s.called(name="search"))
    s.reply(content=None if wrong else error("UNKNOWN_TOOL"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-011", profile="client")
def a_tool_that_is_not_offered_is_an_internal_error(wrong: bool) -> Trace:
    s = turn(call("find"))
    s.reply(content=error("INTERNAL" if wrong else "UNKNOWN_TOOL"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-105", profile="client")
def a_call_above_the_limit_is_made(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), max_calls_per_turn=1)
    s.make("t1")
    if wrong:
        s.make("t2")
    else:
        s.reply("t2", content=error("RATE_LIMIT"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-105", profile="client")
def a_call_above_the_limit_is_an_internal_error(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), max_calls_per_turn=1)
    s.make("t1")
    s.reply("t2", content=error("INTERNAL" if wrong else "RATE_LIMIT"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def a_number_goes_out_as_text(wrong: bool) -> Trace:
    s = turn(call("stock", part=7), tools=[STOCK])
    s.answered(s.called(part="7" if wrong else 7))
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-014", profile="client")
def the_model_reads_an_exception(wrong: bool) -> Trace:
    s = turn(call())
    s.lost(s.called(), exception="[Errno 104] reset by peer")
    s.reply(content=error("CONNECTION_FAILED", "[Errno 104] reset by peer" if wrong else "The connection broke."))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-014", profile="client")
def the_model_reads_the_class_of_an_exception(wrong: bool) -> Trace:
    s = turn(call())
    s.lost(s.called())
    said = "httpx.ConnectError: All connection attempts failed"
    s.reply(content=error("CONNECTION_FAILED", said if wrong else "The connection broke."))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-014", profile="client")
def the_model_reads_a_stack_trace(wrong: bool) -> Trace:
    s = turn(call())
    s.lost(s.called())
    trace = 'Traceback (most recent call last):\n  File "a.py", line 7, in run'
    s.reply(content=error("CONNECTION_FAILED", trace if wrong else "The connection broke."))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-020", profile="client")
def independent_calls_run_one_after_the_other(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    one = s.called("t1")
    two = 0 if wrong else s.called("t2")
    s.wait(1)
    s.answered(one)
    s.answered(s.called("t2") if wrong else two)
    s.reply("t1")
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-021", profile="client")
def two_chats_take_one_slot(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, max_concurrency=1)
    for chat in ("a", "b"):
        s.begin(chat=chat)
        s.ask(chat)
        s.say("", call(tag=chat), chat=chat)
    one = s.called("a")
    two = s.called("b") if wrong else 0
    s.wait(1)
    s.answered(one)
    s.answered(two if wrong else s.called("b"))
    for chat in ("a", "b"):
        s.reply(chat)
        s.finish(chat=chat)
    return s.trace


@breaks("XMCP-CLI-117", profile="client")
def one_tenant_s_calls_hold_up_another_s(wrong: bool) -> Trace:
    s = TraceBuilder(SEARCH, max_concurrency=1)
    s.begin(chat="a", tenant="x")
    s.ask("a")
    s.say("", *(call(tag=f"a{number}") for number in range(3)), chat="a")
    running = s.called("a0")
    s.begin("Which one?", chat="b", tenant="y")
    s.ask("b")
    s.say("", call(tag="b"), chat="b")
    for tag in ("a1", "a2", "b") if wrong else ("a1", "b", "a2"):
        s.wait(1)
        s.answered(running)
        running = s.called(tag)
    s.wait(1)
    s.answered(running)
    for number in range(3):
        s.reply(f"a{number}")
    s.finish(chat="a")
    s.reply("b")
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-022", profile="client")
def one_failure_stops_the_turn(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.failed(s.called("t1"))
    s.reply("t1")
    if wrong:
        s.reply("t2", error("CANCELLED"))
    else:
        s.make("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-022", profile="client")
def the_refusal_of_one_call_is_for_another_too(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), approval=True)
    s.approve("t1", answer=False)
    s.reply("t1", error("FORBIDDEN"))
    if wrong:
        s.reply("t2", error("FORBIDDEN"))
    else:
        s.approve("t2")
        s.make("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def a_refusal_is_told_in_words_beside_a_call_that_failed(wrong: bool) -> Trace:
    """The application refused the second call, so nobody may blame the client for not making it."""
    s = turn(call(tag="t1"), call(tag="t2"), approval=True)
    s.approve("t1")
    s.approve("t2", answer=False)
    s.failed(s.called("t1"))
    s.reply("t1")
    s.reply("t2", "Tool execution was not approved." if wrong else error("FORBIDDEN"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def two_calls_that_do_not_fit_are_each_refused_by_the_client(wrong: bool) -> Trace:
    """Neither failure has to do with the other one; the server judges what the model wrote."""
    strict = tool("find", "rows")
    schema = {**strict.input_schema, "required": ["rows"], "additionalProperties": False}
    s = turn(call("find", "t1"), call("find", "t2", x=1), tools=[replace(strict, input_schema=schema)])
    for id_ in ("t1", "t2"):
        if wrong:
            s.reply(id_, error("TOOL_ERROR", "The tool could not be called.", name="find"))
        else:
            s.failed(s.called(id_), failure("VALIDATION_FAIL"))
            s.reply(id_)
    s.finish()
    return s.trace


@breaks("XMCP-TOL-012", profile="client")
def a_dependant_does_not_wait(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[FIRST, THEN])
    one = s.called("t1")
    two = s.called("t2") if wrong else 0
    s.wait(1)
    s.answered(one)
    s.answered(two if wrong else s.called("t2"))
    s.reply("t1")
    s.reply("t2")
    s.finish()
    return s.trace


def handed(tools: Any, *calls: dict[str, str]) -> TraceBuilder:
    """A turn in which values are handed on: the calls before the last are made in their order."""
    return turn(*calls, tools=tools)


@breaks("XMCP-CLI-030", profile="client")
def a_member_is_not_handed_on(wrong: bool) -> Trace:
    s = handed([FIRST, THEN], call("first", "t1"), call("then", "t2"))
    s.make("t1", structured={"part": "bolt"})
    s.answered(s.called("t2", part=None if wrong else "bolt"))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-031", profile="client")
def only_the_text_is_handed_on(wrong: bool) -> Trace:
    whole = {"name": "bolt"}
    s = handed([tool("first", provides="part"), THEN], call("first", "t1"), call("then", "t2"))
    s.make("t1", "a bolt", structured=whole)
    s.answered(s.called("t2", part="a bolt" if wrong else whole))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-031", profile="client")
def a_wrapped_value_is_handed_on_with_its_wrapper(wrong: bool) -> Trace:
    wrapped = {"value": ["bolt"]}
    first = tool("first", provides="part", wrapped_in="value")
    s = handed([first, THEN], call("first", "t1"), call("then", "t2"))
    s.make("t1", "bolts", structured=wrapped)
    s.answered(s.called("t2", part=wrapped if wrong else ["bolt"]))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-031", profile="client")
def a_value_that_fastmcp_wrapped_is_handed_on_with_its_wrapper(wrong: bool) -> Trace:
    wrapped = {"result": ["bolt"]}
    marked = {"type": "object", "properties": {"result": {}}, "required": ["result"], "x-fastmcp-wrap-result": True}
    then = tool("then", "part", "result", depends_on=["first"])
    s = handed([tool("first", provides="part", output_schema=marked), then], call("first", "t1"), call("then", "t2"))
    s.make("t1", "bolts", structured=wrapped)
    s.answered(s.called("t2", part=wrapped if wrong else ["bolt"]))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-031", profile="client")
def a_text_stays_a_text_where_only_a_list_fits(wrong: bool) -> Trace:
    s = handed([tool("first", provides="part"), THEN_LIST], call("first", "t1"), call("then", "t2"))
    s.make("t1", '["bolt"]')
    s.answered(s.called("t2", part='["bolt"]' if wrong else ["bolt"]))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-120", profile="client")
def a_result_without_a_name_is_not_handed_on(wrong: bool) -> Trace:
    s = handed([FIRST, THEN_LIST], call("first", "t1"), call("then", "t2"))
    s.make("t1", '["bolt"]')
    given: dict[str, Any] = {} if wrong else {"part": ["bolt"]}
    s.answered(s.called("t2", **given))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-034", profile="client")
def the_first_of_two_results_without_a_name_is_handed_on(wrong: bool) -> Trace:
    s = handed([FIRST, THEN_LIST], call("first", "t1"), call("first", "t2"), call("then", "t3"))
    s.make("t1", structured=["bolt"])
    s.make("t2", structured=["nut"])
    s.answered(s.called("t3", part=["bolt" if wrong else "nut"]))
    s.reply("t3")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def a_member_that_only_an_earlier_result_has_is_handed_on(wrong: bool) -> Trace:
    s = handed([FIRST, THEN], call("first", "t1"), call("first", "t2"), call("then", "t3", part="nut"))
    s.make("t1", structured={"part": "bolt"})
    s.make("t2", structured={"screws": 4})
    s.answered(s.called("t3", part="bolt" if wrong else "nut"))
    s.reply("t3")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def a_result_without_a_name_replaces_what_the_model_wrote(wrong: bool) -> Trace:
    s = handed([FIRST, THEN_LIST], call("first", "t1"), call("then", "t2", part=["nut"]))
    s.make("t1", '["bolt"]')
    s.answered(s.called("t2", part=["bolt" if wrong else "nut"]))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-012", profile="client")
def a_result_without_a_name_is_handed_on_although_it_does_not_fit(wrong: bool) -> Trace:
    s = handed([FIRST, THEN_LIST], call("first", "t1"), call("then", "t2"))
    s.make("t1", "a bolt")
    given: dict[str, Any] = {"part": "a bolt"} if wrong else {}
    s.answered(s.called("t2", **given))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-032", profile="client")
def the_farther_value_wins(wrong: bool) -> Trace:
    last = tool("last", "part", depends_on=["first", "then"])
    middle = tool("then", depends_on=["first"])
    far = tool("far")
    s = handed(
        [tool("first", depends_on=["far"]), middle, last, far],
        call("far", "t0"), call("first", "t1"), call("then", "t2"), call("last", "t3"),
    )  # fmt: skip
    s.make("t0", structured={"part": "far"})
    s.make("t1", structured={"part": "earlier"})
    s.make("t2", structured={"part": "later"})
    s.answered(s.called("t3", part="far" if wrong else "later"))
    s.reply("t3")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-032", profile="client")
def the_one_declared_earlier_wins(wrong: bool) -> Trace:
    last = tool("last", "part", depends_on=["first", "second"])
    s = handed(
        [tool("second"), FIRST, last], call("second", "t1"), call("first", "t2"), call("last", "t3")
    )  # fmt: skip
    s.make("t1", structured={"part": "of second"})
    s.make("t2", structured={"part": "of first"})
    s.answered(s.called("t3", part="of first" if wrong else "of second"))
    s.reply("t3")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-033", profile="client")
def the_model_s_guess_stays(wrong: bool) -> Trace:
    s = handed([FIRST, THEN], call("first", "t1"), call("then", "t2", part="nut"))
    s.make("t1", structured={"part": "bolt"})
    s.answered(s.called("t2", part="nut" if wrong else "bolt"))
    s.reply("t2")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-034", profile="client")
def the_first_of_two_results_is_handed_on(wrong: bool) -> Trace:
    s = handed([FIRST, THEN], call("first", "t1"), call("first", "t2"), call("first", "t3"), call("then", "t4"))
    s.make("t1", structured={"part": "bolt"})
    s.make("t2", structured={"part": "nut"})
    s.failed(s.called("t3"))
    s.reply("t3")
    s.answered(s.called("t4", part="bolt" if wrong else "nut"))
    s.reply("t4")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-035", profile="client")
def a_dependant_of_a_failure_is_made(wrong: bool) -> Trace:
    s = turn(call("first", "t1"), call("then", "t2"), tools=[FIRST, THEN])
    s.failed(s.called("t1"))
    s.reply("t1")
    if wrong:
        s.make("t2")
    else:
        s.reply("t2", error("DEPENDENCY_FAILED"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-036", profile="client")
def a_value_that_does_not_fit_is_handed_on(wrong: bool) -> Trace:
    schema = {
        "type": "object",
        "properties": {"tag": {}, "part": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "integer"}},
    }
    s = turn(
        call("first", "t1"), call("then", "t2"), tools=[FIRST, tool("then", depends_on=["first"], input_schema=schema)]
    )
    s.make("t1", structured={"part": "bolt"})
    if wrong:
        s.answered(s.called("t2", part="bolt"))
    s.reply("t2", None if wrong else error("DEPENDENCY_FAILED"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-037", profile="client")
def a_provided_parameter_is_required(wrong: bool) -> Trace:
    first = tool("first", provides="part")
    s = TraceBuilder(first, THEN)
    s.begin()
    s.ask(tools=[s.offer(first), s.offer(THEN, required=["part"] if wrong else [])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-037", profile="client")
def a_parameter_that_a_wrapped_value_provides_is_required(wrong: bool) -> Trace:
    value = {"type": "object", "properties": {"part": {}}, "required": ["part"]}
    schema = {"type": "object", "properties": {"value": value}, "required": ["value"]}
    first = tool("first", wrapped_in="value", output_schema=schema)
    then = tool("then", "part", "value", depends_on=["first"])
    s = TraceBuilder(first, then)
    s.begin()
    s.ask(tools=[s.offer(first), s.offer(then, required=["part" if wrong else "value"])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-037", profile="client")
def a_parameter_that_the_only_predecessor_can_fill_is_required(wrong: bool) -> Trace:
    s = TraceBuilder(FIRST, THEN_LIST)
    s.begin()
    s.ask(tools=[s.offer(FIRST), s.offer(THEN_LIST, required=["part"] if wrong else [])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-037", profile="client")
def a_parameter_that_nothing_provides_is_not_required(wrong: bool) -> Trace:
    first = tool("first", provides="part")
    schema = {"properties": {"tag": {}, "part": {}, "year": {}}, "required": ["part", "year"]}
    then = tool("then", depends_on=["first"], input_schema=schema)
    s = TraceBuilder(first, then)
    s.begin()
    s.ask(tools=[s.offer(first), s.offer(then, required=[] if wrong else ["year"])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-038", profile="client")
def it_starts_with_a_circle(wrong: bool) -> Trace:
    s = TraceBuilder(tool("first", depends_on=["then"]), THEN)
    s.begin()
    if wrong:
        s.ask()
        s.say("Seven.")
        s.end("Seven.")
    else:
        s.end(failure="refused")
    return s.trace


@breaks("XMCP-CLI-038", profile="client")
def tools_in_a_circle_are_offered_beside_others(wrong: bool) -> Trace:
    s = TraceBuilder(tool("first", depends_on=["then"]), THEN, tool("stock", server=1), servers=[Server(), Server()])
    s.begin()
    s.ask(tools=None if wrong else [s.offer(s.setup.tools[2])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-038", profile="client")
def a_later_list_with_a_circle_is_used(wrong: bool) -> Trace:
    late = tool("late", depends_on=["first"])
    s = TraceBuilder(FIRST)
    s.list_tools(tool("first", depends_on=["late"]), late)
    s.wait(1)
    s.begin()
    s.ask(tools=[s.offer(FIRST), *([s.offer(late)] if wrong else [])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace
