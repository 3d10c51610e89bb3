"""Faults after failed calls, and of circuit breakers and caches (sections 4.2, 4.5, 8.6, 11.4 and 11.5)."""

from __future__ import annotations

from typing import Any

from xmcp_conformance.profiles.client.trace import Server, Tool, Trace
from xmcp_conformance.wrong.registry import breaks

from .calls import turn
from .trace_builder import TABLE, TraceBuilder, call, error, failure, result, tool

WRITES = tool("search")
READS = tool("search", read_only=True)
CACHED = tool("search", read_only=True, cacheable=True)
BUSY = failure("UPSTREAM_UNAVAILABLE", retryable=True)


@breaks("XMCP-CLI-125", profile="client")
def a_lost_call_has_another_code(wrong: bool) -> Trace:
    s = turn(call(), tools=[WRITES])
    s.lost(s.called())
    s.reply(content=error("INTERNAL") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-125", profile="client")
def a_call_that_was_lost_at_last_has_the_code_of_its_first_attempt(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.failed(s.called(), BUSY)
    s.lost(s.called())
    s.reply(content=error("UPSTREAM_UNAVAILABLE") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-043", profile="client")
def the_message_of_a_plain_result_is_that_of_its_blocks(wrong: bool) -> Trace:
    s = turn(call(), servers=[Server(plain=True)])
    s.failed(s.called(), failure("CONFLICT", "It is closed."), text="CONFLICT: It is closed.", plain=True)
    s.reply(content=error("CONFLICT", "CONFLICT: It is closed.") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-MCP-043", profile="client")
def the_error_of_a_plain_result_is_retryable_by_its_code(wrong: bool) -> Trace:
    s = turn(call(), servers=[Server(plain=True)])
    s.failed(s.called(), failure("DB_TIMEOUT", "late"), plain=True)
    s.reply(content=error("DB_TIMEOUT", "late", retryable=True) if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-125", profile="client")
def a_call_that_was_not_sent_has_another_code(wrong: bool) -> Trace:
    s = turn(call(), tools=[WRITES])
    s.unreachable()
    s.reply(content=error("TOOL_ERROR") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-ERR-040", profile="client")
def a_call_that_writes_is_repeated(wrong: bool) -> Trace:
    s = turn(call(), tools=[WRITES if wrong else READS])
    s.failed(s.called(), BUSY)
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-ERR-040", profile="client")
def an_error_that_is_not_retryable_is_tried_again(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.failed(s.called(), failure("CONFLICT" if wrong else "DB_TIMEOUT", retryable=not wrong))
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-ERR-040", profile="client")
def a_lost_call_that_writes_is_repeated(wrong: bool) -> Trace:
    s = turn(call(), tools=[WRITES])
    if wrong:
        s.lost(s.called())
    else:
        s.unreachable()
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-ERR-041", profile="client")
def it_does_not_wait_as_long_as_told(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.failed(s.called(), {**BUSY, "retry_after_ms": 2000})
    s.wait(1.9 if wrong else 2)
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-ERR-042", profile="client")
def the_model_reads_of_success(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called())
    s.reply(content=result("found") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-ERR-042", profile="client")
def every_error_is_an_internal_one(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called())
    s.reply(content=error("INTERNAL" if wrong else "CONFLICT"))
    s.finish()
    return s.trace


@breaks("XMCP-ERR-012", profile="client")
def an_unknown_category_makes_the_document_unreadable(wrong: bool) -> Trace:
    s = turn(call())
    s.failed(s.called(), failure("CONFLICT", category="later"))
    s.reply(content=error("INVALID_XML") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-SEC-040", profile="client")
def it_tries_for_ever(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS], max_attempts=2)
    for _ in range(3 if wrong else 2):
        s.failed(s.called(), BUSY)
        s.wait(1)
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-040", profile="client")
def it_waits_for_three_minutes(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS])
    s.failed(s.called(), {**BUSY, "retry_after_ms": 180_000 if wrong else 110_000})
    s.wait(180 if wrong else 110)
    s.make()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-040", profile="client")
def it_waits_longer_than_the_chat_has(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS], chat_timeout=30.0)
    s.failed(s.called(), BUSY)
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    s.tell("retry", call_id="t1", wait_ms=40_000 if wrong else 20_000)
    s.wait(30)
    s.reply()
    s.end(stop="timeout")
    s.tell("tool_error", call_id="t1")
    s.tell("done")
    return s.trace


@breaks("XMCP-CLI-041", profile="client")
def a_call_is_waited_for_for_ever(wrong: bool) -> Trace:
    s = turn(call(), tool_timeout=10.0)
    number = s.called()
    s.wait(30 if wrong else 10)
    s.late(number)
    s.reply()
    s.finish()
    return s.trace


@breaks("XMCP-CLI-041", profile="client")
def a_time_out_is_a_broken_connection(wrong: bool) -> Trace:
    s = turn(call(), tool_timeout=10.0)
    number = s.called()
    s.wait(10)
    s.late(number)
    s.reply(content=error("CONNECTION_FAILED") if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-041", profile="client")
def a_wait_for_a_slot_is_in_the_time_of_a_call(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"), max_concurrency=1, tool_timeout=5.0)
    one = s.called("t1")
    s.wait(4)
    s.answered(one)
    two = s.called("t2")
    s.wait(1 if wrong else 5)
    if wrong:
        s.cancelled(two)
    else:
        s.late(two)
    s.reply("t1")
    s.reply("t2", error("TIMEOUT"))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-041", profile="client")
def a_late_call_that_cannot_be_made_again_is_held_back(wrong: bool) -> Trace:
    s = turn(call(), breaker_threshold=1, tool_timeout=5.0)
    number = s.called()
    s.wait(5)
    s.late(number)
    s.reply(content=HELD if wrong else None)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-125", profile="client")
def a_lost_call_that_cannot_be_made_again_is_held_back(wrong: bool) -> Trace:
    s = turn(call(), tools=[WRITES if wrong else READS], breaker_threshold=1)
    s.lost(s.called())
    s.reply(content=HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-125", profile="client")
def a_call_that_was_not_sent_at_its_last_attempt_is_held_back(wrong: bool) -> Trace:
    s = turn(call(), breaker_threshold=2, max_attempts=2 if wrong else 3)
    s.unreachable()
    s.wait(1)
    s.unreachable()
    s.reply(content=HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-046", profile="client")
def a_cancelled_chat_leaves_its_call(wrong: bool) -> Trace:
    s = turn(call())
    number = s.called()
    s.cancel()
    if wrong:
        s.wait(5)
        s.answered(number)
    else:
        s.cancelled(number)
    s.reply()
    s.end(failure="cancelled")
    return s.trace


@breaks("XMCP-CLI-046", profile="client")
def a_cancelled_chat_calls_on(wrong: bool) -> Trace:
    s = turn(call(tag="t1"), call(tag="t2"))
    s.cancelled(s.called("t1"))
    s.cancel()
    s.wait(1)
    if wrong:
        s.cancelled(s.called("t2"))
    s.end(failure="cancelled", history=[])
    return s.trace


@breaks("XMCP-CLI-046", profile="client")
def a_chat_out_of_time_leaves_its_call(wrong: bool) -> Trace:
    s = turn(call(), chat_timeout=10.0)
    number = s.called()
    s.wait(10)
    if not wrong:
        s.cancelled(number)
    s.reply(content=error("TIMEOUT"))
    s.end(stop="timeout")
    s.wait(5)
    if wrong:
        s.answered(number)
    return s.trace


def one_after_the_other(s: TraceBuilder, *steps: Any) -> None:
    """A turn with one call for each step: what the server does, or the document that the client gives instead."""
    for step in steps:
        tag = f"s{len(s.records)}"
        s.ask()
        s.say("", call(tag=tag))
        if callable(step):
            step(s.called(tag))
        s.reply(tag, None if callable(step) else step)


def with_breaker(threshold: int = 2) -> TraceBuilder:
    s = TraceBuilder(WRITES, breaker_threshold=threshold, breaker_reset_after=30.0)
    s.begin()
    return s


HELD = error("CIRCUIT_OPEN", "It is held back.", 30_000)


@breaks("XMCP-CLI-042", profile="client")
def errors_of_a_tool_open_the_breaker(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.failed, s.failed, HELD if wrong else s.failed)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-042", profile="client")
def pages_in_place_of_answers_open_the_breaker(wrong: bool) -> Trace:
    s = with_breaker()

    def page(number: int) -> None:
        s.outside(number, "CONNECTION_FAILED", "unknown")

    one_after_the_other(s, page, page, HELD if wrong else page)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-042", profile="client")
def failures_are_counted_across_an_answer(wrong: bool) -> Trace:
    s = with_breaker()
    for step in (s.lost, s.answered, s.lost, *([HELD] if wrong else [s.answered] * 2)):
        one_after_the_other(s, step)
        s.wait(1)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-100", profile="client")
def one_lost_connection_is_several_failures(wrong: bool) -> Trace:
    s = with_breaker()
    s.ask()
    s.say("", call(tag="t1"), call(tag="t2"), call(tag="t3"))
    made = [s.called(tag) for tag in ("t1", "t2", "t3")]
    s.wait(1)
    for number in made:
        s.lost(number, connection="the one")
    for tag in ("t1", "t2", "t3"):
        s.reply(tag)
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-101", profile="client")
def chats_that_are_cancelled_open_the_breaker(wrong: bool) -> Trace:
    s = with_breaker()
    for chat in ("b", "c"):
        s.begin(chat=chat)
        s.ask(chat)
        s.say("", call(tag=f"t{chat}"), chat=chat)
        number = s.called(f"t{chat}")
        s.cancel(chat=chat)
        s.cancelled(number)
        s.end(failure="cancelled", chat=chat, history=[])
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    return s.trace


def with_a_cancelled_probe() -> TraceBuilder:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    s.begin(chat="b")
    s.ask("b")
    s.say("", call(tag="tb"), chat="b")
    probe = s.called("tb")
    s.wait(1)
    s.cancel(chat="b")
    s.cancelled(probe)
    s.end(failure="cancelled", chat="b", history=[])
    s.wait(1)
    return s


@breaks("XMCP-CLI-101", profile="client")
def a_probe_whose_chat_is_cancelled_opens_the_breaker_again(wrong: bool) -> Trace:
    s = with_a_cancelled_probe()
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-101", profile="client")
def a_probe_whose_chat_is_out_of_time_opens_the_breaker_again(wrong: bool) -> Trace:
    s = TraceBuilder(WRITES, breaker_threshold=2, breaker_reset_after=30.0, chat_timeout=35.0)
    s.begin(chat="b")
    for tag in ("tb1", "tb2"):
        s.ask("b")
        s.say("", call(tag=tag), chat="b")
        s.lost(s.called(tag))
        s.reply(tag)
    s.ask("b")
    s.wait(31)
    s.say("", call(tag="tb3"), chat="b")
    probe = s.called("tb3")
    s.wait(4)
    s.cancelled(probe)
    s.reply("tb3", error("TIMEOUT"))
    s.end(chat="b", stop="timeout")
    s.wait(1)
    s.begin()
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-044", profile="client")
def a_probe_whose_chat_is_cancelled_closes_the_breaker(wrong: bool) -> Trace:
    s = with_a_cancelled_probe()
    s.ask()
    s.say("", call(tag="t1"), call(tag="t2"))
    made = [s.called("t1"), *([s.called("t2")] if wrong else [])]
    s.wait(1)
    for number in made:
        s.answered(number)
    s.reply("t1")
    s.reply("t2", None if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-102", profile="client")
def unreadable_answers_open_the_breaker(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.garbled, s.garbled, HELD if wrong else s.garbled)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-102", profile="client")
def unreadable_answers_that_say_that_they_failed_open_the_breaker(wrong: bool) -> Trace:
    s = with_breaker()

    def garbled(number: int) -> None:
        s.failed(number, failure("INVALID_XML"), text="<tool_response", readable=False)

    one_after_the_other(s, garbled, garbled, HELD if wrong else garbled)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-102", profile="client")
def an_unreadable_answer_to_a_probe_closes_nothing(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    one_after_the_other(s, s.garbled, HELD if wrong else s.answered)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def a_server_is_called_while_its_breaker_is_open(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(1)
    one_after_the_other(s, s.answered if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def attempts_of_a_call_go_on_while_its_breaker_is_open(wrong: bool) -> Trace:
    s = TraceBuilder(tool(read_only=True), breaker_threshold=2, tool_timeout=5)
    s.begin()
    s.ask()
    s.say("", call())
    for _ in range(3 if wrong else 2):
        number = s.called()
        s.wait(5)
        s.late(number)
        s.wait(0.2)
    held = '<error code="CIRCUIT_OPEN" retryable="true" retry_after_ms="29800">It is down.<meta>'
    held += '{"side_effects":"unknown"}</meta></error>'
    s.reply(content=error("TIMEOUT") if wrong else f'<tool_response tool_name="search">{held}</tool_response>')
    one_after_the_other(s, HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def what_is_held_back_does_not_say_for_how_long(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost, error("CIRCUIT_OPEN") if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def an_attempt_that_is_held_back_does_not_say_for_how_long(wrong: bool) -> Trace:
    s = turn(call(), tools=[READS], breaker_threshold=1, breaker_reset_after=30.0)
    s.lost(s.called())
    s.reply(content=error("CIRCUIT_OPEN", retryable=True) if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def what_is_held_back_has_another_code(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost, error("CONNECTION_FAILED") if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def the_wait_of_what_is_held_back_is_in_seconds(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost, error("CIRCUIT_OPEN", retry_after_ms=30 if wrong else 30_000))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def the_wait_of_what_is_held_back_is_always_the_whole_time(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(20)
    one_after_the_other(s, error("CIRCUIT_OPEN", retry_after_ms=30_000 if wrong else 10_000))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def a_call_waits_until_the_time_of_the_breaker_is_over(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(20)
    s.ask()
    s.say("", call())
    s.wait(10)
    if wrong:
        s.make()
    else:
        s.reply(content=error("CIRCUIT_OPEN", retry_after_ms=10_000))
    s.finish()
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def a_call_waits_until_the_probe_has_ended(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.begin(chat="b")
    s.ask("b")
    s.wait(31)
    s.ask()
    s.say("", call(tag="t1"))
    probe = s.called("t1")
    s.wait(2)
    s.say("", call(tag="tb"), chat="b")
    s.wait(3)
    s.answered(probe)
    s.reply("t1")
    if wrong:
        s.make("tb")
    else:
        s.reply("tb", error("CIRCUIT_OPEN", retry_after_ms=1000))
    s.finish()
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-043", profile="client")
def what_the_cache_has_is_held_back(wrong: bool) -> Trace:
    s = TraceBuilder(CACHED, tool("stock"), cache=True, breaker_threshold=1, breaker_reset_after=30.0)
    s.begin()
    s.ask()
    s.say("", call(id_="a"))
    s.make("a")
    s.ask()
    s.say("", call("stock", "t2"))
    s.lost(s.called("t2"))
    s.reply("t2")
    s.wait(1)
    s.ask()
    s.say("", call(id_="b"))
    s.reply("b", error("CIRCUIT_OPEN", retry_after_ms=29_000) if wrong else result())
    s.ask()
    s.wait(30)
    s.say("", call(id_="c"))
    s.reply("c", result())
    if not wrong:
        one_after_the_other(s, s.answered)
        one_after_the_other(s, s.lost, HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-044", profile="client")
def two_calls_are_let_through(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    s.ask()
    s.say("", call(tag="t1"), call(tag="t2"))
    one = s.called("t1")
    two = s.called("t2") if wrong else 0
    s.wait(1)
    s.answered(one)
    if wrong:
        s.answered(two)
    s.reply("t1")
    s.reply("t2", None if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-044", profile="client")
def no_call_is_let_through(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-044", profile="client")
def the_loss_of_an_earlier_call_keeps_a_breaker_open(wrong: bool) -> Trace:
    s = with_breaker()
    s.begin(chat="b")
    s.ask("b")
    s.say("", call(tag="tb"), chat="b")
    earlier = s.called("tb")
    s.wait(1)
    one_after_the_other(s, s.lost, s.lost)
    s.wait(20)
    s.lost(earlier)
    s.reply("tb")
    s.wait(11)
    one_after_the_other(s, HELD if wrong else s.answered)
    s.finish()
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-045", profile="client")
def a_failed_probe_opens_nothing(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    one_after_the_other(s, s.lost)
    s.wait(1)
    one_after_the_other(s, s.answered if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-045", profile="client")
def a_late_probe_opens_nothing(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    one_after_the_other(s, s.late)
    s.wait(1)
    one_after_the_other(s, s.answered if wrong else HELD)
    s.finish()
    return s.trace


@breaks("XMCP-CLI-045", profile="client")
def a_probe_that_arrives_closes_nothing(wrong: bool) -> Trace:
    s = with_breaker()
    one_after_the_other(s, s.lost, s.lost)
    s.wait(31)
    one_after_the_other(s, s.failed, HELD if wrong else s.answered)
    s.finish()
    return s.trace


def asked_twice(
    one: Tool = CACHED, *, chats: str = "ab", tenants: tuple[str, str] = ("x", "x"), more: Any = (), **setup: Any
) -> TraceBuilder:
    """Two chats with equal calls; the first has made its call, the second, if it is among `chats`, is about to."""
    s = TraceBuilder(one, *more, **{"cache": True, **setup})
    for chat, tenant in zip(chats, tenants, strict=False):
        s.begin(chat=chat, tenant=tenant)
        s.ask(chat)
    s.say("", call(id_="a"), chat="a")
    return s


def second(
    s: TraceBuilder, *, cached: bool, text: str | None = "found", name: str = "search", **arguments: Any
) -> None:
    """The second chat gets its answer, from the cache or from the server, and both end."""
    s.say("", call(name, id_="b", **arguments), chat="b")
    if cached:
        s.reply("b", result(text))
    else:
        s.make("b", "found anew")
    for chat in "ab":
        s.finish(chat=chat)


@breaks("XMCP-CLI-050", profile="client")
def what_is_not_cacheable_is_cached(wrong: bool) -> Trace:
    s = asked_twice(READS if wrong else CACHED)
    s.make("a")
    second(s, cached=True)
    return s.trace


@breaks("XMCP-CLI-050", profile="client")
def the_health_of_a_server_is_cached(wrong: bool) -> Trace:
    s = TraceBuilder(tool("health_check", read_only=True, cacheable=True), cache=True)
    s.begin()
    s.ask()
    s.say("", call("health_check", "t", id_="a"))
    s.make("a")
    s.ask()
    s.say("", call("health_check", "t", id_="b"))
    if wrong:
        s.reply("b", result())
    else:
        s.make("b")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def another_tenant_s_answer_is_given(wrong: bool) -> Trace:
    s = asked_twice(tenants=("x", "y"))
    s.make("a")
    second(s, cached=wrong)
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def the_answer_to_other_arguments_is_given(wrong: bool) -> Trace:
    s = asked_twice()
    s.make("a")
    second(s, cached=wrong, deep=True)
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def another_server_s_answer_is_given(wrong: bool) -> Trace:
    servers = [Server(given_name="one"), Server(given_name="two")]
    s = TraceBuilder(CACHED, tool("search", server=1, read_only=True, cacheable=True), servers=servers, cache=True)
    s.begin()
    s.ask()
    s.say("", call("one__search", id_="a"))
    s.make("a")
    s.ask()
    s.say("", call("two__search", id_="b"))
    if wrong:
        s.reply("b", result())
    else:
        s.make("b", "found anew")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def an_answer_from_before_the_tool_changed_is_given(wrong: bool) -> Trace:
    s = asked_twice(chats="a")
    s.make("a")
    s.wait(1)
    s.list_tools(tool("search", "limit", read_only=True, cacheable=True))
    s.wait(1)
    s.begin(chat="b", tenant="x")
    s.ask("b")
    second(s, cached=wrong)
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def another_tool_s_answer_is_given(wrong: bool) -> Trace:
    s = asked_twice(more=[tool("stock", read_only=True, cacheable=True)])
    s.make("a")
    second(s, cached=wrong, name="stock")
    return s.trace


@breaks("XMCP-CLI-051", profile="client")
def an_answer_that_nobody_gave_is_given(wrong: bool) -> Trace:
    s = asked_twice()
    s.make("a")
    second(s, cached=True, text="made up" if wrong else "found")
    return s.trace


@breaks("XMCP-CLI-052", profile="client")
def an_error_is_cached(wrong: bool) -> Trace:
    s = asked_twice()
    s.failed(s.called("a"))
    s.reply("a")
    s.say("", call(id_="b"), chat="b")
    if wrong:
        s.reply("b", error("CONFLICT"))
    else:
        s.make("b")
    for chat in "ab":
        s.finish(chat=chat)
    return s.trace


def asked_again(fails: Any, code: str | None, **setup: Any) -> Trace:
    """A call of a tool that a cache can answer fails; the equal one in the next turn is made, or answered by a code."""
    s = turn(call(id_="a"), tools=[CACHED], cache=True, **setup)
    fails(s, s.called("a"))
    s.reply("a")
    s.ask()
    s.say("", call(id_="b"))
    if code:
        s.reply("b", error(code))
    else:
        s.make("b")
    s.finish()
    return s.trace


@breaks("XMCP-CLI-052", profile="client")
def the_loss_of_a_connection_is_cached(wrong: bool) -> Trace:
    return asked_again(TraceBuilder.lost, "CONNECTION_FAILED" if wrong else None, max_attempts=1)


@breaks("XMCP-CLI-052", profile="client")
def a_time_out_is_cached(wrong: bool) -> Trace:
    def late(s: TraceBuilder, number: int) -> None:
        s.wait(5)
        s.late(number)

    return asked_again(late, "TIMEOUT" if wrong else None, max_attempts=1, tool_timeout=5.0)


@breaks("XMCP-CLI-052", profile="client")
def the_error_for_an_unreadable_answer_is_cached(wrong: bool) -> Trace:
    return asked_again(TraceBuilder.garbled, "INVALID_XML" if wrong else None)


@breaks("XMCP-CLI-053", profile="client")
def a_display_that_goes_away_is_cached(wrong: bool) -> Trace:
    shown = {**TABLE, "meta": {"transient": True}}
    s = TraceBuilder(CACHED, cache=True, display="continue")
    s.begin()
    s.ask()
    s.say("", call(id_="a"))
    s.make("a", display=shown)
    s.ask()
    s.say("", call(id_="b"))
    if wrong:
        s.reply("b", result("found", shown))
    else:
        s.make("b", display=shown)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[shown, shown])
    return s.trace


@breaks("XMCP-CLI-054", profile="client")
def an_equal_call_is_made_besides(wrong: bool) -> Trace:
    s = asked_twice()
    one = s.called("a")
    s.say("", call(id_="b"), chat="b")
    two = s.called("b") if wrong else 0
    s.wait(1)
    s.answered(one)
    if wrong:
        s.answered(two)
    s.reply("a")
    s.reply("b", result())
    for chat in "ab":
        s.finish(chat=chat)
    return s.trace


@breaks("XMCP-CLI-055", profile="client")
def the_other_chat_takes_the_answer_with_it(wrong: bool) -> Trace:
    s = asked_twice()
    one = s.called("a")
    s.say("", call(id_="b"), chat="b")
    s.cancel("a")
    s.end(chat="a", failure="cancelled", history=[])
    s.wait(1)
    if wrong:
        s.cancelled(one)
    else:
        s.answered(one)
    s.reply("b", error("CANCELLED") if wrong else result())
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-055", profile="client")
def the_other_chat_s_time_ends_the_call_of_both(wrong: bool) -> Trace:
    s = asked_twice(chat_timeout=6)
    one = s.called("a")
    s.wait(5)
    s.say("", call(id_="b"), chat="b")
    s.wait(1)
    s.reply("a", error("TIMEOUT"))
    s.end(chat="a", stop="timeout")
    if wrong:
        s.cancelled(one)
    else:
        s.wait(1)
        s.answered(one)
    s.reply("b", error("TIMEOUT") if wrong else result())
    s.finish(chat="b")
    return s.trace


@breaks("XMCP-CLI-055", profile="client")
def the_other_chat_leaves_the_queue_for_both(wrong: bool) -> Trace:
    s = asked_twice()
    s.say("", call(id_="b"), chat="b")
    s.cancel("a")
    s.end(chat="a", failure="cancelled", history=[])
    s.wait(1)
    if wrong:
        s.reply("b", error("CANCELLED"))
    else:
        s.make("b")
    s.finish(chat="b")
    return s.trace
