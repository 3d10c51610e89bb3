"""Whatever a model asks for and whatever servers do: no sentence is broken, nothing waits for ever, nothing is left.

Hypothesis generates models, servers and chats; the checks are those of the conformance suite. `observe` itself fails
if something waits for ever (`virtual_time.Stuck`) or leaves a task behind.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ai_client_adapter import observe

from xmcp_conformance.profiles.client.drawn_scenarios import drawn_scenarios
from xmcp_conformance.profiles.client.judge import violations
from xmcp_conformance.profiles.client.scenario import Act, Ask, Change, Conversation, Says, Scenario
from xmcp_conformance.profiles.client.trace import Answered, Called, Server, Setup, Told, Tool, Trace

EXAMPLES = int(os.environ.get("XMCP_CLIENT_EXAMPLES", "150"))
ALWAYS_THE_SAME = os.environ.get("CI") == "true"
"""A run that judges a change has to say the same twice; the others look for what nobody has thought of yet."""
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0])
NAMES = ["a", "b", "c", "d"]
PARAMETERS = ["x", "y"]
VALUES = st.sampled_from([1, "one", None, [1], {"x": 2}])


@st.composite
def tools(draw: st.DrawFn, servers: int) -> list[Tool]:
    """Tools that depend on earlier ones of their server, and on some that there are not."""
    made: list[Tool] = []
    for _ in range(draw(st.integers(1, 4))):
        server = draw(st.integers(0, servers - 1))
        free = [name for name in NAMES if not any(t.server == server and t.name == name for t in made)]
        if not free:
            continue
        before = [tool.name for tool in made if tool.server == server]
        properties = {
            name: draw(st.sampled_from([{}, {"type": "integer"}]))
            for name in draw(st.sets(st.sampled_from(PARAMETERS)))
        }
        read_only = draw(st.booleans())
        made.append(
            Tool(
                server=server,
                name=draw(st.sampled_from(free)),
                input_schema={"properties": properties, "required": draw(st.sampled_from([[], [*properties]]))},
                depends_on=draw(st.lists(st.sampled_from(before), unique=True)) if before else (),
                provides=draw(st.none() | st.sampled_from(PARAMETERS)),
                cacheable=read_only and draw(st.booleans()),
                read_only=read_only,
                idempotent=draw(st.booleans()),
            )
        )
    return made


ACTS = st.builds(
    Act,
    kind=st.sampled_from(
        ["ok"] * 5
        + ["error", "error", "flagged", "lost", "down", "late", "garbled", "forged", "bad_display", "only_bad_display"]
    ),
    delay=SECONDS,
    display=st.sampled_from(["none", "none", "small", "large", "transient"]),
    structured=st.none() | st.dictionaries(st.sampled_from(PARAMETERS), VALUES),
    code=st.sampled_from(["TOOL_ERROR", "DB_TIMEOUT", "X_NEW"]),
    retryable=st.booleans(),
    retry_after_ms=st.none() | st.sampled_from([0, 700, 7000, 119_000, 121_000]),
    side_effects=st.none() | st.sampled_from(["none", "unknown"]),
)


def asks(count: int, cached: list[int]) -> st.SearchStrategy[Ask]:
    """Calls of the tools there are, of others, and of the client's own.

    Only calls that a cache can answer are equal to others: of the rest nobody could tell which call a server got.
    """
    arguments = st.dictionaries(st.sampled_from([*PARAMETERS, "z"]), VALUES, max_size=2)
    places = st.integers(0, count - 1)
    equal = [st.builds(Ask, st.sampled_from(cached), tag=st.sampled_from(["same", "other"]))] if cached else []
    return st.one_of(
        st.builds(Ask, places, arguments),
        st.builds(Ask, places, arguments),
        st.builds(Ask, places, id=st.sampled_from(["", "id", "call_0"])),
        st.builds(Ask, places, written=st.sampled_from(["", "{", "[1]", '{"tag": "cut", "x": "'])),
        st.builds(Ask, st.sampled_from(["unknown", "a", "bad name!"])),
        st.builds(Ask, st.just("__think__"), st.just({"thought": "They mean revenue."})),
        st.builds(Ask, st.just("__clarify__"), st.sampled_from([{"question": "Which year?"}, {}])),
        st.builds(Ask, st.just("__summarize__"), st.just({"summary": "They said hello."})),
        *equal,
    )


def says(ask: st.SearchStrategy[Ask]) -> st.SearchStrategy[Says]:
    """Answers of the model: most have calls."""
    return st.one_of(
        st.builds(Says, st.sampled_from(["", "I look."]), st.lists(ask, min_size=1, max_size=5), delay=SECONDS),
        st.builds(Says, st.sampled_from(["", "An answer."]), tokens=st.none() | st.integers(0, 500)),
        st.builds(
            Says,
            st.sampled_from(["", "half"]),
            fails=st.sampled_from(["network", "rate_limit", "content"]),
            broken=st.booleans(),
        ),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A whole scenario."""
    named = draw(st.booleans())
    servers = [
        Server(
            given_name=f"s{place}" if named else None,
            xmcp=draw(st.booleans() | st.just(True)),
            reachable=draw(st.sampled_from([True, True, True, False])),
        )
        for place in range(draw(st.integers(1, 2)))
    ]
    all_tools = draw(tools(len(servers)))
    setup = Setup(
        servers=servers,
        tools=all_tools,
        display=draw(st.sampled_from(["exit", "continue"])),
        max_turns=draw(st.integers(1, 5)),
        max_concurrency=draw(st.sampled_from([1, 2, 16])),
        max_attempts=draw(st.integers(1, 4)),
        tool_timeout=draw(st.sampled_from([2.0, 60.0])),
        chat_timeout=draw(st.none() | st.none() | st.sampled_from([5.0, 100.0])),
        breaker_threshold=draw(st.none() | st.integers(1, 3)),
        breaker_reset_after=draw(st.sampled_from([1.0, 10.0])),
        cache=draw(st.booleans()),
        cache_read_only=draw(st.booleans()),
        meta_tools=draw(st.sampled_from([(), ("__think__", "__clarify__", "__summarize__")])),
        params=draw(st.sampled_from([{}, {"x": "application"}])),
        approval=draw(st.booleans()),
        quota_tokens=draw(st.sampled_from([{}, {"one": 900}])),
    )
    keeps = setup.cache and not setup.approval
    cached = [i for i, t in enumerate(all_tools) if keeps and (t.cacheable or (setup.cache_read_only and t.read_only))]
    answers = says(asks(len(all_tools), cached))
    chat = st.builds(
        Conversation,
        st.lists(answers, max_size=4),
        history=st.sampled_from([[], [{"role": "system", "content": "Be brief."}]]),
        tenant=st.sampled_from([None, "one", "two"]),
        begins=SECONDS,
        cancelled=st.none() | st.none() | SECONDS,
    )
    return Scenario(
        setup,
        {place: draw(st.lists(ACTS, min_size=1, max_size=4)) for place in range(len(all_tools))},
        draw(st.lists(chat, min_size=1, max_size=3)),
        approves=draw(st.lists(st.booleans(), min_size=1, max_size=4)),
        callbacks_fail=draw(st.booleans()),
        fallbacks=draw(st.integers(0, 1)),
    )


@pytest.mark.slow
@settings(max_examples=EXAMPLES, derandomize=ALWAYS_THE_SAME, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_no_sentence_about_clients_is_broken(scenario: Scenario) -> None:
    trace = observe(scenario)
    broken = [str(violation) for violation in violations(trace)]
    assert not broken, "\n".join([*broken, *map(_line, enumerate(trace.records))])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_scenarios_that_the_suite_draws_break_no_sentence(seed: int) -> None:
    for name, scenario in drawn_scenarios(EXAMPLES, seed).items():
        assert [str(violation) for violation in violations(observe(scenario))] == [], name


KEPT = Tool(server=0, name="a", cacheable=True, read_only=True)
EQUAL = [Ask(0, tag="same"), Ask(0, tag="same")]


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(
            Scenario(
                Setup(servers=[Server()], tools=[KEPT], cache=True, max_turns=1),
                {0: [Act("error", delay=1)]},
                [Conversation([Says("", EQUAL)])],
            ),
            id="equal calls of the last turn that get one error",
        ),
        pytest.param(
            Scenario(
                Setup(servers=[Server()], tools=[KEPT], cache=True),
                {0: [Act(delay=1)]},
                [Conversation([Says("", EQUAL, delay=2), Says("done")])],
                changes=[Change(1.3, 0, [replace(KEPT, input_schema={"properties": {"x": {}}})])],
            ),
            id="equal calls of a turn before which the list changed",
        ),
        pytest.param(
            Scenario(
                Setup(servers=[Server()], tools=[KEPT], cache=True, display="continue"),
                {0: [Act("only_bad_display", delay=1)]},
                [Conversation([Says("", EQUAL), Says("done")])],
            ),
            id="equal calls that get a document with nothing in it",
        ),
        pytest.param(
            Scenario(
                Setup(servers=[Server(plain=True)], tools=[KEPT], display="continue"),
                {0: [Act(text="", display="small")]},
                [Conversation([Says("", [Ask(0)]), Says("done")])],
            ),
            id="a plain result with a display and an empty text",
        ),
    ],
)
def test_what_drawn_scenarios_were_blamed_for_breaks_no_sentence(scenario: Scenario) -> None:
    assert [str(violation) for violation in violations(observe(scenario))] == []


def changed(trace: Trace, call_id: str, content: str, call: int | None = None) -> Trace:
    """Return the trace of a client that gave the model another answer to a call, and did not make the call `call`."""

    def told(value: Any) -> Any:
        if isinstance(value, dict):
            return {**value, "content": content} if value.get("tool_call_id") == call_id else told_members(value)
        return [told(one) for one in value] if isinstance(value, list | tuple) else value

    def told_members(value: dict[str, Any]) -> dict[str, Any]:
        return {name: told(member) for name, member in value.items()}

    records = []
    for record in trace.records:
        own = [one.name for one in fields(record) if one.name in ("history", "messages", "result", "event")]
        is_of_call = isinstance(record, Called | Answered) and record.call == call
        is_start = isinstance(record, Told) and record.event.get("type") == "tool_started"
        if not (is_of_call or (call is not None and is_start and record.event.get("call_id") == call_id)):
            records.append(replace(record, **{name: told(getattr(record, name)) for name in own}))
    return replace(trace, records=records)


def broken(trace: Trace) -> set[str]:
    return {violation.requirement for violation in violations(trace)}


@pytest.mark.parametrize(
    ("tool", "cache"), [(KEPT, False), (Tool(server=0, name="a"), True)], ids=["no cache", "a tool that is not cached"]
)
def test_a_call_that_was_not_made_is_blamed_where_no_cache_can_have_its_answer(tool: Tool, cache: bool) -> None:
    setup = Setup(servers=[Server()], tools=[tool], cache=cache, max_turns=1)
    right = observe(Scenario(setup, {0: [Act("error", delay=1)]}, [Conversation([Says("", EQUAL)])]))
    assert broken(right) == set()
    error = '<error code="TOOL_ERROR" retryable="false" category="internal">no</error>'
    made_up = f'<tool_response tool_name="a">{error}</tool_response>'
    assert "XMCP-CLI-123" in broken(changed(right, "call_0_2", made_up, call=2))


@pytest.mark.parametrize("server", [Server(), Server(plain=True), Server(xmcp=False)])
def test_a_document_with_nothing_in_it_is_no_answer_without_a_text(server: Server) -> None:
    setup = Setup(servers=[server], tools=[Tool(server=0, name="a")], max_turns=1)
    right = observe(Scenario(setup, {0: [Act(text="")]}, [Conversation([Says("", [Ask(0)])])]))
    assert broken(right) == set()
    assert broken(changed(right, "call_0_1", '<tool_response tool_name="a"></tool_response>')) != set()


def _line(numbered: Any) -> str:
    number, record = numbered
    return f"{number:>4} {str(record)[:300]}"
