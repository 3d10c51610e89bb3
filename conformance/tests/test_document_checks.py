"""Documents in files: what each kind breaks, where, and what cannot be judged."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from xmcp_conformance.core.checks import checks_by_requirement
from xmcp_conformance.core.events import FileEnded, RunStarted, SuiteStarted
from xmcp_conformance.core.judge import Status
from xmcp_conformance.core.requirements import registry
from xmcp_conformance.profiles.document import checks
from xmcp_conformance.profiles.document.checks import MOST_READ, check_document, check_lines
from xmcp_conformance.profiles.document.kinds import FileName, kinds
from xmcp_conformance.reader import schemas, strict_json
from xmcp_conformance.reports.document_json import SCHEMA, to_dict
from xmcp_conformance.reports.document_report import DocumentReport, FileOutcome, FileReport
from xmcp_conformance.reports.document_terminal import show_file, show_verdict

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "schemas" / "examples"
WELL = b'<tool_response tool_name="a"><llm_output>x</llm_output></tool_response>'
ENVELOPE = b'{"type": "text", "payload": "a"}'
EVENT = b'{"type": "warning", "turn": 0, "text": "a"}'
# A reader accepts it; what it holds only an emitter may not write.
LAXER = {"comment-inside-text.xml": {"XMCP-RSP-003", "XMCP-RSP-004"}}


def examples(side: str) -> list[Path]:
    return sorted(path for kind in kinds() for path in (EXAMPLES / side / kind).glob("*.*"))


def start(strict: bool = False) -> SuiteStarted:
    return SuiteStarted("document", registry().version, {"kind": None, "strict": strict})


def judge(data: bytes, name: FileName, *, strict: bool = False) -> FileReport:
    report = DocumentReport.of([start(strict)])
    check_document(data, name, report.add)
    return report.files[0]


def judge_lines(lines: list[bytes], name: FileName) -> FileReport:
    report = DocumentReport.of([start()])
    check_lines(lines, name, report.add)
    return report.files[0]


def not_judged(path: str, why: str) -> FileReport:
    return DocumentReport.of([RunStarted(path), FileEnded(path, not_judged=why, reason="no")]).files[0]


def of_example(path: Path, **options: bool) -> FileReport:
    return judge(path.read_bytes(), FileName(str(path), None, path.parent.name, path.suffix), **options)


def of(data: bytes, **known: str) -> FileReport:
    return judge(data, FileName("name", **known))


def told(judged: FileReport) -> list[tuple[str | None, tuple[int, int] | None]]:
    return [(fault.observation.requirement or None, fault.observation.place) for fault in judged.faults]


def broken(judged: FileReport) -> set[str]:
    failed = (fault for fault in judged.faults if judged.status(fault) is Status.FAIL)
    return {fault.observation.requirement for fault in failed if fault.observation.requirement}


@pytest.mark.parametrize("path", examples("valid"), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_valid_example_conforms(path):
    judged = of_example(path)
    assert judged.kind == path.parent.name
    assert broken(judged) == LAXER.get(path.name, set())


def test_no_invalid_example_conforms_and_each_fault_has_a_place():
    for path in examples("invalid"):
        judged = of_example(path, strict=True)
        assert judged.outcome is FileOutcome.DOES_NOT_CONFORM, path
        assert judged.kind == path.parent.name, path
        assert all(fault.observation.place for fault in judged.faults), path


def test_every_schema_of_the_package_is_a_kind():
    schemas = {path.name.removesuffix(".schema.json") for path in (EXAMPLES.parent).glob("*.schema.json")}
    assert set(kinds()) == {"tool_response", *schemas}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (WELL, "tool_response"),
        (b" \r\n\t" + WELL, "tool_response"),
        (ENVELOPE, "display_envelope"),
        (EVENT, "chat_event"),
        ((EXAMPLES / "valid/audit_record/message.json").read_bytes(), "audit_record"),
        ((EXAMPLES / "valid/usage_record/known-price.json").read_bytes(), "usage_record"),
        ((EXAMPLES / "valid/snapshot/empty.json").read_bytes(), "snapshot"),
    ],
)
def test_a_document_shows_what_it_is(data, kind):
    judged = of(data)
    assert (judged.kind, judged.outcome) == (kind, FileOutcome.CONFORMS)


def test_members_that_only_one_format_demands_count_more_than_the_name_of_the_folder():
    assert of(ENVELOPE, folder="snapshot").kind == "display_envelope"


@pytest.mark.parametrize(
    "data", [b"{}", b'{"versions": ["1.0"]}', b"[]", b'{"type": "text"}', b"plain text", b"\x89PNG\r\n\x1a\n\x00", b""]
)
def test_what_shows_no_kind_gets_no_verdict(data):
    judged = of(data)
    assert judged.outcome is FileOutcome.UNKNOWN_KIND
    assert judged.reason


@pytest.mark.parametrize(
    ("data", "known", "faults"),
    [
        (b"", {"suffix": ".xml"}, [("XMCP-RSP-001", (1, 1))]),
        (b"", {"suffix": ".json"}, [("XMCP-RSP-040", (1, 1))]),
        (b" \n", {"kind": "tool_response"}, [("XMCP-RSP-001", (1, 1))]),
        (b"\x89PNG\r\n", {"suffix": ".xml"}, [("XMCP-RSP-001", (1, 1))]),
        (WELL.decode().encode("utf-16"), {}, [("XMCP-RSP-001", (1, 1))]),
        (WELL.decode().encode("utf-16-le"), {}, [("XMCP-RSP-001", (1, 1))]),
        (ENVELOPE.decode().encode("utf-16"), {}, [("XMCP-RSP-040", (1, 1))]),
        (WELL.replace(b"x<", b"\r\n\xc3\xa9\xff<"), {}, [("XMCP-RSP-001", (2, 2))]),
        (b'{"a":\n "\xff"}', {}, [("XMCP-RSP-040", (2, 3))]),
        (b"\xef\xbb\xbf" + WELL, {}, [("XMCP-RSP-004", (1, 1))]),
        (b"\xef\xbb\xbf" + ENVELOPE, {}, [("XMCP-RSP-040", (1, 1))]),
        (b'{"a": 1,\n "a": 2}', {}, [("XMCP-RSP-041", (2, 2))]),
        (b'{"a":\r NaN}', {}, [("XMCP-RSP-040", (2, 2))]),
        (b'{"a": 1,}', {}, [("XMCP-RSP-040", (1, 9))]),
        (b"{'a': 1}", {}, [("XMCP-RSP-040", (1, 2))]),
        (b'["\\ud800"]', {}, [("XMCP-RSP-044", (1, 3))]),
        (ENVELOPE + b" {}", {}, [("XMCP-RSP-040", (1, 34))]),
        (b"not json", {"suffix": ".json"}, [("XMCP-RSP-040", (1, 1))]),
        (b"[" * 500_000, {}, [("XMCP-RSP-040", (1, 500_001))]),
        (b'{"type":"json","payload":' + b"[" * 9999 + b"]" * 9999 + b"}", {}, [("XMCP-RSP-081", (1, 89))]),
        (b'{"type":"json","payload":[9007199254740992]}', {}, [("XMCP-RSP-043", (1, 27))]),
        (b"[]", {"folder": "error_meta"}, [("XMCP-ERR-007", (1, 1))]),
        (b'{"fields":[{"message":"m","pointer":"a"}]}', {"kind": "error_meta"}, [("XMCP-ERR-007", (1, 37))]),
        (b'{"shard": 1}', {"kind": "error_meta"}, [("XMCP-ERR-007", (1, 11))]),
        (b'{"display":\n"true"}', {"kind": "tool_metadata"}, [("XMCP-TOL-001", (2, 1))]),
        (b'{"values": []}', {"kind": "server_populated"}, [("XMCP-RSP-095", (1, 12))]),
        (b'{"values":{"a":1},"redacted":["a"]}', {"kind": "server_populated"}, [("XMCP-RSP-096", (1, 31))]),
        (b'{"versions": [],"wire":"plain"}', {"kind": "announcement"}, [("XMCP-CNF-003", (1, 14))]),
        (b'{"versions": ["1.0"]}', {"kind": "announcement"}, [("XMCP-MCP-005", (1, 1))]),
        (b'{"versions": ["1.0"],"wire":1}', {"kind": "announcement"}, [("XMCP-MCP-005", (1, 29))]),
        (b'{"versions": []}', {"kind": "declaration"}, [("XMCP-MCP-007", (1, 14))]),
        (EVENT.replace(b'"a"', b"7"), {}, [("XMCP-REC-001", (1, 40))]),
        (
            b'{"type": "tool_display", "turn": 1, "call_id": "c", "tool_name": "t",\n"envelope": {"type": "text"}}',
            {},
            [("XMCP-REC-001", (2, 13))],
        ),
        (b'{"type": "x-xmcp-reference", "payload": {"type": "table", "bytes": 9}}', {}, []),
        (b'{"type": "chart", "payload": {}}', {}, [("XMCP-DSP-012", (1, 1))]),
    ],
)
def test_each_fault_is_told_with_its_sentence_and_place(data, known, faults):
    assert told(of(data, **known)) == faults


def test_an_integer_in_a_record_may_be_of_any_size():
    record = EVENT.replace(b"}", b', "x": ' + b"9" * 5000 + b"}")
    assert of(record).outcome is FileOutcome.CONFORMS


def test_of_another_major_version_only_the_version_is_told():
    judged = of(WELL.replace(b"<tool_response", b'<tool_response note="1"\n version="2.0"').replace(b"x<", b"<new/><"))
    assert broken(judged) == {"XMCP-RSP-021"}  # which content reads differently no version may say
    judged = of(WELL.replace(b"<tool_response", b'<tool_response note="1"\n version="2.0"'))
    assert told(judged) == [("XMCP-RSP-064", (2, 2))]


def test_a_broken_should_is_a_warning_and_with_strict_a_failure():
    chart = b'{"type": "chart", "payload": {}}'
    assert judge(chart, FileName()).outcome is FileOutcome.CONFORMS
    assert judge(chart, FileName(), strict=True).outcome is FileOutcome.DOES_NOT_CONFORM


@pytest.mark.parametrize(("data", "known"), [(WELL[:-1] + b" " * MOST_READ + b">", {}), (b"{" + b" " * MOST_READ, {})])
def test_what_is_too_large_to_be_looked_at_does_not_conform(data, known):
    judged = of(data, **known)
    assert judged.outcome is FileOutcome.DOES_NOT_CONFORM
    assert "the suite looks no further" in judged.faults[0].observation.seen


def test_a_document_that_the_reader_gives_up_does_not_conform():
    assert of(WELL.replace(b"</ll", b"<a/>" * 20_000 + b"</ll")).outcome is FileOutcome.DOES_NOT_CONFORM


def test_each_line_of_json_lines_is_a_document():
    judged = judge_lines([EVENT + b"\r\n", b"\n", EVENT.replace(b"0", b'"0"') + b"\n", b'{"type": \n'], FileName("n"))
    assert told(judged) == [("XMCP-REC-001", (3, 29)), ("XMCP-RSP-040", (4, 10))]
    assert judged.documents == 3


ONE_CHAT = (ROOT / "spec" / "examples" / "one-chat.jsonl").read_bytes().splitlines(keepends=True)


def told_of(*lines: bytes) -> list[tuple[str, int]]:
    """Return the requirements that lines of events break, each with its line."""
    judged = judge_lines([line if line.endswith(b"\n") else line + b"\n" for line in lines], FileName("a.jsonl"))
    return [(fault.observation.requirement, fault.observation.place.line) for fault in judged.faults]


def of_type(kind: str) -> int:
    return next(at for at, line in enumerate(ONE_CHAT) if json.loads(line)["type"] == kind)


def changed(line: bytes, change) -> bytes:
    event = json.loads(line)
    change(event)
    return json.dumps(event).encode()


def test_chats_one_after_the_other_are_sequences_without_a_fault():
    assert told_of(*ONE_CHAT, *ONE_CHAT) == []
    assert told_of(*ONE_CHAT[:-3]) == []


def test_events_of_a_call_in_another_order_are_told_with_their_line():
    at = of_type("tool_result")
    id_ = json.loads(ONE_CHAT[at])["call_id"]
    own = [line for line in ONE_CHAT if json.loads(line).get("call_id") == id_]
    started = next(line for line in own if json.loads(line)["type"] == "tool_started")
    assert told_of(*[line for line in ONE_CHAT if line != started]) == []  # such as of a cache
    assert told_of(*ONE_CHAT[:at], started) == [("XMCP-REC-002", at + 1)]
    assert told_of(*[line for line in ONE_CHAT if line != own[0]])[0][0] == "XMCP-REC-002"


def test_a_turn_that_falls_and_a_wrong_number_of_requests_are_told():
    def count(event):
        event["result"]["usage"]["llm_calls"] = 99

    last = len(ONE_CHAT)
    usage = changed((EXAMPLES / "valid/chat_event/usage.json").read_bytes(), lambda event: event.update(turn=2))
    assert told_of(*ONE_CHAT[:-1], changed(ONE_CHAT[-1], count)) == []  # this chat's usage is told nowhere
    assert told_of(*ONE_CHAT[:-1], usage, changed(ONE_CHAT[-1], count)) == [("XMCP-REC-006", last + 1)]
    falls = changed(ONE_CHAT[-1], lambda event: event.update(turn=1))
    assert told_of(*ONE_CHAT[:-1], falls) == [("XMCP-REC-006", last)]


def records(*of: tuple[str, int, str]) -> list[bytes]:
    """Return audit records: the chat, the number and the kind of each."""
    shared = {"timestamp": "2026-11-22T09:30:00Z", "session_id": "s", "tenant_id": None}
    further = {"usage": {}, "message": {"role": "user", "content": "a"}, "stop_reason": "stop"}
    members = {"message": ("message",), "chat_ended": ("stop_reason",)}
    return [
        json.dumps(
            {"kind": kind, "chat_id": chat, "sequence": number, **shared}
            | {name: further[name] for name in members.get(kind, ())}
        ).encode()
        for chat, number, kind in of
    ]


FIRST, LAST = ("a", 0, "chat_started"), ("a", 2, "chat_ended")


@pytest.mark.parametrize(
    ("of", "lines"),
    [
        ([FIRST, ("b", 0, "chat_started"), ("a", 1, "message"), LAST, ("b", 1, "message")], []),
        ([FIRST, ("a", 1, "message")], []),  # the chat goes on
        ([FIRST, LAST], [2]),
        ([FIRST, ("a", 0, "chat_started")], [2]),
        ([FIRST, ("a", 1, "chat_started")], [2]),
        ([("a", 0, "message")], [1]),
        ([("a", 1, "message"), LAST], []),  # the file begins later
        ([FIRST, ("a", 1, "message"), LAST, ("a", 3, "message")], [4]),
        ([LAST, ("a", 1, "message"), FIRST], []),  # the order of the lines is open
        ([LAST, FIRST], [1]),
        ([("a", 1.0, "message"), FIRST, ("a", 2, "message")], []),
        ([FIRST, ("a", 2.0, "message")], [2]),
        ([FIRST, ("a", 1, "chat_ended"), LAST], [2]),
    ],
)
def test_audit_records_are_numbered_from_nought_for_each_chat(of, lines):
    assert told_of(*records(*of)) == [("XMCP-REC-022", line) for line in lines]


REFERENCE = '{"type":"x-xmcp-reference","payload":{"type":"table","bytes":48213,"note":"a"}}'


@pytest.mark.parametrize(("role", "ids"), [(None, ["XMCP-DSP-043"]), ("server", ["XMCP-DSP-043"]), ("client", [])])
def test_what_a_client_writes_for_its_model_is_not_blamed_as_a_server_s(role, ids):
    text = WELL.replace(b"</llm_output>", f"</llm_output><display>{REFERENCE}</display>".encode())
    assert [id_ for id_, _ in told(of(text, role=role))] == ids
    if role is not None:
        assert [id_ for id_, _ in told(of(REFERENCE.encode(), kind="display_envelope", role=role))] == ids


def test_a_snapshot_whose_calls_are_not_answered_is_told_at_its_message():
    snapshot = json.loads((ROOT / "schemas/examples/valid/snapshot/after-a-tool-call.json").read_text("utf-8"))
    place = next(at for at, message in enumerate(snapshot["history"]) if message["role"] == "tool")
    del snapshot["history"][place]
    judged = of(json.dumps(snapshot, indent=1).encode(), kind="snapshot")
    (fault,) = judged.faults
    assert fault.observation.requirement == "XMCP-REC-030"
    assert "what follows answers []" in fault.observation.seen
    assert fault.observation.place.line > 1


def test_a_line_of_unknown_kind_is_named():
    assert judge_lines([EVENT, b"{}"], FileName("n")).reason.startswith("line 2: ")


def test_an_empty_file_of_lines_does_not_conform():
    assert told(judge_lines([b"\n"], FileName("n"))) == [("XMCP-RSP-040", (1, 1))]


def test_of_many_faults_some_are_listed_and_that_there_are_more_is_said():
    judged = judge_lines([b"[\n"] * 1000, FileName("n", "chat_event"))
    assert len(judged.faults) == 20
    assert judged.more
    assert judged.outcome is FileOutcome.DOES_NOT_CONFORM
    many = judge(json.dumps({"history": [{}] * 1000, **SNAPSHOT}).encode(), FileName("n"))
    assert len(many.faults) == 20
    assert many.more


SNAPSHOT = {"format": "xmcp-conversation", "version": 1, "created_at": "2026-01-01T00:00:00Z"}


@given(st.binary(max_size=80), st.sampled_from([None, *kinds()]), st.sampled_from(["", ".xml", ".json"]))
def test_whatever_a_file_holds_nothing_is_raised(data, kind, suffix):
    judge(data, FileName("n", kind, "", suffix))
    judge_lines(data.splitlines(keepends=True), FileName("n", kind))


BREAK = st.sampled_from(["\n", "\r\n", "\r", " ", "\t", "\n\n", " \r\n "])
WORDS = st.text("aé𝄞 \t\n", max_size=12)


@st.composite
def faulty_documents(draw: st.DrawFn) -> tuple[str, int, str]:
    """A document with one fault, the index of the character where that is, and the requirement it breaks."""
    parts = ["<tool_response", " ", 'tool_name="t"', ">", draw(BREAK), "<llm_output", " ", 'lossy="false"', ">"]
    parts += [draw(WORDS), draw(WORDS), "</llm_output>", draw(BREAK), "<display>", draw(BREAK)]
    parts += ['{"type":', draw(BREAK), '"group"', ",", draw(BREAK), '"payload":[']
    member = '{"type":"text","payload":'
    for number in range(draw(st.integers(1, 4))):
        parts += [","] if number else []
        parts += [draw(BREAK), member, draw(BREAK), '"ä"', draw(BREAK), "}"]
    parts += ["]}", draw(BREAK), "</display>", draw(BREAK), "</tool_response>"]
    faults = {
        "XMCP-RSP-025": (9, "\x01"),
        "XMCP-RSP-021": (9, "<b/>"),
        "XMCP-RSP-022": (9, "& "),
        "XMCP-RSP-023": (9, "]]>"),
        "XMCP-RSP-010": (12, "x"),
        "XMCP-RSP-003": (12, "<!-- -->"),
        "XMCP-RSP-009": (12, "<footer/>"),
        "XMCP-RSP-011": (7, 'odd="1" '),
        "XMCP-RSP-008": (2, 'version="one" '),
        "XMCP-DSP-003": (None, "7"),
        "XMCP-RSP-043": (None, "99999999999999999"),
        "XMCP-RSP-044": (None, '"\\udc00"'),
        "XMCP-RSP-040": (None, "NaN"),
    }
    requirement = draw(st.sampled_from(sorted(faults)))
    at, fault = faults[requirement]
    if at is None:
        values = [index for index, part in enumerate(parts) if part == '"ä"']
        at = draw(st.sampled_from(values))
        parts[at] = fault
    elif fault.endswith(" ") and fault != "& ":
        parts.insert(at, fault + draw(BREAK))
    else:
        at += at == 9 and draw(st.booleans())
        parts.insert(at, fault)
    index = len("".join(parts[:at])) + (requirement == "XMCP-RSP-044")
    return "".join(parts), index, requirement


@given(faulty_documents())
def test_a_fault_at_a_random_place_is_told_with_its_line_and_column(case):
    text, index, requirement = case
    lines = re.split("\r\n|\r|\n", text[:index])
    if text[index - 1 : index + 1] == "\r\n":
        lines = [*lines[:-2], lines[-2] + "\r"]
    assert told(of(text.encode())) == [(requirement, (len(lines), len(lines[-1]) + 1))]


JSON_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
).map(lambda value: json.dumps(value, ensure_ascii=False))


@given(JSON_TEXT, st.integers(0, 200), st.text('{}[]",:\\\\ud8e1-.\n', max_size=3), st.booleans())
def test_both_ways_to_read_json_agree(text, at, damage, safe_integers):
    """The fast one leaves what is odd to the other; what it takes, the other reads the same."""
    for candidate in (text, text[:at] + damage + text[at:]):
        quick = strict_json._quickly(candidate, safe_integers)
        if quick is not None:
            slow = strict_json._Parser(candidate, safe_integers).whole()
            assert (slow.met, slow.too_deep) == (quick.met, None)
            assert json.dumps(slow.value) == json.dumps(quick.value)


@given(JSON_TEXT, st.booleans())
def test_what_is_json_is_read_and_every_value_is_found_in_it(text, spaced):
    text = json.dumps(json.loads(text), indent=1 if spaced else None)
    assume("Infinity" not in text)  # what `1e999` is to Python
    value = strict_json.parse(text, safe_integers=False).value if "\\ud" not in text else None
    stack = [((), value)]
    while stack:
        path, item = stack.pop()
        found = strict_json._DECODE(text, strict_json.locate(text, path))[0] if value is not None else item
        assert found == item
        stack += [((*path, name), inner) for name, inner in item.items()] if isinstance(item, dict) else []
        stack += [((*path, index), inner) for index, inner in enumerate(item)] if isinstance(item, list) else []


def report_of(*files: FileReport) -> DocumentReport:
    report = DocumentReport.of([start()])
    report.files += files
    return report


def printed(*files: FileReport, width: int = 80, quiet: bool = False) -> str:
    out, report = io.StringIO(), report_of(*files)
    console = Console(file=out, width=width, force_terminal=False)
    for judged in files:
        show_file(judged, console, quiet=quiet)
    show_verdict(report, console, quiet=quiet)
    return out.getvalue()


def test_a_fault_is_shown_with_its_sentence_its_place_and_the_line():
    text = printed(judge(WELL.replace(b"x<", b"first\nsecond & third<"), FileName("out/a.xml")), width=200)
    assert [line.rstrip() for line in text.splitlines()] == [
        "fails out/a.xml  tool_response",
        "",
        "  ✗ XMCP-RSP-022  section 2.3",
        "    at       out/a.xml:2:8",
        "          2 │ second & third</llm_output></tool_response>",
        "            │        ^",
        "    says     In character data an emitter MUST write every `&` and `<` of the text as a reference, "
        "or the text as CDATA.",
        "    seen     an `&` that begins no reference XML knows, in `first\\nsecond & third`",
        "    expected `&amp;`",
        "",
        f"XMCP {registry().version}, 1 file: 1 fail",
        "DOES NOT CONFORM",
    ]


@pytest.mark.parametrize("before", ["日本語", "é" * 300, "日" * 300, "\t\t", "\u202e", "e\u0301"])
def test_the_mark_stands_below_the_fault_whatever_stands_before_it(before):
    text = printed(of(WELL.replace(b"x<", before.encode() + b"]]><")))
    line, mark = text.splitlines()[4:6]
    assert cell_len(line[: line.index("]]>")]) == cell_len(mark.rstrip()) - 1
    assert cell_len(line) <= 80


def test_names_and_text_of_files_cannot_act_on_the_terminal():
    hostile = "\x1b]0;owned\x07[bold]\udcff\u202e.xml"
    data = WELL.replace(b"x<", "\x1b[31m & \u202e[bold red]x[/]".encode() + b"<")
    text = printed(judge(data, FileName(hostile)), not_judged(hostile, "unreadable"), width=400)
    assert not re.search("[\x1b\x07\u202e]", text)
    assert "[bold]" in text
    assert "[bold red]" in text


def test_quiet_says_nothing_when_all_conform():
    assert printed(of(WELL), quiet=True) == ""
    assert "ok    " not in printed(of(WELL), of(b"<"), quiet=True)


@pytest.mark.parametrize(
    ("outcomes", "exit_code"),
    [
        ([FileOutcome.CONFORMS], 0),
        ([FileOutcome.CONFORMS, FileOutcome.DOES_NOT_CONFORM], 1),
        ([FileOutcome.DOES_NOT_CONFORM, FileOutcome.UNKNOWN_KIND], 2),
        ([FileOutcome.UNKNOWN_KIND, FileOutcome.UNREADABLE], 3),
    ],
)
def test_what_could_not_be_judged_decides_the_exit_code(outcomes, exit_code):
    files = {FileOutcome.CONFORMS: of(WELL), FileOutcome.DOES_NOT_CONFORM: of(b"<a")}
    files |= {outcome: not_judged("a", outcome) for outcome in ("unknown kind", "unreadable")}
    report = report_of(*[files[outcome] for outcome in outcomes])
    assert [file.outcome for file in report.files] == outcomes
    assert report.exit_code == exit_code


def test_the_json_report_fits_its_schema():
    files = [
        of(WELL),
        of(b"<a"),
        of(b"{}"),
        of(b"{" + b" " * MOST_READ),
        judge_lines([b"["] * 99, FileName("n", "chat_event")),
    ]
    files += [not_judged("\udcff", "unreadable")]
    report = to_dict(report_of(*files))
    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), report)
    json.dumps(report, ensure_ascii=False).encode()


def test_the_requirements_that_documents_break_are_in_the_registry():
    judged = checks_by_requirement("document")
    own = {id_ for id_, found in judged.items() if any(checks.__name__ in one.name for one in found)}
    assert {"XMCP-REC-001", "XMCP-RSP-064"} <= own <= registry().requirements.keys()


@pytest.mark.parametrize("at", [0, 999, 1000, 1001, 4999])
def test_the_first_bad_item_of_a_long_array_is_found(at):
    rows: list = [{}] * 5000
    rows[at:] = [7] * (5000 - at)
    text = json.dumps({"type": "table", "payload": rows}).encode()
    assert told(of(text)) == [("XMCP-DSP-004", (1, text.index(b"7") + 1))]


@pytest.mark.parametrize("at", [0, 99, 100, 101, 4999])
def test_the_first_bad_name_of_a_large_object_is_found(at):
    names = [f"vendor/n{number}" if number < at else f"n{number}" for number in range(5000)]
    value = {name: {} for name in names}
    fault = next(schemas.faults("error_meta", value))
    assert fault.path == (names[at],)


def test_an_object_is_no_less_at_fault_because_it_is_large():
    value = {f"n{number}": "x" * 100 for number in range(20_000)}
    found = list(schemas.faults("error_meta", value))
    assert found[0].path == ("n0",)
    assert len(found) <= 100


def test_a_member_that_is_demanded_is_not_missed_behind_many_others():
    value = {**{f"n{number}": 1 for number in range(5000)}, **SNAPSHOT, "history": [{}]}
    assert not any("required" in fault.message for fault in schemas.faults("snapshot", value) if not fault.path)
