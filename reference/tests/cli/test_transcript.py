"""A chat in a terminal: how each event looks, and that untrusted text stays plain text."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from xmcp.chat.events import (
    CallReport,
    ChatChunk,
    ChatWarning,
    LLMDelta,
    LLMReasoning,
    LLMUsage,
    ToolDisplay,
    ToolError,
    ToolProgress,
    ToolRequested,
    ToolResult,
)
from xmcp.chat.usage import UsageRecord
from xmcp.cli.transcript import Transcript, call_line, error_line
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

HOSTILE = "\x1b[31m[bold]x[/] \x9b2J\x07"


USAGE = LLMUsage(
    turn=1,
    usage=UsageRecord(
        input_tokens=None,
        output_tokens=None,
        cached_tokens=None,
        cost_usd=None,
        timestamp="2026-11-22T09:30:00.000+00:00",
        session_id=None,
        tenant_id=None,
        provider="p",
        model="m",
    ),
)


def printed(*chunks: ChatChunk, width: int = 60) -> str:
    page = io.StringIO()
    transcript = Transcript(Console(file=page, width=width, color_system=None, force_terminal=True, highlight=False))
    for chunk in chunks:
        transcript.event(chunk)
    return page.getvalue()


def requested(name: str, arguments: dict[str, Any]) -> ChatChunk:
    return ToolRequested(turn=1, call_id="1", tool_name=name, arguments=arguments, text="")


def succeeded(name: str, text: str) -> ChatChunk:
    response = ToolResponse("sales", text)
    return ToolResult(turn=1, call_id="1", tool_name=name, response=response, text=text, report=CallReport())


def failed(name: str, error: ErrorInfo) -> ChatChunk:
    response = ToolResponse("sales", error=error)
    return ToolError(turn=1, call_id="1", tool_name=name, response=response, error=error, report=CallReport())


def shown(name: str, envelope: DisplayEnvelope) -> ChatChunk:
    return ToolDisplay(turn=1, call_id="1", tool_name=name, envelope=envelope)


def test_words_of_the_model_are_wrapped_as_they_come() -> None:
    pieces = [f"word{i} wo" if i % 2 else f"rd{i} " for i in range(40)]
    lines = printed(*(LLMDelta(turn=1, text=piece) for piece in pieces), USAGE).splitlines()
    assert lines[0].startswith("Model  rd0 word1 word2")
    assert all(line.startswith("       ") and len(line) <= 60 for line in lines[1:])


def test_a_call_is_written_as_it_was_made() -> None:
    assert call_line("sales", {"region": "EMEA", "n": 3, "all": None}) == 'sales(region="EMEA", n=3, all=null)'
    assert call_line("sales", None) == "sales(arguments that are not a JSON object)"
    drawn = printed(requested("sales", {"n": 1}))
    assert "→  sales(n=1)" in drawn


def test_a_result_is_one_line_however_long_it_is() -> None:
    drawn = printed(succeeded("sales", "<result>\n" + "x" * 5000))
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
    drawn = printed(failed("sales", error), width=120)
    assert drawn.strip() == f"✗  sales failed with {line}"


def test_a_display_is_framed_with_the_tool_it_comes_from() -> None:
    envelope = DisplayEnvelope(type="table", payload=[{"region": "EMEA", "n": 1}])
    drawn = printed(shown("sales", envelope))
    assert "shown to you by sales" in drawn
    assert "EMEA" in drawn


def reported(progress: float, total: float | None = None, text: str = "", name: str = "sales") -> ChatChunk:
    return ToolProgress(turn=1, call_id="1", tool_name=name, progress=progress, total=total, text=text)


def lines_of(*chunks: ChatChunk) -> list[str]:
    return [line.strip() for line in printed(*chunks).splitlines()]


def test_thoughts_stand_apart_from_the_text_of_the_model() -> None:
    thoughts = [LLMReasoning(turn=1, text=text) for text in ("They want ", "bolts.")]
    texts = [LLMDelta(turn=1, text=text) for text in ("I ", "look.")]
    drawn = lines_of(*thoughts, *texts, thoughts[1], USAGE)
    assert drawn == ["Think  They want bolts.", "Model  I look.", "Think  bolts."]


def test_progress_is_a_line_for_each_text_that_is_new() -> None:
    told = [reported(1, 4, "May"), reported(2, 4, "May"), reported(3, 4, "June"), reported(7), reported(8)]
    assert lines_of(*told) == ["…  sales: 25% May", "…  sales: 75% June", "…  sales: 7"]
    assert lines_of(reported(1, 0), reported(1, -2, "x")) == ["…  sales: 1", "…  sales: 1 x"]


@pytest.mark.parametrize(
    "chunk",
    [
        LLMReasoning(turn=1, text=HOSTILE + "\n"),
        reported(1, 2, HOSTILE, HOSTILE),
        LLMDelta(turn=1, text=HOSTILE + "\n"),
        requested(HOSTILE, {HOSTILE: HOSTILE}),
        succeeded(HOSTILE, HOSTILE),
        failed(HOSTILE, ErrorInfo("X", HOSTILE)),
        ChatWarning(turn=1, text=HOSTILE),
        shown(HOSTILE, DisplayEnvelope(type="text", payload=HOSTILE, title=HOSTILE)),
    ],
    ids=lambda chunk: chunk.type,
)
def test_no_event_moves_the_terminal_or_is_read_as_markup(chunk: ChatChunk) -> None:
    drawn = printed(chunk, USAGE)
    assert not set("\x1b\x9b\x07") & set(drawn)
    assert "[bold]x[/]" in "".join(drawn.split())
