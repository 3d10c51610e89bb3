"""Displays and chats in a notebook: what a cell shows of them, and a chat that is shown while it happens.

Notebooks ask an object for its forms (`_repr_mimebundle_`), and `DisplayEnvelope` and `ChatResult` give these. IPython
is imported only to show a chat. No form is one in which a notebook would interpret text of a display: there is no
`text/markdown`, whose scripts some programs run, and no Vega-Lite but that of vega_lite.py.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from uuid import uuid4

from xmcp.chat.json_values import as_json, encode_json
from xmcp.render.envelopes import AnyEnvelope, members_of, view_of
from xmcp.render.html import STYLE_SHEET, to_html
from xmcp.render.terminal import to_text
from xmcp.render.vega_lite import MEDIA_TYPE as VEGA_LITE
from xmcp.render.vega_lite import vega_lite
from xmcp.render.view import content
from xmcp.render.view.untrusted import label

if TYPE_CHECKING:
    from xmcp.chat.events import ChatChunk, ChatResult

__all__ = ["ENVELOPE", "ChatCell", "bundle_of", "bundle_of_result", "show_chat"]

ENVELOPE: Final = "application/vnd.xmcp.display+json"
"""Media type of the envelope itself, for programs that read notebooks."""
_LARGEST_ENVELOPE: Final = 1_000_000
"""Bytes of JSON; a notebook keeps every output in its file."""
_BETWEEN: Final = 0.1
"""Least seconds between two drawings of an answer that is being written."""

Bundle: TypeAlias = dict[str, Any]
"""The forms of one output by their media types; the notebook takes the one that it can show best."""


def bundle_of(envelope: AnyEnvelope) -> Bundle:
    """Return a display in each form that a notebook can show."""
    members = members_of(envelope)
    view = view_of(members)
    written = as_json(dict(members) if isinstance(members, Mapping) else members)
    bundle: Bundle = {ENVELOPE: written} if len(encode_json(written)) <= _LARGEST_ENVELOPE else {}
    if isinstance(view.content, content.Chart):
        bundle[VEGA_LITE] = vega_lite(view.content, view.title, view.alt)
    return bundle | {"text/html": to_html(members), "text/plain": to_text(members)}


def bundle_of_result(result: ChatResult) -> Bundle:
    """Return the answer of a chat and its displays, for a cell."""
    answer = result["answer"]
    shown: list[AnyEnvelope] = [{"type": "markdown", "payload": answer}] if answer else []
    shown += result["displays"]
    return _of_several(shown or [_said(f"(no answer: {result['stop_reason']})")])


def _of_several(shown: Sequence[AnyEnvelope]) -> Bundle:
    drawn = "\n".join(to_html(one, styles="none") for one in shown)
    return {
        "text/html": f"<style>\n{STYLE_SHEET}\n</style>\n{drawn}",
        "text/plain": "\n".join(map(to_text, shown)),
    }


def _said(words: str) -> dict[str, Any]:
    return {"type": "text", "payload": words}


class Shows(Protocol):
    """What shows an output in the cell, or with `update` replaces the one that has this id."""

    def __call__(self, bundle: Bundle, display_id: str, *, update: bool) -> None:
        """Show it."""


def _in_ipython(bundle: Bundle, display_id: str, *, update: bool) -> None:
    from IPython.display import display

    display(bundle, raw=True, display_id=display_id, update=update)  # type: ignore[no-untyped-call]


class ChatCell:
    """Shows the events of one chat in a cell of a notebook: the answer as it is written, each call, each display.

    A display with the `id` of an earlier one takes its place. While the answer is being written it stands as plain
    text, so that no link of half an address can be followed.

    ```python
    cell = ChatCell()
    for event in ai.stream_chat("Show me sales for EMEA", history=[]):  # a SyncAIClient
        cell.show(event)
    ```
    """

    def __init__(self, shows: Shows = _in_ipython, clock: Callable[[], float] = time.monotonic) -> None:
        self._shows, self._clock = shows, clock
        self._chat = uuid4().hex
        self._shown: set[str] = set()
        self._outputs = 0
        self._text = ""
        self._text_id: str | None = None
        self._drawn_at = -math.inf

    def show(self, event: ChatChunk) -> None:
        """Show what one event of the chat changes."""
        match event.type:
            case "llm_delta":
                self._write(event.text)
                return
            case "retry" if not hasattr(event, "call_id"):  # the model writes this turn again
                self._text = ""
                self._draw_text(_said("…"))
                return
        self._end_text()
        match event.type:
            case "tool_call" | "tool_started":
                self._call(event.call_id, event.tool_name, "…")
            case "tool_result":
                self._call(event.call_id, event.tool_name, "done")
            case "tool_error":
                self._call(event.call_id, event.tool_name, f"failed with {event.error.code}")
            case "tool_display":
                known = event.envelope.id
                self._put(f"display-{known}" if known else self._next(), bundle_of(event.envelope))
            case "failed":
                message = event.ui_message or event.error.message
                self._put(
                    self._next(), bundle_of({"type": "notification", "payload": {"message": message, "level": "error"}})
                )

    def _call(self, call_id: str, tool_name: str, state: str) -> None:
        line = f"{label(tool_name, 60)}: {label(state)}"
        self._put(f"call-{call_id}", _of_several([{"type": "text", "payload": line}]))

    def _write(self, piece: str) -> None:
        self._text += piece
        if self._clock() - self._drawn_at >= _BETWEEN:
            self._draw_text(_said(self._text))

    def _draw_text(self, envelope: AnyEnvelope) -> None:
        if self._text_id is None:
            self._text_id = self._next()
        self._drawn_at = self._clock()
        self._put(self._text_id, _of_several([envelope]))

    def _end_text(self) -> None:
        """Draw the text that the model has written as Markdown: what it writes next is another text."""
        if self._text.strip():
            self._draw_text({"type": "markdown", "payload": self._text})
        self._text, self._text_id, self._drawn_at = "", None, -math.inf

    def _next(self) -> str:
        self._outputs += 1
        return f"output-{self._outputs}"

    def _put(self, name: str, bundle: Bundle) -> None:
        """Show a bundle, in the place of the one with the same name."""
        self._shows(bundle, f"xmcp-{self._chat}-{name}", update=name in self._shown)
        self._shown.add(name)


async def show_chat(events: AsyncGenerator[ChatChunk, None], *, shows: Shows = _in_ipython) -> ChatResult:
    """Show a chat in the cell while it happens, and return its result, as `chat()` would.

    ```python
    result = await show_chat(ai.stream_chat("Show me sales for EMEA", history=[]))
    ```

    Args:
        events: What `stream_chat()` of an `AIClient` or a `Conversation` returns. It is closed at the end.
        shows: What shows an output; default the cell that runs.

    Raises:
        ModuleNotFoundError: IPython is not installed: this runs in a notebook.
        ProviderError, QuotaExceeded: As `stream_chat()`.
    """
    cell = ChatCell(shows)
    async with aclosing(events):
        async for event in events:
            cell.show(event)
            if event.type == "done":
                return event.result
    raise RuntimeError("the events ended before the chat: pass the whole stream of stream_chat()")
