"""`xmcp check codec`: the adapter of the examples conforms, and what is no codec is said in one sentence."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from xmcp.cli.check import check
from xmcp_conformance.profiles.codec.command import SCHEMA as PROTOCOL
from xmcp_conformance.reports.case_json import SCHEMA

ROOT = Path(__file__).resolve().parents[3]
ADAPTER = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'examples/codec/adapter.py'))}"
WRONG = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'conformance/tests/codec_program.py'))}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, ["codec", *arguments])


def test_the_reference_conforms_by_the_adapter_of_the_examples(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    done = run(ADAPTER, "--json", str(path), "--examples", "20")
    assert (done.exit_code, done.output.rstrip().splitlines()[-1].partition(" ")[0]) == (0, "CONFORMS"), done.output
    assert "XMCP 1.0-draft, a codec by vectors: xmcp.wire" in done.output
    assert "not run: the codec did not name values of the kind" in done.output
    report = json.loads(path.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(report)
    assert (report["peer"], report["profile"], report["conforms"]) == ("xmcp.wire", "codec", True)
    drawn = [case["name"].split("-")[1:] for case in report["cases"] if case["name"].startswith("drawn-")]
    assert len([name for name in drawn if name[0].isdecimal() and name[1] != "halved"]) == 60
    assert {name[0] for name in drawn if not name[0].isdecimal()} == {"double", "float", "integer", "names"}


def test_a_fault_is_told_with_its_sentence_and_its_vector(tmp_path: Path) -> None:
    path, page, cases = (tmp_path / name for name in ("report.json", "page.md", "cases.xml"))
    files = ("--json", str(path), "--markdown", str(page), "--junit", str(cases))
    done = run(f"{WRONG} NaiveCdataWriter", *files, "--examples", "0")
    assert page.read_text().startswith("## ✗ DOES NOT CONFORM")
    assert '<testcase classname="xmcp" name="verdict">' in cases.read_text()
    assert done.exit_code == 1
    assert "✗ XMCP-RSP-020 (section 2.3)" in done.output
    assert "  in       cdata-end-in-text" in done.output
    assert "without a fault" in done.output
    report = json.loads(path.read_text())
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(report)
    failed = {case["name"] for case in report["cases"] if case["faults"]}
    assert {"cdata-end-in-text", "carriage-return-in-text"} <= failed
    assert {one["id"] for one in report["requirements"] if one["status"] == "fail"} >= {"XMCP-RSP-020", "XMCP-RSP-024"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([""], 2, "it is empty; name the command that starts the codec"),
        (["FooBar 'x"], 2, "`FooBar 'x`: no closing quotation"),
        (["x", "--vectors", "no-such-file.json"], 2, "no-such-file.json: No such file or directory"),
        (["x", "--quiet", "--verbose"], 2, "exclude each other"),
        (["x", "--junit", "no-such-folder/j.xml"], 2, "the folder `no-such-folder` does not exist"),
        ([], 2, "Missing argument 'COMMAND'"),
        (["no-such-command"], 3, "no-such-command: NOT JUDGED: the command does not exist or cannot be run"),
        (["'a\x1b[31mb'"], 3, "'a\\x1b[31mb': NOT JUDGED"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(arguments: list[str], code: int, says: str) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert says in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output
    assert "\x1b" not in done.output


def test_other_vectors_can_be_given(tmp_path: Path) -> None:
    vectors = json.loads((ROOT / "conformance/vectors/wire.json").read_text())
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**vectors, "vectors": vectors["vectors"][:3]}))
    assert "CONFORMS (3 vectors)" in run(ADAPTER, "--vectors", str(few), "--examples", "0").output
    wrong = [json.dumps({**vectors, "vectors": other}) for other in ([1], {}, [{**vectors["vectors"][0], "expect": 1}])]
    for content in ('{"format": "other"}', "{", *wrong):
        few.write_text(content)
        done = run(ADAPTER, "--vectors", str(few))
        assert (done.exit_code, "has no vectors" in done.output) == (2, True), content


def test_the_protocol_can_be_printed() -> None:
    done = run("--schema")
    assert (done.exit_code, done.output) == (0, PROTOCOL.read_text())
