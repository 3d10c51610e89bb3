"""Files of reports: a path at which none can be written is wrong usage, and nothing has been started by then."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

from xmcp.cli import report_files
from xmcp.cli.check import check
from xmcp_conformance.reports import ndjson

COMMANDS = [
    ["check", "server", "--stdio", "touch started"],
    ["check", "document", "file.xml"],
    ["see", "touch started"],
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("none/report.json", "the folder `none` does not exist; create it, or name another file"),
        ("a_file/report.json", "the folder `a_file` does not exist"),
        (".", "is a directory"),
        ("/proc/report.json", "`/proc/report.json` cannot be written: "),
    ],
)
def test_a_report_that_could_not_be_written_is_said_before_anything_starts(
    command: list[str], path: str, words: str, workplace: Path, failing: Callable[..., tuple[int, str]]
) -> None:
    (workplace / "file.xml").write_text("<tool_response/>")
    (workplace / "a_file").write_text("")
    code, line = failing(*command, "--json", path)
    assert code == 2
    assert "'--json'" in line
    assert words in line
    assert not (workplace / "started").exists()


def test_a_report_of_before_is_kept_until_there_is_a_new_one_and_none_is_made_by_looking(
    workplace: Path, failing: Callable[..., tuple[int, str]]
) -> None:
    (workplace / "old.json").write_text("old")
    for name in ("old.json", "new.json"):
        assert failing("check", "document", "no-such-file.xml", "--json", name)[0] == 2
    assert (workplace / "old.json").read_text() == "old"
    assert not (workplace / "new.json").exists()


def test_a_link_to_a_report_that_does_not_exist_yet_stays_one(workplace: Path) -> None:
    link = workplace / "report.json"
    link.symlink_to("later.json")
    assert report_files._checked(None, None, link) == link  # type: ignore[arg-type]
    assert link.is_symlink()
    assert not link.exists()


FORMS = ["json", "junit", "markdown", "html", "sarif", "badge", "events"]


def test_a_server_that_cannot_be_reached_is_in_every_report(tmp_path: Path) -> None:
    """A job that could not judge anything shows why where people look, and not an empty page."""
    command = f"{sys.executable} -c 'raise KeyError(1)'"
    paths = {form: tmp_path / form for form in FORMS}
    files = [word for form, path in paths.items() for word in (f"--{form}", str(path))]
    done = CliRunner().invoke(check, ["server", "--stdio", command, *files])
    assert done.exit_code == 3
    assert json.loads(paths["json"].read_text())["exit_code"] == 3
    assert json.loads(paths["sarif"].read_text())["runs"][0]["invocations"][0]["executionSuccessful"] is False
    assert "not shown to conform" in paths["badge"].read_text()
    for form in ("json", "junit", "markdown", "html", "sarif"):
        said = html.unescape(paths[form].read_text())
        assert "ended before it answered; it wrote to stderr: KeyError: 1." in said, form
    assert [json.loads(line)["event"] for line in paths["events"].read_text().splitlines()] == [
        *("suite_started", "connecting", "not_reached")
    ]


DOCUMENT = "<tool_response tool_name='a'>\n<llm_output>a</llm_output>\n<llm_output/></tool_response>"


@pytest.mark.parametrize("form", FORMS)
def test_each_report_of_documents_can_be_written(form: str, workplace: Path) -> None:
    (workplace / "a.xml").write_text(DOCUMENT)
    done = CliRunner().invoke(check, ["document", "a.xml", f"--{form}", "report"])
    assert done.exit_code == 1
    said = (workplace / "report").read_text()
    assert ("does not conform" if form == "badge" else "XMCP-RSP-0") in said


def test_a_form_can_be_written_several_times(workplace: Path) -> None:
    (workplace / "a.xml").write_text(DOCUMENT)
    done = CliRunner().invoke(check, ["document", "a.xml", "--badge", "a.svg", "--badge", "a.json"])
    assert done.exit_code == 1
    assert (workplace / "a.svg").read_text().startswith("<svg")
    assert json.loads((workplace / "a.json").read_text())["message"] == "does not conform"
    refused = CliRunner().invoke(check, ["document", "a.xml", "--badge", "b.svg", "--badge", "no-folder/a.json"])
    assert refused.exit_code == 2
    assert "the folder `no-folder` does not exist" in refused.output.replace("\n", " ").replace("│", "")


@pytest.mark.parametrize("form", ["junit", "markdown", "html", "sarif", "badge"])
def test_a_form_on_standard_output_is_alone_there_in_utf_8(form: str, workplace: Path) -> None:
    (workplace / "ä.xml").write_text(DOCUMENT)
    done = CliRunner(charset="latin-1").invoke(check, ["document", "ä.xml", f"--{form}", "-"])
    in_file = CliRunner().invoke(check, ["document", "ä.xml", f"--{form}", "report"])
    assert (done.exit_code, in_file.exit_code) == (1, 1)
    assert done.stdout_bytes.decode("utf-8") == (workplace / "report").read_text("utf-8")
    assert "XMCP-RSP-0" in done.stderr


def test_two_reports_for_standard_output_are_refused(workplace: Path) -> None:
    (workplace / "a.xml").write_text(DOCUMENT)
    done = CliRunner().invoke(check, ["document", "a.xml", "--json", "-", "--sarif", "-"])
    assert done.exit_code == 2
    assert "2 reports for standard output: name a file for all but one" in done.output.replace("\n", " ")


def test_events_are_lines_that_fit_their_schema(workplace: Path) -> None:
    (workplace / "a.xml").write_text(DOCUMENT)
    CliRunner().invoke(check, ["document", "a.xml", "missing.xml", "--events", "events.ndjson"])
    CliRunner().invoke(check, ["document", "a.xml", "--events", "events.ndjson"])
    rows = [json.loads(line) for line in (workplace / "events.ndjson").read_text().splitlines()]
    schema = jsonschema_rs.Draft202012Validator(json.loads(ndjson.SCHEMA.read_text("utf-8")))
    for row in rows:
        schema.validate(row)
    assert [row["event"] for row in rows[:2]] == ["suite_started", "run_started"]
    assert rows[-1]["event"] == "file_ended"


def test_the_file_of_a_command_is_the_first_word_that_is_one_below_this_folder(workplace: Path) -> None:
    (workplace / "src").mkdir()
    (workplace / "src" / "server.js").write_text("")
    assert report_files.source_of(["node", "--flag", "src/server.js"]) == "src/server.js"
    assert report_files.source_of([str(workplace / "src" / "server.js")]) == "src/server.js"
    assert report_files.source_of([sys.executable, "-m", "server", "/etc/passwd", ""]) == "."
