"""Faults of how chats end, of approvals and of the tools that the client answers itself (sections 11.7 and 11.8)."""

from __future__ import annotations

from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import OLD, STOCK, turn
from .trace_builder import NO_OBJECT, TABLE, USAGE, TraceBuilder, call, error, result, tool

SYSTEM = {"role": "system", "content": "Be brief."}
CLARIFY, THINK, SUMMARIZE = "__clarify__", "__think__", "__summarize__"


@breaks("XMCP-CLI-071", profile="client")
def a_model_that_was_silent_to_the_end_answered_nothing(wrong: bool) -> Trace:
    s = TraceBuilder(chat_timeout=4)
    s.begin()
    s.ask()
    s.say("", failed=True, stalls=True)
    s.wait(4)
    s.end(stop="empty" if wrong else "timeout")
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def a_model_that_could_not_be_asked_answered_nothing(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("", failed=True)
    s.end(stop="empty", failure=None if wrong else "provider")
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def what_was_shown_in_the_last_turn_is_a_limit(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1)
    s.answered(s.called(), display=TABLE)
    s.reply()
    s.end(stop="max_turns" if wrong else "display")
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def an_answer_of_white_space_is_an_answer(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say(" ")
    s.end(stop="stop" if wrong else "empty")
    return s.trace


@breaks("XMCP-CLI-124", profile="client")
def the_texts_of_all_turns_are_the_answer(wrong: bool) -> Trace:
    s = turn(call(), text="Let me look.")
    s.make()
    s.ask()
    s.say("Seven.")
    s.end("Let me look.Seven." if wrong else "Seven.")
    return s.trace


@breaks("XMCP-CLI-124", profile="client")
def a_text_from_before_the_silence_is_the_answer(wrong: bool) -> Trace:
    s = turn(call(), text="Let me look.", chat_timeout=4)
    s.make()
    s.ask()
    s.say("", failed=True, stalls=True)
    s.wait(4)
    s.end("Let me look." if wrong else None, stop="timeout")
    return s.trace


@breaks("XMCP-CLI-073", profile="client")
def a_failing_model_costs_the_system_message(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin("How many?", SYSTEM)
    s.ask()
    s.say(failed=True)
    s.end(failure="provider", history=s.histories["a"][1 if wrong else 0 :])
    return s.trace


@breaks("XMCP-CLI-073", profile="client")
def what_broke_off_stays_where_the_model_failed(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("They sold", failed=True)
    left = [{"role": "assistant", "content": "They sold"}] if wrong else []
    s.end(failure="provider", history=[*s.histories["a"], *left])
    return s.trace


@breaks("XMCP-CLI-085", profile="client")
def the_first_of_two_questions_is_the_answer(wrong: bool) -> Trace:
    questions = (call(CLARIFY, question="Which bolts?"), call(CLARIFY, "t2", question="Which year?"))
    s = turn(*questions, meta_tools=[CLARIFY])
    s.reply(content=result("Asked."))
    s.reply("t2", content=result("Asked."))
    s.end("Which bolts?" if wrong else "Which year?", stop="clarify")
    return s.trace


@breaks("XMCP-CLI-115", profile="client")
def an_answer_that_the_vendor_did_not_count_is_free(wrong: bool) -> Trace:
    s = TraceBuilder(quota_tokens={"x": 100})
    s.begin(tenant="x")
    s.ask()
    s.say("word " * 1000)
    s.end("word " * 1000)
    s.wait(1)
    s.begin(chat="b", tenant="x")
    if wrong:
        s.ask("b")
        s.say("Eight.", chat="b")
    s.end("Eight.", chat="b", failure=None if wrong else "quota")
    return s.trace


@breaks("XMCP-CLI-082", profile="client")
def the_model_sees_it_in_an_example(wrong: bool) -> Trace:
    s = TraceBuilder(STOCK, params={"part": "bolt"})
    s.begin()
    s.ask(tools=[s.offer(STOCK, examples=[{"part": "bolt"} if wrong else {}])])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-086", profile="client")
def a_summary_empties_the_results_after_the_question(wrong: bool) -> Trace:
    s = turn(call(), meta_tools=[SUMMARIZE])
    s.make()
    s.ask()
    s.say("", call(SUMMARIZE, "t2", summary="They ask how many."))
    s.reply("t2", content=result("Done."))
    if wrong:
        history = s.histories["a"]
        s.histories["a"] = [*history[:2], {**history[2], "content": result("")}, *history[3:]]
    s.finish()
    return s.trace


@breaks("XMCP-CLI-070", profile="client")
def the_model_is_asked_once_too_often(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1 if wrong else 2)
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-071", profile="client")
def the_limit_of_turns_is_a_plain_stop(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1)
    s.make()
    s.end(stop="stop" if wrong else "max_turns")
    return s.trace


@breaks("XMCP-CLI-071", profile="client")
def the_limit_of_turns_is_an_exception(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1)
    s.make()
    s.end(stop="max_turns", failure="crashed" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-071", profile="client")
def an_answer_that_the_vendor_cut_is_a_plain_stop(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("Sev", finish="length")
    s.end("Sev", stop="stop" if wrong else "length")
    return s.trace


@breaks("XMCP-CLI-071", profile="client")
def the_wrong_limit_is_named(wrong: bool) -> Trace:
    s = turn(call(), chat_timeout=5.0)
    number = s.called()
    s.wait(5)
    s.cancelled(number)
    s.reply(content=error("TIMEOUT"))
    s.end(stop="max_turns" if wrong else "timeout")
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def an_empty_answer_is_an_exception(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("")
    s.end(stop="empty", failure="crashed" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def it_refuses_every_chat(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    if not wrong:
        s.ask()
        s.say("Seven.")
    s.end("Seven.", failure="refused" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def a_model_that_was_not_asked_counts_as_failed(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    if not wrong:
        s.ask()
        s.say(failed=True)
    s.end(failure="provider")
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def a_shown_answer_is_an_exception(wrong: bool) -> Trace:
    s = turn(call())
    s.answered(s.called(), display=TABLE)
    s.reply()
    s.end(stop="display", failure="crashed" if wrong else None)
    return s.trace


@breaks("XMCP-CLI-133", profile="client")
def a_chat_dies_where_a_call_has_no_id_beside_one_of_no_tool(wrong: bool) -> Trace:
    """Nobody can tell whether it died of the call that fails."""
    s = turn(call("functions.search", "t1"), call(tag="t2", id_=""))
    if wrong:
        s.end(failure="crashed", history=[{"role": "user", "content": "How many?"}])
        return s.trace
    s.histories["a"][-1]["tool_calls"][1]["id"] = "own"
    s.reply("t1", error("UNKNOWN_TOOL"))
    s.answered(s.called(""))
    s.reply("", as_id="own")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-072", profile="client")
def a_tool_s_result_is_the_answer(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1)
    s.make()
    s.end("found" if wrong else None, stop="max_turns")
    return s.trace


@breaks("XMCP-CLI-123", profile="client")
def the_calls_of_the_last_turn_are_not_made(wrong: bool) -> Trace:
    s = turn(call(), max_turns=1)
    if wrong:
        s.reply(content=error("CANCELLED"))
    else:
        s.make()
    s.end(stop="max_turns")
    return s.trace


@breaks("XMCP-CLI-003", profile="client")
def arguments_that_nobody_can_read_are_refused_in_words_in_the_last_turn(wrong: bool) -> Trace:
    """XMCP-CLI-010 forbids the call, so it is no call of the last turn that was not made."""
    s = turn(call(id_="t1", written="{"), max_turns=1)
    s.reply(content="An error occurred. Please try again." if wrong else error("VALIDATION_FAIL", meta=NO_OBJECT))
    s.end(stop="max_turns")
    return s.trace


@breaks("XMCP-CLI-123", profile="client")
def the_calls_of_a_cut_answer_are_not_made(wrong: bool) -> Trace:
    s = TraceBuilder(tool())
    s.begin()
    s.ask()
    s.say("", call(), finish="length")
    if wrong:
        s.reply(content=error("CANCELLED"))
    else:
        s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-124", profile="client")
def what_was_written_beside_the_calls_is_the_answer(wrong: bool) -> Trace:
    s = TraceBuilder(tool())
    s.begin()
    s.ask()
    s.say("Here it is.", call())
    s.make(display=TABLE)
    s.end("Here it is." if wrong else None, stop="display")
    return s.trace


@breaks("XMCP-CLI-124", profile="client")
def the_text_of_an_earlier_turn_is_the_answer(wrong: bool) -> Trace:
    s = TraceBuilder(tool())
    s.begin()
    s.ask()
    s.say("Let me look.", call())
    s.make()
    s.ask()
    s.say("Seven.")
    s.end("Let me look." if wrong else "Seven.")
    return s.trace


@breaks("XMCP-CLI-124", profile="client")
def what_was_written_beside_calls_that_ran_out_of_time_is_the_answer(wrong: bool) -> Trace:
    s = TraceBuilder(tool(), chat_timeout=10)
    s.begin()
    s.ask()
    s.say("Let me look.", call())
    number = s.called()
    s.wait(10)
    s.cancelled(number)
    s.reply(content=error("TIMEOUT"))
    s.end("Let me look." if wrong else None, stop="timeout")
    return s.trace


@breaks("XMCP-CLI-072", profile="client")
def a_text_of_the_client_s_own_is_the_answer_of_a_chat_without_time(wrong: bool) -> Trace:
    s = TraceBuilder(tool(), chat_timeout=10)
    s.begin()
    s.ask()
    s.say("They sold forty", failed=True, stalls=True)
    s.wait(10)
    history = [*s.histories["a"], {"role": "assistant", "content": "They sold"}]
    s.end("There was no time." if wrong else "They sold", stop="timeout", history=history)
    return s.trace


@breaks("XMCP-CLI-073", profile="client")
def a_failing_model_costs_the_history(wrong: bool) -> Trace:
    s = turn(call())
    s.make()
    s.ask()
    s.say(failed=True)
    s.end(failure="provider", history=[] if wrong else s.histories["a"])
    return s.trace


@breaks("XMCP-CLI-073", profile="client")
def a_failing_model_costs_the_last_turn(wrong: bool) -> Trace:
    s = turn(call())
    s.make()
    s.ask()
    s.say(failed=True)
    s.end(failure="provider", history=s.histories["a"][: 1 if wrong else None])
    return s.trace


@breaks("XMCP-CLI-074", profile="client")
def a_quota_is_overdrawn(wrong: bool) -> Trace:
    s = TraceBuilder(quota_tokens={"x": 100})
    s.begin(tenant="x")
    s.ask()
    s.say("Seven.", tokens=100)
    s.end("Seven.")
    s.begin(chat="b", tenant="x")
    if wrong:
        s.ask("b")
        s.say("Eight.", chat="b")
    s.end("Eight.", chat="b", failure=None if wrong else "quota")
    return s.trace


@breaks("XMCP-CLI-115", profile="client")
def what_a_cancelled_answer_used_is_not_counted(wrong: bool) -> Trace:
    s = TraceBuilder(quota_tokens={"x": 100})
    s.begin(tenant="x")
    s.ask()
    s.say("word " * 1000, failed=True)
    s.wait(1)
    s.cancel()
    s.end(failure="cancelled", history=[*s.histories["a"], {"role": "assistant", "content": "word " * 1000}])
    s.begin(chat="b", tenant="x")
    if wrong:
        s.ask("b")
        s.say("Eight.", chat="b")
    s.end("Eight.", chat="b", failure=None if wrong else "quota")
    return s.trace


@breaks("XMCP-CLI-116", profile="client")
def the_text_of_a_cancelled_answer_is_lost(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("Half an ans", failed=True, stalls=True)
    s.wait(1)
    s.cancel()
    kept = [] if wrong else [{"role": "assistant", "content": "Half an ans"}]
    s.end(failure="cancelled", history=[*s.histories["a"], *kept])
    return s.trace


@breaks("XMCP-CLI-116", profile="client")
def the_text_of_an_answer_that_took_too_long_is_lost(wrong: bool) -> Trace:
    s = TraceBuilder(chat_timeout=5)
    s.begin()
    s.ask()
    s.say("Half an ans", failed=True, stalls=True)
    s.wait(5)
    kept = [] if wrong else [{"role": "assistant", "content": "Half an ans"}]
    s.end("Half an ans", "timeout", history=[*s.histories["a"], *kept])
    return s.trace


@breaks("XMCP-CLI-076", profile="client")
def one_tenant_reads_what_another_asked(wrong: bool) -> Trace:
    s = TraceBuilder()
    s.begin("What does Smith earn?", tenant="x")
    s.begin("How many bolts?", tenant="y", chat="b")
    s.ask("b", messages=[{"role": "user", "content": "What does Smith earn?"}, *s.histories["b"]] if wrong else None)
    s.say("Seven.", chat="b")
    s.end("Seven.", chat="b")
    s.ask()
    s.say("Nobody knows.")
    s.end("Nobody knows.")
    return s.trace


@breaks("XMCP-CLI-076", profile="client")
def one_tenant_pays_for_another(wrong: bool) -> Trace:
    s = TraceBuilder()
    for chat, tenant in (("a", "x"), ("b", "y")):
        s.begin(f"A question of {tenant}", chat=chat, tenant=tenant)
        s.ask(chat)
        s.say("Seven.", chat=chat)
        s.tell("usage", chat=chat, usage={**USAGE, "tenant_id": "x" if wrong else tenant})
        s.end("Seven.", chat=chat)
        s.tell("done", chat=chat)
    return s.trace


@breaks("XMCP-CLI-080", profile="client")
def a_call_is_made_unasked(wrong: bool) -> Trace:
    s = turn(call(), approval=True)
    if not wrong:
        s.approve()
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-081", profile="client")
def a_call_is_made_against_the_answer(wrong: bool) -> Trace:
    s = turn(call(), approval=True)
    s.approve(answer=False)
    if wrong:
        s.make()
    else:
        s.reply(content=error("FORBIDDEN"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-081", profile="client")
def what_was_not_approved_is_a_cancelled_call(wrong: bool) -> Trace:
    s = turn(call(), approval=True)
    s.approve(answer=False)
    s.reply(content=error("CANCELLED" if wrong else "FORBIDDEN"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-082", profile="client")
def the_model_sees_the_user_s_id(wrong: bool) -> Trace:
    s = TraceBuilder(STOCK, params={"part": "bolt"})
    s.begin()
    s.ask(tools=[s.offer(STOCK, **({"properties": STOCK.input_schema["properties"]} if wrong else {}))])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-082", profile="client")
def the_model_sees_it_under_a_condition(wrong: bool) -> Trace:
    s = TraceBuilder(STOCK, params={"part": "bolt"})
    s.begin()
    s.ask(tools=[s.offer(STOCK, then={"properties": {"part": {}} if wrong else {}})])
    s.say("Seven.")
    s.end("Seven.")
    return s.trace


@breaks("XMCP-CLI-083", profile="client")
def the_model_sets_what_the_application_fills_in(wrong: bool) -> Trace:
    s = turn(call("stock", part="nut"), tools=[STOCK], params={"part": "bolt"})
    s.answered(s.called(part="nut" if wrong else "bolt"))
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-083", profile="client")
def the_application_s_value_is_left_out(wrong: bool) -> Trace:
    s = turn(call("stock"), tools=[STOCK], params={"part": "bolt"})
    s.answered(s.called(part=None if wrong else "bolt"))
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-083", profile="client")
def the_model_sets_what_the_application_has_no_value_for(wrong: bool) -> Trace:
    s = turn(call("stock", part="nut"), tools=[STOCK], params={"part": None})
    s.answered(s.called(part="nut" if wrong else None))
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-084", profile="client")
def a_thought_is_shown(wrong: bool) -> Trace:
    thought = "They may mean nuts."
    s = turn(call(THINK, thought=thought), meta_tools=[THINK])
    s.tell("llm_delta", text=thought if wrong else "")
    s.reply(content=result("Noted."))
    s.finish("Seven.")
    s.tell("done")
    return s.trace


@breaks("XMCP-CLI-085", profile="client")
def a_question_does_not_end_the_chat(wrong: bool) -> Trace:
    s = turn(call(CLARIFY, question="Which bolts?"), meta_tools=[CLARIFY])
    s.reply(content=result("Asked."))
    if wrong:
        s.finish()
    else:
        s.end("Which bolts?", stop="clarify")
    return s.trace


@breaks("XMCP-CLI-085", profile="client")
def a_question_is_not_the_answer(wrong: bool) -> Trace:
    s = turn(call(CLARIFY, question="Which bolts?"), meta_tools=[CLARIFY])
    s.reply(content=result("Asked."))
    s.end(None if wrong else "Which bolts?", stop="clarify")
    return s.trace


@breaks("XMCP-CLI-086", profile="client")
def a_summary_swallows_the_system_message(wrong: bool) -> Trace:
    s = TraceBuilder(meta_tools=[SUMMARIZE])
    s.begin("How many?", SYSTEM, OLD)
    s.ask()
    s.say("", call(SUMMARIZE, summary="They said hello."))
    s.reply(content=result("Done."))
    short = {"role": "user", "content": "They said hello."}
    s.histories["a"][:2] = [short] if wrong else [SYSTEM, short]
    s.finish()
    return s.trace


@breaks("XMCP-CLI-086", profile="client")
def a_summary_swallows_the_question(wrong: bool) -> Trace:
    s = TraceBuilder(meta_tools=[SUMMARIZE])
    s.begin("How many?", OLD)
    s.ask()
    s.say("", call(SUMMARIZE, summary="They ask how many."))
    s.reply(content=result("Done."))
    short = {"role": "user", "content": "They ask how many."}
    s.histories["a"][: 2 if wrong else 1] = [short]
    s.finish()
    return s.trace
