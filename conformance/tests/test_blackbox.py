"""A run of the black-box profile against peers that misbehave around the document."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace

import anyio
import mcp_types
import pytest
from rich.console import Console
from server_reports import report_on

from xmcp_conformance.core.events import CallLasts, Event
from xmcp_conformance.profiles.server import arguments, blackbox, server_under_test
from xmcp_conformance.profiles.server.call_plan import Learned, plan
from xmcp_conformance.profiles.server.calling import Caller, asks_to_wait
from xmcp_conformance.profiles.server.catalogue import Catalogue, ListedTool, advice
from xmcp_conformance.profiles.server.checks import documents
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall, Twin
from xmcp_conformance.profiles.server.judge import catalogue_observations, exchange_observations
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import HttpPeer, InMemoryPeer, PeerUnavailable
from xmcp_conformance.profiles.server.run import Seen
from xmcp_conformance.profiles.server.schema_strategies import MANY
from xmcp_conformance.profiles.server.server_under_test import Session
from xmcp_conformance.reader import MOST_BYTES
from xmcp_conformance.reports.server_terminal import show
from xmcp_conformance.wrong.servers.miniature import Failure, Miniature, Negotiated
from xmcp_models.registry import ERROR_META_KEY, TOOL_META_KEY

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
CATALOGUE = Catalogue(
    "2025-11-25", {}, tuple(ListedTool(name, SCHEMA, {}, read_only=True) for name in ("slow", "quick"))
)


def red(report):
    return {judgement.requirement.id for judgement in report.judgements if judgement.broken}


class _ShowsRefusals(Miniature):
    """Sends a display with an error, asked or not."""

    def error(self, failure: Failure) -> str:
        shown = failure.code == "VALIDATION_FAIL"
        return super().error(failure) + (self.display({"type": "text", "payload": "no"}) if shown else "")


async def test_a_display_that_nobody_asked_for_is_seen_on_a_refusal_too():
    assert red(await report_on(_ShowsRefusals(), Options(examples=1))) == {"XMCP-DSP-021"}


class _NamesThatAct(Miniature):
    """Has a tool and a property whose names are terminal control sequences."""

    def tools(self):
        named = {"type": "object", "properties": {"\x1b[31m": {"type": "string"}}, "required": ["\x1b[31m"]}
        return {**super().tools(), "\x1b]0;owned\x07": named}

    def refuse(self, name, arguments):
        """Lets everything pass."""

    def metadata(self, name):
        return {"depends_on": {"\x1b[2J": 1}}


async def test_names_of_the_peer_cannot_act_on_the_terminal():
    report = await report_on(_NamesThatAct(), Options(examples=1))
    out = io.StringIO()
    show(report, Console(file=out, width=200, force_terminal=False))
    assert "\x1b" not in out.getvalue()
    assert not any("\x1b" in evidence.call + evidence.observation.seen for evidence in report.observed)
    assert "owned" in out.getvalue()


class _Session:
    """Answers as it is told, and keeps the calls."""

    sent = 0

    def __init__(self, answer) -> None:
        self.calls = []
        self._answer = answer

    async def call(self, call: ToolCall) -> Exchange:
        self.calls.append(call.name)
        return self._answer(call)


async def test_a_tool_that_does_not_answer_is_called_once():
    session = _Session(lambda call: Exchange(call, lost="no answer within 1 s" if call.name == "slow" else None))
    notes: list[str] = []
    calls = plan(CATALOGUE, Options(examples=3), notes.append)
    ended = [e async for e in Caller(session, notes.append, Learned()).exchanges(calls)]
    assert session.calls.count("slow") == 1
    assert session.calls.count("quick") == [e.call.name for e in ended].count("quick") > 1
    assert [e.call.name for e in ended if e.timed_out] == ["slow"]
    assert any("was not called again" in note for note in notes)


async def test_a_tool_that_blocks_its_server_is_named():
    session = _Session(lambda call: Exchange(call, lost="no answer within 1 s"))
    notes: list[str] = []
    tools = tuple(replace(CATALOGUE.tools[0], name=name) for name in ("blocks", *"bcdefg"))
    calls = plan(replace(CATALOGUE, tools=tools), Options(examples=1), notes.append)
    assert all([e.timed_out async for e in Caller(session, notes.append, Learned()).exchanges(calls)])
    assert session.calls == ["blocks", *"bcde"]
    (note,) = [note for note in notes if "block its event loop" in note]
    assert note.startswith(
        'After blocks({"n": 0}) the server answered no other call in time, and the others were not made:'
    )


@pytest.mark.parametrize(("text", "requirement"), [("<a>" + "x" * 8, "XMCP-RSP-081"), ("x" * 11, "XMCP-MCP-001")])
def test_a_text_too_long_to_read_is_judged_by_its_size_alone(text, requirement, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "LONGEST", 10)
    exchange = Exchange(ToolCall(None, "t", {}), result={"content": [{"type": "text", "text": text}]})
    assert [o.requirement for o in exchange_observations(exchange) if not o.ok] == [requirement]


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("after", [(), ("for you",)])
def test_a_document_in_several_blocks_breaks_the_binding_and_nothing_else(parts, after):
    text = '<tool_response tool_name="t"><llm_output>one two three four five six seven</llm_output></tool_response>'
    size = len(text) // parts + 1
    blocks = [text[at : at + size] for at in range(0, len(text), size)]
    content = [{"type": "text", "text": one} for one in (*blocks, *after)]
    red = [o for o in exchange_observations(Exchange(ToolCall(None, "t", {}), result={"content": content})) if not o.ok]
    assert [(o.requirement, o.seen) for o in red] == [("XMCP-MCP-001", f"a document in {parts} text blocks")]
    content[1]["text"] = "no end"
    red = [o for o in exchange_observations(Exchange(ToolCall(None, "t", {}), result={"content": content})) if not o.ok]
    assert "XMCP-RSP-001" in {o.requirement for o in red}


def test_a_document_beyond_the_sizes_of_the_specification_is_read_and_said_to_be():
    text = f'<tool_response tool_name="t"><llm_output>{"x" * MOST_BYTES}</llm_output></tool_response>'
    exchange = Exchange(ToolCall(None, "t", {}), result={"content": [{"type": "text", "text": text}]})
    red = {o.requirement for o in exchange_observations(exchange) if not o.ok}
    assert "XMCP-RSP-081" in red
    assert exchange.reading.document is not None


class _ListsNoSchema(Miniature):
    """Has a tool whose input schema is none."""

    def __init__(self, word, value):
        super().__init__()
        self._schema = {"type": "object", word: value}

    def tools(self):
        return {**super().tools(), "odd": self._schema}


@pytest.mark.parametrize(("word", "value"), [("properties", True), ("properties", ["x"]), ("required", 5)])
async def test_an_input_schema_that_is_none_costs_its_tool_and_not_the_run(word, value):
    only_once = Options(examples=1, eras=("newest",))
    report = await report_on(_ListsNoSchema(word, value), only_once)
    assert red(report) == set()
    assert any("`odd` was not called" in note for note in report.runs[0].notes)


class _EndlessList:
    """The MCP client of a server whose list of tools has always another page."""

    async def list_tools(self, *, cursor):
        return mcp_types.ListToolsResult(tools=[], next_cursor="more")


async def test_a_list_of_tools_without_an_end_is_not_taken_for_a_whole_one():
    with pytest.raises(PeerUnavailable, match="goes on after 100 pages"):
        await Session(_EndlessList(), 1.0).catalogue()


def test_a_pattern_that_backtracks_costs_its_tool_and_not_the_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arguments, "PATIENCE", 1.0)
    pattern = {"type": "string", "pattern": "^(?:(a+)+b|a{40}c)$"}
    endless = {"type": "object", "properties": {"a": pattern}, "required": ["a"]}
    tools = (ListedTool("endless", endless, {}, read_only=True), ListedTool("quick", SCHEMA, {}, read_only=True))
    notes: list[str] = []
    calls = plan(Catalogue("2025-11-25", {}, tools), Options(examples=1), notes.append)
    called = {call.name for batch in calls for call in batch}
    assert "quick" in called
    assert "endless" not in called
    assert [note for note in notes if "`endless` was not called" in note and "`pattern`" in note]


def tools_that_need(dependencies):
    """A catalogue of tools with those names, each of which depends on what stands behind its own."""
    meta = {name: {TOOL_META_KEY: {"depends_on": names}} for name, names in dependencies.items()}
    return Catalogue("2025-11-25", {}, tuple(ListedTool(name, SCHEMA, meta[name], read_only=True) for name in meta))


@pytest.mark.parametrize(
    ("dependencies", "requirements"),
    [
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"a": ["a"]}, ["XMCP-TOL-010"]),
        ({"a": ["b", "nowhere"], "b": ["b"]}, ["XMCP-TOL-010", "XMCP-TOL-010"]),
        ({"a": ["b"], "b": ["a"]}, ["XMCP-TOL-011"]),
        ({"a": ["b"], "b": ["c"], "c": ["nowhere", "b"]}, ["XMCP-TOL-010", "XMCP-TOL-011"]),
    ],
)
def test_a_name_that_is_no_other_tools_is_one_fault_and_a_circle_another(dependencies, requirements):
    observations = [
        o for o in catalogue_observations(tools_that_need(dependencies)) if o.requirement.startswith("XMCP-TOL-01")
    ]
    assert [o.requirement for o in observations if not o.ok] == requirements


@pytest.mark.parametrize(("word", "value"), [("properties", None), ("properties", 5), ("required", None)])
def test_a_schema_without_properties_takes_no_argument(word, value):
    metadata = {TOOL_META_KEY: {"display": True, "server_populated": ["user_id"]}}
    odd = ListedTool("odd", {"type": "object", word: value}, metadata, read_only=True)
    found = {o.requirement: o.ok for o in catalogue_observations(Catalogue("2025-11-25", {}, (odd,)))}
    assert (found["XMCP-TOL-001"], found["XMCP-TOL-020"], found["XMCP-DSP-020"]) == (True, True, False)


def test_what_a_part_of_all_of_requires_cannot_be_left_out():
    switch = {"type": "object", "properties": {"show_user": {"type": "boolean"}}}
    for required in ([], ["show_user"]):
        shown = ListedTool("t", {**switch, "allOf": [{"required": required}]}, {TOOL_META_KEY: {"display": True}}, True)
        found = {o.requirement: o.ok for o in catalogue_observations(Catalogue("2025-11-25", {}, (shown,)))}
        assert found["XMCP-DSP-020"] is (not required)


@pytest.mark.parametrize(
    ("flag", "right"),
    [
        ({"type": "boolean"}, True),
        ({"type": ["boolean"]}, True),
        ({"type": ["boolean", "null"]}, True),
        ({"type": ["boolean", "string"]}, False),
        ({"type": "string"}, False),
        (None, False),
    ],
)
def test_show_user_can_be_described_by_a_reference(flag, right):
    switch = {"type": "object", "properties": {"show_user": {"$ref": "#/$defs/flag"}}, "$defs": {"flag": flag}}
    defined = switch if flag else {**switch, "$defs": {}}
    shown = ListedTool("t", defined, {TOOL_META_KEY: {"display": True}}, True)
    found = {o.requirement: o.ok for o in catalogue_observations(Catalogue("2025-11-25", {}, (shown,)))}
    assert found["XMCP-DSP-020"] is right


def test_what_only_the_server_fills_in_is_sent_beside_a_fault_too():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = ListedTool("t", schema, {TOOL_META_KEY: {"server_populated": ["user"]}}, read_only=True)
    calls = [call for (call, *_) in plan(Catalogue("2025-11-25", {}, (tool,)), Options(), lambda _: None)]
    assert any(call.forged and call.intent is Intent.INVALID and call.arguments["user"] for call in calls)


def test_a_circle_is_shown_as_each_tool_with_the_one_that_it_depends_on():
    catalogue = tools_that_need({"first": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]})
    seen = next(o.seen for o in catalogue_observations(catalogue) if o.requirement == "XMCP-TOL-011")
    assert any(circle in seen for circle in ("`a → b → c → a`", "`b → c → a → b`", "`c → a → b → c`"))


def test_a_result_that_is_not_mcps_breaks_the_binding_and_nothing_else():
    exchange = Exchange(ToolCall(None, "t", {}), malformed="a result that MCP does not allow")
    assert [o.requirement for o in exchange_observations(exchange)] == ["XMCP-MCP-001"]


@pytest.mark.parametrize(
    ("unsaid", "words"),
    [
        ([()], None),
        ([("openWorldHint",), ()], "`t0` does not say openWorldHint: "),
        (
            [("destructiveHint",), ("readOnlyHint",)],
            "`t0` does not say destructiveHint; `t1` does not say readOnlyHint: ",
        ),
        ([("openWorldHint",)] * 7, "`t4` and 2 more do not say"),
    ],
)
def test_what_directories_demand_is_advice(unsaid, words):
    tools = tuple(ListedTool(f"t{n}", {}, {}, read_only=True, unsaid_hints=hints) for n, hints in enumerate(unsaid))
    said = advice(Catalogue("2026-07-28", {}, tools))
    assert (said is None) if words is None else words in said


async def test_the_advice_is_given_once_and_breaks_nothing():
    report = await report_on(Miniature(), Options(examples=1))
    notes = [note for run in report.runs for note in run.notes if "directories" in note]
    assert len(notes) == 2  # in each era
    assert "do not say destructiveHint, openWorldHint" in notes[0]
    assert report.exit_code == 0


async def test_a_tool_of_which_no_call_succeeded_is_noted():
    report = await report_on(Miniature(), Options(examples=1))
    (gap,) = [gap for gap in report.gaps if "succeeded" in gap]
    which = "`busy` (RATE_LIMIT), `vendor_fault` (X_ACME_OFF), `crash` (INTERNAL), `missing` (NOT_FOUND)"
    advised = "An `enum` or `examples` for the arguments would help, such as `Field(examples=[…])`."
    advised += " The server's log has the reason of `INTERNAL` by `error_id`, such"
    assert (
        re.sub("such as `[^`]+`; `--log` keeps that of a command.$", "such", gap)
        == f"Never succeeded: {which}. At most their errors were judged. {advised}"
    )
    assert (report.coverage.at_work, len(report.coverage.tools)) == (10, 14)


class _Choosy(Miniature):
    """Refuses every text that it is given, and shows nothing however often it is asked."""

    def run(self, name, arguments):
        if name == "echo":
            raise Failure("NOT_FOUND", "There is no such text.")
        return super().run(name, arguments)

    def shows(self, arguments):
        return False


async def test_what_other_arguments_could_change_and_what_was_never_shown_is_noted():
    report = await report_on(_Choosy(), Options(examples=1))
    assert any(gap.startswith("Never succeeded: `echo` (NOT_FOUND") and "`examples`" in gap for gap in report.gaps)
    assert "Asked to show a display, and never did: `card`, `picture`, `board`." in report.gaps
    assert not report.shortcomings  # nobody required them


class _Unannounced(Miniature):
    """Says nothing of the extension."""

    def extensions(self):
        return {}


async def test_of_a_server_that_announces_nothing_only_that_is_judged_and_what_to_do_is_said():
    report = await report_on(_Unannounced(), Options(examples=1))
    assert {judgement.requirement.id for judgement in report.judgements if judgement.occasions} == {"XMCP-CNF-002"}
    assert [run.calls for run in report.runs] == [0, 0]
    assert all("`use_xmcp(mcp)`" in note for run in report.runs for note in run.notes)


def test_a_peer_is_named_without_the_credentials_in_its_url():
    peer = HttpPeer("https://ann:hunter2@example.org:8443/mcp?tenant=7")
    assert str(peer) == "https://example.org:8443/mcp?tenant=…"


class _MakesRows(Miniature):
    """Has a tool that makes as many rows as it is told, and takes its time for a million."""

    def __init__(self, seconds):
        super().__init__()
        self.asked = []
        self._seconds = seconds

    def tools(self):
        rows = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
        return {**super().tools(), "rows": rows}

    def run(self, name, arguments):
        if name != "rows":
            return super().run(name, arguments)
        self.asked.append(arguments["days"])
        if abs(arguments["days"]) == MANY:
            time.sleep(self._seconds)
        return "rows", None


@pytest.mark.parametrize("seconds", [0.0, 1.1])
async def test_huge_numbers_are_sent_only_to_a_tool_that_makes_nothing_of_a_million(seconds):
    server = _MakesRows(seconds)
    await report_on(server, Options(examples=1, eras=("newest",)))
    assert MANY in server.asked
    assert any(abs(days) > MANY for days in server.asked) is (seconds == 0.0)


class _HangsOnce(Miniature):
    """Has a tool that never answers."""

    def __init__(self):
        super().__init__()
        self.hung = 0

    async def pause(self, name):
        if name == "listing":
            self.hung += 1
            await anyio.sleep_forever()


def test_a_tool_that_takes_show_user_is_asked_to_show_whatever_it_says_of_itself():
    schema = {"type": "object", "properties": {"show_user": {"type": "boolean"}}}
    tool = ListedTool("orders", schema, {}, read_only=True)
    calls = [call for (call, *_) in plan(Catalogue("2025-11-25", {}, (tool,)), Options(), lambda _: None)]
    assert not tool.displays
    asked = [call.arguments.get("show_user") for call in calls if call.name == "orders"]
    assert [wish for wish in (True, False) if any(one is wish for one in asked)] == [True, False]


async def test_a_tool_that_does_not_answer_is_called_once_in_both_eras_together():
    server = _HangsOnce()
    report = await report_on(server, Options(examples=1, tool_timeouts=(("listing", 0.5),)))
    assert server.hung == 1
    assert report.exit_code == 1


async def test_a_note_about_a_tool_that_hangs_on_a_huge_number_says_what_helps():
    session = _Session(lambda call: Exchange(call, lost="no answer within 1 s"))
    notes: list[str] = []
    call = ToolCall(CATALOGUE.tools[0], "slow", {"days": 2**53 - 1})
    assert [e async for e in Caller(session, notes.append, Learned()).exchanges([(call,)])]
    assert "A `maximum` in its input schema would keep such numbers away." in notes[0]


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"retryable": True, "retry_after_ms": 250}, 0.25),
        ({"retryable": True}, 0.0),
        ({"retryable": True, "retry_after_ms": 10**400}, 10.0),
        ({"retryable": True, "retry_after_ms": True}, None),
        ({"retryable": True, "retry_after_ms": "soon"}, None),
        ({"retryable": False, "retry_after_ms": 250}, None),
    ],
)
def test_how_long_an_error_asks_to_wait(error, seconds):
    exchange = Exchange(ToolCall(None, "t", {}), result={"_meta": {ERROR_META_KEY: error}, "content": []})
    assert asks_to_wait(exchange) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('<tool_response><error code="A" retryable="true" retry_after_ms="250">', 0.25),
        ('<tool_response><error code="A" retryable="false">', None),
        ('<tool_response><llm_output><error retryable="true">', None),
        ("<error " + "x" * 100_000, None),
        ('<error retryable="true" ' + "retry_after_ms=" * 20_000, 0.0),
    ],
)
def test_how_long_a_document_asks_to_wait(text, seconds):
    exchange = Exchange(ToolCall(None, "t", {}), result={"content": [{"type": "text", "text": text}]})
    assert asks_to_wait(exchange) == seconds


class _TellsOnlyPlainClients(Negotiated):
    """Names the wrapper of a value in the listing for plain clients only."""

    def catalogue(self, *, declared, handshake, apps):
        listed = super().catalogue(declared=declared, handshake=handshake, apps=apps)
        for tool in listed.tools:
            if declared and tool.output_schema and tool.meta:
                tool.meta[TOOL_META_KEY].pop("wrapped_in", None)
                tool.output_schema.pop("x-fastmcp-wrap-result", None)
        return listed


async def test_a_wrapper_that_only_plain_clients_are_told_of_is_seen():
    assert "XMCP-MCP-053" in red(await report_on(_TellsOnlyPlainClients(), Options(examples=1, eras=("newest",))))


@pytest.mark.parametrize(("patience", "told"), [(0.0, True), (60.0, False)])
async def test_a_call_that_lasts_is_told_with_its_tool_and_how_long_it_is_waited_for(patience, told, monkeypatch):
    monkeypatch.setattr(server_under_test, "_PATIENCE", patience)
    events: list[Event] = []
    options = Options(calls=1, examples=1, include=("picture",), tool_timeouts=(("pic*", 7.0),), eras=("newest",))
    await blackbox.check([InMemoryPeer(Miniature().server())], options, events.append)
    lasting = {(event.tool, event.limit) for event in events if isinstance(event, CallLasts)}
    assert (("picture", 7.0) in lasting) is told


async def test_answers_beside_calls_that_hang_are_kept_and_the_server_is_not_called_silent():
    lost = {"slow", *"abcd"}
    session = _Session(lambda call: Exchange(call, lost="no answer within 1 s" if call.name in lost else None))
    batch = tuple(ToolCall(None, name, {}) for name in ("slow", *"abcd", "quick"))
    notes: list[str] = []
    ended = [e async for e in Caller(session, notes.append, Learned()).exchanges([batch, batch])]
    assert [e.call.name for e in ended if not e.timed_out] == ["quick", "quick"]
    assert not [note for note in notes if "answered no other call" in note]


class AsideFirst(Negotiated):
    def result(self, document, *, failed, note=""):
        found = super().result(document, failed=failed, note=note or "For you alone.")
        return found.model_copy(update={"content": found.content[::-1]})


class WrapperOfOneEra(Negotiated):
    def catalogue(self, *, declared, handshake, apps):
        tools = super().catalogue(declared=declared, handshake=handshake, apps=apps).tools
        for tool in tools if handshake else ():
            for said in (tool.meta or {}).values():
                said.pop("wrapped_in", None)
            if tool.output_schema is not None:
                tool.output_schema.pop("x-fastmcp-wrap-result", None)
        return mcp_types.ListToolsResult(tools=tools)


@pytest.mark.parametrize(("server", "broken"), [(AsideFirst, "XMCP-MCP-001"), (WrapperOfOneEra, "XMCP-MCP-053")])
async def test_the_place_of_a_document_and_a_wrapper_in_one_era_are_seen(server, broken):
    report = await report_on(server(), Options(examples=1))
    assert {judgement.requirement.id for judgement in report.judgements if judgement.broken} == {broken}


async def test_the_second_era_gets_half_of_the_calls_and_a_plain_client_there_a_few():
    report = await report_on(Negotiated(), Options(examples=8, calls=80), whole=True)
    calls = {(run.started.protocol_version, run.started.client): run.calls for run in report.runs}
    first, second = (max(version for version, _ in calls), min(version for version, _ in calls))
    assert calls[first, "plain"] == calls[first, "declared"]
    assert 0.4 * calls[first, "declared"] < calls[second, "declared"] < 0.7 * calls[first, "declared"]
    assert calls[second, "plain"] < 0.8 * calls[second, "declared"]


def test_a_tool_that_says_what_it_filled_in_is_called_by_a_plain_client_too():
    seen = Seen()
    calls = [ToolCall(None, f"tool{number}", {}) for number in range(9)]
    for call in calls:
        seen.samples[call.name, False] = call
        seen.twins[call.key] = Twin((), call.name in ("tool1", "tool7"), failed=False)
    assert [call.name for call in seen.few()] == ["tool0", "tool1", "tool2", "tool7"]
