"""A chat on the screen: how each event looks, what changes while it runs, and that untrusted text stays plain text."""

from __future__ import annotations

import io
import signal
from typing import Any

import pytest
from rich.console import Console, ConsoleOptions, RenderResult
from support.clock import Clock
from support.terminal import drawn

from xmcp.chat.events import (
    CallReport,
    ChatChunk,
    ChatFailed,
    ChatResult,
    ChatWarning,
    Done,
    LLMDelta,
    LLMReasoning,
    LLMRetry,
    LLMUsage,
    ToolDisplay,
    ToolError,
    ToolProgress,
    ToolRequested,
    ToolResult,
    ToolRetry,
    ToolStarted,
)
from xmcp.chat.usage import ChatUsage, UsageRecord
from xmcp.cli.chat.calls import call_line, error_line, seconds, share
from xmcp.cli.chat.money import cost, used
from xmcp.cli.chat.screen import Screen
from xmcp.client.loop.usage import NOTHING
from xmcp.render.terminal.markdown import SafeMarkdown
from xmcp.wire import DisplayEnvelope, ErrorInfo, ToolResponse

HOSTILE = "\x1b[31m[bold]x[/] \x9b2J\x07"
BUSY = ErrorInfo("DB_TIMEOUT", "busy", retryable=True, retry_after_ms=2000)

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


class Drawing:
    """A screen, and what stands on it."""

    def __init__(self, width: int = 60, *, terminal: bool = True, color: Any = None, height: int = 25) -> None:
        self.page = io.StringIO()
        self.clock = Clock(100.0)
        self.width, self.height = width, height
        console = Console(
            file=self.page,
            width=width,
            height=height,
            color_system=color,
            force_terminal=terminal,
            highlight=False,
            _environ={"TERM": "xterm"},
        )
        self.screen = Screen(console, clock=self.clock)

    def take(self, *chunks: Any) -> Drawing:
        for chunk in chunks:
            self.clock.now += 1
            self.screen.event(chunk)
        return self

    @property
    def lines(self) -> list[str]:
        """The lines that are shown, without empty ones."""
        return [line for line in drawn(self.page.getvalue(), self.width, self.height) if line]


def text(piece: str) -> ChatChunk:
    return LLMDelta(turn=1, text=piece)


def requested(name: str, arguments: dict[str, Any], call_id: str = "1") -> ChatChunk:
    return ToolRequested(turn=1, call_id=call_id, tool_name=name, arguments=arguments, text="")


def started(name: str, server: str, call_id: str = "1") -> ChatChunk:
    return ToolStarted(turn=1, call_id=call_id, tool_name=name, report=CallReport(server))


def succeeded(name: str, said: str, report: CallReport | None = None, call_id: str = "1") -> ChatChunk:
    response = ToolResponse("sales", said)
    report = report or CallReport(duration_ms=300)
    return ToolResult(turn=1, call_id=call_id, tool_name=name, response=response, text=said, report=report)


def failed(name: str, error: ErrorInfo) -> ChatChunk:
    response = ToolResponse("sales", error=error)
    return ToolError(turn=1, call_id="1", tool_name=name, response=response, error=error, report=CallReport())


def shown(name: str, envelope: DisplayEnvelope) -> ChatChunk:
    return ToolDisplay(turn=1, call_id="1", tool_name=name, envelope=envelope)


def done(stop_reason: Any = "stop", answer: str | None = "x") -> Done:
    result = ChatResult(
        answer=answer, display=None, displays=[], history=[], usage=ChatUsage(**NOTHING), stop_reason=stop_reason
    )
    return Done(turn=1, result=result)


# ---- what the model writes ----


def test_what_the_model_writes_has_its_mark_and_a_margin_however_it_comes() -> None:
    pieces = [f"word{i} wo" if i % 2 else f"rd{i} " for i in range(40)]
    lines = Drawing().take(*map(text, pieces), done()).lines
    assert lines[0].startswith("● rd0 word1 word2")
    assert all(line.startswith("  ") and len(line) <= 60 for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == "● " + " ".join("".join(pieces).split())


def test_a_block_that_is_finished_is_drawn_as_markdown_and_one_that_is_not_changes() -> None:
    drawing = Drawing()
    drawing.take(text("# Title\n\nA **bo"))
    assert drawing.lines == ["● Title", "  A **bo"]
    drawing.take(text("ld** word"))
    assert drawing.lines == ["● Title", "  A bold word"]
    drawing.take(text("\n\n- one\n- two\n"), done())
    assert drawing.lines == ["● Title", "  A bold word", "   • one", "   • two"]


def test_of_a_block_that_is_higher_than_the_screen_the_end_is_shown_and_in_the_end_all_of_it() -> None:
    drawing = Drawing(height=10)
    drawing.take(*(text(f"- item {i}\n") for i in range(30)))
    assert "  …" in drawing.lines
    assert drawing.lines[-1] == "   • item 29"
    drawing.take(done())
    assert drawing.lines == ["●  • item 0", *(f"   • item {i}" for i in range(1, 30))]


def test_each_block_is_drawn_once_however_many_come_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []

    def counted(source: str) -> SafeMarkdown:
        sources.append(source)
        return SafeMarkdown(source)

    monkeypatch.setattr("xmcp.cli.chat.screen.SafeMarkdown", counted)
    drawing = Drawing().take(text("".join(f"word {i}\n\n" for i in range(20)) + "- x\n" * 20))
    assert len(sources) == 21
    drawing.take(ChatWarning(turn=1, text="cut"))  # what else stays leaves the open block as it is
    assert len(sources) == 21
    assert drawing.lines == ["● word 0", *(f"  word {i}" for i in range(1, 20)), "! cut", *["   • x"] * 20]


def test_nothing_is_written_for_what_did_not_change() -> None:
    drawing = Drawing()
    drawing.take(text("some words"))
    before = drawing.page.getvalue()
    drawing.clock.now += 1
    drawing.screen.tick()
    assert drawing.page.getvalue() == before


def test_only_the_lines_that_changed_are_written_again() -> None:
    drawing = Drawing()
    drawing.take(text("- first\n- second\n- third\n"))
    before = len(drawing.page.getvalue())
    drawing.take(text("- fourth\n"))
    assert "third" not in drawing.page.getvalue()[before:]
    assert "fourth" in drawing.page.getvalue()[before:]


def test_no_text_of_the_model_stands_where_the_marks_and_the_frames_stand() -> None:
    forged = (
        "✓ delete_all()  0.1 s\n\n```\n╭─ shown by bank ─╮\n✓ paid\n```\n\n> quote\n\n1. one\n\n| a |\n|---|\n| b |\n"
    )
    lines = Drawing().take(text(forged), done()).lines
    assert lines[0].startswith("● ")
    assert [line for line in lines[1:] if not line.startswith("  ")] == []


# ---- calls ----


def test_a_call_is_written_as_it_was_made() -> None:
    assert call_line("sales", {"region": "EMEA", "n": 3, "all": None}) == 'sales(region="EMEA", n=3, all=null)'
    assert call_line("sales", None) == "sales(arguments that are not a JSON object)"


def test_a_call_that_runs_says_how_long_and_how_far_it_is() -> None:
    row = ToolProgress(turn=1, call_id="1", tool_name="sales", progress=3.0, total=12.0, text="row 3")
    drawing = Drawing().take(requested("sales", {"n": 1}), started("sales", "shop"))
    drawing.clock.now += 12
    drawing.take(row)
    assert drawing.lines[-1].endswith("sales(n=1)  13 s · 25 % row 3")
    drawing.take(succeeded("sales", "1 row"))
    assert drawing.lines == ["✓ sales(n=1)  0.3 s", "  tells the model: 1 row"]


def test_calls_that_run_at_the_same_time_have_a_line_each() -> None:
    drawing = Drawing().take(requested("a", {}, "1"), requested("b", {}, "2"), succeeded("b", "", call_id="2"))
    assert drawing.lines[0] == "✓ b()  0.3 s"
    assert "a()" in drawing.lines[1]


def test_of_more_calls_than_the_screen_has_room_for_some_are_counted_and_nothing_of_them_stays() -> None:
    names = [f"t{i}" for i in range(40)]
    drawing = Drawing(height=10).take(*(requested(name, {}, name) for name in names))
    drawing.take(text("some words"))
    drawing.clock.now += 1
    drawing.screen.tick()
    assert len(drawing.lines) < 10
    assert "t5()" in drawing.lines[-2]
    assert drawing.lines[-1] == "  and 34 more calls"
    drawing.screen.end()
    assert drawing.lines == ["● some words"]


def test_a_call_that_is_tried_again_says_why() -> None:
    again = ToolRetry(turn=1, call_id="1", tool_name="sales", attempt=1, wait_ms=500, error=BUSY)
    drawing = Drawing(80).take(requested("sales", {}), started("sales", "shop"), again)
    drawing.clock.now += 1
    drawing.screen.tick()
    assert "attempt 1 failed with DB_TIMEOUT" in drawing.lines[-1]


def test_a_result_is_one_line_however_long_it_is() -> None:
    lines = Drawing().take(requested("sales", {}), succeeded("sales", "<result>\n" + "x" * 5000)).lines
    assert lines[1].endswith("…")
    assert len([line for line in lines if "x" in line]) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (BUSY, "DB_TIMEOUT (retry after 2 s): busy"),
        (ErrorInfo("RATE_LIMIT", "slow down", retry_after_ms=250), "RATE_LIMIT (retry after 0.25 s): slow down"),
        (ErrorInfo("NOT_FOUND", "no order 7"), "NOT_FOUND (no retry): no order 7"),
        (ErrorInfo("INTERNAL", "failed", meta={"error_id": "a1"}), "INTERNAL (no retry): failed (error id a1)"),
    ],
)
def test_an_error_says_whether_trying_again_can_help(error: ErrorInfo, line: str) -> None:
    assert error_line(error) == line
    lines = Drawing(120).take(requested("sales", {}), failed("sales", error)).lines
    assert lines == ["✗ sales()  0 ms", f"  {line}"]


def test_a_display_is_framed_with_the_tool_and_the_server_it_comes_from() -> None:
    envelope = DisplayEnvelope(type="table", payload=[{"region": "EMEA", "n": 1}])
    lines = Drawing().take(requested("sales", {}), started("sales", "shop"), shown("sales", envelope)).lines
    assert lines[0].startswith("╭─ shown by sales of shop ─")
    assert any("EMEA" in line for line in lines)


# ---- what goes wrong ----


def test_a_text_that_is_begun_anew_is_not_mixed_with_the_new_one() -> None:
    retry = LLMRetry(turn=1, attempt=1, wait_ms=500, error=ErrorInfo("UPSTREAM_UNAVAILABLE", "gone"))
    lines = Drawing().take(text("old wor"), retry, text("new words"), done()).lines
    assert lines == ["! gone The model is asked again in 0.5 s.", "● new words"]


def test_a_warning_about_a_server_is_said_once_though_each_chat_repeats_it() -> None:
    drawing = Drawing()
    for _ in range(2):
        drawing.take(ChatWarning(turn=0, text="shop cannot be reached"), ChatWarning(turn=1, text="cut"), done())
    assert drawing.lines == ["! shop cannot be reached", "! cut", "! cut"]


def test_a_fault_of_a_server_that_is_known_already_is_not_said_again() -> None:
    drawing = Drawing()
    drawing.screen.know("refused")
    drawing.take(ChatWarning(turn=0, text="shop cannot be reached: refused."))
    assert drawing.lines == []


@pytest.mark.parametrize(
    ("stop_reason", "line"),
    [("max_turns", "! stopped: the model wanted"), ("clarify", "? Which?")],
)
def test_an_answer_that_is_none_says_why(stop_reason: str, line: str) -> None:
    assert Drawing(80).take(done(stop_reason, "Which?")).lines[-1].startswith(line)


def test_a_failure_is_said_for_the_person() -> None:
    error = ErrorInfo("UPSTREAM_UNAVAILABLE", "401: check the key")
    drawing = Drawing(80).take(ChatFailed(turn=1, error=error, history=[], ui_message="The model refused the key."))
    assert drawing.lines == ["✗ The model refused the key.", "  401: check the key"]
    assert drawing.screen.failed


def test_events_of_an_unknown_type_are_left_out() -> None:
    class Later:
        type = "x_something"

    assert Drawing().take(Later()).lines == []


# ---- terminals ----


@pytest.mark.parametrize(
    "chunks",
    [
        [text(HOSTILE + "\n")],
        [requested(HOSTILE, {HOSTILE: HOSTILE})],
        [requested(HOSTILE, {HOSTILE: HOSTILE}), succeeded(HOSTILE, HOSTILE)],
        [requested("a", {}), failed(HOSTILE, ErrorInfo("X", HOSTILE))],
        [ChatWarning(turn=1, text=HOSTILE)],
        [shown(HOSTILE, DisplayEnvelope(type="text", payload=HOSTILE, title=HOSTILE))],
        [done("clarify", HOSTILE)],
        [ChatFailed(turn=1, error=ErrorInfo("X", HOSTILE), history=[], ui_message=HOSTILE)],
    ],
    ids=lambda chunks: chunks[-1].type,
)
def test_no_event_moves_the_terminal_or_is_read_as_markup(chunks: list[ChatChunk]) -> None:
    drawing = Drawing(200)
    drawing.take(*chunks)
    drawing.screen.end()
    written = drawing.page.getvalue()
    assert "\x07" not in written
    assert "\x9b" not in written
    assert "\x1b[31m" not in written
    assert "\x1b[2J" not in written
    assert "[bold]x[/]" in "".join(written.split())


def test_a_file_gets_no_escape_sequence_and_nothing_twice() -> None:
    drawing = Drawing(terminal=False)
    drawing.screen.begin()
    drawing.take(text("# Title\n\nso"), requested("a", {}), succeeded("a", "1"), text("me words\n"), done())
    assert "\x1b" not in drawing.page.getvalue()
    assert drawing.lines == ["● Title", "  so", "✓ a()  0.3 s", "  tells the model: 1", "● me words"]


def test_while_nothing_has_come_it_says_how_long_and_what_the_model_thinks() -> None:
    def thought(words: str) -> LLMReasoning:
        return LLMReasoning(turn=1, text=words)

    drawing = Drawing()
    drawing.screen.begin()
    drawing.clock.now += 3
    drawing.take(thought("EMEA has four\nproducts"))
    assert drawing.lines[-1].endswith("thinking: EMEA has four products  4.0 s")
    drawing.take(LLMRetry(turn=1, attempt=1, wait_ms=0, error=ErrorInfo("UPSTREAM_UNAVAILABLE", "gone")))
    drawing.clock.now += 3
    drawing.take(thought("APAC"))
    assert "thinking: APAC  " in drawing.lines[-1]
    drawing.take(text("Four."), done())
    assert drawing.lines[-1] == "● Four."


# ---- words ----


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(0, "0 ms"), (42, "42 ms"), (300, "0.3 s"), (12_000, "12 s"), (125_000, "2 min 5 s")]
)
def test_times(milliseconds: float, words: str) -> None:
    assert seconds(milliseconds) == words


@pytest.mark.parametrize(
    ("progress", "total", "words"), [(3, 12, "25 %"), (3, None, "3"), (99, 9, "100 %"), (1, 0, "1")]
)
def test_progress(progress: float, total: float | None, words: str) -> None:
    assert share(progress, total) == words


@pytest.mark.parametrize(
    ("dollars", "words"),
    [(None, ""), (0, "$0.00"), (0.00001, "less than $0.0001"), (0.00314, "$0.0031"), (1234.5, "$1,234.50")],
)
def test_costs(dollars: float | None, words: str) -> None:
    assert cost(dollars) == words


def test_usage() -> None:
    usage = ChatUsage(input_tokens=1412, output_tokens=86, cached_tokens=1024, cost_usd=0.0031, llm_calls=2)
    assert used(usage) == "1,412 tokens in (1,024 cached), 86 out · $0.0031 · 2 requests"
    assert used(ChatUsage(input_tokens=None, output_tokens=None, cached_tokens=None, cost_usd=None, llm_calls=1)) == (
        "1 request"
    )


class Interrupted:
    """A drawing during which the person presses Ctrl-C."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield "begun"
        signal.raise_signal(signal.SIGINT)
        yield "drawn to its end"


def test_ctrl_c_ends_the_drawing_of_a_display_and_reaches_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr("xmcp.cli.chat.screen.framed", lambda *_, **__: Interrupted())
    before = signal.signal(signal.SIGINT, lambda number, _: told.append(number))
    try:
        lines = Drawing().take(shown("t", DisplayEnvelope(type="text", payload="x"))).lines
        assert told == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    assert [line.strip() for line in lines] == ["The display was not drawn to its end."]
