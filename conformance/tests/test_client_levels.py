"""A client of Level 1 reads plain results alone (section 1.6): it gets those, and is not blamed for documents."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from xmcp_conformance.profiles.client.adapter import Declaration
from xmcp_conformance.profiles.client.driver import observe
from xmcp_conformance.profiles.client.judge import examined, violations
from xmcp_conformance.profiles.client.observer import ObservedServer, Recorder
from xmcp_conformance.profiles.client.scenario import Scenario, supported, with_fixed_options
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.trace import Answered, Declared, Server, Setup, Trace
from xmcp_conformance.wrong.clients.calls import turn
from xmcp_conformance.wrong.clients.miniature import FEATURES, MiniatureAdapter
from xmcp_conformance.wrong.clients.trace_builder import TABLE, TraceBuilder, call, error, failure, result, tool
from xmcp_models.registry import RESULT_META_KEY

ALL = {name: with_fixed_options(one, {"level": 1}) for name, one in supported(SCENARIOS, FEATURES).items()}
OF_LEVEL_1 = {name: one for name, one in ALL.items() if one is not None}
WITHOUT: dict[str, Any] = {"versions": ["1.0"], "documents": False}


@pytest.mark.parametrize("name", OF_LEVEL_1)
def test_a_right_client_of_level_1_breaks_no_sentence(name):
    trace = observe(OF_LEVEL_1[name], MiniatureAdapter())
    assert [str(violation) for violation in violations(trace)] == []
    assert not any(isinstance(one, Answered) and one.document for one in trace.records)


def test_the_scenarios_of_level_1_are_nearly_all():
    assert len(ALL) - len(OF_LEVEL_1) < 10
    assert "documents that cannot be read" not in OF_LEVEL_1
    seen = set().union(*(examined(observe(one, MiniatureAdapter())) for one in OF_LEVEL_1.values()))
    assert len(seen) > 50


def answered_to(declaration: Declaration | None, server: Server, *, level: int = 2) -> Any:
    """Return the result that a server sends to a client that declares something."""

    async def call_it() -> Any:
        recorder = Recorder()
        setup = Setup(servers=[server], tools=[tool("a")], level=level)
        observed = ObservedServer(recorder, Scenario(setup), 0)
        if declaration is not None:
            observed.learn(declaration)
        sent = await observed.call_tool("a", {"tag": "t"})
        (told,) = (record for record in recorder.records if isinstance(record, Answered))
        assert told.plain is (sent.get("_meta", {}).get(RESULT_META_KEY, {}).get("form") == "plain")
        return sent

    return asyncio.run(call_it())


@pytest.mark.parametrize(
    ("declaration", "level", "form"),
    [
        (None, 2, "document"),
        (None, 1, "plain"),
        (Declaration(stateless=True, extensions={"versions": ["1.0"]}), 2, "document"),
        (Declaration(stateless=True), 2, "document"),
        (Declaration(stateless=True), 1, "plain"),
        (Declaration(stateless=True, extensions=WITHOUT), 2, "plain"),
        (Declaration(stateless=False, experimental=WITHOUT), 2, "plain"),
        (Declaration(stateless=True, extensions={"documents": "false"}), 2, "document"),
    ],
)
def test_servers_answer_in_the_form_that_a_client_reads(declaration, level, form):
    assert answered_to(declaration, Server(), level=level)["_meta"][RESULT_META_KEY]["form"] == form
    assert "_meta" not in answered_to(declaration, Server(xmcp=False), level=level)


def with_level(s: TraceBuilder, **declared: Any) -> Trace:
    """Return the trace of a client that claims Level 1, or declares that it reads no documents."""
    if not declared:
        return Trace(replace(s.setup, level=1), s.records)
    return Trace(s.setup, [Declared(server=0, stateless=True, **declared), *s.records])


@pytest.mark.parametrize("declared", [{}, {"extensions": WITHOUT}, {"experimental": WITHOUT, "extensions": WITHOUT}])
@pytest.mark.parametrize("fails", [False, True])
def test_a_document_that_comes_all_the_same_is_one_that_cannot_be_read(fails, declared):
    s = turn(call())
    number = s.called()
    (s.failed(number, failure("NOT_FOUND")) if fails else s.answered(number, display=TABLE))
    s.reply(content=error("INVALID_XML"))
    s.ask()
    s.say("Seven.")
    s.end("Seven.", displays=[])
    assert [str(one) for one in violations(with_level(s, **declared))] == []
    if not fails:  # a client that reads documents is wrong to refuse it
        assert "XMCP-CLI-003" in {one.requirement for one in violations(s.trace)}


def test_a_client_of_level_1_that_hands_on_what_it_cannot_read_is_blamed():
    s = turn(call())
    s.answered(s.called(), "It is four thousand.")
    s.reply(content=result("It is four thousand."))
    s.finish()
    assert {one.requirement for one in violations(with_level(s))} == {"XMCP-MCP-012", "XMCP-MCP-013"}


def test_a_client_that_claims_level_1_need_not_declare_the_extension():
    s = turn()
    s.declare(stateless=True, accept_encoding="identity")
    s.end(stop="empty")
    assert {one.requirement for one in violations(s.trace)} == {"XMCP-MCP-006"}
    assert violations(with_level(s)) == []


def test_the_level_is_in_a_trace():
    trace = Trace(Setup(servers=[Server()], tools=[], level=1), [])
    assert Trace.of(json.loads(json.dumps(trace.to_json()))).setup.level == 1
