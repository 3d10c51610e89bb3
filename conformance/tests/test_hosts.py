"""What hosts make of a result: the data, the rules, the leaks, the tokens, and the picture of it all."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmcp_conformance.hosts import presentation, rules, tokens
from xmcp_conformance.hosts.answers import Answer, Case, Visit, VisitedTool
from xmcp_conformance.hosts.leaks import leaks
from xmcp_conformance.hosts.picture import picture
from xmcp_conformance.hosts.presentation import LARGEST_DISPLAY, Shown, present
from xmcp_conformance.hosts.rules import Host, hosts
from xmcp_conformance.reports import see_json
from xmcp_models.registry import ERROR_META_KEY

BLOCKS = {"text": "{text}", "image": "seen", "audio": "dropped", "resource_link": "{json}", "resource": "unknown"}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///may.csv", "name": "may"}
DATA = {"sales": 42}


def text(words, *audience):
    return {"type": "text", "text": words} | ({"annotations": {"audience": list(audience)}} if audience else {})


def answer(*content, **members):
    display, document = members.pop("display", None), members.pop("document", False)
    return Answer("t", {"content": list(content), **members}, display=display, is_document=document)


def host(person=(), name="host", declares=False, **rule):
    rule = {"structured": "ignored", "blocks": BLOCKS, **rule}
    entry = {"name": name, "title": name, "version": "1", "date": "2026-11-23", "status": "verified", "evidence": ["x"]}
    return rules.host_of({**entry, "model": rule, "person": list(person), "declares_xmcp": declares})


def named(name):
    return next(host for host in hosts() if host.name == name)


# ---- the data ----


def test_the_data_fits_its_schema_and_names_each_host_once():
    data = json.loads(rules.FILE.read_text(encoding="utf-8"))
    validator = jsonschema_rs.validator_for(json.loads(rules.SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(data)] == []
    names = [host.name for host in hosts()]
    assert len(names) == len(set(names)) >= 11


def test_a_verified_host_has_the_version_that_was_run():
    assert [host.name for host in hosts() if host.status == "verified" and not host.version] == []


@pytest.mark.parametrize("wrong", [{"structured": "perhaps"}, {"blocks": {}}, {"surprise": 1}])
def test_the_schema_refuses_a_rule_that_the_interpreter_does_not_know(wrong):
    data = json.loads(rules.FILE.read_text(encoding="utf-8"))
    data["hosts"][0]["model"] |= wrong
    assert not jsonschema_rs.validator_for(json.loads(rules.SCHEMA.read_text(encoding="utf-8"))).is_valid(data)


# ---- the rules ----


@pytest.mark.parametrize(
    ("rule", "answer", "parts", "lost"),
    [
        ({}, answer(text("a"), text("b")), ["a\nb"], ()),
        ({"parts": True}, answer(text("a"), text("b")), ["a", "b"], ()),
        ({"join": " "}, answer(text("a"), text("b")), ["a b"], ()),
        ({"join": "json_list"}, answer(text("a"), text("b")), ['["a","b"]'], ()),
        ({"join": "json_list"}, answer(text("a")), ["a"], ()),
        ({}, answer(text("a"), structuredContent=DATA), ["a"], ("data",)),
        ({}, answer(text("42 sold"), structuredContent=DATA), ["42 sold"], ()),
        ({"structured": "replaces_text"}, answer(text("a"), structuredContent=DATA), ['{"sales":42}'],
         ("text, replaced by the data",)),
        ({"structured": "replaces_text"}, answer(text('{"sales": 42}'), structuredContent=DATA), ['{"sales":42}'], ()),
        ({"structured": "replaces_text"}, answer(text("42"), structuredContent={"result": 42}), ['{"result":42}'], ()),
        ({"structured": "replaces_text", "json": "spaced"}, answer(structuredContent=DATA), ['{"sales": 42}'], ()),
        ({"structured": "replaces_text_alone"}, answer(text("a"), structuredContent=DATA), ['{"sales":42}'],
         ("text, replaced by the data",)),
        ({"structured": "replaces_text_alone"}, answer(text("a"), IMAGE, structuredContent=DATA), ["a"], ("data",)),
        ({"structured": "replaces_content"}, answer(IMAGE, structuredContent=DATA), ['{"sales":42}'],
         ("image, replaced by the data",)),
        ({"structured": "if_no_content"}, answer(text("42"), structuredContent=DATA), ["42"], ()),
        ({"structured": "if_no_content"}, answer(structuredContent=DATA), ['{"sales":42}'], ()),
        ({"structured": "beside_content"}, answer(text("a"), structuredContent=DATA), ['a\n{"sales":42}'], ()),
        ({"structured": "replaces_content", "error_structured": "ignored"},
         answer(text("bad"), isError=True, structuredContent=DATA), ["bad"], ("data",)),
        ({"error": "Error: {content}"}, answer(text("bad"), isError=True), ["Error: bad"], ()),
        ({"error": '{"error":{content_json}}'}, answer(text('"'), isError=True), ['{"error":"\\""}'], ()),
        ({"error_blocks": "first"}, answer(text("a"), text("bad"), isError=True), ["a"],
         ("1 of 2 blocks of the error",)),
        ({"result": "<{tool}>{content}</>", "escape": "xml"}, answer(text("a<b")), ["<t>a&lt;b</>"], ()),
        ({"before": "took 1 s", "parts": True}, answer(text("a")), ["took 1 s", "a"], ()),
        ({"before": "took 1 s", "structured": "replaces_content"}, answer(structuredContent=DATA),
         ['took 1 s\n{"sales":42}'], ()),
        ({"empty": "(empty)"}, answer(), ["(empty)"], ()),
        ({"most_characters": 3}, answer(text("abcdef")), ["abc"], ("all but 3 characters",)),
        ({"most_characters": 3, "preview": 2}, answer(text("abcdef")), ["ab"], ("all but 2 characters",)),
        ({}, answer(LINK), ['{"type":"resource_link","uri":"file:///may.csv","name":"may"}'], ()),
        ({}, answer(text("a"), {"type": "audio"}), ["a"], ("sound",)),
        ({"blocks": {**BLOCKS, "image": "[image {mimeType}]"}}, answer(IMAGE), ["[image image/png]"], ("image",)),
        ({"blocks": {**BLOCKS, "image": '{"data":"{data}"}'}}, answer(IMAGE), ['{"data":"AAAA"}'], ("image",)),
        ({"blocks": {**BLOCKS, "image": "seen+See below."}}, answer(text("a"), IMAGE), ["a\nSee below."], ()),
        ({"structured": "replaces_text"}, answer(text("EMEA"), structuredContent={"region": "EMEA", "n": 1}),
         ['{"region":"EMEA","n":1}'], ()),
        ({"blocks": {**BLOCKS, "resource_link": "fails"}}, answer(text("a"), LINK), [], ("the whole result",)),
    ],
)  # fmt: skip
def test_a_rule_says_what_the_model_gets_and_what_is_lost(rule, answer, parts, lost):
    shown = present(answer, host(**rule))
    assert list(shown.parts) == parts
    assert shown.lost == lost


def test_an_image_that_the_model_sees_is_no_text():
    assert present(answer(text("a"), IMAGE, IMAGE), host()) == Shown(("a",), images=2, form="text + 2 × image")


@pytest.mark.parametrize(
    ("rule", "parts", "leaked", "unknown"),
    [
        ({"user_only": "given"}, ["a\nb"], ("content for the person only",), ()),
        ({"user_only": "kept_from_model"}, ["a"], (), ()),
        ({"user_only": "kept_from_model", "shown_note": {"text": "[{length} shown]"}}, ["a\n[1 shown]"], (), ()),
        ({"user_only": "unknown"}, ["a\nb"], (), ("content for the person only",)),
    ],
)
def test_text_for_the_person_only_leaks_where_the_host_does_not_keep_it_back(rule, parts, leaked, unknown):
    shown = present(answer(text("a", "assistant", "user"), text("b", "user")), host(**rule))
    assert (list(shown.parts), shown.leaked, shown.unknown) == (parts, leaked, unknown)


def test_text_for_the_person_only_does_not_leak_where_the_data_replaces_it():
    shown = present(answer(text("b", "user"), structuredContent=DATA), host(structured="replaces_content"))
    assert (shown.leaked, shown.text) == ((), '{"sales":42}')


def test_what_leaks_is_what_the_server_wrote_and_not_what_the_host_writes_around_it():
    rule = {"error": '{content} File "/opt/host/x.py", line 3'}
    assert present(answer(text("no such order"), isError=True), host(**rule)).leaked == ()
    shown = present(answer(text("open /home/bob/orders.db"), isError=True), host(**rule))
    assert shown.leaked == ("path",)
    assert shown.examples == {"path": "/home/bob/orders.db"}


def test_the_text_of_an_unexpected_exception_of_a_fastmcp_tool_leaks():
    words = "Error calling tool 't': db password is hunter2"
    shown = present(answer(text(words), isError=True), host())
    assert shown.leaked == ("text of an unexpected exception",)
    assert shown.examples == {"text of an unexpected exception": "db password is hunter2"}
    for own in (
        answer(text("Order 7 is not yours."), isError=True),  # what a ToolError says
        answer(text("Error calling tool 't'"), isError=True),  # a server that masks it
        answer(text(words)),
        answer(text(words), isError=True, _meta={ERROR_META_KEY: {"code": "X", "message": words}}),
    ):
        assert present(own, host()).leaked == ()


def test_meta_before_the_model_leaks():
    shown = present(answer(text("a"), _meta={"k": 1}), host(meta=True))
    assert (shown.text, shown.leaked) == ('a\n{"k":1}', ("`_meta`",))


@pytest.mark.parametrize(
    ("rule", "words", "misled"),
    [
        ({}, "The balance is 7.", ("may take the failure for a success",)),
        ({}, "CONFLICT: Order 1 is shipped.", ()),
        ({}, "X_ACME_JAM (retryable, after 2 s): jam", ()),
        ({}, "OK: done", ("may take the failure for a success",)),
        ({}, "The order was not found.", ()),
        ({"error": "Error: {content}"}, "The balance is 7.", ()),
        ({"error_marked": True}, "The balance is 7.", ()),
        ({}, " ", ("may take the failure for a success", "sees no result at all")),
    ],
)
def test_an_unmarked_failure_that_reads_like_a_success_misleads_the_model(rule, words, misled):
    assert present(answer(text(words), isError=True), host(**rule)).misled == misled


def test_nothing_is_guessed_about_a_host_of_which_nobody_knows_how_it_tells_failures():
    shown = present(answer(text("The balance is 7."), isError=True), host(error_marked="unknown"))
    assert (shown.form, shown.misled, shown.unknown) == ("text", (), ("whether it is marked",))


def test_a_display_is_lost_where_nobody_draws_it():
    display = {"type": "text", "payload": "x"}
    assert present(answer(text("a"), display=display), host()).lost == ("display",)
    shown = present(answer(text("a"), display=display), host(["text", "display"]))
    assert (shown.lost, shown.person) == ((), ("text", "display"))


def test_of_the_blocks_after_a_document_only_those_for_the_model_are_lost_to_it():
    given = answer(text("<tool_response/>"), text("note", "user"), text("more"), document=True)
    assert present(given, host(documents=True)).lost == ("text",)
    assert present(answer(*given.blocks[:2], document=True), host(documents=True)).lost == ()


def test_a_picture_that_the_person_is_shown_is_a_note_in_the_document_of_the_model():
    aiclient = next(one for one in hosts() if one.name == "aiclient")
    document = '<tool_response tool_name="t"><llm_output>a</llm_output></tool_response>'
    shown = present(answer(text(document), IMAGE, document=True), aiclient)
    assert shown.text == document.replace("a<", "a\n[image image/png: shown to the person, not visible to you]<")
    assert shown.lost == ()


def test_a_document_is_markup_for_every_host_but_those_that_read_it():
    document = '<tool_response tool_name="t"><llm_output>a</llm_output></tool_response>'
    assert present(answer(text(document), document=True), host()).leaked == ("markup of a document",)
    shown = present(answer(text(document), IMAGE, document=True), host(documents=True))
    assert (shown.text, shown.form, shown.leaked, shown.lost) == (document, "document", (), ("image",))


def test_a_large_display_is_a_reference_in_the_document_that_the_model_reads():
    display = {"type": "text", "payload": "x" * LARGEST_DISPLAY}
    document = f'<tool_response tool_name="t"><display>{json.dumps(display)}</display></tool_response>'
    shown = present(answer(text(document), document=True, display=display), host(["display"], documents=True))
    assert len(shown.text) < 200
    assert "x-xmcp-reference" in shown.text


def test_a_call_without_a_result_is_the_same_everywhere():
    assert {present(Answer("t", None, failure="gone"), host).text for host in hosts()} == {"gone"}


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": "text"},
        {"content": [None, 1, "x", {}, {"type": 7}, {"type": "text"}, {"type": "text", "text": None}]},
        {
            "content": [
                {"type": "text", "text": "a", "annotations": 1},
                {"type": "image", "annotations": {"audience": 1}},
            ]
        },
        {"content": [{"type": "resource", "resource": 1}, {"type": "hologram", "data": {}}], "structuredContent": []},
        {"content": [], "structuredContent": 0, "isError": "yes", "_meta": 3},
        {"content": [text("1" * 5000)], "structuredContent": {"a": [[[[[]]]]]}, "isError": True},
    ],
)
def test_no_result_of_a_server_is_too_odd_for_any_host(result):
    for each in [*hosts(), host(meta=True, documents=True)]:
        assert isinstance(present(Answer("t", result), each).text, str)
        assert isinstance(present(Answer("t", {**result, "content": [text("<")]}, is_document=True), each).text, str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "x"])
MEMBERS = dict.fromkeys(("text", "data", "mimeType", "uri", "resource", "annotations", "name"), JSON)
CONTENT = st.lists(st.fixed_dictionaries({"type": KINDS | JSON}, optional=MEMBERS) | JSON, max_size=3)
RESULT = {"content": CONTENT | JSON, "structuredContent": JSON, "isError": st.booleans() | JSON, "_meta": JSON}


@given(result=st.fixed_dictionaries({}, optional=RESULT), display=JSON, document=st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_a_server_sends_every_host_shows_something(result, display, document):
    given_ = Answer("t", result, display=display, is_document=document and bool(result.get("content")))
    if given_.is_document and not given_.blocks:
        return
    visit = Visit("server", "stdio", tools=[VisitedTool("t", [Case("t", {}, "", given_)])])
    json.dumps(see_json.to_dict([picture(visit, [*hosts(), host(meta=True, documents=True)], tokens.ESTIMATE)]))


# ---- the hosts of the data, by the reports that their rules are from ----


def test_vs_code_gives_the_data_for_the_text_and_keeps_back_what_is_for_the_person():
    shown = present(answer(text("a"), text("b", "user"), IMAGE, structuredContent=DATA), named("vscode"))
    assert (list(shown.parts), shown.images, shown.leaked) == (['{"sales":42}'], 1, ())


SOLD_OUT = {"code": "out of stock", "message": "Sold out until May.", "retryable": True}


def aiclient(*content, **members):
    """Return what the model of AIClient gets, without the element around it."""
    shown = present(answer(*content, **members), named("aiclient"))
    return shown.text.removeprefix('<tool_response tool_name="t">').removesuffix("</tool_response>")


def test_our_client_gives_the_data_where_there_is_no_text_unless_they_repeat_what_is_for_the_person():
    picture_for_user = {**IMAGE, "annotations": {"audience": ["user"]}}
    text_note = "[text, 2 characters: shown to the person, not visible to you]"
    image_note = "[image image/png: shown to the person, not visible to you]"
    for content, note in ((text("42", "user"), text_note), (picture_for_user, image_note), (IMAGE, image_note)):
        assert aiclient(content, structuredContent={"n": "7"}) == f'<llm_output>{{"n":"7"}}\n{note}</llm_output>'
    assert aiclient(text("42", "user"), structuredContent=DATA) == f"<llm_output>{text_note}</llm_output>"
    assert aiclient(picture_for_user, structuredContent={"p": "AAAA"}) == f"<llm_output>{image_note}</llm_output>"
    assert aiclient(text("a"), structuredContent=DATA) == "<llm_output>a</llm_output>"


def test_our_client_reads_an_error_in_data_and_its_message_where_there_is_no_text():
    error = '<error code="OUT_OF_STOCK" retryable="true" category="internal">{}</error>'
    for data in (SOLD_OUT, {"error": SOLD_OUT}):
        for content in ((), (text("words", "user"),)):
            got = aiclient(*content, isError=True, structuredContent=data)
            assert got == error.format("Sold out until May.")
        assert aiclient(text("gone"), isError=True, structuredContent=data) == error.format("gone")
    told = aiclient(text("until May", "user"), isError=True, structuredContent=SOLD_OUT)
    assert told == error.format("The tool reported a failure without saying what.")
    failed = '<error code="TOOL_ERROR" retryable="false" category="internal">{}</error>'
    assert aiclient(isError=True, structuredContent={"code": 7}) == failed.format('{"code":7}')
    conflict = aiclient(text("gone"), isError=True, structuredContent={"code": "CONFLICT"})
    assert 'code="CONFLICT" retryable="false" category="conflict"' in conflict


def test_our_client_shows_a_picture_for_the_model_to_nobody_but_names_it_to_the_model():
    shown = present(answer({**IMAGE, "annotations": {"audience": ["assistant"]}}), named("aiclient"))
    assert "<llm_output>[image image/png]</llm_output>" in shown.text
    assert shown.person == ()
    shown = present(answer(IMAGE), named("aiclient"))
    assert (shown.person, shown.form, shown.lost) == (("image",), "note of an image", ())


def test_claude_code_gives_the_data_for_everything_but_of_an_error_the_first_text():
    assert present(answer(text("a"), IMAGE, structuredContent=DATA), named("claude-code")).text == '{"sales":42}'
    failed = answer(text("a"), text("b"), structuredContent=DATA, isError=True)
    assert present(failed, named("claude-code")).text == "a"


def test_a_result_of_many_blocks_is_written_as_json_a_few_times_and_not_for_each_block(monkeypatch):
    written = []
    real = presentation._json
    monkeypatch.setattr(presentation, "_json", lambda *given: written.append(text := real(*given)) or text)
    many = answer(*[text("x" * 100)] * 300, structuredContent={"rows": ["y" * 100] * 300}, isError=True)
    for each in hosts():
        written.clear()
        present(many, each)
        assert sum(map(len, written)) < 4 * len(json.dumps(many.result)), each.name


# ---- leaks ----


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ('Traceback (most recent call last):\n  File "/srv/a.py", line 3', "stack trace"),
        ("Error: x\n    at Object.<anonymous> (/app/index.js:10:15)\n", "stack trace"),
        ("x\n\tat com.example.Main.run(Main.java:42)", "stack trace"),
        ("panic: x\n\ngoroutine 1 [running]:", "stack trace"),
        ("cannot open /home/bob/.config/x", "path"),
        ("cannot open file:///Users/bob/x", "path"),
        (r"cannot open C:\Users\bob\x", "path"),
        ("postgres://admin:hunter2@db.internal/x", "secret"),
        ("-----BEGIN RSA PRIVATE KEY-----", "secret"),
        ("AKIAIOSFODNN7EXAMPLE", "secret"),
        ("1 validation error for call[add]", "library internals"),
    ],
)
def test_a_leak_is_found(words, kind):
    assert kind in [leak.kind for leak in leaks(f"before {words} after" if "\n" not in words else words)]


@pytest.mark.parametrize(
    "words",
    [
        "https://example.org/home/bob/x",
        "The ratio is 3/var/2.",
        "See docs/usr/local for more.",
        "We met at the office (room 3:10).",
        "https://example.org:443/x@y",
        "sk-short",
        "/api/v1/orders",
    ],
)
def test_harmless_text_leaks_nothing(words):
    assert leaks(words) == []


@pytest.mark.parametrize(
    "text", ["/home/" * 40_000, "a" * 200_000, "\n    at " * 30_000, 'File "' * 30_000, "a://" * 50_000]
)
def test_a_hostile_text_is_searched_in_linear_time(text):
    leaks(text)


# ---- tokens ----


def test_without_a_tokenizer_on_this_machine_tokens_are_estimated(monkeypatch):
    monkeypatch.setattr(tokens, "_folders", list)
    tokens.tokenizer.cache_clear()
    try:
        counter = tokens.tokenizer()
    finally:
        tokens.tokenizer.cache_clear()
    assert (counter.exact, counter.count("12345"), counter.count("")) == (False, 2, 0)


def test_a_very_long_text_is_counted_in_part():
    counted = []
    counter = tokens.Tokenizer("x", True, lambda text: counted.append(len(text)) or len(text))
    assert counter.count("a" * (3 * tokens.COUNTED)) == 3 * tokens.COUNTED
    assert counted == [tokens.COUNTED]


# ---- the picture ----


def seen(*chosen: Host, **answers):
    cases = [Case(name, {}, "", given) for name, given in answers.items()]
    visit = Visit("server", "stdio", tools=[VisitedTool(case.tool, [case]) for case in cases])
    return picture(visit, chosen, tokens.ESTIMATE)


def test_hosts_with_the_same_outcome_are_one_group_the_largest_last():
    a, b, c = host(name="a"), host(name="b", structured="replaces_text"), host(name="c", join=" ")
    groups = seen(a, b, c, t=answer(text("x"), text("y"), structuredContent=DATA)).tools[0].cases[0].groups
    assert [[each.host.name for each in group.seen] for group in groups] == [["b"], ["a", "c"]]


def test_a_finding_names_its_tools_and_hosts_once_and_leaks_come_first():
    found = seen(
        host(name="a"),
        host(name="b", structured="beside_content"),
        one=answer(text("x"), structuredContent=DATA),
        two=answer(text("/home/bob/x.db"), structuredContent=DATA),
    ).findings
    assert [(each.kind, each.what, each.tools, [host.name for host in each.hosts]) for each in found] == [
        ("leaked", "path", ("two",), ["a", "b"]),
        ("lost", "data", ("one", "two"), ["a"]),
    ]


def test_what_goes_wrong_everywhere_is_known():
    case = seen(host(name="a"), host(name="b"), t=answer(text("/home/bob/x.db"))).tools[0].cases[0]
    assert case.everywhere == [("leaked", "path")]


def test_only_a_host_that_declares_xmcp_gets_what_is_sent_to_those():
    case = Case("t", {}, "", answer(text("plain")), answer(text("declared")))
    visit = Visit("server", "stdio", tools=[VisitedTool("t", [case])])
    both = picture(visit, [host(name="a"), host(name="b", declares=True)], tokens.ESTIMATE)
    assert [each.shown.text for each in both.tools[0].cases[0].seen] == ["plain", "declared"]


def test_the_json_fits_its_schema_and_is_bounded():
    big = seen(host(name="a"), t=answer(text("x" * 3 * see_json.MOST_CHARACTERS)))
    report = see_json.to_dict([big, big])
    validator = jsonschema_rs.validator_for(json.loads(see_json.SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(report)] == []
    assert len(json.dumps(report)) < 3 * see_json.MOST_CHARACTERS
