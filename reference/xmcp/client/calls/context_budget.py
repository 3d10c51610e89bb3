"""What the model sees of a response: the whole document, unless a part is above its budget (spec section 3.5). Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from xmcp.chat.messages import Message, text_of
from xmcp.wire import REFERENCE_TYPE, DecodeError, DisplayEnvelope, ToolResponse, decode, encode

DISPLAY_BUDGET: Final = 4096
RESULT_BUDGET: Final = 512 * 1024

_TAIL: Final = 5
"""A shortened text keeps a fifth of its budget for its end, where logs and programs report the outcome."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """Maximum size that the model sees, in bytes of UTF-8: of a display's JSON, and of the text of one response."""

    display: int = DISPLAY_BUDGET
    result: int = RESULT_BUDGET


def for_model(response: ToolResponse, document: str | None = None, budgets: Budgets = Budgets()) -> str:
    """Return the tool message for a response: `document`, as the server wrote it, or the response encoded anew.

    A display above its budget is replaced by a reference with its type, title and size; the person still sees all of
    it. Of a text above its budget the beginning and the end are kept, with a note between them, and the document is
    marked as `truncated`. Of what is for the person, a line says that it was shown (XMCP-MCP-045).
    """
    display, text = response.display, response.llm_output
    seen = response
    if display is not None and size(display) > budgets.display:
        seen = _with_reference(seen, display, budgets.display)
    if text is not None and _above(text, budgets.result):
        seen = replace(seen, llm_output=cut(text, budgets.result), truncated=True)
    if response.for_person and response.error is None:
        lines = [seen.llm_output, *map(_reference_line, response.for_person)]
        # With these lines the text is no longer of the format that the server named.
        seen = replace(seen, llm_output="\n".join(filter(None, lines)), format=None)
    if response.error is not None and _above(response.error.message, budgets.result):
        seen = replace(seen, error=replace(response.error, message=cut(response.error.message, budgets.result)))
    most = 2 * (budgets.result + budgets.display)
    if seen is response and document is not None and not _above(document, most):
        return document
    written = encode(seen, check=False)
    if not _above(written, most):
        return written
    # The remaining excess is data outside the text: parameters that the server filled in, or the details of an error.
    error = seen.error and replace(seen.error, meta=None)
    return encode(replace(seen, error=error, server_populated=None, truncated=True), check=False)


def fit(messages: Sequence[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    """Return messages in which each display above `budget` bytes is a reference; the others are returned as they are.

    They come from an application: of another client, or of one with a larger budget (XMCP-DSP-040).
    """
    return [_fit(message, budget) if can_be_large(message, budget) else message for message in messages]


def can_be_large(message: Message, budget: int) -> bool:
    """Return whether a message can have a display above `budget` bytes, without reading it as a document."""
    if message.get("role") != "tool":
        return False
    content = text_of(message)
    return "<display" in content and 4 * len(content) > budget  # a character is four bytes at most


def _fit(message: dict[str, Any], budget: int) -> dict[str, Any]:
    try:
        response = decode(text_of(message), bad_display="drop")
    except DecodeError:
        return message
    if response.display is None or size(response.display) <= budget:
        return message
    return {**message, "content": encode(_with_reference(response, response.display, budget), check=False)}


def _with_reference(response: ToolResponse, display: DisplayEnvelope, budget: int) -> ToolResponse:
    """Return the response with a reference in the place of its display; with none if even that is above `budget`."""
    for note in (True, False):
        if size(shown := reference(display, note=note)) <= budget:
            return replace(response, display=shown)
    alone = response.llm_output is None and response.error is None  # a document has one part at least
    return replace(response, display=None, llm_output="" if alone else response.llm_output)


def cut(text: str, budget: int) -> str:
    """Return the beginning and the end of `text`, in about `budget` bytes of UTF-8, with a note between them."""
    data = text.encode("utf-8", "replace")
    tail = budget // _TAIL
    head = budget - tail
    left_out = len(data) - head - tail
    note = f"\n[... {left_out} bytes of this result were left out here: it is too large. Ask for less. ...]\n"
    end = data[len(data) - tail :].decode("utf-8", "ignore") if tail else ""
    return f"{data[:head].decode('utf-8', 'ignore')}{note}{end}"


def reference(display: DisplayEnvelope, *, note: bool = True) -> DisplayEnvelope:
    """Return what the model sees instead of a display that is above its budget. `note`: with words that say why."""
    words = {"note": "Shown to the person; too large to repeat here."} if note else {}
    return DisplayEnvelope(
        type=REFERENCE_TYPE,
        title=display.title,
        payload={"type": display.type, "bytes": size(display), **words},
    )


def _reference_line(display: DisplayEnvelope) -> str:
    """Return what the model reads in the place of what only the person is shown: none of its content."""
    payload = display.payload
    mime = payload.get("mime") if isinstance(payload, dict) else None
    what = f"{display.type}, {len(payload)} characters" if isinstance(payload, str) else display.type
    return f"[{what}{f' {mime}' if mime else ''}: shown to the person, not visible to you]"


def size(display: DisplayEnvelope) -> int:
    """Return the size of the display as compact JSON, in bytes of UTF-8."""
    return len(json.dumps(display.to_dict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _above(text: str, budget: int) -> bool:
    # A character is one to four bytes: most texts are decided by their length alone.
    return len(text) > budget or (4 * len(text) > budget and len(text.encode("utf-8", "replace")) > budget)
