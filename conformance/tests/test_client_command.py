"""A client behind a command is judged as one in this process is; whatever the program does, it is bounded and ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jsonschema_rs
import pytest
from left_processes import left
from rich.console import Console

from xmcp_conformance.core.events import Event, Noted
from xmcp_conformance.profiles.client.adapter import ModelAnswer, NoSuchChat
from xmcp_conformance.profiles.client.command import check_command as checking
from xmcp_conformance.profiles.client.command import program
from xmcp_conformance.profiles.client.command.adapter import Limits
from xmcp_conformance.profiles.client.command.check_command import Driving, check_command
from xmcp_conformance.profiles.client.command.hosting import Host
from xmcp_conformance.profiles.client.command.model_host import models_app
from xmcp_conformance.profiles.client.command.program import SCHEMA, Program
from xmcp_conformance.profiles.client.driver import observe
from xmcp_conformance.profiles.client.judge import violations
from xmcp_conformance.profiles.client.observer import ChatScript, _chat_of, _offered_name
from xmcp_conformance.profiles.client.scenario import Conversation, Scenario, supported, with_fixed_options
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.trace import ChatEnded, Setup, Trace
from xmcp_conformance.reports.case_report import SCENARIOS as BY_SCENARIOS
from xmcp_conformance.reports.case_report import CaseReport
from xmcp_conformance.reports.case_terminal import show
from xmcp_conformance.wrong.clients import miniature

PROGRAM = Path(__file__).with_name("client_program.py")
PROTOCOL: dict[str, Any] = json.loads(SCHEMA.read_text())
QUICK = {name: SCENARIOS[name] for name in ("a plain answer to an earlier conversation", "one id in every turn")}
UNSEEN = sum(any(act.kind == "down" for acts in one.acts.values() for act in acts) for one in SCENARIOS.values())
"""Number of scenarios in which a call never arrives at its server."""
ONE = {"one id in every turn": SCENARIOS["one id in every turn"]}


OF_LEVEL_1 = {name: SCENARIOS[name] for name in ("two calls and text beside them", "a display beside an error")}
DECLARED = '{"extensions": {EXTENSION_ID: {"versions": ["1.0"]}}}'
WITHOUT_DOCUMENTS = '{"extensions": {EXTENSION_ID: {"versions": ["1.0"], "documents": False}}}'


def command_of(*words: str) -> list[str]:
    return [sys.executable, str(PROGRAM), *words]


def report_on(words: Sequence[str], scenarios: Mapping[str, Scenario] = QUICK, **driving: Any) -> CaseReport:
    report = CaseReport(BY_SCENARIOS)
    asyncio.run(check_command(words, scenarios, report.add, driving=Driving(**{"jobs": 2, "era": "newest", **driving})))
    return report


def broken(report: CaseReport) -> dict[str, set[str]]:
    return {
        name: {fault.observation.requirement for fault in case.faults}
        for name, case in report.seen.items()
        if case.faults
    }


@pytest.mark.parametrize("name", ["Miniature", "LosesText", "CallsByOfferedName"])
def test_a_client_behind_a_command_is_judged_as_it_is_in_this_process(name: str) -> None:
    scenarios = {
        one: scenario
        for one, scenario in supported(SCENARIOS, miniature.FEATURES).items()
        if not any(act.kind == "down" for acts in scenario.acts.values() for act in acts)
    }
    adapter = miniature.MiniatureAdapter(getattr(miniature, name))
    expected = {one: {v.requirement for v in violations(observe(s, adapter))} for one, s in scenarios.items()}
    report = report_on(command_of(name), SCENARIOS, jobs=6)
    assert report.not_judged == []
    assert broken(report) == {one: ids for one, ids in expected.items() if ids}
    assert (report.peer, set(report.seen)) == (name, set(scenarios))
    (short,) = report.shortcomings
    assert re.fullmatch(r"`dependencies` is what every client needs, and \d\d scenarios about it were not run", short)
    assert report.exit_code == 1
    assert [note.partition(" for ")[0].partition(":")[0] for note in report.notes] == [
        f"{UNSEEN} scenarios not run",
        f"{len(SCENARIOS) - len(scenarios) - UNSEEN} scenarios not run",
    ]
    assert "`dependencies` " in report.notes[1]


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("ends", "the program ended with 1; it wrote to stderr: out of cheese"),
        ("hangs", "no answer to `start` within 10 s"),
        ("talks", "a line that is no JSON: `Hello!`"),
        ("another id", "an answer that nobody asked for: "),
        ("no member", "the message `{"),
        ("floods", "a line of more than 64 MiB, which is not read"),
        ("endless", "a message about a chat that has not begun"),
        ("other chat", "a message about a chat that has not begun"),
    ],
)
def test_a_program_that_does_not_do_as_the_protocol_says(fault: str, seen: str) -> None:
    # Only one that hangs is to run out of time, however slow the machine is.
    limits = Limits(10.0 if fault == "hangs" else 60.0)
    report = report_on(command_of("Miniature", fault), ONE, limits=limits)
    assert [(event.peer, event.reason[: len(seen)]) for event in report.not_judged] == [(*ONE, seen)]
    assert report.exit_code == 3


def test_events_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program, "_MOST_LINES", 50)
    text = PROGRAM.read_text().replace("number == 2", "request['command'] == 'chat'")
    path = tmp_path / "endless.py"
    path.write_text(text)
    report = report_on([sys.executable, str(path), "Miniature", "endless"], ONE)
    assert [event.reason for event in report.not_judged] == ["more than 50 lines in one scenario"]


LONGER = "; --chat-timeout allows a client longer that is still at it"


def test_a_chat_that_does_not_end_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "silent.py"
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", "None"))
    report = report_on([sys.executable, str(path), "Miniature"], ONE, limits=Limits(60.0, 1.0))
    assert [event.reason for event in report.not_judged] == [f"no answer to `chat` of chat 0 within 1 s{LONGER}"]
    said = StringIO()
    show(report, Console(file=said, width=80))
    assert "  0 of 1 scenario without a fault\n" in said.getvalue()


def test_the_first_notes_are_printed_also_if_quiet_and_the_others_are_counted() -> None:
    said = StringIO()
    report = CaseReport(BY_SCENARIOS, notes=[f"note {number}" for number in range(1, 13)])
    show(report, Console(file=said, width=80), quiet=True)
    lines = said.getvalue().splitlines()
    shown = [line for line in lines if line.startswith("note: ")]
    assert shown == [f"note: note {number}" for number in range(1, len(shown) + 1)] != []
    assert f"and {12 - len(shown)} more notes, which --json has" in lines


def test_a_client_that_waits_for_a_tool_for_ever_is_judged_by_its_call(tmp_path: Path) -> None:
    path = tmp_path / "patient.py"
    patient = '**{**request["setup"], "tool_timeout": 1e9})'
    path.write_text(PROGRAM.read_text().replace('**request["setup"])', patient))
    slow = SCENARIOS["a tool that is too slow"]
    slow = replace(slow, setup=replace(slow.setup, tool_timeout=1.0))
    report = report_on([sys.executable, str(path), "Miniature"], {"slow": slow}, limits=Limits(60.0, 4.0))
    assert broken(report) == {"slow": {"XMCP-CLI-041"}}
    assert report.notes == [f"`slow`: no answer to `chat` of chat 0 within 4 s{LONGER}"]


def test_a_chat_that_ends_with_an_exception_is_a_fault_and_the_program_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "raises.py"
    text = PROGRAM.read_text().replace("async def run(", "async def as_before(")
    raising = """
async def run(client, request):
    if "0" in request["query"]:
        return say({"id": request["id"], "history": [], "failure": "crashed", "why": "ZeroDivisionError"})
    await as_before(client, request)


def at_fault("""
    path.write_text(text.replace("def at_fault(", raising))
    report = report_on([sys.executable, str(path), "Miniature"], jobs=1)
    why = "chat 0 ended with an exception: ZeroDivisionError"
    assert set().union(*broken(report).values()) == {"XMCP-CLI-133"}
    seen = {fault.observation.seen for case in report.seen.values() for fault in case.faults}
    assert seen == {"the chat ended with a failure (crashed: `ZeroDivisionError`)"}
    assert report.notes == [f"`{name}`: {why}" for name in QUICK]
    assert (report.not_judged, report.exit_code) == ([], 1)


@pytest.mark.parametrize(("declared", "fixed"), [("{}", '{"level": 1}'), (WITHOUT_DOCUMENTS, "{}")])
def test_a_client_of_level_1_gets_plain_results_over_http(tmp_path: Path, declared: str, fixed: str) -> None:
    path = tmp_path / "of_level_1.py"
    text = PROGRAM.read_text().replace('"features": features}', f'"features": features, "fixed": {fixed}}}')
    assert DECLARED in text
    path.write_text(text.replace(DECLARED, declared))
    report = report_on([sys.executable, str(path), "Miniature"], OF_LEVEL_1)
    assert broken(report) == {}
    assert (report.notes, report.not_judged, report.exit_code) == ([], [], 0)


def test_what_a_program_says_of_a_failure_is_bounded_in_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "refuses.py"
    says = '{"id": request["id"], "history": [], "failure": "refused", "why": "api_key=abcd1234 " + 9999 * "x"}'
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", f"say({says})"))
    ignored: list[Event] = []
    judged = check_command([sys.executable, str(path), "Miniature"], ONE, ignored.append, driving=Driving(era="newest"))
    (trace,) = asyncio.run(judged).values()
    (ended,) = (record for record in trace.records if isinstance(record, ChatEnded))
    assert ended.why is not None
    assert ended.why.startswith("api_key=[removed] xxx")
    assert len(ended.why) == 500


def test_a_client_that_refuses_every_chat_does_not_conform_and_its_reason_is_told(tmp_path: Path) -> None:
    path = tmp_path / "refuses.py"
    says = '{"id": request["id"], "history": [], "failure": "refused", "why": "Not today with api_key=abcd1234."}'
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", f"say({says})"))
    report = report_on([sys.executable, str(path), "Miniature"])
    assert set().union(*broken(report).values()) == {"XMCP-CLI-133"}
    assert {*report.notes} == {f"`{name}`: chat 0 was refused: Not today with api_key=[removed]" for name in QUICK}
    assert (report.not_judged, report.exit_code) == ([], 1)


def test_a_program_that_fails_again_and_again_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "_MOST_FAULTS", 2)
    quick = {name: one for name, one in supported(SCENARIOS, miniature.FEATURES).items() if len(one.chats) == 1}
    report = report_on(command_of("Miniature", "ends"), quick, jobs=1)
    assert len(report.not_judged) == 3, report.not_judged
    assert report.not_judged[-1].reason.startswith("the program failed in 2 scenarios, so ")
    assert report.exit_code == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no-such-command-anywhere"], "the command does not exist or cannot be run; check the spelling and PATH"),
        ([sys.executable, "-c", "print('hi')"], "a line that is no JSON: `hi`"),
        ([sys.executable, "-c", "pass"], "the program ended with 0"),
        ([sys.executable, "-c", "raise KeyError(1)"], "the program ended with 1; it wrote to stderr: KeyError: 1"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "no answer to `hello` within 1 s"),
        ([sys.executable, "-c", 'print(\'{"id": 1, "protocol": 2}\')'], 'the message `{"id": 1, "protocol": 2}`: '),
        ([sys.executable, "-c", "print('NaN')"], "a line that is no JSON: `NaN`"),
    ],
)
def test_what_does_not_speak_the_protocol_is_said_in_a_sentence(words: list[str], why: str) -> None:
    report = report_on(words, limits=Limits(1.0 if "sleep" in words[-1] else 60.0))
    assert report.exit_code == 3
    assert [event.reason[: len(why)] for event in report.not_judged] == [why]
    assert report.seen == {}


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX")
@pytest.mark.parametrize("fault", ["stays", "forks"])
def test_no_process_is_left(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"client-{time.monotonic_ns()}"
    monkeypatch.setenv("MARK", mark)
    monkeypatch.setattr(program, "_STOP_SECONDS", 0.5)
    assert set(report_on(command_of("Miniature", fault), ONE).seen) == set(ONE)
    assert left(mark) == []


def test_what_is_broken_beside_others_is_judged_alone(tmp_path: Path) -> None:
    """Only the program that is started first is wrong, as on a machine that is busy at first."""
    mark = tmp_path / "begun"
    path = tmp_path / "once.py"
    choice = f"name if os.path.exists({str(mark)!r}) else 'LosesText'); open({str(mark)!r}, 'a').close()\n"
    path.write_text(PROGRAM.read_text().replace("getattr(miniature, name)\n", f"getattr(miniature, {choice}"))
    names = ("two calls and text beside them", "one id in every turn")
    scenarios = {name: SCENARIOS[name] for name in names}
    report = report_on([sys.executable, str(path), "Miniature"], scenarios, jobs=2)
    assert report.notes == [
        "`two calls and text beside them` was right only when it was run alone: its times depend on the machine."
    ]
    assert (broken(report), report.exit_code) == ({}, 0)


@pytest.mark.parametrize("times", [2, 9])
def test_what_is_late_beside_others_is_judged_alone_and_a_program_that_hangs_is_not_waited_for_long(
    tmp_path: Path, times: int
) -> None:
    starts = tmp_path / "starts"
    path = tmp_path / "late.py"
    path.write_text(
        f"import os, runpy, sys\nwith open({str(starts)!r}, 'a') as file:\n    file.write('x')\n"
        f"late = os.path.getsize({str(starts)!r}) <= {times}\n"
        f"sys.argv = [{str(PROGRAM)!r}, 'Miniature', *(['hangs'] if late else [])]\n"
        f"sys.path.insert(0, {str(PROGRAM.parent)!r})\nrunpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )
    names = ("two calls and text beside them", "one id in every turn")
    scenarios = {name: SCENARIOS[name] for name in names}
    report = report_on([sys.executable, str(path)], scenarios, jobs=2, limits=Limits(10.0))
    if times == 2:
        assert (len(report.notes), report.not_judged, report.exit_code) == (1, [], 0)
        assert "was right only when it was run alone" in report.notes[0]
    else:
        assert {event.reason for event in report.not_judged} == {"no answer to `start` within 10 s"}
        assert starts.stat().st_size == 4  # two, the first again because it had only said hello, and one alone


def test_one_that_is_late_alone_keeps_no_other_from_being_judged_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [*SCENARIOS][:4]
    runs: list[str] = []

    async def run(_: Any, name: str, _scenario: Any, _program: Any) -> tuple[None, Any]:
        runs.append(name)
        is_first = runs.count(name) == 1
        late = not is_first and name == names[0]
        trace = Trace(
            Setup(servers=(), tools=()), () if is_first else (ChatEnded(chat="0", result=None, history=(), given=None),)
        )
        return None, checking._Seen(trace, "no answer" if late else "", late=late)

    monkeypatch.setattr(checking._Crew, "_run", run)
    monkeypatch.setattr(checking, "_is_right", lambda one: bool(one.trace.records))
    crew = checking._Crew(["x"], Driving(jobs=4), 4)
    seen = asyncio.run(crew.run({name: SCENARIOS[name] for name in names}, None))  # type: ignore[arg-type]
    assert [runs.count(name) for name in names] == [2, 2, 2, 2]
    assert [bool(seen[name].trace.records) for name in names] == [False, True, True, True]


def test_a_request_that_the_servers_refused_is_told_beside_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "lists.py"
    text = PROGRAM.read_text().replace('"params": {**params, "_meta": meta}', '"params": []')
    path.write_text(text)
    report = report_on([sys.executable, str(path), "Miniature"], ONE)
    assert report.exit_code != 0
    told = " ".join([*report.notes, *(event.reason for event in report.not_judged)])
    assert "server 0 refused `" in told, told
    assert "(HTTP 400): " in told, told


def test_all_that_is_said_has_the_form_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    tell = Program.tell

    def kept(self: Program, message: Mapping[str, Any]) -> None:
        told.append(json.loads(json.dumps(message)))
        tell(self, message)

    monkeypatch.setattr(Program, "tell", kept)
    names = ("displays end a chat", "a chat is cancelled in one call")
    report = report_on(command_of("Miniature"), {name: SCENARIOS[name] for name in names})
    assert report.exit_code == 0
    assert {message["command"] for message in told} == {"hello", "start", "chat", "cancel", "stop", "answer"}
    form = jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/command", "$defs": PROTOCOL["$defs"]})
    for message in [*told, {"command": "refresh", "id": 1}]:
        form.validate(message)


def test_an_option_that_is_fixed_takes_the_place_of_the_default_and_of_no_other_value() -> None:
    continues, exits = SCENARIOS["a large display"], SCENARIOS["displays end a chat"]
    assert (continues.setup.display, exits.setup.display) == ("continue", "exit")
    assert with_fixed_options(continues, {"display": "exit"}) is None
    assert with_fixed_options(continues, {"display": "continue", "max_turns": 3}) is not None
    changed = with_fixed_options(exits, {"display": "continue"})
    assert changed == replace(exits, setup=replace(exits.setup, display="continue"))


def test_a_trace_says_how_precise_its_clock_is() -> None:
    events: list[Event] = []
    driving = Driving(jobs=1, era="newest")
    traces = asyncio.run(check_command(command_of("Miniature"), ONE, events.append, driving=driving))
    (trace,) = traces.values()
    assert trace.precision == checking.PRECISION
    written = json.loads(json.dumps(trace.to_json()))
    assert json.loads(json.dumps(Trace.of(written).to_json())) == written
    assert not any(isinstance(event, Noted) for event in events)


def test_the_list_that_a_client_got_is_judged_only_where_the_program_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "discreet.py"
    path.write_text(PROGRAM.read_text().replace('"given": given, ', ""))
    for command, judged in ((PROGRAM, True), (path, False)):
        report = report_on([sys.executable, str(command), "Miniature"])
        (one,) = [one for one in report.judgements if one.requirement.id == "XMCP-CLI-001"]
        assert (one.occasions > 0) == judged


async def test_a_host_refuses_until_it_serves_and_breaks_what_it_is_told_to() -> None:
    host = Host()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            return
        if scope["path"] == "/cut":
            host.cut(scope["client"])
            await asyncio.sleep(60)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with httpx2.AsyncClient() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(host.url)
        await host.serve(app)
        assert (await http.get(host.url)).status_code == 204
        with pytest.raises(httpx2.TransportError):
            await http.get(f"{host.url}/cut")
        assert (await http.get(host.url)).status_code == 204
        await host.close()
        with pytest.raises(httpx2.ConnectError):
            await http.get(host.url)


def test_a_client_that_only_says_that_its_model_failed_does_not_conform(tmp_path: Path) -> None:
    path = tmp_path / "says.py"
    says = '{"id": request["id"], "history": [], "failure": "provider"}'
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", f"say({says})"))
    report = report_on([sys.executable, str(path), "Miniature"])
    assert set().union(*broken(report).values()) == {"XMCP-CLI-073", "XMCP-CLI-133"}
    assert (report.not_judged, report.exit_code) == ([], 1)


def test_a_client_that_never_asks_its_model_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "idle.py"
    says = """{
        "id": request["id"],
        "history": [*request["history"], {"role": "user", "content": request["query"]}],
        "result": {"answer": None, "stop_reason": "empty", "displays": []},
    }"""
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", f"say({says})"))
    report = report_on([sys.executable, str(path), "Miniature"])
    reason = "no call reached a server in any scenario, so hardly anything was seen"
    assert ([event.reason for event in report.not_judged], broken(report)) == ([reason], {})
    assert report.exit_code == 3


def test_what_a_client_sends_ends_no_run(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    history = '[{"role": "assistant", "tool_calls": ["oops"]}]'
    result = '{"answer": None, "stop_reason": "stop", "displays": [{"type": 5}], "usage": 7}'
    odd = f'say({{"id": request["id"], "history": {history}, "result": {result}}})'
    path.write_text(PROGRAM.read_text().replace("asyncio.create_task(run(client, request))", odd))
    report = report_on([sys.executable, str(path), "Miniature"])
    assert {event.reason.partition(" (")[0] for event in report.not_judged} <= {
        "what the client sent has a form that the checks do not read",
        "no call reached a server in any scenario, so hardly anything was seen",
    }
    assert report.exit_code in (1, 3)


def test_a_program_that_ends_after_a_scenario_failed_in_that_one(tmp_path: Path) -> None:
    path = tmp_path / "ends.py"
    stopped = 'case "refresh" | "stop":\n                say({"id": request["id"]})\n'
    path.write_text(PROGRAM.read_text().replace(stopped, f"{stopped}                sys.exit(3)\n"))
    report = report_on([sys.executable, str(path), "Miniature"], jobs=1)
    failed = [(event.peer, event.reason) for event in report.not_judged]
    assert [reason for _, reason in failed] == ["the program ended with 3"] * (len(QUICK) - 1)
    assert {name for name, _ in failed} < set(QUICK), "after the last one nothing is lost"
    assert set(report.seen) == set(QUICK), "the next one was run in a new program"


class _Heard:
    """A model that remembers how it was asked."""

    def __init__(self) -> None:
        self.counts: list[bool] = []

    async def answer(self, messages: Any, tools: Any, *, whole: bool = False, counts: bool = True) -> ModelAnswer:
        self.counts.append(counts)
        return ModelAnswer(["hello"], tokens=7)


@pytest.mark.slow
async def test_the_model_reads_what_clients_of_other_languages_send() -> None:
    model, host = _Heard(), Host()
    await host.serve(models_app([model], host.cut))
    address = urlsplit(host.url)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "q"}]}).encode()

    def ask(connection: http.client.HTTPConnection, content: bytes, **headers: str) -> dict[str, Any]:
        connection.request("POST", "/0/v1/chat/completions", content, {"Content-Type": "application/json", **headers})
        answered = connection.getresponse()
        read = answered.read()
        assert answered.status == 200, read
        return json.loads(read) if not read.startswith(b"data:") else {"text": read.decode()}

    def asked() -> list[str]:
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
        first = ask(connection, body)
        time.sleep(6)  # uvicorn would close it after five seconds, as long as some scenarios wait
        # What the client of the JDK sends of its own accord.
        offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAA"}
        second = ask(connection, body, **offer)
        connection.close()
        other = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
        streamed = ask(other, json.dumps({**json.loads(body), "stream": True}).encode())
        other.close()
        assert "usage" not in streamed["text"]
        assert "usage" in first
        return [first["id"], second["id"]]

    one, other = await asyncio.to_thread(asked)
    assert one != other
    assert model.counts == [True, True, False], "a client that is not told the tokens cannot count them"
    await host.close()


def test_a_request_that_quotes_the_query_is_none_of_the_chat() -> None:
    long = "Was Ada's order of the third of May sent, and if it was, when does it arrive at her door?\n\nTell me."
    scripts = {name: ChatScript(name, Conversation(query=query)) for name, query in (("0", "query"), ("1", long))}
    for content in ("query chat=0", [{"type": "text", "text": "query chat=0"}]):
        assert _chat_of([{"role": "user", "content": content}], scripts, has_tools=False) == "0"
    assert _chat_of([{"role": "user", "content": f"{long} chat=1"}], scripts, has_tools=False) == "1"
    title = [{"role": "user", "content": "Write a title for this chat, in at most five words: query chat=0 (end)"}]
    with pytest.raises(NoSuchChat):
        _chat_of(title, scripts, has_tools=False)
    assert _chat_of([{"role": "user", "content": "At noon: query chat=0. Be brief."}], has_tools=True) == "0"
    with pytest.raises(NoSuchChat):
        _chat_of([{"role": "user", "content": "hello"}])


@pytest.mark.parametrize("description", ["tool 1", "tool 1 (of the server x)", "Called as: tool 1"])
def test_a_tool_is_found_by_its_description_whatever_a_client_adds(description: str) -> None:
    described = {"type": "function", "function": {"name": "x__b", "description": description}}
    other = {"type": "function", "function": {"name": "c", "description": "tool 11"}}
    assert _offered_name(1, [{"type": "function", "function": {"name": "a"}}, other, described]) == "x__b"
    assert _offered_name(2, [described, other]) == "missing_2"
