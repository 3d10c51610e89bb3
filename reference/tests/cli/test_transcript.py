"""A chat in a terminal: what each event looks like, and that strangers' words are only words."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from xmcp.cli.transcript import Transcript, call_line, error_line
from xmcp.client import ChatChunk
from xmcp.wire import DisplayEnvelope, ErrorInfo

HOSTILE = "\x1b[31m[bold]x[/] \x9b2J\x07"


def printed(*chunks: dict[str, Any], width: int = 60) -> str:
    page = io.StringIO()
    transcript = Transcript(Console(file=page, width=width, color_system=None, force_terminal=True, highlight=False))
    for chunk in chunks:
        transcript.event(ChatChunk(turn=1, **chunk))
    return page.getvalue()


def test_words_of_the_model_are_wrapped_as_they_come() -> None:
    pieces = [f"word{i} wo" if i % 2 else f"rd{i} " for i in range(40)]
    lines = printed(*({"type": "llm_delta", "text": piece} for piece in pieces), {"type": "usage"}).splitlines()
    assert lines[0].startswith("Model  rd0 word1 word2")
    assert all(line.startswith("       ") and len(line) <= 60 for line in lines[1:])


def test_a_call_is_written_as_it_was_made() -> None:
    assert call_line("sales", {"region": "EMEA", "n": 3, "all": None}) == 'sales(region="EMEA", n=3, all=null)'
    assert call_line("sales", None) == "sales(arguments that are not a JSON object)"
    drawn = printed({"type": "tool_call", "call_id": "1", "tool_name": "sales", "arguments": {"n": 1}})
    assert "→  sales(n=1)" in drawn


def test_a_result_is_one_line_however_long_it_is() -> None:
    drawn = printed({"type": "tool_result", "call_id": "1", "tool_name": "sales", "text": "<result>\n" + "x" * 5000})
    assert drawn.splitlines()[0].rstrip().endswith("…")
    assert len(drawn.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ErrorInfo("DB_TIMEOUT", "busy", retry_after_ms=2000), "DB_TIMEOUT (retry after 2 s): busy"),
        (ErrorInfo("RATE_LIMIT", "slow down", retry_after_ms=250), "RATE_LIMIT (retry after 0.25 s): slow down"),
        (ErrorInfo("NOT_FOUND", "no order 7"), "NOT_FOUND (no retry): no order 7"),
        (ErrorInfo("INTERNAL", "failed", meta={"error_id": "a1"}), "INTERNAL (no retry): failed (error id a1)"),
    ],
)
def test_an_error_says_whether_trying_again_can_help(error: ErrorInfo, line: str) -> None:
    assert error_line(error) == line
    drawn = printed({"type": "tool_error", "call_id": "1", "tool_name": "sales", "error": error}, width=120)
    assert drawn.strip() == f"✗  sales failed with {line}"


def test_a_display_is_framed_with_the_tool_it_comes_from() -> None:
    envelope = DisplayEnvelope(type="table", payload=[{"region": "EMEA", "n": 1}])
    drawn = printed({"type": "tool_display", "call_id": "1", "tool_name": "sales", "envelope": envelope})
    assert "shown to you by sales" in drawn
    assert "EMEA" in drawn


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "llm_delta", "text": HOSTILE + "\n"},
        {"type": "tool_call", "call_id": "1", "tool_name": HOSTILE, "arguments": {HOSTILE: HOSTILE}},
        {"type": "tool_result", "call_id": "1", "tool_name": HOSTILE, "text": HOSTILE},
        {"type": "tool_error", "call_id": "1", "tool_name": HOSTILE, "error": ErrorInfo("X", HOSTILE)},
        {"type": "warning", "text": HOSTILE},
        {
            "type": "tool_display",
            "call_id": "1",
            "tool_name": HOSTILE,
            "envelope": DisplayEnvelope(type="text", payload=HOSTILE, title=HOSTILE),
        },
    ],
    ids=lambda chunk: chunk["type"],
)
def test_no_event_moves_the_terminal_or_is_read_as_markup(chunk: dict[str, Any]) -> None:
    drawn = printed(chunk, {"type": "usage"})
    assert not set("\x1b\x9b\x07") & set(drawn)
    assert "[bold]x[/]" in "".join(drawn.split())
