"""The checks of clients are tested: each check finds its own fault, and nothing in the correct twin."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from xmcp_conformance.core.checks import checks_by_requirement
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.client.expected_injections import expected_values
from xmcp_conformance.profiles.client.judge import examined, violations
from xmcp_conformance.profiles.client.name_resolution import resolve
from xmcp_conformance.profiles.client.trace import Answered, Asked, ChatBegan, Server, Setup, Told, Tool, Trace
from xmcp_conformance.profiles.client.trace_index import TraceIndex
from xmcp_conformance.profiles.client.trace_model import gives_text
from xmcp_conformance.wrong.clients.calls import FIRST, STOCK, THEN, turn
from xmcp_conformance.wrong.clients.trace_builder import TABLE, TraceBuilder, call, error, failure, result, tool
from xmcp_conformance.wrong.registry import wrong_implementations

FAULTS = [(id_, fault) for id_, faults in wrong_implementations("client").items() for fault in faults]
NAMED = [pytest.param(id_, fault, id=f"{id_}-{fault.__name__}") for id_, fault in FAULTS]


@pytest.mark.parametrize(("id_", "fault"), NAMED)
def test_a_fault_breaks_its_sentence_and_no_other(id_, fault):
    broken = violations(fault(True))
    assert {violation.requirement for violation in broken} == {id_}, [str(violation) for violation in broken]
    for violation in broken:
        assert violation.seen
        assert violation.expected
        assert 0 <= violation.where < len(fault(True).records)


@pytest.mark.parametrize(("id_", "fault"), NAMED)
def test_its_twin_is_right_and_gives_the_same_occasion(id_, fault):
    assert [str(violation) for violation in violations(fault(False))] == []
    assert id_ in examined(fault(False))


def test_every_check_has_a_fault():
    assert set(wrong_implementations("client")) == set(checks_by_requirement("client"))


def test_every_check_is_of_a_sentence_for_clients():
    sentences = registry().requirements
    roles = {id_: sentences[id_].role for id_ in checks_by_requirement("client")}
    # What a client writes for its model is the document of an emitter (section 11.1).
    assert {id_: role for id_, role in roles.items() if role not in ("client", "emitter")} == {}


@pytest.mark.parametrize("fault", [fault for _, fault in FAULTS], ids=lambda fault: fault.__name__)
def test_a_trace_comes_back_from_json(fault):
    trace = fault(True)
    text = json.dumps(trace.to_json())
    again = Trace.of(json.loads(text))
    assert again.to_json() == json.loads(text)
    assert violations(again) == violations(trace)


def test_the_shortest_chat_breaks_nothing():
    s = turn()
    s.end(stop="empty")
    assert violations(s.trace) == []


def of_calls_in_one_slot() -> TraceBuilder:
    s = turn(call(tag="t1"), call(tag="t2"), max_concurrency=1)
    for id_ in ("t1", "t2"):
        number = s.called(id_)
        s.wait(1)
        s.answered(number)
        s.reply(id_)
    return s


def of_a_server_that_sees_a_cancellation_late() -> TraceBuilder:
    s = turn(call(tag="t1"), call(tag="t2"), max_concurrency=1, tool_timeout=5.0)
    one = s.called("t1")
    s.wait(5)
    two = s.called("t2")
    s.late(one)
    s.answered(two)
    s.reply("t1")
    s.reply("t2")
    return s


def of_a_client_that_never_tries_again() -> TraceBuilder:
    s = turn(call(), tools=[tool("search", read_only=True)])
    s.failed(s.called(), failure("DB_TIMEOUT", retryable=True))
    s.reply()
    return s


def of_two_reasons_for_one_refusal(code: str) -> TraceBuilder:
    s = turn(call("find", written="{"))
    s.reply(content=error(code))
    return s


def of_two_equally_far(part: str) -> TraceBuilder:
    last, far = tool("last", "part", depends_on=["a", "b"]), tool("c")
    tools = [last, tool("a", depends_on=["c"]), tool("b", depends_on=["d"]), far, tool("d")]
    s = turn(*(call(name, f"t{name}") for name in ["c", "d", "a", "b", "last"]), tools=tools)
    s.make("tc", structured={"part": "of c"})
    s.make("td", structured={"part": "of d"})
    s.make("ta")
    s.make("tb")
    s.answered(s.called("tlast", part=part))
    s.reply("tlast")
    return s


def of_a_text_that_was_cut(mark: str = "true") -> TraceBuilder:
    s = turn(call())
    s.answered(s.called(), "a very long text")
    s.reply(content=result("a very").replace("<llm_output", f'<llm_output truncated="{mark}"'))
    return s


def of_a_number_in_another_spelling() -> TraceBuilder:
    s = turn(call("stock", part=1), tools=[STOCK])
    s.answered(s.called(part=1.0))
    s.reply()
    return s


def of_equal_calls_without_a_cache() -> TraceBuilder:
    s = turn(call(id_="a"), call(id_="b"), tools=[tool("search", read_only=True)])
    one, two = s.called("a"), s.called("b")
    s.wait(1)
    s.lost(two)
    s.lost(one)
    s.answered(s.called("b"), "b")
    s.answered(s.called("a"), "a")
    s.reply("a")
    s.reply("b")
    return s


def of_a_breaker_that_opens_as_a_call_goes_out() -> TraceBuilder:
    s = turn(call(tag="t1"), call(tag="t2"), breaker_threshold=1)
    s.lost(s.called("t1"))
    s.answered(s.called("t2"))
    s.reply("t1")
    s.reply("t2")
    return s


def of_a_breaker_that_counts_attempts(code: str) -> TraceBuilder:
    s = turn(call(tag="t1"), call(tag="t2"), tools=[tool("search", read_only=True)], breaker_threshold=2)
    s.lost(s.called("t1"))
    s.lost(s.called("t1"))
    s.reply("t1")
    s.wait(1)
    if code:
        s.reply("t2", error(code, retry_after_ms=1))
    else:
        s.make("t2")
    return s


def of_a_breaker_that_holds_back_the_next_attempt() -> TraceBuilder:
    s = turn(call(tag="t1"), call(tag="t2"), tools=[tool("search", read_only=True)], breaker_threshold=1)
    s.failed(s.called("t1"), failure("DB_TIMEOUT", retryable=True))
    s.lost(s.called("t2"))
    s.reply("t1", error("CIRCUIT_OPEN", retry_after_ms=1000))
    s.reply("t2", error("CIRCUIT_OPEN", retry_after_ms=1000))
    s.call_back(fails=True)
    return s


def of_a_result_of_which_nothing_was_read_for_its_size() -> TraceBuilder:
    ends = {"t1": TraceBuilder.lost, "t2": TraceBuilder.too_large, "t3": TraceBuilder.lost, "t4": TraceBuilder.answered}
    s = turn(*(call(tag=tag) for tag in ends), max_concurrency=1, breaker_threshold=2, max_answer_bytes=1000)
    for tag, end in ends.items():
        end(s, s.called(tag))
        s.wait(1)
    for tag in ends:
        s.reply(tag)
    return s


def of_data_in_a_plain_result() -> TraceBuilder:
    s = turn(call("first"), call("then", "t2"), tools=[FIRST, THEN])
    s.make("t1", '{"part": "bolt"}', format="application/json")
    s.answered(s.called("t2", part="bolt"))
    s.reply("t2")
    return s


def of_parameters_for_which_the_application_has_nothing() -> TraceBuilder:
    needs = {"type": "object", "properties": {"tag": {}, "user": {}}, "required": ["user"]}
    tools = [tool("needs", input_schema=needs), tool("takes", "user")]
    calls = [call("needs"), call("needs", "t2", user="u-2"), call("takes", "t3", user="u-3")]
    s = turn(*calls, tools=tools, params={"user": None})
    s.answered(s.called("t3", user=None))
    s.reply("t1", error("MISSING_SERVER_PARAM"))
    s.reply("t2", error("MISSING_SERVER_PARAM"))
    s.reply("t3")
    return s


def of_a_number_that_no_double_holds(*, sent: bool) -> TraceBuilder:
    s = turn(call("stock", written='{"tag": "t1", "part": [1e400]}'), tools=[STOCK])
    if sent:
        s.answered(s.called("t1", part=[10**400]))
        s.reply("t1")
    else:
        s.reply("t1", error("VALIDATION_FAIL"))
    return s


def of_dependencies_that_the_schema_refuses(*names: str) -> TraceBuilder:
    s = turn(call("a", "ta"), call("b", "tb"), tools=[tool("a"), tool("b", depends_on=names)])
    s.failed(s.called("ta"), failure("NOT_FOUND"))
    s.answered(s.called("tb"))
    s.reply("ta", error("NOT_FOUND"))
    s.reply("tb")
    return s


def of_a_schema(schema: dict, value: object, *, given: bool) -> TraceBuilder:
    taker = Tool(server=0, name="b", depends_on=("a",), input_schema={**schema, "properties": {"x": {"pattern": "^a"}}})
    s = turn(call("a", "ta"), call("b", "tb"), tools=[tool("a"), taker])
    s.make("ta", structured={"x": value})
    if given:
        s.answered(s.called("tb", x=value))
        s.reply("tb")
    else:
        s.reply("tb", content=error("DEPENDENCY_FAILED", name="b"))
    return s


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", None])
def test_a_schema_that_not_every_client_can_check_is_left_to_the_server(dialect, given):
    builder = of_a_schema({"$schema": dialect} if dialect else {}, "b", given=given)
    builder.finish()
    expected = {"XMCP-CLI-036"} if given and dialect is None else set()
    assert {violation.requirement for violation in violations(builder.trace)} == expected


def test_a_tool_is_known_by_its_description_whatever_it_is_called():
    tools = [Tool(server=0, name=name, description=f"tool {number}") for number, name in enumerate(["a", "b", "c"])]
    offered = [
        {"type": "function", "function": {"name": f"srv0-{one}", "description": f"Of srv0: {said}."}}
        for one, said in (("x", "tool 1"), ("y", "tool 10"), ("z", "tool 0"))
    ]
    asked = Asked(chat="a", ask=1, messages=[], tools=offered)
    names = {
        name: resolve(Setup(servers=[Server()], tools=tools), asked, name, tools, {}, ())
        for name in ("srv0-x", "srv0-y", "srv0-z")
    }
    assert [one and one.name for one in names.values()] == ["b", None, "a"]


@pytest.mark.parametrize(
    ("offered", "meant"),
    [
        ("Search the shop", "search"),
        ("Search the shop, and buy.", "buy"),  # the shorter description is in it
        ("srv0: Search the shop, and buy. (write)", "buy"),
        ("Search the shop (of srv0)", "search"),
        ("Of srv0: Search the shop", "search"),
        ("Research the shops", None),
        ("", None),
    ],
)
def test_of_descriptions_that_hold_each_other_the_longest_counts(offered, meant):
    described = {"search": "Search the shop", "buy": "Search the shop, and buy."}
    tools = [Tool(server=0, name=name, description=said) for name, said in described.items()]
    asked = Asked(chat="a", ask=1, messages=[], tools=[{"function": {"name": "x", "description": offered}}])
    found = resolve(Setup(servers=[Server()], tools=tools), asked, "x", tools, {}, ())
    assert (found and found.name) == meant


def test_a_text_that_nobody_can_check_is_handed_on_as_it_is_or_as_its_json():
    for value in ("7", 7):
        taker = Tool(
            server=0,
            name="b",
            depends_on=("a",),
            input_schema={
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"x": {"type": "integer"}},
            },
        )
        s = turn(call("a", "ta"), call("b", "tb"), tools=[tool("a", provides="x"), taker])
        s.make("ta", "7")
        s.answered(s.called("tb", x=value))
        s.reply("tb")
        s.finish()
        assert violations(s.trace) == []


def test_a_model_that_failed_once_and_answered_then_is_no_reason_to_fail():
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say(failed=True)
    s.ask()
    s.say("Seven.")
    s.end(failure="provider")
    assert {violation.requirement for violation in violations(s.trace)} == {"XMCP-CLI-133"}


@pytest.mark.parametrize("event", [{"type": ["x"]}, {"type": "tool_call", "call_id": ["x"]}])
def test_an_odd_event_hides_nothing(event):
    s = turn(call())
    s.make()
    s.finish()
    s.records.insert(-1, Told(chat="a", event=event))
    assert "XMCP-REC-001" in {violation.requirement for violation in violations(s.trace)}


def test_of_equally_far_predecessors_the_one_that_is_declared_later_counts():
    builder = of_two_equally_far("of c")
    builder.finish()
    assert {violation.requirement for violation in violations(builder.trace)} == {"XMCP-CLI-032"}


@pytest.mark.parametrize(
    "builder",
    [
        of_a_number_that_no_double_holds(sent=True),
        of_a_number_that_no_double_holds(sent=False),
        of_dependencies_that_the_schema_refuses("a", "a"),
        of_dependencies_that_the_schema_refuses("a", ""),
        of_a_result_of_which_nothing_was_read_for_its_size(),
        of_data_in_a_plain_result(),
        of_parameters_for_which_the_application_has_nothing(),
        of_calls_in_one_slot(),
        of_a_server_that_sees_a_cancellation_late(),
        of_a_client_that_never_tries_again(),
        of_two_reasons_for_one_refusal("UNKNOWN_TOOL"),
        of_two_reasons_for_one_refusal("VALIDATION_FAIL"),
        of_two_equally_far("of d"),
        of_a_text_that_was_cut("1"),
        of_a_text_that_was_cut(),
        of_a_number_in_another_spelling(),
        of_equal_calls_without_a_cache(),
        of_a_breaker_that_opens_as_a_call_goes_out(),
        of_a_breaker_that_counts_attempts("CIRCUIT_OPEN"),
        of_a_breaker_that_counts_attempts(""),
        of_a_breaker_that_holds_back_the_next_attempt(),
    ],
)
def test_what_the_sentences_leave_open_breaks_none(builder):
    builder.finish()
    assert [str(violation) for violation in violations(builder.trace)] == []


def test_any_of_several_equal_calls_may_be_the_one_that_is_made():
    s = turn(call(id_="a"), call(id_="b"), tools=[tool("search", cacheable=True)], cache=True)
    for id_ in ("a", "b"):
        s.tell("tool_call", call_id=id_)
    s.tell("tool_started", call_id="b")
    s.answered(s.called("b"))
    for id_ in ("b", "a"):
        s.tell("tool_result", call_id=id_, text="found")
    s.reply("a", result())
    s.reply("b")
    s.finish()
    s.tell("done")
    assert [str(violation) for violation in violations(s.trace)] == []


def of_two_tenants(*order: str, written: str = '{"tag": "%s"}', text: str = "%s") -> TraceBuilder:
    """Return a trace in which calls begin in this order, and the first one reaches its server a second later."""
    s = TraceBuilder(tool("search"), max_concurrency=1)
    calls = {tag: call(id_=tag, written=written.replace("%s", tag)) for tag in order}
    for tenant in ("y", "x"):
        s.begin(f"How many bolts has {tenant}?", chat=tenant, tenant=tenant)
        s.ask(tenant)
        s.say("", *(calls[tag] for tag in sorted(order) if tag[0] == tenant), chat=tenant)
        for tag in sorted(order):
            if tag[0] == tenant:
                s.tell("tool_call", chat=tenant, call_id=tag)
        if tenant == "y":
            s.tell("tool_started", chat="y", call_id=order[0])
        s.wait(0.5)
    for place, tag in enumerate(order):
        if place:
            s.tell("tool_started", chat=tag[0], call_id=tag)
        number = s.called(tag)
        s.wait(1)
        s.answered(number, text.replace("%s", tag))
        s.tell("tool_result", chat=tag[0], call_id=tag, text=text.replace("%s", tag))
    for tenant in ("y", "x"):
        for tag in sorted(tag for tag in order if tag[0] == tenant):
            s.reply(tag)
        s.finish(chat=tenant)
        s.tell("done", chat=tenant)
    return s


IN_TURN, TWO_FIRST = ("y1", "y2", "x1", "y3", "x2"), ("y1", "y2", "y3", "x1", "x2")


def test_a_call_begins_with_its_event_and_not_when_it_reaches_the_server():
    assert [str(violation) for violation in violations(of_two_tenants(*IN_TURN).trace)] == []


@pytest.mark.parametrize("written", ['{"tag": "%s"}', '{"k": "%s"}'])
def test_a_tenant_that_waits_for_two_calls_of_another_is_not_served_in_turn(written):
    broken = violations(of_two_tenants(*TWO_FIRST, written=written, text="found").trace)
    assert {violation.requirement for violation in broken} == {"XMCP-CLI-117"}


@pytest.mark.parametrize("written", ['{"k": "%s"}', "{}"])
def test_calls_without_a_tag_are_told_apart_by_their_arguments_and_events(written):
    s = of_two_tenants(*IN_TURN, written=written, text="found")
    assert unclear_calls(s) == []
    assert [str(violation) for violation in violations(s.trace)] == []


def test_nothing_is_said_of_tenants_whose_calls_nothing_tells_apart():
    """Judge a trace without events in which the model's calls are equal, and so are their answers."""
    s = of_two_tenants(*TWO_FIRST, written="{}", text="found")
    silent = Trace(s.setup, [record for record in s.records if not isinstance(record, Told)])
    assert violations(silent) == []
    assert "XMCP-CLI-117" not in examined(silent)


def of_two_tools_of_one_name(
    *, second: str = "search_2", k: object = "t%d", texts: tuple[str, str] = ("one", "two"), parameter: str = "k"
) -> TraceBuilder:
    """Return a trace without tags whose model calls the tools `search` of two servers; the second is called first."""
    tools = [tool("search", "k"), tool("search", parameter, server=1)]
    s = TraceBuilder(*tools, servers=[Server(), Server()])
    s.begin()
    s.ask(tools=[s.offer(tools[0]), s.offer_as(second, **s.offer(tools[1])["function"]["parameters"])])
    written = [json.dumps({"k": f"t{n}" if k == "t%d" else k}) for n in (1, 2)]
    s.say(
        "",
        *(call(name, id_, written=w) for name, id_, w in zip(["search", second], ["t1", "t2"], written, strict=True)),
    )
    numbers = [s.called("t2", server=1, name="search"), s.called("t1", server=0)]
    s.answered(numbers[0], texts[1])
    s.answered(numbers[1], texts[0])
    return s


@pytest.mark.parametrize(
    "told_apart_by",
    [
        {},
        {"texts": ("found", "found")},
        {"k": "same"},
        {"k": "same", "texts": ("found", "found"), "parameter": "other"},
        {"k": "same", "texts": ("found", "found")},
        {"second": "shop__search"},
        {"second": "Search-of-the-shop"},
    ],
)
def test_of_two_tools_of_one_name_each_gets_its_calls(told_apart_by):
    s = of_two_tools_of_one_name(**told_apart_by)
    s.reply("t1")
    s.reply("t2")
    s.ask(tools=[s.offer_as("search"), s.offer_as(told_apart_by.get("second", "search_2"))])
    s.say("Three.")
    s.end("Three.")
    assert [str(violation) for violation in violations(s.trace)] == []


@pytest.mark.parametrize("texts", [("one", "two"), ("found", "found")])
def test_the_second_of_two_tools_of_one_name_keeps_its_name(texts):
    s = of_two_tools_of_one_name(texts=texts)
    s.reply("t1")
    s.reply("t2")
    both = [s.offer_as("search"), s.offer_as("search_2")]
    s.ask(tools=both)
    s.say("", call("search_2", "t3", written='{"k": "t3"}'))
    s.answered(s.called("t3", server=0, name="search"))
    s.reply("t3")
    s.ask(tools=both)
    s.say("Three.")
    s.end("Three.")
    assert {violation.requirement for violation in violations(s.trace)} == {"XMCP-CLI-091"}


def of_two_prefixed_names_that_are_equal(*, sent: int) -> TraceBuilder:
    """Return a trace in which `a__b__c_2` stands for `c` of `a__b`; a call of it goes to the server `sent`."""
    tools = [tool("b__c"), tool("b__c_2"), tool("c", server=1)]
    s = TraceBuilder(*tools, servers=[Server(given_name="a"), Server(given_name="a__b")])
    offered = [s.offer_as(name) for name in ("a__b__c", "a__b__c_2", "a__b__c_2_2")]
    s.begin()
    for id_, name, server, own in (
        ("t1", "a__b__c", 0, "b__c"),
        ("t2", "a__b__c_2", 1, "c"),
        ("t3", "a__b__c_2_2", 0, "b__c_2"),
        ("t4", "a__b__c_2", sent, "c" if sent else "b__c_2"),
    ):
        s.ask(tools=offered)
        s.say("", call(name, id_))
        s.answered(s.called(id_, server=server, name=own))
        s.reply(id_)
    s.ask(tools=offered)
    s.say("Seven.")
    s.end("Seven.")
    return s


def test_a_name_that_is_taken_for_another_tool_displaces_the_tool_whose_full_name_it_is():
    assert [str(violation) for violation in violations(of_two_prefixed_names_that_are_equal(sent=1).trace)] == []
    broken = violations(of_two_prefixed_names_that_are_equal(sent=0).trace)
    assert {violation.requirement for violation in broken} == {"XMCP-CLI-091"}


def unclear_calls(s: TraceBuilder) -> list[str]:
    """Return the calls whose attempts nothing tells apart."""
    return [one.raw_id for one in TraceIndex(s.trace).all_calls if one.unclear]


@pytest.mark.parametrize("same", [{"k": "same"}, {"texts": ("found", "found")}])
def test_arguments_or_answers_alone_tell_two_tools_of_one_name_apart(same):
    s = of_two_tools_of_one_name(**same)
    s.reply("t1")
    s.reply("t2")
    s.ask()
    assert unclear_calls(s) == []


def test_the_offered_parameters_tell_two_tools_of_one_name_apart_that_were_called_alike():
    alike = {"k": "same", "texts": ("found", "found")}
    assert unclear_calls(of_two_tools_of_one_name(**alike)) == ["t1", "t2"]
    assert unclear_calls(of_two_tools_of_one_name(**alike, parameter="other")) == []


def test_a_name_means_the_tool_that_was_called_by_it_before_and_nothing_follows_from_unclear_calls():
    for known in (True, False):
        s = of_two_tools_of_one_name(**({} if known else {"k": "same"}), texts=("found", "found"))
        s.reply("t1")
        s.reply("t2")
        both = [s.offer_as("search"), s.offer_as("search_2")]
        for first, then, k in (("t3", "t4", {}), ("t5", "t6", {"k": 1})):
            s.ask(tools=both)
            written = [json.dumps(k), json.dumps(dict.fromkeys(k, 2))]
            s.say("", call("search", first, written=written[0]), call("search_2", then, written=written[1]))
            two, one = s.called(then, server=1, name="search"), s.called(first, server=0)
            s.answered(two)
            s.answered(one)
            s.reply(first)
            s.reply(then)
        s.ask(tools=both)
        s.say("Three.")
        s.end("Three.")
        assert unclear_calls(s) == ([] if known else ["t1", "t2", "t3", "t4"])
        assert [str(violation) for violation in violations(s.trace)] == []


def test_calls_of_different_tools_are_told_apart_by_the_tool():
    s = turn(call(id_="t1", written="{}"), call("stock", "t2", written="{}"), tools=[tool("search"), tool("stock")])
    two, one = s.called("t2"), s.called("t1")
    s.answered(two)
    s.answered(one)
    assert unclear_calls(s) == []


def test_an_argument_that_a_value_handed_on_can_replace_tells_no_calls_apart():
    calls = [call("then", f"t{n}", written=json.dumps({"part": part})) for n, part in ((1, "bolt"), (2, "nut"))]
    s = turn(call("first", "t0", written="{}"), *calls, tools=[FIRST, THEN])
    s.make("t0", structured={"part": "bolt"})
    for id_ in ("t1", "t2"):
        s.answered(s.called(id_, part="bolt"))
        s.reply(id_)
    s.finish()
    assert [str(violation) for violation in violations(s.trace)] == []


def confuse(index: TraceIndex, by: int) -> None:
    """Give each call the attempts of another one, `by` places before it, and mark all as unclear."""
    index._read_attempts_rightly()
    calls = index.all_calls
    attempts = [one.attempts for one in calls]
    for one, other in zip(calls, [*attempts[-by:], *attempts[:-by]], strict=True):
        one.attempts, one.unclear = other, True
        for attempt in other:
            attempt.call = one


@pytest.mark.parametrize("by", [1, 2, -1])
@pytest.mark.parametrize(("id_", "fault"), NAMED)
def test_no_check_builds_on_the_attempts_of_an_unclear_call(id_, fault, by, monkeypatch):
    monkeypatch.setattr(TraceIndex, "_read_attempts_rightly", TraceIndex._read_attempts, raising=False)
    monkeypatch.setattr(TraceIndex, "_read_attempts", lambda index: confuse(index, by))
    assert [str(violation) for violation in violations(fault(False))] == []


def of_equal_calls_in_two_chats(seed: int) -> TraceBuilder:
    """Return what a right client does with equal calls of two chats that are lost, fail and are cancelled by chance."""
    chance = random.Random(seed)
    s = TraceBuilder(tool("search", read_only=True), servers=[Server()])
    ids = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    for chat in ids:
        s.begin(f"How many has {chat}?", chat=chat, tenant=chat, events=False)
        s.ask(chat)
        s.say("", *(call(id_=id_, written="{}") for id_ in ids[chat]), chat=chat)
    made = dict.fromkeys([id_ for chat in ids for id_ in ids[chat]], 1)
    running = {id_: s.called(id_) for id_ in made}
    cancelled = chance.choice(["a", "b", ""])
    while running:
        s.wait(chance.choice([0.0, 0.1]))
        if cancelled and chance.random() < 0.2:
            s.cancel(cancelled)
            for id_ in ids[cancelled]:
                if id_ in running:
                    s.cancelled(running.pop(id_))
            for id_ in ids[cancelled]:
                s.reply(id_)
            s.end(chat=cancelled, failure="cancelled")
            del ids[cancelled]
            cancelled = ""
            continue
        id_ = chance.choice(sorted(running))
        number = running.pop(id_)
        how = chance.choice(["lost", "failed", "answered", "answered with more"])
        if how == "lost":
            s.lost(number)
            if made[id_] < s.setup.max_attempts:
                made[id_] += 1
                running[id_] = s.called(id_)
        elif how == "failed":
            s.failed(number)
        else:
            s.answered(number, f"the answer to {id_}" if how != "answered" else "found")
        for chat in [chat for chat in ids if not any(one in running for one in ids[chat])]:
            for one in ids.pop(chat):
                s.reply(one)
            s.finish(chat=chat)
            cancelled = "" if cancelled == chat else cancelled
    return s


@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 400, 50)], ids=str)
def test_whatever_happens_to_equal_calls_of_two_chats_a_right_client_breaks_nothing(seeds):
    broken = {seed: [str(one) for one in violations(of_equal_calls_in_two_chats(seed).trace)] for seed in seeds}
    assert {seed: found for seed, found in broken.items() if found} == {}


@pytest.mark.parametrize(("late", "right"), [("search_2", True), ("shop__search", True), ("order", False)])
def test_a_server_that_comes_later_can_have_its_tools_under_other_names(late, right):
    """Judge a chat that begins after a tool went away for good whose name another server's tool cannot get."""
    stock, again = tool("stock"), tool("search", server=1)
    s = TraceBuilder(tool("search"), stock, servers=[Server(), Server(reachable=False)])
    s.begin()
    s.ask()
    s.say("Seven.")
    s.end("Seven.")
    s.list_tools(stock)
    s.redeploy(again, server=1)
    s.wait(100)
    s.begin(chat="b")
    s.list_tools(again, server=1)
    s.ask("b", tools=[s.offer(stock), s.offer_as(late)])
    s.say("Seven.", chat="b")
    s.end("Seven.", chat="b")
    broken = {violation.requirement for violation in violations(s.trace)}
    assert broken == (set() if right else {"XMCP-CLI-095"})


def without_tags(value: object) -> object:
    """Return a trace in JSON without the member `tag`, also in the arguments that a model wrote."""
    if isinstance(value, dict):
        return {name: without_tags(member) for name, member in value.items() if name != "tag"}
    if isinstance(value, list):
        return [without_tags(member) for member in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.dumps(without_tags(json.loads(value)))
        except ValueError:
            return value
    return value


@pytest.mark.parametrize(("id_", "fault"), NAMED)
def test_a_right_trace_without_tags_breaks_nothing(id_, fault):
    trace = Trace.of(without_tags(json.loads(json.dumps(fault(False).to_json()))))
    assert [str(violation) for violation in violations(trace)] == []


def test_data_in_a_plain_result_are_handed_on():
    s = turn(call("first"), call("then", "t2"), tools=[FIRST, THEN])
    s.make("t1", '{"part": "bolt"}', format="application/json")
    s.make("t2")
    s.finish()
    assert {violation.requirement for violation in violations(s.trace)} == {"XMCP-CLI-030"}


MARKED = {"type": "object", "properties": {"result": {}}, "x-fastmcp-wrap-result": True}


@pytest.mark.parametrize("described", [{"wrapped_in": "result"}, {"output_schema": MARKED}])
@pytest.mark.parametrize("structured", [{"result": None}, None])
@pytest.mark.parametrize("given", [None, "bolt"])
def test_null_in_a_wrapper_is_handed_on_and_a_bare_null_counts_as_absent(described, structured, given):
    s = turn(call("first"), call("then", "t2"), tools=[tool("first", provides="part", **described), THEN])
    s.make("t1", "bolt", structured=structured)
    arguments = {**json.loads(call("then", "t2")["arguments"]), "part": given}
    number = s.called("t2")
    s.records[-1] = replace(s.records[-1], arguments=arguments)
    s.answered(number)
    s.reply("t2")
    s.finish()
    right = (given is None) is (structured is not None)
    assert {violation.requirement for violation in violations(s.trace)} == (set() if right else {"XMCP-CLI-031"})


def test_a_result_that_was_refused_for_its_size_is_no_success():
    s = turn(call(), max_answer_bytes=1000)
    s.too_large(s.called())
    s.reply("t1", result("found"))
    s.finish()
    assert {violation.requirement for violation in violations(s.trace)} == {"XMCP-ERR-042"}


def test_a_page_in_place_of_an_answer_is_no_success():
    s = turn(call())
    s.outside(s.called(), "CONNECTION_FAILED", "unknown")
    s.reply("t1", result("found"))
    s.finish()
    assert {violation.requirement for violation in violations(s.trace)} == {"XMCP-ERR-042"}


def test_a_failed_answer_that_equal_calls_share_may_be_the_answer_of_both_where_the_chat_was_cut_off():
    s = turn(call(id_="a"), call(id_="b"), tools=[tool("search", cacheable=True)], cache=True)
    s.failed(s.called("a"), failure("GONE"))
    s.cancel()
    s.reply("a")
    s.reply("b", error("GONE"))
    s.end(failure="cancelled")
    assert [str(violation) for violation in violations(s.trace)] == []


def of_a_model_that_fails(*, events: bool = True) -> TraceBuilder:
    s = TraceBuilder()
    s.begin(events=events)
    s.ask()
    s.say(failed=True)
    return s


def of_an_application_that_asked_for_no_events() -> TraceBuilder:
    s = of_a_model_that_fails(events=False)
    s.end(failure="provider")
    return s


def of_a_model_that_failed_as_the_chat_was_cancelled() -> TraceBuilder:
    s = of_a_model_that_fails()
    s.cancel()
    s.end(failure="provider")
    return s


def of_a_parameter_that_is_required_behind_a_reference() -> TraceBuilder:
    parts = {"allOf": [{"$ref": "#/$defs/all"}], "$defs": {"all": {"required": ["user_id"]}}}
    mine = replace(tool("mine", "user_id"), input_schema={**tool("mine", "user_id").input_schema, **parts})
    s = turn(call("mine", "t1"), call(tag="t2"), tools=[mine, tool()], params={"user_id": None})
    s.reply("t1", content=error("MISSING_SERVER_PARAM", name="mine"))
    s.failed(s.called("t2"))
    s.reply("t2", content=error("CONFLICT"))
    s.finish()
    return s


def of_a_budget_that_no_reference_fits() -> TraceBuilder:
    shown = {"type": "table", "title": "Stock", "payload": [{"a": "x" * 60}]}
    s = turn(call(), display="continue", display_budget=60)
    s.answered(s.called(), display=shown)
    s.reply(content=result("found"))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[shown])
    return s


def of_an_answer_that_broke_off_before_the_chat_was_cancelled() -> TraceBuilder:
    s = TraceBuilder()
    s.begin()
    s.ask()
    s.say("Half an ans", failed=True)  # void by section 11.7: the client waits for its next attempt
    s.wait(1)
    s.cancel()
    s.end(failure="cancelled")
    return s


def of_events_that_arrive_after_the_end() -> TraceBuilder:
    s = of_a_model_that_fails()
    s.end(failure="provider")
    s.tell("usage")
    s.tell("failed")
    return s


def of_a_request_that_the_client_did_not_accept() -> TraceBuilder:
    s = TraceBuilder()
    s.begin("How many?", {"role": "tool", "tool_call_id": "t0", "content": "seven"}, events=True)
    s.end(failure="refused", history=[])
    return s


def of_names_that_say_nothing_of_their_tools(**described: str) -> TraceBuilder:
    """A library that hashes names; each tool is known by its description, or by the calls under its name."""
    tools = [
        tool(name, description=described.get(name.replace(".", "_"))) for name in ("files.read", "list_files", "x")
    ]
    s = TraceBuilder(*tools)
    s.begin()
    names = [f"mcp_{number:08x}" for number in (0xBD9FCC0B, 0xB1A76CC1, 0x16F3ABAA)]
    offers = [s.offer_as(name) for name in names]
    for offer, one in zip(offers, tools, strict=True):
        offer["function"]["description"] = one.description or ""
    s.ask(tools=offers)
    if not described:
        s.say("", *(call(name, tag=f"t{number}") for number, name in enumerate(names)))
        for number, one in enumerate(tools):
            s.answered(s.called(f"t{number}", server=0, name=one.name))
        for number in range(3):
            s.reply(f"t{number}")
        s.ask(tools=offers)
    s.say("Seven.")
    s.end("Seven.")
    return s


def of_a_client_that_reads_slower_than_its_server_writes() -> TraceBuilder:
    """Each attempt is over in no time at the server, and the client tells of it as it reads, for two seconds."""
    s = turn(call(), tools=[tool("search", read_only=True)])
    s.tell("tool_call", call_id="t1")
    s.tell("tool_started", call_id="t1")
    for attempt in (1, 2):
        number = s.called()
        rows = range(1, 51)
        for row in rows:
            s.report(number, row, 50, "a row")
        if attempt == 1:
            s.failed(number, failure("UPSTREAM_UNAVAILABLE", retryable=True, side_effects="none"))
        else:
            s.answered(number)
        for row in rows:
            s.wait(0.04)
            s.tell("tool_progress", call_id="t1", progress=row, total=50, text="a row")
        if attempt == 1:
            s.tell("retry", call_id="t1", wait_ms=2000)  # as the servers see it
    s.reply()
    s.tell("tool_result", call_id="t1")
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    return s


@pytest.mark.parametrize(
    "builder",
    [
        of_a_client_that_reads_slower_than_its_server_writes(),
        of_names_that_say_nothing_of_their_tools(),
        of_names_that_say_nothing_of_their_tools(files_read="Read.", list_files="List.", x="Write."),
        of_an_application_that_asked_for_no_events(),
        of_a_model_that_failed_as_the_chat_was_cancelled(),
        of_an_answer_that_broke_off_before_the_chat_was_cancelled(),
        of_a_parameter_that_is_required_behind_a_reference(),
        of_a_budget_that_no_reference_fits(),
        of_events_that_arrive_after_the_end(),
        of_a_request_that_the_client_did_not_accept(),
    ],
)
def test_what_a_client_cannot_do_better_is_right(builder):
    assert [str(violation) for violation in violations(builder.trace)] == []


def of_a_failure_without_words() -> TraceBuilder:
    s = turn(call())
    s.flagged(s.called(), "")
    s.reply(content=error("TOOL_ERROR", "The tool says that it failed, and not why."))
    return s


def of_a_failure_at_a_server_that_has_no_documents() -> TraceBuilder:
    s = turn(call(), servers=[Server(xmcp=False)])
    s.flagged(s.called())
    s.reply(content=error("X_OWN_CODE", "The tool failed."))
    return s


def of_a_failure_that_cannot_be_read() -> TraceBuilder:
    s = turn(call())
    s.flagged(s.called(), "<tool_response", readable=False)
    s.reply(content=error("INVALID_XML"))
    return s


def of_a_failure_with_a_callback_that_fails() -> TraceBuilder:
    s = turn(call())
    s.flagged(s.called(), " Only five are left.\n")
    s.reply(content=error("TOOL_ERROR", "Only five are left."))
    s.call_back(fails=True)
    return s


@pytest.mark.parametrize(
    "builder",
    [
        of_a_failure_without_words(),
        of_a_failure_at_a_server_that_has_no_documents(),
        of_a_failure_that_cannot_be_read(),
        of_a_failure_with_a_callback_that_fails(),
    ],
)
def test_a_failure_without_an_error_has_the_words_that_there_are(builder):
    builder.finish()
    assert [str(violation) for violation in violations(builder.trace)] == []


@pytest.mark.parametrize(
    ("text", "taken", "given"),
    [
        ("", "[text, 15 characters: shown to the person, not visible to you]", True),
        ("", "[a note for the user]\n[image image/png: shown]\n", True),
        ("", None, True),
        ("", "Thank you, Ada.", True),  # XMCP-MCP-045 judges that
        ("", "found", False),
        ("", "[a note for the user] Seven bolts.", False),
        ("found", "found\n[a note for the user]", True),
        ("found", "lost\n[a note for the user]", False),
    ],
)
def test_beside_an_empty_text_the_model_can_get_references_and_nothing_else(text, taken, given):
    assert gives_text(Answered(call=0, outcome="ok", text=text, for_user="Thank you, Ada."), taken) is given


@pytest.mark.parametrize(
    ("structured", "taken", "right"),
    [
        ({"n": 7}, '{"n": 7}', True),
        ({"n": 7}, '{"n":7}\n[a note for the user]', True),
        ({"n": [-71.5, True]}, '{"n":[-71.5,true]}', True),
        ({"n": 7}, '{"n":7}\n7', False),
        ({"n": 7}, "7", False),
        ({"n": 7}, '{"n":"7"}', False),
        ({"n": "a 7"}, '{"n":"a 7"}', False),
        ({"n7": 1}, '{"n7":1}', False),
    ],
)
def test_a_number_in_structured_content_is_not_what_a_block_for_the_user_alone_says(structured, taken, right):
    s = turn(call(), servers=[Server(xmcp=False)])
    s.answered(s.called(), None, structured=structured, for_user="7")
    s.reply(content=result(taken))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[{"type": "text", "payload": "7"}])
    assert {violation.requirement for violation in violations(s.trace)} == (set() if right else {"XMCP-MCP-045"})


@pytest.mark.parametrize("answer", [{"for_user": "Thank you, Ada."}, {"display": {"type": "text", "payload": "Busy."}}])
def test_what_an_attempt_brought_before_the_circuit_breaker_opened_need_not_be_shown(answer):
    s = turn(call(), tools=[tool("search", read_only=True)], breaker_threshold=1)
    s.failed(s.called(), failure("DB_TIMEOUT", retryable=True), **answer)
    s.reply(content=error("CIRCUIT_OPEN", retry_after_ms=1000))
    s.finish()
    assert [str(violation) for violation in violations(s.trace)] == []


def test_the_failure_of_another_server_before_the_circuit_breaker_opened_is_not_the_answer():
    s = turn(call(), tools=[tool("search", read_only=True)], servers=[Server(xmcp=False)], breaker_threshold=1)
    busy = {"error": {"code": "rate_limited", "retryable": True}}
    s.failed(s.called(), failure("RATE_LIMITED", retryable=True), structured=busy)
    s.reply(content=error("CIRCUIT_OPEN", retry_after_ms=1000))
    s.finish()
    assert [str(violation) for violation in violations(s.trace)] == []


@pytest.mark.parametrize(("sent_later", "found"), [(False, []), (True, ["XMCP-CLI-043"])])
def test_a_call_that_was_sent_before_the_circuit_breaker_opened_does_not_count_after_it_has_closed(sent_later, found):
    calls = [call(tag=tag) for tag in ("t1", "t2", "t3", "t4")]
    s = turn(*calls, breaker_threshold=1, breaker_reset_after=2.0, tool_timeout=20.0, max_attempts=1)
    early = None if sent_later else s.called("t1")
    s.lost(s.called("t2"))
    s.wait(5)
    s.answered(s.called("t3"))  # the probe
    early = s.called("t1") if early is None else early
    s.wait(15)
    s.late(early)
    s.wait(0.5)
    s.answered(s.called("t4"))
    codes = {"t1": "TIMEOUT", "t2": "CONNECTION_FAILED"}
    for id_ in ("t1", "t2", "t3", "t4"):
        s.reply(id_, content=error(codes[id_]) if id_ in codes else None)
    s.finish()
    assert sorted({violation.requirement for violation in violations(s.trace)}) == found


@pytest.mark.parametrize(
    ("dialect", "found"),
    [
        ({}, ["XMCP-CLI-036"]),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, ["XMCP-CLI-036"]),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, []),
    ],
)
def test_a_client_can_leave_a_schema_of_another_dialect_to_the_server(dialect, found):
    part = {"type": "object", "properties": {"part": {"type": "integer"}}, **dialect}
    taker = replace(STOCK, depends_on=["find"], input_schema=part)
    s = turn(call("find", "t1"), call("stock", "t2", part=1), tools=[tool("find"), taker])
    s.make("t1", structured={"part": "seven"})
    s.answered(s.called("t2", part="seven"))
    s.reply("t2")
    s.finish()
    assert sorted({violation.requirement for violation in violations(s.trace)}) == found


@pytest.mark.parametrize("named", [False, True])
def test_a_tool_above_the_limit_does_not_take_the_name_of_one_that_is_offered(named):
    servers = [Server(given_name="s0"), Server(given_name="s1")] if named else [Server(), Server()]
    s = TraceBuilder(tool("a"), tool("b"), tool("b", server=1), servers=servers, max_tools_per_server=1)
    s.begin()
    s.tell("warning", turn=0, text="A tool is left out.")
    s.ask(tools=[s.offer_as("s0__a" if named else "a"), s.offer_as("s1__b" if named else "b")])
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    assert [str(violation) for violation in violations(s.trace)] == []


@pytest.mark.parametrize("own", [None, {"note": "Thank you, Ada."}])
@pytest.mark.parametrize("text", ["", " ", "a", "Thank you, Ada."])
def test_what_another_call_has_in_its_data_was_not_taken_from_a_block_for_the_user_alone(text, own):
    s = turn(call(tag="t1"), call(tag="t2"), servers=[Server(xmcp=False)])
    s.answered(s.called("t1"), None, structured=own, for_user=text)
    s.answered(s.called("t2"), None, structured={"said": "Thank you, Ada."})
    s.reply("t1", content=result(""))
    s.reply("t2", content=result('{"said":"Thank you, Ada."}'))
    s.ask()
    s.say("Done.")
    s.end("Done.", displays=[{"type": "text", "payload": text}])
    assert [str(violation) for violation in violations(s.trace)] == []


def test_the_data_of_a_call_is_no_way_around_its_block_for_the_user_alone():
    s = turn(call(tag="t1"), call(tag="t2"), servers=[Server(xmcp=False)])
    s.answered(s.called("t1"), None, structured={"note": "Thank you, Ada."}, for_user="Thank you, Ada.")
    s.answered(s.called("t2"), None, structured={"said": "Seven bolts."})
    s.reply("t1", content=result('{"note":"Thank you, Ada."}'))
    s.reply("t2", content=result('{"said":"Seven bolts."}'))
    s.ask()
    s.say("Done.")
    s.end("Done.", displays=[{"type": "text", "payload": "Thank you, Ada."}])
    assert [violation.requirement for violation in violations(s.trace)] == ["XMCP-MCP-045"]


@pytest.mark.parametrize(
    ("taken", "right"), [('{"v":2}', True), ('{"v": 2.0}', True), ("", False), ("2", False), (None, False)]
)
@pytest.mark.parametrize("text", ["", None])
def test_data_stand_in_for_an_empty_text_of_another_server(text, taken, right):
    s = turn(call(), servers=[Server(xmcp=False)])
    s.answered(s.called(), text, structured={"v": 2})
    s.reply(content=result(taken) if taken is not None else error("INTERNAL", "x"))
    s.finish()
    found = {violation.requirement for violation in violations(s.trace)}
    assert ("XMCP-MCP-011" in found) is (not right and (text is not None))


@pytest.mark.parametrize("attribute", ['truncated="true"', 'lossy="true"'])
def test_data_that_stand_in_for_a_text_can_be_cut(attribute):
    s = turn(call(), servers=[Server(xmcp=False)])
    s.answered(s.called(), "", structured={"v": "x" * 100})
    root = attribute if "lossy" in attribute else ""
    text = f'<llm_output {attribute}>{{"v":"xxx…</llm_output>'
    s.reply(content=f'<tool_response tool_name="search" {root}>{text}</tool_response>')
    s.finish()
    assert "XMCP-MCP-011" not in {violation.requirement for violation in violations(s.trace)}


def test_a_short_text_that_cannot_be_read_can_stand_in_the_words_of_the_client():
    s = turn(call())
    s.answered(s.called(), "no document", readable=False)
    s.reply(content=error("INVALID_XML", "The answer is no document that can be read."))
    s.finish()
    assert [str(violation) for violation in violations(s.trace)] == []


def test_a_cancelled_answer_of_nothing_but_white_space_adds_no_message():
    def cancelled(text: str) -> set[str]:
        s = TraceBuilder()
        s.begin()
        s.ask()
        s.say(text, failed=True, stalls=True)
        s.wait(1)
        s.cancel()
        s.end(failure="cancelled", history=[{"role": "user", "content": "q"}])
        return {violation.requirement for violation in violations(s.trace)}

    assert "XMCP-CLI-116" not in cancelled(" \n")
    assert "XMCP-CLI-116" in cancelled("So f")


def test_beside_a_display_the_document_can_have_the_display_alone():
    s = turn(call())
    display = {"type": "text", "payload": "Seven."}
    s.answered(s.called(), "", display=display)
    s.reply(content=f'<tool_response tool_name="tool"><display>{json.dumps(display)}</display></tool_response>')
    s.end(stop="display", displays=[display])
    assert "XMCP-CLI-003" not in {violation.requirement for violation in violations(s.trace)}


@pytest.mark.parametrize(("display", "handed_on"), [(None, True), ({"type": 7}, True), ({"type": "text"}, False)])
def test_without_a_text_and_a_display_an_empty_text_is_handed_on(display, handed_on):
    s = TraceBuilder(tool("first", provides="x"), tool("then", "x", depends_on=["first"]))
    s.begin()
    s.ask()
    s.say("", call("first", tag="t1"), call("then", tag="t2", x="y"))
    s.answered(s.called("t1"), None, display=display, bad_display=display == {"type": 7})
    s.called("t2")
    s.reply("t1", result(None, display) if display == {"type": "text"} else result("", name="first"))
    s.reply("t2", result("done", name="then"))
    s.ask()
    trace = TraceIndex(s.trace)
    values = expected_values(trace, trace.calls[1]) or {}
    assert {name: entry.right.value for name, entry in values.items()} == ({"x": ""} if handed_on else {})


def test_a_call_that_first_reached_nobody_began_with_that_attempt():
    s = turn(call(tag="t1"), call(tag="t2"))
    first = s.called("t1")
    s.unreachable("t2")
    s.wait(1)
    s.answered(first)
    s.answered(s.called("t2"))
    s.reply("t1")
    s.reply("t2")
    s.finish()
    assert [str(violation) for violation in violations(s.trace)] == []


@pytest.mark.parametrize(
    ("structured", "code", "right"),
    [
        ({"error": {"message": "boom"}}, "TOOL_ERROR", True),
        ({"error": {"code": 429, "retryable": True}}, "TOOL_ERROR", True),
        ({"error": {"code": 429}, "code": "rate limited"}, "RATE_LIMITED", True),
        ({"error": {"code": "no_such_thing"}}, "NO_SUCH_THING", True),
        ({"error": {"code": "no_such_thing"}}, "TOOL_ERROR", False),
    ],
)
def test_the_code_of_another_convention_is_that_of_structured_content(structured, code, right):
    s = turn(call(), servers=[Server(xmcp=False)])
    s.flagged(s.called(), "It failed.", structured=structured)
    s.reply(content=error(code))
    s.finish()
    assert {violation.requirement for violation in violations(s.trace)} == (set() if right else {"XMCP-MCP-040"})


@pytest.mark.parametrize("message", ["", "  "])
@pytest.mark.parametrize(("said", "right"), [("NOT_FOUND", True), ("Something else.", False)])
def test_in_the_place_of_a_blank_message_stands_the_code(message, said, right):
    s = turn(call())
    s.failed(s.called(), failure("NOT_FOUND", message))
    s.reply(content=error("NOT_FOUND", said))
    s.finish()
    assert ("XMCP-CLI-003" in {violation.requirement for violation in violations(s.trace)}) is not right


def test_a_letter_for_the_user_alone_can_stand_in_the_words_of_a_reference():
    def answered(text: str) -> set[str]:
        s = turn(call())
        s.answered(s.called(), "found", for_user="u")
        s.reply(content=result(text))
        s.finish()
        return {violation.requirement for violation in violations(s.trace)}

    assert "XMCP-MCP-045" not in answered("found\n[text, 1 characters: shown to the person, not visible to you]")
    assert "XMCP-MCP-045" in answered("found\nu")


def test_an_empty_trace_examines_nothing():
    assert examined(Trace(Setup(servers=[], tools=[]), [])) == set()


@pytest.mark.parametrize(("type_", "blamed"), [("text", True), ("", False)])
def test_a_large_display_in_the_history_is_judged_where_it_is_an_envelope(type_, blamed):
    display = json.dumps({"type": type_, "payload": "x" * 9000})
    document = f'<tool_response tool_name="t"><llm_output>y</llm_output><display>{display}</display></tool_response>'
    message = {"role": "tool", "tool_call_id": "c", "content": document}
    records = [ChatBegan(chat="a", history=[message], query="q"), Asked(chat="a", ask=1, messages=[message], tools=[])]
    found = violations(Trace(Setup(servers=[], tools=[]), records))
    assert ("XMCP-DSP-040" in {one.requirement for one in found}) is blamed


LATER = {
    "code": "RATE_LIMIT",
    "message": "Later.",
    "retryable": True,
    "category": "rate_limited",
    "retry_after_ms": 30_000,
}


def test_another_model_is_asked_without_the_wait_that_the_first_one_wants():
    s = TraceBuilder()
    s.begin(events=True)
    s.ask()
    s.say(failed=True)
    s.tell("retry", error=LATER, wait_ms=0)
    s.ask()
    s.say("Seven.")
    s.tell("done")
    s.end("Seven.")
    assert violations(s.trace) == []


@pytest.mark.parametrize("turn_of_it", [[1], "1", None, 1.5])
def test_an_event_that_is_not_valid_is_that_and_nothing_else(turn_of_it):
    s = turn(call())
    s.tell("tool_call", call_id="t1", turn=turn_of_it, arguments=7)
    s.make()
    s.finish()
    broken = {one.requirement for one in violations(s.trace)}
    assert ("XMCP-REC-001" in broken, "XMCP-REC-006" in broken) == (True, False)


def test_what_no_double_holds_is_told_in_any_way():
    written = '{"tag": "t1", "n": 1e400}'
    for told in ({"tag": "t1", "n": None}, None, {}):
        s = turn(call(written=written))
        s.tell("tool_call", call_id="t1", arguments=told)
        s.reply(content=error("VALIDATION_FAIL"))
        s.finish()
        assert "XMCP-REC-006" not in {one.requirement for one in violations(s.trace)}


def test_a_display_that_came_when_the_chat_was_over_is_not_that_of_the_chat():
    s = turn(call(), chat_timeout=30.0)
    number = s.called()
    s.wait(30)
    s.answered(number, display=TABLE)
    s.reply(content=error("TIMEOUT"))
    s.tell("done")
    s.end(stop="timeout", displays=[])
    assert violations(s.trace) == []


def test_an_id_that_comes_again_begins_to_count_again():
    s = TraceBuilder(tool(read_only=True))
    s.begin()
    for number in (1, 2):
        s.ask()
        s.say("", call(id_="x", tag=f"t{number}"))
        s.tell("tool_call", call_id="x")
        s.tell("tool_started", call_id="x")
        s.lost(s.called("x"))
        s.tell("retry", call_id="x", attempt=1)
        s.make("x")
    assert "XMCP-REC-006" not in {one.requirement for one in violations(s.trace)}


def test_many_events_that_close_a_chat_cost_no_more_than_their_number():
    s = turn()
    s.tell("done")
    s.end(stop="empty")
    done = s.records[-2]
    few, many = [_seconds_of([*s.records[:-1], *[done] * number, s.records[-1]], s) for number in (300, 3_000)]
    assert many < 60 * few


def _seconds_of(records, s) -> float:
    from time import process_time

    def once() -> float:
        begun = process_time()
        violations(Trace(s.setup, records))
        return process_time() - begun

    return min(once() for _ in range(3))  # what else runs takes the caches of the processor


@pytest.mark.parametrize(
    ("limit", "early", "answered", "broken"),
    [(60, 0.01, False, False), (60, 1.0, False, True), (5, 1.0, False, False), (5, 0.01, True, True)],
)
def test_a_time_out_has_ended_when_the_client_ends_it_and_an_answer_when_it_comes(limit, early, answered, broken):
    s = turn(call("first", "t1"), call("first", "t2"), call("then", "t3"), tools=[FIRST, THEN], tool_timeout=limit)
    one, two = s.called("t1"), s.called("t2")
    s.answered(one)
    s.wait(5)
    three = s.called("t3")
    s.wait(early)  # until the server of the second call knows
    s.answered(two) if answered else s.late(two)
    s.answered(three)
    trace = replace(s.trace, precision=0.25)
    assert ("XMCP-TOL-012" in {one.requirement for one in violations(trace)}) is broken
