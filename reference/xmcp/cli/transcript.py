"""A chat as a person reads it in a terminal.

What may live here: how each event of a chat is printed. Everything in an event may come from a stranger (a model, a
server), so all of it passes `untrusted`. Who chats and about what is the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from xmcp.cli.flow import Flow
from xmcp.render import render
from xmcp.render.view.untrusted import label, visible

if TYPE_CHECKING:
    from xmcp.client import ChatChunk
    from xmcp.wire import ErrorInfo

_MARGIN = 5
_INDENT = " " * (_MARGIN + 2)


class Transcript:
    """Prints a conversation: what the person says, what the model writes as it comes, each call, each display."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._flow: Flow | None = None

    def person(self, words: str) -> None:
        """Print what the person says."""
        self._console.print()
        self._entry("You", "bold green", Text(visible(words), style="bold"))

    def event(self, chunk: ChatChunk) -> None:
        """Print one event of the chat."""
        if chunk.type == "llm_delta":
            self._write(chunk.text or "")
            return
        self._end_of_words()
        name = label(chunk.tool_name or "", 60)
        if chunk.type == "tool_call":
            self._entry("→", "cyan", Text(called(name, chunk.arguments), style="cyan"))
        elif chunk.type == "tool_result":
            room = max(self._console.width - len(_INDENT), 20)
            gist = label(f"{name} tells the model: {chunk.text or '(nothing)'}", room)
            self._entry("✓", "green", Text(gist, style="dim"))
        elif chunk.type == "tool_error" and chunk.error is not None:
            self._entry("✗", "red", Text(f"{name} failed with {told(chunk.error)}", style="red"))
        elif chunk.type == "tool_display" and chunk.envelope is not None:
            origin = Text(f"shown to you by {name}", style="dim")
            self._console.print(
                Panel(render(chunk.envelope), title=origin, title_align="left", box=ROUNDED, border_style="cyan")
            )
        elif chunk.type == "warning":
            self._entry("!", "yellow", Text(label(chunk.text or "", 400), style="yellow"))

    def _entry(self, mark: str, style: str, words: Text) -> None:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=_MARGIN, justify="right")
        grid.add_column(overflow="fold")
        grid.add_row(Text(mark, style=style), words)
        self._console.print(grid)

    def _write(self, piece: str) -> None:
        if self._flow is None:
            self._flow = Flow(max(self._console.width - len(_INDENT), 20), _INDENT)
            self._console.print(Text.assemble(("Model".rjust(_MARGIN), "bold magenta"), "  "), end="")
        self._put(self._flow.feed(visible(piece)))

    def _end_of_words(self) -> None:
        if self._flow is not None:
            self._put(f"{self._flow.close()}\n")
            self._flow = None

    def _put(self, text: str) -> None:
        self._console.print(Text(text), end="", soft_wrap=True)
        self._console.file.flush()


def called(tool_name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return a call as a line of text: `sales_summary(region="EMEA", months=3)`."""
    if arguments is None:
        return f"{tool_name}(arguments that are no JSON object)"
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return label(f"{tool_name}({given})", 300)


def told(error: ErrorInfo) -> str:
    """Return an error as a line of text: its code, whether a retry can help, its message, its id in the log."""
    wait = f" after {error.retry_after_ms / 1000:g} s" if error.retry_after_ms is not None else ""
    retry = f"retry{wait}" if error.retryable else "no retry"
    error_id = (error.meta or {}).get("error_id")
    reference = f" (error id {label(error_id, 64)})" if isinstance(error_id, str) else ""
    return f"{label(error.code, 64)} ({retry}): {label(error.message, 400)}{reference}"
