"""Where a trace shows one fault from which others could be read, the sentences named are those of the fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xmcp_conformance.profiles.client.judge import violations
from xmcp_conformance.profiles.client.trace import Trace
from xmcp_conformance.wrong.clients.calls import turn
from xmcp_conformance.wrong.clients.trace_builder import TraceBuilder, call, result


def named(trace: Trace) -> set[str]:
    return {violation.requirement for violation in violations(trace)}


def of_a_second_turn_with_the_id_of_the_first(*, arguments: str | None = None) -> TraceBuilder:
    s = turn(call(tag="t1", id_="x"))
    s.answered(s.called("x"))
    s.reply("x")
    s.ask()
    s.say("", call(tag="t2", id_="x", written=arguments))
    del s.histories["a"][-1]  # nobody sees this turn any more
    return s


def test_a_chat_that_dies_of_an_id_is_not_judged_by_the_turn_before():
    s = of_a_second_turn_with_the_id_of_the_first()
    s.end(failure="crashed")
    assert named(s.trace) == {"XMCP-CLI-005", "XMCP-CLI-133"}


def test_a_turn_that_is_word_for_word_the_one_before_is_one_of_its_own():
    s = of_a_second_turn_with_the_id_of_the_first(arguments='{"tag": "t1"}')
    s.histories["a"].append(dict(s.histories["a"][1]))
    s.answered(s.called("x"))
    s.reply("x")
    s.finish()
    (violation,) = violations(s.trace)
    assert violation.requirement == "XMCP-CLI-005"
    assert violation.seen == "the call `t1` of `search` has the id `x`, as another call has"


@pytest.mark.parametrize("odd", [call("functions.search", "t2"), call(id_="t2", written="{")])
def test_a_chat_that_dies_where_an_id_is_not_all_that_is_odd_is_not_blamed_for_the_id(odd):
    s = turn(call(tag="t1", id_="x"), odd, call(tag="t3", id_="x"))
    s.end(failure="crashed", history=[])
    assert named(s.trace) == {"XMCP-CLI-133"}


def of_blocks_that_begin_alike(leaks: str, *, where: str = "t2") -> list[str]:
    """Three calls have blocks for the user that differ in their last characters; return what is said to be leaked."""
    s = turn(*(call(tag=f"t{number}") for number in (1, 2, 3)))
    blocks = [f"For you: 471{number}." for number in (1, 2, 3)]
    for number, block in enumerate(blocks, 1):
        s.answered(s.called(f"t{number}"), for_user=block)
    for number in (1, 2, 3):
        s.reply(f"t{number}", result(f"found\n{leaks}") if f"t{number}" == where else None)
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": block} for block in blocks])
    return [violation.seen for violation in violations(s.trace) if violation.requirement == "XMCP-MCP-045"]


def test_a_block_that_leaks_is_blamed_on_its_own_call():
    (seen,) = of_blocks_that_begin_alike("For you: 4712.")
    assert "`For you: 4712.`" in seen
    assert "call `t2`" in seen


def test_the_beginning_of_several_blocks_is_blamed_on_the_call_whose_message_has_it():
    (seen,) = of_blocks_that_begin_alike("For you: 471")
    assert "call `t2`" in seen


def test_a_block_that_leaks_in_the_message_of_another_call_is_found():
    _, seen = of_blocks_that_begin_alike("For you: 4713.", where="t1")  # what begins alike is t1's own, too
    assert "`For you: 4713.`" in seen
    assert "call `t3`" in seen


@pytest.mark.parametrize("failed", [True, False])
def test_what_a_client_says_of_an_exception_stands_in_what_was_seen(failed):
    s = turn(call())
    (s.failed if failed else s.answered)(s.called())
    s.reply()
    s.end(failure="crashed")
    *before, ended = s.trace.records
    trace = Trace(s.setup, [*before, replace(ended, why="KeyError: 'x'\x1b[2J")])
    (violation,) = violations(trace)
    assert violation.requirement == ("XMCP-CLI-013" if failed else "XMCP-CLI-061")
    assert "(crashed: `KeyError: 'x'\\x1b[2J`)" in violation.seen


def test_a_chat_that_ends_with_an_exception_where_it_was_over_says_which():
    s = turn()
    s.end(failure="crashed")
    *before, ended = s.trace.records
    (violation,) = violations(Trace(s.setup, [*before, replace(ended, why="KeyError")]))
    assert (violation.requirement, violation.seen) == (
        "XMCP-CLI-133",
        "the chat ended with a failure (crashed: `KeyError`)",
    )
