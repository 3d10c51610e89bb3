"""The core that the four profiles share: the registry of checks, observations, events, and the judge."""

from __future__ import annotations

import io
import json
from dataclasses import fields, replace

import jsonschema_rs
import pytest
from rich.console import Console
from server_reports import report_on

from xmcp_conformance.core import checks, events
from xmcp_conformance.core.checks import UndeclaredRequirement, check, checks_by_requirement, registered, run_all
from xmcp_conformance.core.events import Event, Observed
from xmcp_conformance.core.judge import Status, judge
from xmcp_conformance.core.observation import Place, broken, either, obeyed
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.core.shown_command import shown_command
from xmcp_conformance.profiles.client import judge as client
from xmcp_conformance.profiles.codec import vector_checks
from xmcp_conformance.profiles.document import checks as document
from xmcp_conformance.profiles.server import blackbox, call_plan
from xmcp_conformance.profiles.server.peers import InMemoryPeer
from xmcp_conformance.reports import ndjson
from xmcp_conformance.reports.judgements_terminal import show_broken
from xmcp_conformance.reports.server_report import ServerReport
from xmcp_conformance.wrong.clients.calls import turn
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.miniature import Miniature
from xmcp_models.registry import EXTENSION_ID

PROFILES = {"server": blackbox, "document": document, "codec": vector_checks, "client": client}
MEANS = {"server": "server", "document": "document", "codec": "vectors", "client": "client"}


@pytest.fixture(autouse=True)
def own_checks(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(checks, "_CHECKS", list(checks._CHECKS))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_requirement_that_a_profile_verifies_has_a_declared_check_and_every_check_a_requirement(profile):
    declared = set(checks_by_requirement(profile))
    assert {requirement.id for requirement in registry().verified_by(MEANS[profile])} <= declared
    assert declared <= registry().requirements.keys()
    assert all(entry.requirements for entry in registered(profile))


def test_no_check_is_registered_twice():
    names = [entry.name for profile in PROFILES for entry in registered(profile) if entry.profiles[0] == profile]
    assert len(names) == len(set(names))


def test_a_check_that_yields_a_requirement_that_it_did_not_declare_raises():
    @check("XMCP-RSP-001", profile="client")
    def undeclared(_subject):
        yield obeyed("XMCP-RSP-001")
        yield obeyed("XMCP-RSP-002")

    found = undeclared(None)
    assert next(found).requirement == "XMCP-RSP-001"
    with pytest.raises(UndeclaredRequirement, match="undeclared yields XMCP-RSP-002"):
        next(found)


def test_a_run_over_all_checks_of_a_profile_refuses_an_undeclared_requirement_too():
    @check("XMCP-CLI-001", profile="client")
    def undeclared(_trace):
        yield obeyed("XMCP-RSP-001")

    s = turn()
    s.end("")
    with pytest.raises(UndeclaredRequirement):
        client.observations(s.trace)


def test_run_all_runs_the_checks_of_one_profile(monkeypatch):
    monkeypatch.setattr(checks, "_CHECKS", [])
    for profile in PROFILES:
        check("XMCP-RSP-001", profile=profile)(lambda subject: iter([either("XMCP-RSP-001", subject, "a", "b")]))
    assert list(run_all("codec", True)) == [obeyed("XMCP-RSP-001")]


@pytest.mark.parametrize("ids", [(), ("XMCP-RSP-001", "XMCP-RSP-001")])
def test_a_check_declares_each_requirement_once(ids):
    with pytest.raises(ValueError, match="must declare at least one"):
        check(*ids, profile="server")


def test_a_sentence_whose_check_came_after_the_release_is_a_warning(monkeypatch):
    later = replace(registry().requirements["XMCP-RSP-001"], later=True)
    monkeypatch.setitem(registry().requirements, later.id, later)
    fault = Observed(broken(later.id, "none", "a text"), "a run", "a call")
    (judgement,) = judge([fault], [later])
    assert judgement.status is Status.WARN
    assert judge([fault], [later], strict=True)[0].status is Status.FAIL
    console = Console(file=io.StringIO(), width=200)
    show_broken(judgement, console, "a call")
    assert "as a warning: its check came after the release of 1.0" in console.file.getvalue()


def test_the_judge_gives_each_requirement_its_verdict():
    rows = registry().requirements
    must, should, unseen = rows["XMCP-RSP-001"], rows["XMCP-DSP-012"], rows["XMCP-RSP-002"]
    fault = Observed(broken(should.id, "none", "a text"), "a run", "a call")
    observed = [Observed(obeyed(must.id)), Observed(obeyed(must.id)), Observed(obeyed(should.id)), fault]
    judgements = judge(observed, [must, should, unseen])
    assert [one.status for one in judgements] == [Status.PASS, Status.WARN, Status.NOT_OBSERVED]
    assert (judgements[1].occasions, judgements[1].broken, judgements[1].first) == (2, 1, fault)
    assert judge(observed, [must, should], strict=True)[1].status is Status.FAIL
    with pytest.raises(KeyError):
        judge(observed, [must])


async def test_every_event_has_a_json_form_and_a_report_is_folded_from_events_alone():
    seen: list[Event] = []
    one = InMemoryPeer(server_mutants()["XMCP-MCP-002"]().server())
    await blackbox.check([one], call_plan.Options(examples=1), seen.append)
    report = ServerReport.of(seen)
    document.start(None, strict=False, emit=seen.append)
    document.check_document(b"<a", document.FileName("a.xml"), seen.append)
    rows = [json.loads(ndjson.line(event)) for event in seen]
    kinds = {value.kind for value in vars(events).values() if isinstance(value, type) and hasattr(value, "kind")}
    assert {row["event"] for row in rows} | {
        "call_lasts",
        "note",
        "not_reached",
        "other_versions",
        "shortcoming",
        "time_over",
    } == kinds
    schema = jsonschema_rs.Draft202012Validator(json.loads(ndjson.SCHEMA.read_text("utf-8")))
    for row, event in zip(rows, seen, strict=True):
        schema.validate(row)
        assert row.keys() == {"event", *(item.name for item in fields(event))}
    assert [one.requirement.id for one in report.judgements if one.broken] == ["XMCP-MCP-002"]


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        (None, None),
        (Place(2, 7), {"line": 2, "column": 7}),
        (("payload", 0), {"path": ["payload", 0]}),
        ((), {"path": []}),
        (4, {"record": 4}),
    ],
)
def test_where_an_observation_was_made_is_a_place_a_path_or_a_record(where, shown):
    assert Observed(broken("XMCP-RSP-001", "a", "b", where=where)).to_json()["observation"]["where"] == shown


async def test_the_events_of_a_report_are_those_of_its_run():
    report = await report_on(Miniature(), call_plan.Options(examples=1, eras=("newest",)))
    assert [run.started.client for run in report.runs] == ["declared", "limited", "plain", "apps"]
    assert report.profile == "server-blackbox"


@pytest.mark.parametrize(("versions", "conforms"), [(["1.0"], True), (["1.0", "2.0"], True), (["1.7"], False)])
async def test_a_server_of_another_version_is_not_shown_to_conform(versions, conforms):
    class Other(Miniature):
        def extensions(self):
            return {EXTENSION_ID: {"versions": versions, "wire": self.wire}}

    report = await report_on(Other(), call_plan.Options(examples=1, eras=("newest",)))
    assert report.conforms is conforms
    assert report.shortcomings == ([] if conforms else [
        "the server announces 1.7, and this suite judges 1.0: take one that judges it"
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["python", "server.py"], "python server.py"),
        (["node", "a b.js", "--api-key", "sk-1", "--port", "3"], "node 'a b.js' --api-key … --port 3"),
        (["run", "--token=abc", "--key-file", "x"], "run --token=… --key-file x"),
        (["env", "API_KEY=abc", "MODE=dev", "serve"], "env API_KEY=… MODE=dev serve"),
        (["serve", "--auth", "--verbose"], "serve --auth --verbose"),
        (["-c", "key = 3"], "-c 'key = 3'"),
        (["URL=x:y@z", "serve", "MODE=dev"], "URL=… serve MODE=dev"),
        (["/opt/a=b/serve"], "/opt/a=b/serve"),
        (["env", "DATABASE_URL=postgres://u:p@db/x"], "env 'DATABASE_URL=postgres://…@db/x'"),
        (["env", "SENTRY_DSN=https://k@h/1", "serve"], "env SENTRY_DSN=… serve"),
        (["serve", "--db", "redis://:p@h:1/0"], "serve --db 'redis://…@h:1/0'"),
        (["npx", "@scope/server", "https://h/@me"], "npx @scope/server https://h/@me"),
    ],
)
def test_a_command_is_shown_without_values_that_are_secret_by_their_names(words, shown):
    assert shown_command(words) == shown
