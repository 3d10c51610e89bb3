"""Files of reports: a path at which none can be written is wrong usage, and nothing has been started by then."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from xmcp.cli import report_files
from xmcp.cli.check import check

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


def test_a_server_that_cannot_be_reached_is_in_every_report(tmp_path: Path) -> None:
    """A job that could not judge anything shows why where people look, and not an empty page."""
    report, page, cases = (tmp_path / name for name in ("report.json", "page.md", "cases.xml"))
    command = f"{sys.executable} -c 'raise KeyError(1)'"
    files = ["--json", str(report), "--markdown", str(page), "--junit", str(cases)]
    done = CliRunner().invoke(check, ["server", "--stdio", command, *files])
    assert done.exit_code == 3
    assert json.loads(report.read_text())["exit_code"] == 3
    for path in (report, page, cases):
        assert "ended before it answered; it wrote to stderr: KeyError: 1." in path.read_text()
