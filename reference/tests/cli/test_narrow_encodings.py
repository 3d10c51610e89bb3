"""On a terminal without Unicode, marks and drawings are readable ASCII, and nothing becomes `?`."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import xmcp.cli
import xmcp.render.terminal
import xmcp_conformance.reports
from xmcp.cli.narrow_encodings import HANDLER, in_ascii
from xmcp.render.terminal import framed

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


_SUN = "\u2600 sunny \u2192 rain \u2192 wind \u2602 \u2260 storm"
_VALUES = [{"a": _SUN, "n": 3, "s": "\u2600 one"}, {"a": "b", "n": 5, "s": "\u2192 two"}]
_X_AND_Y = {"x": {"field": "a", "type": "nominal"}, "y": {"field": "n", "type": "quantitative"}}
WIDE: dict[str, tuple[str, Any, str]] = {
    "text": ("text", f"{_SUN} {_SUN} end", "sunny storm end"),
    "markdown": ("markdown", f"{_SUN} *{_SUN}* end\n\n| a | b |\n|-|-|\n| {_SUN} | last |", "sunny storm end last"),
    "code": ("code", f"x = '{_SUN} {_SUN}' # end", "sunny storm # end"),
    "json": ("json", {_SUN: f"{_SUN} end"}, 'sunny storm": end"'),
    "facts": ("facts", {"\u2600 name": f"{_SUN} end"}, "name sunny storm end"),
    "metric": ("metric", [{"label": _SUN, "value": 4, "unit": "\u20ac", "delta": "\u2600 more"}], "sunny storm 4 more"),
    "table": ("table", [{"a": _SUN, "\u2192 b": f"{_SUN} end"}], "sunny storm end -> b"),
    "bars": ("chart", {"mark": "bar", "data": {"values": _VALUES}, "encoding": _X_AND_Y}, "[black 3 b 5"),
    "lines": (
        "chart",
        {"mark": "line", "data": {"values": _VALUES}, "encoding": _X_AND_Y | {"color": {"field": "s"}}},
        "[black -> two 5",
    ),
    "image": ("image", {"src": "https://a.example/b", "alt": f"{_SUN} end"}, "sunny storm end https://a.example/b"),
    "notification": ("notification", f"{_SUN} {_SUN} end", "sunny storm end"),
}
"""Displays with signs that are words in a narrow encoding, and words that are then to be read."""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("name", WIDE)
def test_no_line_of_a_display_is_longer_than_a_narrow_terminal_is_wide(encoding: str, name: str) -> None:
    kind, payload, words = WIDE[name]
    xmcp.cli.write_ascii_where_needed()
    stream = io.TextIOWrapper(raw := io.BytesIO(), encoding=encoding, errors=HANDLER)
    console = Console(file=stream, width=44, legacy_windows=False)
    console.print(framed({"type": kind, "payload": payload}, "\u2600\u2192" * 20))
    stream.flush()
    lines = raw.getvalue().decode(encoding).splitlines()
    assert [line for line in lines if len(line) > 44] == []
    assert set(words.split()) <= {word for line in lines for word in line.replace("|", " ").split()}


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
