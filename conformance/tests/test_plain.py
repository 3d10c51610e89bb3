"""A run as a plain client: what a server with the wire `negotiated` must send, and how a plain result is read."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from server_reports import report_on
from support.http_host import hosted

from xmcp_conformance.profiles.server.catalogue import Catalogue, ListedTool
from xmcp_conformance.profiles.server.checks.documents import replaced_code_points
from xmcp_conformance.profiles.server.checks.plain_results import begins_a_document
from xmcp_conformance.profiles.server.checks.required_form import RequiredForm, required_form
from xmcp_conformance.profiles.server.exchange import Exchange, Intent, ToolCall, Twin
from xmcp_conformance.profiles.server.judge import catalogue_observations, exchange_observations
from xmcp_conformance.profiles.server.options import Options
from xmcp_conformance.profiles.server.peers import HttpPeer, PeerUnavailable
from xmcp_conformance.profiles.server.server_under_test import Session
from xmcp_conformance.reader import Document
from xmcp_conformance.wrong.registry import server_mutants
from xmcp_conformance.wrong.servers.miniature import Miniature, Negotiated, Plain
from xmcp_models.registry import DISPLAY_META_KEY, EXTENSION_ID, PREFIX, RESULT_META_KEY, TOOL_META_KEY

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "show_user": {"type": "boolean"}}}
ENVELOPE = {"type": "text", "payload": "hello"}
ERROR = {"code": "TIMEOUT", "message": "too slow", "retryable": True, "category": "timeout"}
UNFORESEEN = {**ERROR, "code": "INTERNAL", "category": "internal", "retryable": False, "meta": {"error_id": "1"}}
DOCUMENT = '<tool_response tool_name="t"><llm_output>hi</llm_output></tool_response>'


def tool(**metadata):
    return ListedTool("t", SCHEMA, {TOOL_META_KEY: metadata}, read_only=True)


def result(text="hi", *, content=None, is_error=False, data=None, **meta):
    mark = {"version": "1.0", "form": "plain"}
    members = {f"{PREFIX}{name}": value for name, value in ({"result": mark} | meta).items() if value is not None}
    blocks = [{"type": "text", "text": text}] if content is None else content
    return {"content": blocks, "isError": is_error, "structuredContent": data, "_meta": members}


def broken(result, call=None, *, owes=RequiredForm.PLAIN, twin=None):
    exchange = Exchange(call or ToolCall(tool(), "t", {}), result=result, twin=twin)
    return {o.requirement for o in exchange_observations(exchange, ["1.0"], owes) if not o.ok}


FOR_THE_USER = {"type": "text", "text": "only you", "annotations": {"audience": ["user"]}}
OWN = {"type": "text", "text": "hi"}
VALUES = {"type": "text", "text": 'user_id "u-1", token', "_meta": {f"{PREFIX}server_populated": True}}
POPULATED = {"values": {"user_id": "u-1"}, "redacted": ["token"]}
SHOWN = ToolCall(tool(display=True), "t", {"show_user": True})
FILLED = ToolCall(tool(server_populated=["user_id"]), "t", {})


@pytest.mark.parametrize(
    ("plain", "call", "requirement"),
    [
        (result(content=[], is_error=True, error=ERROR), None, "XMCP-MCP-020"),
        (result("TIMEOUT", is_error=True, error=ERROR), None, "XMCP-MCP-020"),
        (result(data=ENVELOPE), SHOWN, "XMCP-MCP-021"),
        (result(view=ENVELOPE), SHOWN, "XMCP-MCP-021"),
        (result('{"payload": "hello", "type": "text"}'), SHOWN, "XMCP-MCP-021"),
        (result(display={**ENVELOPE, "alt": "Hello."}), SHOWN, "XMCP-MCP-047"),
        (result(), SHOWN, "XMCP-DSP-022"),
        (result(display=ENVELOPE), ToolCall(tool(display=True), "t", {}), "XMCP-DSP-021"),
        (
            result(display=ENVELOPE),
            ToolCall(tool(display=True), "t", {"arguments": {"show_user": False}}),
            "XMCP-DSP-021",
        ),
        (result(display={"type": "map", "payload": {}}), SHOWN, "XMCP-DSP-010"),
        (result("it failed", is_error=True), None, "XMCP-MCP-022"),
        (result("TIMEOUT: too slow", error=ERROR), None, "XMCP-MCP-022"),
        (result("INTERNAL: too slow", is_error=True, error=UNFORESEEN, data={}), None, "XMCP-MCP-004"),
        (result("x y", is_error=True, error={**ERROR, "code": "x y"}), None, "XMCP-MCP-024"),
        (result("x", is_error=True, error="TIMEOUT"), None, "XMCP-MCP-024"),
        (result("TIMEOUT: too slow", is_error=True, error={**ERROR, "category": "internal"}), None, "XMCP-ERR-010"),
        (result("hi", result={"version": "0.9", "form": "plain"}), None, "XMCP-MCP-042"),
        (result("hi", result={"version": "1.0", "form": "document"}), None, "XMCP-MCP-042"),
        (result("hi", result="1.0"), None, "XMCP-MCP-042"),
        (result("hi", result=None), None, "XMCP-MCP-042"),
        (result(server_populated={"values": {"user_id": "u-1"}}), FILLED, "XMCP-MCP-048"),
        (result(), FILLED, "XMCP-MCP-025"),
        (result(server_populated={"values": {}}), FILLED, "XMCP-TOL-021"),
        (result(server_populated=["user_id"]), FILLED, "XMCP-RSP-095"),
        (result(DOCUMENT), None, "XMCP-MCP-023"),
        (result("Hi.\n<display>{}</display> "), None, "XMCP-MCP-023"),
        (result('<error code="TIMEOUT">too slow</error>'), None, "XMCP-MCP-023"),
        (result("<llm_output>hi</llm_output> and more"), None, "XMCP-MCP-023"),
        (
            result() | {"_meta": {RESULT_META_KEY: {"version": "1.0", "form": "plain"}, DISPLAY_META_KEY: None}},
            SHOWN,
            "XMCP-DSP-001",
        ),
        (result(content=[{"type": "text", "text": t} for t in ("hi", DOCUMENT)]), None, "XMCP-MCP-023"),
        # Sent texts that are no markup, or parts of any, do not excuse the markup of the server.
        *((result(DOCUMENT), ToolCall(tool(), "t", {"text": t}), "XMCP-MCP-023") for t in ("e", "<", "tool_response")),
        (result(), ToolCall(tool(), "t", {}, Intent.INVALID, ("/text",), "`text` missing"), "XMCP-ERR-020"),
        (result(), ToolCall(None, "t", {}, Intent.UNKNOWN_TOOL), "XMCP-ERR-022"),
    ],
)
def test_a_plain_result_breaks_one_sentence_at_a_time(plain, call, requirement):
    # An error text need not have a code that cannot be read; what is said twice here is one fault.
    assert broken(plain, call) - ({"XMCP-MCP-020"} if requirement == "XMCP-MCP-024" else set()) == {requirement}


@pytest.mark.parametrize(
    ("plain", "call"),
    [
        (result(), None),
        (result(content=[]), None),
        (result(content=[{"type": "image", "data": "", "mimeType": "image/png"}]), None),
        (result("<table><tr>&nbsp;</tr></table>"), None),
        (result("<error><code>NoSuchKey</code></error>"), None),
        (result("In XMCP an <error> element has a code, and <display>{}</display> holds JSON."), None),
        (result("TIMEOUT (retryable): too slow", is_error=True, error=ERROR), None),
        # The author of the tool can have built this error, with its data.
        (result("TIMEOUT: too slow", is_error=True, error=ERROR, data={"row": 3}), None),
        (result(display=ENVELOPE, data={"rows": 3}), SHOWN),
        (result('{"rows": 3}', display=ENVELOPE), SHOWN),
        # The display is of another tool, for which the caller asked through this one.
        (result(display=ENVELOPE), ToolCall(tool(), "t", {"name": "chart", "arguments": {"show_user": True}})),
        (result(content=[OWN, VALUES], server_populated={"redacted": ["user_id"]}), FILLED),
        # What the suite sent comes back: it is data, whatever it looks like.
        (result(DOCUMENT), ToolCall(tool(), "t", {"text": DOCUMENT})),
    ],
)
def test_a_plain_result_as_section_6_3_has_it_breaks_nothing(plain, call):
    assert broken(plain, call) == set()


@pytest.mark.parametrize(("text", "found"), [("xmcp[a & b]xmcp", set()), ("xmcp[a &amp; b]xmcp", {"XMCP-MCP-020"})])
def test_text_that_the_document_gave_back_as_it_was_sent_is_so_in_a_plain_result_too(text, found):
    call = ToolCall(tool(), "t", {"text": "xmcp[a & b]xmcp"}, traps=("xmcp[a & b]xmcp",))
    assert broken(result(text), call, twin=Twin(echoes=call.traps, populates=False, failed=False)) == found
    assert broken(result(text), call, twin=Twin(echoes=(), populates=False, failed=False)) == set()


@pytest.mark.parametrize(
    ("declared", "text", "found"),
    [
        ('{} sold "42"', '[{"region": "xmcp[\\"]xmcp"}]', set()),  # the data of the display
        ("Sales of {}", '[{"region": "xmcp[\\"]xmcp"}]', set()),
        ("{} sold 42 units.", '{"alt": "xmcp[\\"]xmcp sold 42 units."}', set()),  # `alt` begins with the argument
        ("Sales of {}", "Sales of xmcp[&quot;]xmcp", {"XMCP-MCP-020"}),
        ('{} sold "42"', 'xmcp[&quot;]xmcp sold "42"', {"XMCP-MCP-020"}),
    ],
)
def test_the_text_of_a_call_that_shows_can_be_the_data_of_its_display(declared, text, found):
    trap = 'xmcp["]xmcp'
    call = ToolCall(tool(display=True), "t", {"text": trap, "show_user": True}, traps=(trap,))
    twin = Twin(echoes=(trap,), populates=False, failed=False, text=declared.format(trap))
    assert broken(result(text, display=ENVELOPE), call, twin=twin) - {"XMCP-DSP-025"} == found


@pytest.mark.parametrize(
    ("says_cut", "text", "found"), [(True, "hi", set()), (False, "hi", {"XMCP-RSP-082"}), (False, "higher", set())]
)
def test_a_document_says_that_its_text_was_cut_where_the_plain_result_does(says_cut, text, found):
    twin = Twin((), populates=False, failed=False, text=text, size=100, says_cut=says_cut)
    mark = {"version": "1.0", "form": "plain", "truncated": True}
    assert broken(result(result=mark), twin=twin) == found


@pytest.mark.parametrize(
    ("document", "text", "found"),
    [
        ("x" * 2_000 + "…", "x" * 3_000, {"XMCP-RSP-082"}),
        ("x" * 2_000, "x" * 9_000, {"XMCP-RSP-082"}),
        ("x" * 150 + "…", "x" * 3_000, {"XMCP-RSP-082"}),
        ("x" * 50 + "…", "x" * 3_000, set()),
        ("x" * 150 + "…", "x" * 150 + "… This client may not show it.", set()),  # the dots are the tool's own
        ("x" * 2_000, "x" * 2_000 + " You may not see it.", set()),
        ("x" * 2_000 + "\n", "x" * 2_000 + "\n" + "y" * 9_000, set()),  # a log that grew
        ("x" * 2_000 + "...", "x" * 2_000 + "...", set()),
    ],
)
def test_a_plain_result_shows_that_a_document_was_cut(document, text, found):
    twin = Twin((), populates=False, failed=False, text=document, size=100)
    assert broken(result(text), twin=twin) == found


@pytest.mark.parametrize(
    ("document", "text", "found"),
    [
        ("a\n  b\n  c", "a\nb\nc", {"XMCP-RSP-020"}),  # indented
        ("a\nb\nc", "a\n  b\n  c", {"XMCP-MCP-020"}),
        ("a\n  b\n c", "a\nb\nc", set()),  # by another formatter, as far as anybody knows
        ("Angstro\u0308m", "Angstr\u00f6m", {"XMCP-RSP-020"}),
        ("\u00c5ngstr\u00f6m 42", "\u212bngstr\u00f6m 4\u00b2", {"XMCP-RSP-020"}),
        ("\u212bngstr\u00f6m 4\u00b2", "\u00c5ngstr\u00f6m 42", {"XMCP-MCP-020"}),
        ("a\nb", "a\r\nb", {"XMCP-RSP-024"}),
        ("a\r\nb", "a\nb", {"XMCP-MCP-020"}),
        ("a b", " a  b\n", {"XMCP-RSP-020"}),
        ("caf?", "café", {"XMCP-RSP-020"}),
        ("a &amp; b", "a & b", set()),  # nobody knows which of the two was changed
        ("It is noon.", "It is one.", set()),
        ("a\ufffd", "a\uffff", set()),  # what a document has in the place of what XML cannot carry
    ],
)
def test_the_text_of_a_document_or_of_its_plain_twin_was_changed(document, text, found):
    twin = Twin((), populates=False, failed=False, text=document, size=100)
    assert broken(result(text), twin=twin) == found
    assert broken(result(text), SHOWN, twin=twin) - {"XMCP-DSP-022", "XMCP-DSP-021"} == set()


@pytest.mark.parametrize(
    ("trap", "text", "ok"),
    [
        ("\x07", "\ufffd", True),  # short: nothing says what stands before it
        ("<\x07>", "<\ufffd>", True),
        ("<\x07>", "<>", False),
        ('"\\\n\x07 \uffff!', '"\\\n\ufffd \ufffd!', True),
        ('"\\\n\x07 \uffff!', '"\\\n? ?!', False),
        ('"\\\n\x07 \uffff!', '"\\\n\ufffd &#xFFFF;!', False),
        ('"\\\n\x07 \uffff!', '\\"\\\\\\n\\u0007 \\uffff!', True),  # the tool wrote JSON
        ("\x07 b", "? b", True),  # the tool itself can have done that
    ],
)
def test_what_stands_for_a_code_point_that_xml_cannot_carry(trap, text, ok):
    exchange = Exchange(ToolCall(tool(), "t", {"text": trap}, traps=(trap,)), result=result(text))
    document = Document(llm_output=text, lossy=frozenset({"llm_output"}))
    assert all(one.ok for one in replaced_code_points(exchange, document)) is ok


def test_what_the_document_told_of_filled_in_parameters_is_told_in_a_plain_result_too():
    assert broken(result(), twin=Twin(echoes=(), populates=True, failed=False)) == {"XMCP-MCP-025"}
    assert broken(result(), twin=Twin(echoes=(), populates=True, failed=True)) == set()


def test_json_nested_without_end_in_a_text_is_no_display():
    deep = f'{{"type": "table", "payload": {"[" * 900}{"]" * 900}}}'
    assert broken(result(deep), SHOWN) == {"XMCP-DSP-022"}


@pytest.mark.parametrize(
    ("owes", "plain", "document"),
    [
        (RequiredForm.NEGOTIATED, {"XMCP-MCP-015"}, set()),
        (RequiredForm.UNDECLARED, {"XMCP-MCP-005"}, set()),
        (RequiredForm.PLAIN, set(), {"XMCP-MCP-023"}),
        (RequiredForm.EITHER, set(), set()),
    ],
)
def test_each_client_is_owed_its_own_form(owes, plain, document):
    assert broken(result(), owes=owes) == plain
    assert broken(result(DOCUMENT, result={"version": "1.0", "form": "document"}), owes=owes) == document


def undeclared(result, call=None, *, said="hi", schema=False):
    """What a result breaks for a client that declared nothing; for one that did, the document said `said`."""
    listed = ListedTool("t", SCHEMA, {TOOL_META_KEY: {"display": True}}, read_only=True, has_output_schema=schema)
    twin = Twin(echoes=(), populates=False, failed=False, text=said)
    exchange = Exchange(call or ToolCall(listed, "t", {}), result=result, twin=twin)
    observed = exchange_observations(exchange, ["1.0"], RequiredForm.PLAIN, declared=False)
    return {o.requirement for o in observed if not o.ok}


def test_what_is_for_the_user_is_no_part_of_the_models_text():
    both = result(content=[OWN, FOR_THE_USER])
    assert undeclared(both) == set()
    for leaked in ("hi\nonly you", "only\nyou", "hi, attached: 1 image. only you"):
        assert undeclared(both, said=leaked) == {"XMCP-MCP-044"}
    assert undeclared(both, said="hi, the second time") == set()
    # What the model reads in both forms, a few letters, and the `alt` of a display show nothing.
    assert undeclared(result(content=[{**OWN, "text": "only you, hi"}, FOR_THE_USER]), said="only you") == set()
    assert undeclared(result(content=[OWN, {**FOR_THE_USER, "text": "at 3"}]), said="hi at 3") == set()
    shown = {**ENVELOPE, "alt": "only you"}
    assert undeclared(result(content=[OWN, FOR_THE_USER], display=shown), SHOWN, said="only you") == set()
    assert broken(result(content=[FOR_THE_USER], is_error=True, error=ERROR)) == {"XMCP-MCP-020"}


def test_data_goes_to_a_client_that_declared_nothing_only_where_a_tool_lists_a_schema():
    for text, data in ("hi", {"result": "hi"}), ("[1, 2]", {"result": [1, 2]}), ("5", {"result": "5"}):
        assert undeclared(result(text, data=data)) == {"XMCP-MCP-049"}
        assert undeclared(result(text, data=data), schema=True) == set()
        assert broken(result(text, data=data)) == set()  # of a client that declared it
    for text, data in ('{"a":1}', {"a": 1}), ('{"result": 5}', {"result": 5}), ("[1]", [1]):
        assert undeclared(result(text, data=data)) == set()  # its author gave the data, or the server: nobody can tell
    assert undeclared(result("hi", data={"a": 1})) == set()  # its author gave it
    assert undeclared(result("TIMEOUT: too slow", is_error=True, error=ERROR, data={"a": 1})) == set()


def test_a_model_is_told_that_the_display_is_perhaps_not_shown():
    assert undeclared(result(display=ENVELOPE), SHOWN) == {"XMCP-DSP-025"}
    assert undeclared(result("hi, perhaps not shown", display=ENVELOPE), SHOWN) == set()
    for text in ("EMEA sold 42 units in May.", "Shown: sales in May", "No refunds, not even one.", "42 may be sold."):
        assert undeclared(result(text, display=ENVELOPE), SHOWN, said=text) == {"XMCP-DSP-025"}


def test_what_the_server_filled_in_is_told_in_a_block_of_its_own():
    assert broken(result(content=[OWN, VALUES], server_populated=POPULATED), FILLED) == set()
    assert broken(result(content=[OWN], server_populated=POPULATED), FILLED) == {"XMCP-MCP-048"}
    hidden = {**POPULATED, "redacted": ["secret"]}
    assert broken(result(content=[OWN, VALUES], server_populated=hidden), FILLED) == {"XMCP-MCP-048"}


def told(value, said):
    """What a result breaks that filled `value` in and says `said` of it."""
    block = {**VALUES, "text": f"Filled in by the server: user_id = {said}."}
    return broken(result(content=[OWN, block], server_populated={"values": {"user_id": value}}), FILLED)


LINK = "https://example.org/a/b?x=1&y=<2>"
LONG = "x" * 5_000
LONG_LIST = [{"name": "Zoë", "n": n, "tags": [True, None]} for n in range(100)]
RECORD = {"region": "EMEA", "limit": 25, "open": True, "note": 'C:\\temp "new"', "of": {"a": 1.5, "b": []}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((text, said) for text in ('C:\\temp "new"', "Zoë 😀", "a\nb") for said in (text, json.dumps(text))),
        ("Zoë", json.dumps("Zoë", ensure_ascii=False)),
        (
            LINK,
            json.dumps(LINK).replace("&", "\\u0026").replace("<", "\\u003C").replace(">", "\\u003e"),
        ),  # as Go writes it
        (LINK, json.dumps(LINK).replace("/", "\\/")),  # as PHP writes it
        (LONG, f"{LONG[:200]}…"),
        ("é" * 300, f"{json.dumps('é' * 300)[:1_201]}…"),
        (25, "25"),
        (1, "1.0"),
        (1000, "1e3"),
        (-0.5, "-0.50"),
        (True, "true"),
        (None, "null"),
        (RECORD, json.dumps(RECORD)),
        (RECORD, json.dumps(RECORD, indent=8, sort_keys=True)),
        (RECORD, json.dumps({"all": [RECORD]}, separators=(",", ":")).replace("1.5", "15e-1")),
        (LONG_LIST, json.dumps(LONG_LIST)),
        *((LONG_LIST, f"{json.dumps(LONG_LIST)[:characters]}…") for characters in range(200, 250)),
        ([], "[]"),
    ],
)
def test_a_value_can_be_told_as_it_is_or_in_any_json(value, said):
    assert told(value, said) == set()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (LONG, f"{LONG[:199]}…"),
        ("z" * 99 + "y" * 101, "z" * 99 + "y" * 100),
        ("é" * 300, json.dumps("é" * 300)[:200]),
        (25, "?"),
        (25, "250"),
        (25, "1.25"),
        (True, "false"),
        (None, "?"),
        ({"region": "EMEA"}, "?"),
        (RECORD, json.dumps({**RECORD, "limit": 26})),
        (RECORD, json.dumps({name: RECORD[name] for name in ("region", "limit")}) + "." * 300),
        (RECORD, "region, limit, open, note, of, EMEA, 25, true, 1.5"),
        (LONG_LIST, f"{json.dumps(LONG_LIST)[:199]}…"),
        (LONG_LIST, json.dumps(LONG_LIST[:1]) + " " * 300),
        (LONG_LIST, json.dumps(LONG_LIST[1:])),
        ([], "[1]"),
    ],
)
def test_a_value_of_which_less_than_200_characters_are_told_is_not_told(value, said):
    assert told(value, said) == {"XMCP-MCP-048"}


def test_a_text_full_of_brackets_is_read_in_time_that_grows_with_its_length():
    assert told([[1]], "[" * 1_000_000) == set()  # more lists than are read: none is missed
    assert told("1", '{"\\' * 1_000_000) == {"XMCP-MCP-048"}


def test_the_alternative_of_a_display_is_a_block_for_the_user():
    display = {**ENVELOPE, "alt": "x" * 600}
    block = {**FOR_THE_USER, "text": "x" * 500}
    assert broken(result(content=[OWN, block], display=display), SHOWN) == set()
    assert broken(result(content=[OWN, {**OWN, "text": "x" * 600}], display=display), SHOWN) == set()
    assert broken(result(content=[OWN, {**OWN, "text": "x" * 500}], display=display), SHOWN) == set()
    assert broken(result(content=[OWN, {**OWN, "text": "x" * 499}], display=display), SHOWN) == {"XMCP-MCP-047"}
    assert broken(result(content=[OWN, {**block, "text": "x" * 400}], display=display), SHOWN) == {"XMCP-MCP-047"}


async def test_a_server_with_the_wire_plain_conforms_without_any_xml():
    report = await report_on(Plain(), Options(examples=2))
    assert not any(judgement.broken for judgement in report.judgements)
    assert "XMCP-MCP-023" in {event.observation.requirement for event in report.observed}


def test_where_either_form_will_do_each_is_judged_as_what_it_is():
    assert broken(result(result=None), owes=RequiredForm.EITHER) == {"XMCP-MCP-042"}
    assert broken(result(DOCUMENT, result=None), owes=RequiredForm.EITHER) == {"XMCP-MCP-042"}


@pytest.mark.parametrize(
    ("said", "declared", "known", "owes"),
    [
        ({"versions": ["1.0"]}, True, True, RequiredForm.DOCUMENT),
        ({"versions": ["1.0"]}, False, True, RequiredForm.UNDECLARED),
        ({"versions": ["1.0"], "wire": "negotiated"}, False, True, RequiredForm.PLAIN),
        ({"versions": ["1.0"], "wire": "negotiated"}, False, False, RequiredForm.PLAIN),
        ({"versions": ["1.0"], "wire": "negotiated"}, True, True, RequiredForm.NEGOTIATED),
        ({"versions": ["1.0"], "wire": "negotiated"}, True, False, RequiredForm.EITHER),
        ({"versions": ["9.0"], "wire": "negotiated"}, True, True, RequiredForm.EITHER),
        ({"versions": ["1.0"], "wire": "plain"}, True, True, RequiredForm.PLAIN),
        ({"versions": ["1.0"], "wire": "plain"}, False, False, RequiredForm.PLAIN),
        ("negotiated", True, True, RequiredForm.DOCUMENT),
    ],
)
def test_what_is_owed_follows_from_the_announcement_and_the_declaration(said, declared, known, owes):
    assert required_form(Catalogue("2026-07-28", {EXTENSION_ID: said}, ()), declared=declared, known=known) is owes


@pytest.mark.parametrize(
    ("wire", "ok"),
    [("always", True), ("negotiated", True), ("plain", True), (None, False), ("Always", False), (["always"], False)],
)
def test_a_server_says_which_wire_it_has(wire, ok):
    said = {"versions": ["1.0"], **({} if wire is None else {"wire": wire})}
    observed = catalogue_observations(Catalogue("2026-07-28", {EXTENSION_ID: said}, ()))
    assert [seen.ok for seen in observed if seen.requirement == "XMCP-MCP-005"] == [ok]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        (DOCUMENT, True),
        (f"\ufeff <?xml version='1.0'?><!-- a -->{DOCUMENT}", True),
        ("<x:tool_response xmlns:x='urn:x'/>", True),
        ("<table/>", False),
        (f"See {DOCUMENT}", False),
        ("", False),
        (None, False),
    ],
)
def test_a_document_is_known_by_its_root(text, begins):
    assert begins_a_document(text) is begins


@asynccontextmanager
async def over_http(miniature, *, stateless):
    """The miniature at a port of this machine."""
    app = miniature.server().streamable_http_app(stateless_http=stateless)
    async with hosted(app, drain=2) as url:
        yield HttpPeer(f"{url}/mcp")


@pytest.mark.parametrize("stateless", [True, False])
async def test_over_http_a_server_may_forget_what_a_client_of_the_handshake_declared(stateless):
    async with over_http(Negotiated(), stateless=stateless) as peer:
        report = await report_on(peer, Options(examples=1, eras=("handshake",)))
    run = "http, 2025-11-25"
    of_the_view = [] if stateless else [f"{run}, client with MCP Apps"]  # this server forgets that, too
    assert [str(one) for one in report.runs] == [run, f"{run}, plain client", *of_the_view]
    assert not any(judgement.broken for judgement in report.judgements)
    of_the_handshake = {e.observation.requirement for e in report.observed if e.run == "http, 2025-11-25"}
    assert "XMCP-MCP-015" not in of_the_handshake
    assert ("XMCP-MCP-001" in of_the_handshake) is not stateless


class _SaysItInOneWord(Negotiated):
    """Tells a model in words without doubt that nobody shows the display."""

    def without_a_renderer(self, text):
        return f"{text}, hidden."


async def test_what_a_forgetful_server_said_before_is_no_document_to_compare_with():
    async with over_http(_SaysItInOneWord(), stateless=True) as peer:
        report = await report_on(peer, Options(examples=1, eras=("handshake",)))
    assert not any(judgement.broken for judgement in report.judgements)


class _SaysItInOneWordInDocuments(Miniature):
    """Tells a model in words without doubt that nobody shows the display, over the wire `always`."""

    without_a_renderer = _SaysItInOneWord.without_a_renderer


class _SaysItInOneWordOnly(Plain):
    """The same over the wire `plain`."""

    without_a_renderer = _SaysItInOneWord.without_a_renderer


@pytest.mark.parametrize("miniature", [_SaysItInOneWordInDocuments, _SaysItInOneWordOnly])
async def test_an_answer_of_a_forgetful_server_is_nothing_to_compare_with_whatever_its_wire(miniature):
    async with over_http(miniature(), stateless=True) as peer:
        report = await report_on(peer, Options(examples=1, eras=("handshake",)))
    assert not any(judgement.broken for judgement in report.judgements)


async def test_a_server_that_turns_plain_clients_away_is_noted_and_judged_by_its_documents(monkeypatch):
    catalogue = Session.catalogue
    opened = []

    async def once(session):
        opened.append(session)
        if len(opened) == 5:  # the first client reads the catalogue twice, those with MCP Apps and with a limit once
            raise PeerUnavailable("The server refuses.")
        return await catalogue(session)

    monkeypatch.setattr(Session, "catalogue", once)
    report = await report_on(Miniature(), Options(examples=1))
    clients = [run.started.client for run in report.runs]
    assert clients == ["declared", "limited", "plain", "apps", "declared", "apps"]
    assert report.runs[2].notes == ["Not judged: The server refuses."]
    assert not any(judgement.broken for judgement in report.judgements)


async def test_a_server_that_gives_no_documents_is_not_asked_again_as_a_plain_client():
    mutant = server_mutants()["XMCP-MCP-001"]
    report = await report_on(mutant(), Options(examples=1))
    assert not any(run.plain for run in report.runs)


def of_orders(told=None, error=None, schema=None, text="hi"):
    """What a call with a forged `user_id` breaks, by what the document says."""
    metadata = {TOOL_META_KEY: {"server_populated": ["user_id"]}}
    orders = ListedTool("t", schema or {"type": "object"}, metadata, read_only=True)
    refused = () if schema is None else ("/user_id",)
    call = ToolCall(orders, "t", {"user_id": "forged"}, refused=refused, traps=("forged",), forged=("user_id",))
    meta = {} if told is None else {"server_populated": told}
    plain = result(text, **meta) if error is None else result(f"{error['code']} no", is_error=True, error=error)
    observations = [*exchange_observations(Exchange(call, result=plain), ["1.0"], RequiredForm.PLAIN)]
    return {o.requirement: o.ok for o in observations if o.requirement in ("XMCP-TOL-023", "XMCP-TOL-024")}


CLOSED = {"type": "object", "additionalProperties": False}


def failed(code, **meta):
    category = "permission_denied" if code == "FORBIDDEN_PARAM_OVERRIDE" else "invalid_input"
    return {"code": code, "message": "no", "retryable": False, "category": category, "meta": meta}


@pytest.mark.parametrize(
    ("told", "error", "schema", "found"),
    [
        ({"values": {"user_id": "u-1"}}, None, CLOSED, {"XMCP-TOL-023": True, "XMCP-TOL-024": True}),
        ({"values": {"user_id": "u-1"}}, None, None, {"XMCP-TOL-023": True}),
        ({"values": {"user_id": "forged"}}, None, None, {"XMCP-TOL-023": False}),
        ({"values": {"user_id": {"id": "forged"}}, "overridden": ["user_id"]}, None, None, {"XMCP-TOL-023": False}),
        ({"redacted": ["user_id"], "overridden": ["user_id"]}, None, None, {"XMCP-TOL-023": True}),
        # It could be the forged value that is not told.
        ({"redacted": ["user_id"]}, None, None, {}),
        (None, failed("FORBIDDEN_PARAM_OVERRIDE"), CLOSED, {"XMCP-TOL-023": True, "XMCP-TOL-024": True}),
        (
            None,
            failed("VALIDATION_FAIL", fields=[{"pointer": "/user_id", "message": "unknown"}]),
            CLOSED,
            {"XMCP-TOL-024": False},
        ),
        (None, failed("VALIDATION_FAIL", fields=[{"pointer": "/other", "message": "unknown"}]), CLOSED, {}),
        (None, failed("MISSING_SERVER_PARAM"), CLOSED, {}),
    ],
)
def test_a_forged_value_is_judged_by_what_the_answer_says_of_it(told, error, schema, found):
    assert of_orders(told, error, schema) == found


def test_a_tool_that_says_a_forged_value_got_it_whatever_the_server_reports():
    told = {"values": {"user_id": "u-1"}, "overridden": ["user_id"]}
    assert of_orders(told, text="2 orders of forged") == {"XMCP-TOL-023": False}


@pytest.mark.parametrize(
    "doubt",
    ["You may not see the chart.", "42 sold.\nMay not be shown here", "PERHAPS NOT VISIBLE", "It can't be displayed."],
)
def test_a_doubt_that_is_said_to_everybody_is_said_to_a_client_that_declared_nothing(doubt):
    assert undeclared(result(doubt, display=ENVELOPE), SHOWN, said=doubt) == set()


@pytest.mark.parametrize(("ended", "ok"), [({"rpc_error": "-32602: no such tool"}, True), ({"lost": "the end"}, False)])
def test_an_unknown_tool_can_be_answered_with_a_json_rpc_error(ended, ok):
    call = ToolCall(None, "t", {}, Intent.UNKNOWN_TOOL)
    observed = exchange_observations(Exchange(call, **ended), ["1.0"], RequiredForm.PLAIN)
    assert [(one.requirement, one.ok) for one in observed] == [("XMCP-ERR-022", ok)]


class _ReturnsData(Negotiated):
    """Has a tool whose author returns data, of which the library makes the text."""

    def run(self, name, arguments):
        return ('{"rows": 3}', None) if name == "orders" else super().run(name, arguments)

    def plain(self, outcome):
        result = super().plain(outcome)
        return result.model_copy(update={"structured_content": {"rows": 3}} if outcome.text == '{"rows": 3}' else {})


async def test_data_that_the_author_or_the_server_can_have_given_is_noted_and_breaks_nothing():
    report = await report_on(_ReturnsData(), Options(examples=1, eras=("newest",), strict=True))
    assert not any(judgement.broken for judgement in report.judgements)
    assert report.runs[0].notes == [note for note in report.runs[0].notes if "XMCP-MCP-049" not in note]
    (plain,) = [run for run in report.runs if run.plain]
    assert [note for note in plain.notes if "`orders`" in note and "XMCP-MCP-049" in note]


class _SendsData(Miniature):
    """Sends its text as structured content, too."""

    def answer(self, name, arguments, *, declared):
        answered = super().answer(name, arguments, declared=declared)
        text = self.outcome(name, arguments, declared=declared).text
        return answered if answered.is_error else answered.model_copy(update={"structured_content": {"result": text}})


async def test_a_plain_client_is_judged_by_the_list_that_it_got(monkeypatch):
    catalogue, lists = Session.catalogue, []

    async def with_schemas_for_the_first(session):
        listed = await catalogue(session)
        lists.append(listed)
        tools = tuple(replace(tool, has_output_schema=len(lists) == 1) for tool in listed.tools)
        return replace(listed, tools=tools)

    monkeypatch.setattr(Session, "catalogue", with_schemas_for_the_first)
    report = await report_on(_SendsData(), Options(examples=1, eras=("newest",)))
    assert {judgement.requirement.id for judgement in report.judgements if judgement.broken} == {"XMCP-MCP-049"}


def test_a_wrapped_value_is_where_the_metadata_says():
    listed = ListedTool("t", SCHEMA, {TOOL_META_KEY: {"wrapped_in": "rows"}}, read_only=True, has_output_schema=True)
    call = ToolCall(listed, "t", {})
    assert broken(result(data={"rows": [1]}), call) == set()
    assert broken(result(data={"result": [1]}), call) == {"XMCP-MCP-053"}
    assert broken(result(data={"rows": [1], "more": 2}), call) == set()  # its author gave more
    assert broken(result("TIMEOUT: too slow", is_error=True, error=ERROR, data={"a": 1}), call) == set()
