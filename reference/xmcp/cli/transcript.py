"""A chat printed in a terminal, event by event.

Everything in an event may come from a model or a server, so all of it is made safe by `xmcp.render.view.untrusted`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from xmcp.cli.line_breaking import Flow
from xmcp.render import render
from xmcp.render.view.untrusted import label, visible

if TYPE_CHECKING:
    from xmcp.client import ChatChunk, ToolEvent, ToolProgress
    from xmcp.wire import ErrorInfo

_MARGIN = 5
_INDENT = " " * (_MARGIN + 2)


class _Voice(NamedTuple):
    """Whose words flow: how that is named and coloured, and the style of the words."""

    name: str
    colour: str
    style: str


_MODEL: Final = _Voice("Model", "bold magenta", "")
_THOUGHT: Final = _Voice("Think", "dim magenta", "dim")


class Transcript:
    """Prints a conversation: the person's words, the model's text and thoughts as they arrive, each call, each display.

    Of the progress of a call it prints a line for each text that its server reports, which is new.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._flow: Flow | None = None
        self._voice = _MODEL
        """Whose words flow."""
        self._reported: dict[str, str] = {}

    def person(self, words: str) -> None:
        """Print the person's words."""
        self._console.print()
        self._entry("You", "bold green", Text(visible(words), style="bold"))

    def event(self, chunk: ChatChunk) -> None:
        """Print one event of the chat."""
        if chunk.type == "llm_delta":
            self._write(chunk.text, _MODEL)
            return
        if chunk.type == "llm_reasoning":
            self._write(chunk.text, _THOUGHT)
            return
        if chunk.type == "tool_progress" and self._reported.get(chunk.call_id) == chunk.text:
            return
        self._end_text()
        if chunk.type == "warning":
            self._entry("!", "yellow", Text(label(chunk.text, 400), style="yellow"))
        elif chunk.type == "tool_call":
            self._entry("→", "cyan", Text(call_line(_name(chunk), chunk.arguments), style="cyan"))
        elif chunk.type == "tool_progress":
            self._reported[chunk.call_id] = chunk.text
            self._entry("…", "cyan", Text(label(f"{_name(chunk)}: {progress_line(chunk)}", 300), style="dim"))
        elif chunk.type == "tool_result":
            room = max(self._console.width - len(_INDENT), 20)
            gist = label(f"{_name(chunk)} tells the model: {chunk.text or '(nothing)'}", room)
            self._entry("✓", "green", Text(gist, style="dim"))
        elif chunk.type == "tool_error":
            self._entry("✗", "red", Text(f"{_name(chunk)} failed with {error_line(chunk.error)}", style="red"))
        elif chunk.type == "tool_display":
            origin = Text(f"shown to you by {_name(chunk)}", style="dim")
            self._console.print(
                Panel(render(chunk.envelope), title=origin, title_align="left", box=ROUNDED, border_style="cyan")
            )

    def _entry(self, mark: str, style: str, words: Text) -> None:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=_MARGIN, justify="right")
        grid.add_column(overflow="fold")
        grid.add_row(Text(mark, style=style), words)
        self._console.print(grid)

    def _write(self, piece: str, voice: _Voice) -> None:
        if self._voice != voice:
            self._end_text()
        if self._flow is None:
            self._voice = voice
            self._flow = Flow(max(self._console.width - len(_INDENT), 20), _INDENT)
            self._console.print(Text.assemble((voice.name.rjust(_MARGIN), voice.colour), "  "), end="")
        self._put(self._flow.feed(visible(piece)))

    def _end_text(self) -> None:
        if self._flow is not None:
            self._put(f"{self._flow.close()}\n")
            self._flow = None

    def _put(self, text: str) -> None:
        self._console.print(Text(text, style=self._voice.style), end="", soft_wrap=True)
        self._console.file.flush()


def _name(event: ToolEvent) -> str:
    return label(event.tool_name, 60)


def call_line(tool_name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return a call as a line of text: `sales_summary(region="EMEA", months=3)`."""
    if arguments is None:
        return f"{tool_name}(arguments that are not a JSON object)"
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return label(f"{tool_name}({given})", 300)


def progress_line(event: ToolProgress) -> str:
    """Return how far a call is as a line of text: `40 %  Reading May`, or the server's number where there is no end."""
    total = event.total or 0
    far = f"{event.progress / total:.0%}" if total > 0 else f"{event.progress:g}"
    return f"{far} {event.text}".rstrip()


def error_line(error: ErrorInfo) -> str:
    """Return an error as a line of text: its code, whether a retry can help, its message, its id in the log."""
    wait = f" after {error.retry_after_ms / 1000:g} s" if error.retry_after_ms is not None else ""
    retry = f"retry{wait}" if error.retryable else "no retry"
    error_id = (error.meta or {}).get("error_id")
    reference = f" (error id {label(error_id, 64)})" if isinstance(error_id, str) else ""
    return f"{label(error.code, 64)} ({retry}): {label(error.message, 400)}{reference}"
