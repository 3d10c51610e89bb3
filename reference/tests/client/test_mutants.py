"""The client is judged by the conformance suite's checks, and each check sees the mutant that breaks its sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants import all_mutants
from support.ai_client_adapter import observe, observe_over_http

from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.client.command.check_command import Driving
from xmcp_conformance.profiles.client.drawn_scenarios import SEED, drawn_scenarios
from xmcp_conformance.profiles.client.drawn_themes import ABOUT
from xmcp_conformance.profiles.client.judge import examined, violations
from xmcp_conformance.profiles.client.scenario import Conversation
from xmcp_conformance.profiles.client.scenarios import SCENARIOS, SINGLE
from xmcp_conformance.profiles.client.trace import Called, Listed

MUTANTS = all_mutants()
OVER_HTTP = {"XMCP-CLI-111", "XMCP-MCP-006", "XMCP-MCP-007", "XMCP-MCP-009"}
"""Sentences about what only a real server sees."""
A_CALL = SCENARIOS["two calls and text beside them"]


@pytest.fixture(params=SCENARIOS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_client_breaks_no_sentence(name: str) -> None:
    assert [str(violation) for violation in violations(observe(SCENARIOS[name]))] == []


def test_a_whole_run_of_the_command_lasts_a_few_minutes() -> None:
    """A long wait costs nothing in virtual time, and is waited for where the clock is real."""
    whole = {**SCENARIOS, **drawn_scenarios(len(ABOUT), SEED)}
    lasts = {name: observe(scenario).records[-1].time for name, scenario in whole.items()}
    assert {name: seconds for name, seconds in lasts.items() if seconds > 75} == {}
    assert sum(lasts.values()) / Driving().jobs < 4 * 60


def test_every_sentence_about_clients_that_is_verified_has_an_occasion_and_a_mutant() -> None:
    seen = set().union(*(examined(observe(scenario)) for scenario in SCENARIOS.values()))
    verified = {requirement.id for requirement in registry().verified_by("client")}
    assert verified - seen == OVER_HTTP
    assert verified == set(MUTANTS)


@pytest.mark.parametrize("handshake", [False, True])
def test_the_client_breaks_no_sentence_that_only_a_real_server_sees(handshake: bool) -> None:
    trace = observe_over_http(A_CALL, handshake=handshake)
    assert [str(violation) for violation in violations(trace)] == []
    assert OVER_HTTP - examined(trace) == set()


def test_a_call_over_http_is_no_list_that_the_client_asked_for() -> None:
    gone = SCENARIOS["a tool went unannounced, and another is called first"]
    first, second, _ = gone.chats[0].script
    trace = observe_over_http(replace(gone, chats=[Conversation([first, second])]), handshake=False)
    assert [str(violation) for violation in violations(trace)] == []
    calls = [at for at, record in enumerate(trace.records) if isinstance(record, Called)]
    assert len(calls) == 2
    assert not any(isinstance(record, Listed) for record in trace.records[: calls[1]])


@pytest.mark.parametrize("requirement", sorted(OVER_HTTP))
def test_a_mutant_breaks_its_own_sentence_over_http_and_no_other(
    requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    MUTANTS[requirement](monkeypatch)
    trace = observe_over_http(A_CALL, handshake=False)
    assert {violation.requirement for violation in violations(trace)} == {requirement}


@pytest.mark.slow
@pytest.mark.parametrize("requirement", sorted({*MUTANTS} - OVER_HTTP))
def test_a_mutant_breaks_its_own_sentence_and_no_other(requirement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[requirement](monkeypatch)
    broken = {}
    for name, scenario in SINGLE.items():
        for violation in violations(observe(scenario)):
            broken.setdefault(violation.requirement, f"{name}: {violation}")
    assert set(broken) == {requirement}, broken


@pytest.mark.parametrize("requirement", MUTANTS)
def test_a_mutant_says_what_it_does_wrong(requirement: str) -> None:
    assert (MUTANTS[requirement].__doc__ or "").endswith(".")
