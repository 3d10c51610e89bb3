"""`xmcp check document` from outside: which files it finds, its exit codes, its reports."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from xmcp.cli import run
from xmcp_conformance.reports.document_json import SCHEMA

WELL = '<tool_response tool_name="a"><llm_output>x</llm_output></tool_response>'
BAD = WELL.replace("x<", "one\ntwo & three<")
ENVELOPE = '{"type": "text", "payload": "a"}'
EVENT = '{"type": "warning", "turn": 0, "text": "a"}'


@pytest.fixture
def check(workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run `xmcp check document` in an empty folder; its exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            sys.exit(run(["check", "document", *arguments]))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    return call


def put(name: str, content: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def test_a_file_that_conforms_is_told_so(check):
    code, out, _ = check(put("a.xml", WELL))
    assert code == 0
    assert out.splitlines()[0] == "ok    a.xml  tool_response"
    assert out.rstrip().endswith("CONFORMS")


def test_a_fault_is_told_with_path_line_and_column(check):
    code, out, _ = check(put("out/b.xml", BAD), put("a.xml", WELL))
    assert code == 1
    assert "out/b.xml:2:5\n" in out
    assert "XMCP-RSP-022" in out
    assert "2 │ two & three" in out
    assert out.rstrip().endswith("DOES NOT CONFORM")


def test_a_pattern_that_the_shell_left_alone_is_expanded(check):
    for name in ("out/a.xml", "out/deep/er/b.xml", "out/c.json", "c.xml"):
        put(name, WELL if name.endswith("xml") else ENVELOPE)
    code, out, _ = check("out/**/*.xml")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("ok")] == [
        os.path.join("out", "a.xml"),
        os.path.join("out", "deep", "er", "b.xml"),
    ]


def test_a_folder_means_every_document_in_it_once(check):
    for name, content in (("out/a.xml", WELL), ("out/b/c.JSON", ENVELOPE), ("out/d.jsonl", EVENT), ("out/e.txt", "x")):
        put(name, content)
    code, _, _ = check("out", "out/*.xml", "--json", "report.json")
    report = json.loads(Path("report.json").read_text())
    assert code == 0
    assert [file["kind"] for file in report["files"]] == ["tool_response", "chat_event", "display_envelope"]
    assert report["counts"]["conforms"] == 3


def test_a_file_whose_name_is_a_pattern_is_itself(check):
    put("a1.xml", BAD)
    assert check(put("a[1].xml", WELL))[0] == 0


def test_the_folder_of_an_example_says_what_it_holds(check):
    put("tool_metadata/a.json", "{}")
    assert "a.json  tool_metadata" in check("tool_metadata")[1]


def test_a_kind_that_was_given_is_believed(check):
    put("a.json", '{"versions": []}')
    code, out, _ = check("a.json", "--kind", "announcement")
    assert code == 1
    assert "XMCP-CNF-003" in out


def test_standard_input_is_judged(check, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    code, out, _ = check("-")
    assert code == 1
    assert "-:2:5\n" in out


def test_each_line_of_json_lines_is_judged_at_its_line(check):
    code, out, _ = check(put("a.jsonl", f"{EVENT}\n\n{EVENT.replace('0', '-1')}\n"))
    assert code == 1
    assert "a.jsonl:3:29\n" in out
    assert "2 lines" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.xml"], "no such file: `none.xml`"),
        (["none/*.xml"], "no file matches `none/*.xml`"),
        (["empty"], "no .xml, .json, .jsonl in the folder `empty`"),
        ([], "Missing argument"),
        (["a.xml", "--kind", "no_such"], "'no_such' is not one of"),
        (["\x1b[2Jnone.xml"], "no file matches `\\x1b[2Jnone.xml`"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_nothing_is_judged(check, arguments, words):
    put("a.xml", WELL)
    Path("empty").mkdir()
    code, out, err = check("a.xml", *arguments) if arguments and "a.xml" not in arguments else check(*arguments)
    assert code == 2
    assert out == ""
    assert words in err


def test_a_file_of_unknown_kind_is_exit_code_2_and_the_others_are_judged(check):
    code, out, _ = check(put("a.json", "{}"), put("b.xml", WELL))
    assert code == 2
    assert "kind? a.json: " in out
    assert "ok    b.xml" in out
    assert "--kind" in out


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")
def test_links_to_folders_lead_no_pattern_in_circles(check):
    put("d/c/a.xml", WELL)
    os.symlink(".", "d/a")
    os.symlink(".", "d/b")
    code, out, _ = check("d/**/*.xml", "d")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("ok")] == ["d/c/a.xml"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")
@pytest.mark.parametrize("argument", ["d", "d/*.xml", "d/**/*.xml", "**/*.xml", "**"])
def test_a_link_to_nothing_is_exit_code_3(check, argument):
    put("d/b.xml", WELL)
    os.symlink("nowhere", "d/a.xml")
    code, out, _ = check(argument)
    assert code == 3
    assert "error d/a.xml: No such file" in out
    assert "ok    d/b.xml" in out


@pytest.mark.parametrize("argument", ["d", "d/**/*.xml", "d/*/*.xml", "d/**"])
def test_a_folder_that_cannot_be_read_is_exit_code_3(check, argument, monkeypatch):
    put("d/e/b.xml", WELL)
    Path("d/shut").mkdir()

    def unless_shut(own):
        def look(path):
            if Path(path).name == "shut":
                raise PermissionError(13, "Permission denied", str(path))
            return own(path)

        return look

    monkeypatch.setattr(os, "scandir", unless_shut(os.scandir))
    monkeypatch.setattr(os, "listdir", unless_shut(os.listdir))
    code, out, _ = check(argument)
    assert code == 3
    assert f"error {os.path.join('d', 'shut')}: Permission denied" in out
    assert "b.xml" in out


def test_standard_input_that_is_closed_is_exit_code_3(check, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    code, out, _ = check("-")
    assert code == 3
    assert "error -: Standard input is closed" in out


@pytest.mark.parametrize("pattern", ["*.xml", "./*.xml", "**/*.xml"])
def test_hidden_files_are_not_meant_by_a_pattern(check, pattern):
    put(".a.xml", BAD)
    put(".git/a.xml", BAD)
    put("b.xml", WELL)
    assert check(pattern)[0] == 0
    assert check(os.path.join(os.getcwd(), "*.xml"))[0] == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")
def test_a_file_that_cannot_be_read_is_exit_code_3_and_the_others_are_judged(check):
    os.symlink("nowhere", "a.xml")
    code, out, _ = check("a.xml", put("b.xml", WELL))
    assert code == 3
    assert "error a.xml: No such file" in out
    assert "ok    b.xml" in out


def test_the_json_report_fits_its_schema_and_leaves_standard_output_to_it(check):
    code, out, err = check(put("a.xml", WELL), put("b.xml", BAD), put("c.json", "{}"), "--strict", "--json", "-")
    report = json.loads(out)
    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), report)
    assert (code, report["exit_code"], report["conforms"]) == (2, 2, False)
    fault = report["files"][1]["faults"][0]
    assert (fault["id"], fault["line"], fault["column"]) == ("XMCP-RSP-022", 2, 5)
    assert "XMCP-RSP-022" in err


def test_a_report_that_cannot_be_written_is_said_so(check):
    code, _, err = check(put("a.xml", WELL), "--json", "/dev/full")
    assert code == 3
    assert "cannot be written" in err


def test_a_broken_should_counts_with_strict(check):
    put("a.json", '{"type": "chart", "payload": {}}')
    assert check("a.json")[0] == 0
    assert check("a.json", "--strict")[0] == 1


def test_quiet_says_nothing_of_files_without_a_fault(check):
    put("a.xml", WELL)
    assert check("a.xml", "--quiet")[:2] == (0, "")
    assert "a.xml" not in check("a.xml", put("b.xml", BAD), "--quiet")[1]


def test_a_file_is_read_no_further_than_it_is_looked_at(check):
    with open("a.xml", "wb") as file:
        file.write(b"<")
        file.truncate(400 * 1024 * 1024)
    with open("a.jsonl", "wb") as file:
        file.truncate(100 * 1024 * 1024)
        file.write(b"\n" + EVENT.encode())
    code, out, _ = check("a.xml", "a.jsonl", "--kind", "chat_event")
    assert code == 1
    assert out.count("the suite looks no further") == 2


def test_names_cannot_act_on_the_terminal(check):
    out = check(put("\x1b[2J[bold]\u202e.xml", BAD))[1]
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b[2J[bold]\\u202e.xml:2:5" in out
