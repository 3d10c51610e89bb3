"""On a terminal without Unicode, marks and drawings are readable ASCII, and nothing becomes `?`."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import xmcp.cli
import xmcp.render.terminal
import xmcp_conformance.reports
from xmcp.cli.narrow_encodings import in_ascii

FOLDERS = [Path(package.__file__).parent for package in (xmcp.cli, xmcp.render.terminal, xmcp_conformance.reports)]


def written_marks() -> set[str]:
    """Every character beyond ASCII in the texts of the modules that print."""
    nodes = (
        node for folder in FOLDERS for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
    )
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {char for text in texts for char in text if not char.isascii()}


def test_every_mark_that_the_commands_print_has_a_form_in_ascii() -> None:
    marks = written_marks()
    assert {"✓", "✗", "…", "─"} <= marks
    assert [mark for mark in marks if in_ascii(mark).startswith(("<U+", "["))] == []


def test_letters_keep_their_base_and_dots_of_a_drawing_are_visible() -> None:
    assert "".join(map(in_ascii, "Zoë Zoe\u0308\u2800\u28ff")) == "Zoe Zoe *"


def test_no_sign_becomes_one_that_says_something_else() -> None:
    assert "".join(map(in_ascii, "a≠b a=\u0338b 10² 1½ ⅓ ＂")) == "a!=b a=<U+0338>b 10^2 1 1/2 <U+2153> <U+FF02>"


def test_what_has_no_form_in_ascii_is_named_or_numbered_and_never_a_question_mark() -> None:
    assert "".join(map(in_ascii, "👍\ufe0f ␛ 日本")) == "[thumbs up sign] [symbol for escape] <U+65E5><U+672C>"


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp437"])
def test_json_on_a_narrow_terminal_is_the_json_that_was_written(encoding: str, tmp_path: Path) -> None:
    hostile = "a＂, ＂id＂: ＂forged＂, ＂z＂: “x” ≠ ✓"
    (tmp_path / "a.json").write_text(json.dumps({"type": hostile, "payload": "x"}), encoding="utf-8")
    command = [sys.executable, "-m", "xmcp", "check", "document", "a.json", "--kind", "display_envelope", "--json", "-"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=300, check=False)
    report = done.stdout.decode("ascii")
    found = json.loads(report[report.index("{\n") :])
    assert "forged" not in found
    assert "＂id＂" in json.dumps(found, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_report_on_a_narrow_terminal_has_marks_and_no_question_marks(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<tool_response>")
    done = subprocess.run(
        [sys.executable, "-m", "xmcp", "check", "document", str(tmp_path)],
        check=False,
        capture_output=True,
        timeout=300,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 1
    text = done.stdout.decode(encoding)
    assert "x XMCP-RSP-" in text
    assert "?" not in text


def test_what_the_encoding_has_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    xmcp.cli.write_ascii_where_needed()
    stream.write("✓ · € … →")
    stream.flush()
    assert raw.getvalue() == "+ · € … ->".encode("cp1252")
